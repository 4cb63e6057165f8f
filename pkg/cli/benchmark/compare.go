package benchmark

import (
	"context"
	"fmt"
	"slices"

	"github.com/batchctl/batchctl/pkg/bench"
	"github.com/batchctl/batchctl/pkg/check"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/urfave/cli/v2"
)

// benchCompareCommand is batchctl bench compare.
func benchCompareCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "compare",
		Usage:     "compare two measurements row by row, with a significance test",
		UsageText: "batchctl bench compare [FLAGS] OLD NEW",
		Description: cmdline.Help("OLD and NEW are the benchmark.json of a report, or logs with result lines. A row counts as faster or slower only if a rank test "+
			"confirms it, which needs at least 4 repeats. With --fail-on-regression the exit code is 1 if a row became slower by more than "+
			"--threshold. It is 3 if a row could not be compared.",
			"batchctl bench compare old/benchmark.json new/benchmark.json\nbatchctl bench compare --side GPU old.json new.json --fail-on-regression"),
	}, compareOptions{Output: cmdline.OutputsAs("text, json or markdown", cmdline.JSON[*bench.Diffs]()), Side: "CPU",
		Threshold: 5}, func(_ context.Context, o compareOptions) error { return compare(con, o) })
}

// compareOptions are the flags and arguments of bench compare.
type compareOptions struct {
	// Args are the old and the new measurement.
	cmdline.Given
	cmdline.Output
	Side             string  `flag:"side" usage:"<CPU|GPU>: the side of a report"`
	Threshold        float64 `flag:"threshold" usage:"report a regression above this <PERCENT>"`
	FailOnRegression bool    `flag:"fail-on-regression" usage:"exit with status 1 for a regression, 3 if rows could not be compared (for CI)"`
}

// compare is batchctl bench compare.
func compare(con *term.Console, o compareOptions) error {
	if len(o.Args) != 2 {
		return exit.Usage("compare needs an old and a new measurement").
			Try("for example: batchctl bench compare old/benchmark.json new/benchmark.json")
	}
	var sides [2]*bench.Side
	for i, path := range o.Args {
		var err error
		if sides[i], err = measurement(path, o.Side); err != nil {
			return err
		}
	}
	threshold := o.Threshold / 100
	if !(threshold >= 0) { // also NaN
		return exit.Usage("--threshold must not be negative").Try("for example: --threshold 5")
	}
	if threshold == 0 {
		threshold = -1 // every significant slowdown counts
	}
	diffs := bench.Compare(sides[0], sides[1], bench.CompareOptions{Threshold: threshold})
	if err := printDiffs(con, o.Format, diffs); err != nil {
		return err
	}
	if !o.FailOnRegression {
		return nil
	}
	if slower := diffs.Regressions(); len(slower) > 0 {
		return exit.Fail(exit.Problem, "%s became slower by more than %g %%", text.Count(len(slower), "row"),
			o.Threshold)
	}
	if untold := diffs.Untold(); len(untold) > 0 {
		hint := "measure with more repeats: --parameters repeats=9"
		if slices.ContainsFunc(untold, func(d *bench.Diff) bool { return d.Verdict == bench.NotMeasured }) {
			hint = "measure again on an idle machine, or with more runs: batchctl bench --runs 5"
		}
		return exit.Fail(exit.NotDone, "%s could not be compared", text.Count(len(untold), "row")).Try("%s", hint)
	}
	return nil
}

// printDiffs prints the comparison as text, JSON or Markdown.
func printDiffs(con *term.Console, format string, diffs *bench.Diffs) error {
	switch format {
	case "json":
		text, err := diffs.JSON()
		if err != nil {
			return err
		}
		_, err = con.Out.Write(diag.PrintableJSON(text))
		return err
	case "markdown":
		return con.Print(diffs.Markdown())
	}
	return con.Print(diffs.Text())
}

// measurement reads one side of a report's benchmark.json, or the result lines of
// a log.
func measurement(path, side string) (*bench.Side, error) {
	kind, ok := map[string]string{"CPU": "cpu", "GPU": "cuda"}[side]
	if !ok {
		return nil, cmdline.UnknownValue("side", side, "the sides are", "CPU", "GPU")
	}
	text, err := check.AppendFile(nil, path)
	if err != nil {
		return nil, input.Unreadable(err, input.MakeLog)
	}
	log, isReport, err := bench.ReadMeasurement(text, side)
	if err != nil {
		return nil, exit.Fail(exit.NotDone, "read %s: %v", path, err)
	}
	if len(log.Results) == 0 {
		return nil, exit.Fail(exit.NotDone, "%s contains no result lines of the %s", path, side).
			Try("use a report's benchmark.json, or a log: batchctl logs JOB > old.log")
	}
	if !isReport {
		kind = "" // a log belongs to one job, so all its results count
	}
	return bench.NewSide(fmt.Sprintf("%s of %s", side, path), kind, log), nil
}
