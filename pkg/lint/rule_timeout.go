package lint

import (
	"fmt"
	"strconv"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// timeoutRules returns the rules about timeouts. AWS Batch terminates an attempt after the
// timeout; a submission replaces the timeout of its definition.
func timeoutRules() []*Rule {
	return []*Rule{
		{
			Name: "timeout-min", Severity: diag.Error, Confidence: High,
			Doc:    "A timeout is at least 60 seconds.",
			Source: apiReference + ", JobTimeout.attemptDurationSeconds" + probed,
			Run: func(p *Pass) {
				for _, j := range p.Definitions() {
					shortTimeout(j, j.Register.Get("timeout"))
				}
			},
		},
		{
			Name: "submit-timeout-min", Severity: diag.Error, Confidence: Medium,
			Doc:    "A timeout is at least 60 seconds, also in a submission.",
			Source: apiReference + ", JobTimeout.attemptDurationSeconds",
			Run: func(p *Pass) {
				for _, j := range p.Submits() {
					shortTimeout(j, j.Own("timeout"))
				}
			},
		},
		{
			Name: "timeout-missing", Severity: diag.Warning, Confidence: Medium,
			Doc:    "Without a timeout, a job that hangs runs and costs money until you notice.",
			Source: userGuide + ", job timeouts",
			Run: func(p *Pass) {
				for _, j := range p.Definitions() {
					// An empty object sets no timeout.
					own, later := j.Register.Get("timeout"), j.Submit.Get("timeout")
					empty := own.Is(jsontree.Object) && j.lacks(own, "attemptDurationSeconds")
					if (own == nil && later == nil && j.Node.Get("timeout") == nil || empty) && !alwaysTimed(p, j) {
						j.Report("the job has no timeout", "add a time limit, such as "+
							timeoutExample(j, exampleTimeout), own)
					}
				}
			},
		},
	}
}

// alwaysTimed reports whether every submission of a definition has a timeout.
func alwaysTimed(p *Pass, definition Job) bool {
	submissions := runs.of(p)[definition.Register]
	for _, j := range submissions {
		if j.Submit.Get("timeout").Get("attemptDurationSeconds") == nil {
			return false
		}
	}
	return len(submissions) > 0
}

// shortTimeout reports a timeout below the minimum of AWS Batch.
func shortTimeout(j Job, timeout *jsontree.Node) {
	n := timeout.Get("attemptDurationSeconds")
	if s, ok := n.Int(); ok && s < catalog.MinTimeout {
		j.Report(fmt.Sprintf("a timeout must be at least %d seconds, not %d", catalog.MinTimeout, s),
			"write at least "+minTimeout(j), n)
	}
}

// minTimeout returns the shortest timeout in the form of the job's file.
func minTimeout(j Job) string {
	if j.compact() {
		return fmt.Sprintf("\"%ds\"", catalog.MinTimeout)
	}
	return strconv.Itoa(catalog.MinTimeout)
}

// exampleTimeout is the timeout in hints, in seconds.
const exampleTimeout = 7200

// timeoutExample returns a timeout of that many seconds in the form of the job's file.
func timeoutExample(j Job, seconds int64) string {
	if j.compact() {
		return fmt.Sprintf(`"timeout": %q`, inUnits(j, seconds))
	}
	return fmt.Sprintf(`"timeout": { "attemptDurationSeconds": %d }`, seconds)
}
