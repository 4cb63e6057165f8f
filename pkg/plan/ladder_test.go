package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/ladder"
)

// TestAwaited checks which dependencies are in a request: not those on jobs whose rungs the client executes.
func TestAwaited(t *testing.T) {
	job := func(name, when string, rungs ladder.Ladder, after ...string) *Job {
		j := &Job{Name: name, When: when, Ladder: rungs, Submit: &awsbatch.SubmitJobInput{JobName: &name, Tags: map[string]string{}}}
		for _, on := range after {
			j.After = append(j.After, document.Dependency{Job: on})
		}
		return j
	}
	rungs := ladder.Ladder{{}}
	byStateMachine := job("elsewhere", "", rungs)
	byStateMachine.Submit.Tags[ladder.Tag] = ladder.ByStateMachine
	both := job("both", "", nil, "rungs", "plain")
	both.Earlier = []document.Dependency{{Job: "rungs"}}
	p := Plan{Jobs: []*Job{job("rungs", "", rungs), job("plain", "", nil), byStateMachine, both, job("next", "", nil, "both"), job("always", "always", nil, "rungs"),
		job("other", "", nil, "elsewhere"), job("rungs", "", nil), job("later", "", nil, "rungs")}}
	want := map[string][3]string{"both": {"success", "${rungs}", "${earlier:rungs} ${plain}"}, "next": {"", "", "${both}"}, "always": {"always", "${rungs}", ""},
		"other": {"", "", "${elsewhere}"}, "later": {"", "", "${rungs}"}}
	for _, r := range p.Requests() {
		var ids []string
		for _, d := range r.Input.(*awsbatch.SubmitJobInput).DependsOn {
			ids = append(ids, aws.ToString(d.JobId))
		}
		w := want[r.Job]
		if r.When != w[0] || !slices.Equal(r.After, strings.Fields(w[1])) || !slices.Equal(ids, strings.Fields(w[2])) {
			t.Errorf("%s: when %q, after %q, dependsOn %q, want %q", r.Job, r.When, r.After, ids, w)
		}
	}
}
