package lint

import (
	"fmt"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

var timeoutRules = []Rule{
	{
		Name: "timeout-min", Severity: diag.Error, Confidence: High,
		Doc:    "A timeout is at least 60 seconds.",
		Source: apiReference + ", JobTimeout.attemptDurationSeconds" + probed,
		Run: func(p *Pass) {
			for j := range p.Definitions() {
				shortTimeout(j, j.Register.Get("timeout"))
			}
		},
	},
	{
		Name: "submit-timeout-min", Severity: diag.Error, Confidence: Medium,
		Doc:    "A timeout is at least 60 seconds, in a submission too.",
		Source: apiReference + ", JobTimeout.attemptDurationSeconds",
		Run: func(p *Pass) {
			for j := range p.Submits() {
				shortTimeout(j, j.Own("timeout"))
			}
		},
	},
	{
		Name: "timeout-missing", Severity: diag.Warning, Confidence: Medium,
		Doc:    "Without a timeout a job that hangs runs, and is paid for, until somebody notices.",
		Source: userGuide + ", job timeouts",
		Run: func(p *Pass) {
			for j := range p.Definitions() {
				unread := j.Node.Get("timeout") != nil
				if j.Register.Get("timeout") == nil && j.Submit.Get("timeout") == nil && !unread {
					j.Report("the job has no timeout", "add how long an attempt may take, such as "+timeoutExample(j))
				}
			}
		},
	},
}

func shortTimeout(j Job, timeout *jsontree.Node) {
	n := timeout.Get("attemptDurationSeconds")
	if s, ok := n.Int(); ok && s < catalog.MinTimeout {
		j.Report(fmt.Sprintf("a timeout is at least %d seconds, not %d", catalog.MinTimeout, s), "", n)
	}
}

// timeoutExample is in the form the user writes.
func timeoutExample(j Job) string {
	if j.compact() {
		return `"timeout": "2h"`
	}
	return `"timeout": { "attemptDurationSeconds": 7200 }`
}
