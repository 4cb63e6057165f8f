package batchapi

import (
	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/attempt"
)

// noticeMembers reports to the caller, in a header, which members of its request have no effect here, and
// which of them keep the job from starting.
func noticeMembers(c *call.Call, x attempt.Executor, members []attempt.Member) {
	var names, problems []string
	for _, m := range members {
		if m.Effect == attempt.Prevents {
			problems = append(problems, m.Why)
		} else {
			names = append(names, m.Name)
		}
	}
	c.Remark("the command runs "+attempt.How(x)+", where these have no effect", names)
	c.Remark("the job will not start", problems)
}
