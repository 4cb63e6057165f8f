package cli

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/check/checktest"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// TestSameProblemsInEveryCommand runs the commands that submit jobs on directories with
// documents and platform files. They must print the problems that validate prints, and refuse
// the same documents.
func TestSameProblemsInEveryCommand(t *testing.T) {
	testtool.ShortChecks(t, 20)
	t.Setenv("BATCHCTL_STATE_DIR", t.TempDir())
	corpus := checktest.ReadCorpus()
	problem := regexp.MustCompile(`(?m)^\S+:\d+:\d+: .*\[[a-z0-9-]+\]$`)
	rapid.Check(t, func(t *rapid.T) {
		tree := corpus.Draw(t, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") })
		defer os.RemoveAll(tree.Dir)
		run := func(args ...string) (code int, stdout, stderr string) {
			var out, story bytes.Buffer
			code = Main(t.Context(), append([]string{"batchctl"}, append(args, tree.Paths...)...), term.Streams{In: strings.NewReader(""), Out: &out, Err: &story})
			return code, out.String(), story.String()
		}
		code, out, story := run("validate")
		want := problem.FindAllString(out, -1)
		for _, command := range [][]string{{"plan", "--offline"}, {"submit", "--dry-run"}, {"cost"}} {
			got, _, errors := run(command...)
			if got == exit.BadUsage && strings.Contains(errors, ", not a job file") {
				continue // it refuses the documents before their problems
			}
			if code == exit.Problem && got != exit.Problem {
				t.Errorf("%s: exit %d, validate %d:\n%s\n%s", command, got, code, errors, story)
			}
			if found := problem.FindAllString(errors, -1); code == exit.Problem && !slices.Equal(found, want) {
				t.Errorf("%s finds\n%s\nvalidate finds\n%s", command, strings.Join(found, "\n"), strings.Join(want, "\n"))
			}
		}
	})
}
