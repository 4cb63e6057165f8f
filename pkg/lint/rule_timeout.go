package lint

import (
	"fmt"
	"strconv"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// timeoutRules returns the rules about timeouts. AWS Batch terminates an attempt after the
// timeout; a submission replaces the timeout of its definition.
func timeoutRules() []*Rule {
	return []*Rule{
		row("timeout-min", High, in(jobs, "timeout"), once("timeout", checkShortTimeout),
			"A timeout is at least 60 seconds, in a definition and in a submission.",
			tried("JobTimeout.attemptDurationSeconds")),
		warns(over("timeout-missing", Medium, (*Pass).Definitions, checkTimeoutMissing,
			"Without a timeout, a job that hangs runs and costs money until you notice.", guide("job timeouts"))),
	}
}

// checkTimeoutMissing reports a definition without a timeout, unless all its submissions have one.
func checkTimeoutMissing(j Job) {
	// An empty object sets no timeout.
	own, later := j.Register.Get("timeout"), j.Submit.Get("timeout")
	empty := own.Is(jsontree.Object) && j.lacks(own, "attemptDurationSeconds")
	if (own == nil && later == nil && j.Node.Get("timeout") == nil || empty) && !alwaysTimed(j.pass, j) {
		j.Report("the job has no timeout", "add a time limit, such as "+timeoutExample(j, exampleTimeout), own)
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

// checkShortTimeout reports a timeout below the minimum of AWS Batch.
func checkShortTimeout(s Site, timeout *jsontree.Node, _ string) {
	n := timeout.Get("attemptDurationSeconds")
	if seconds, ok := n.Int(); ok && seconds < catalog.MinTimeout {
		s.Report(fmt.Sprintf("a timeout must be at least %d seconds, not %d", catalog.MinTimeout, seconds),
			"write at least "+minTimeout(s.Job), n)
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
