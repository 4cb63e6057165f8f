package benchmark

import (
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
)

// compare is batchctl bench compare.
func compare(con *term.Console, o compareOptions) error {
	if len(o.paths) != 2 {
		return exit.Usage("compare needs an old and a new measurement").
			Try("for example: batchctl bench compare old/benchmark.json new/benchmark.json")
	}
	var sides [2]*bench.Side
	for i, path := range o.paths {
		var err error
		if sides[i], err = measurement(path, o.side); err != nil {
			return err
		}
	}
	threshold := o.threshold / 100
	if !(threshold >= 0) { // also NaN
		return exit.Usage("--threshold must not be negative").Try("for example: --threshold 5")
	}
	if threshold == 0 {
		threshold = -1 // every significant slowdown counts
	}
	diffs := bench.Compare(sides[0], sides[1], bench.CompareOptions{Threshold: threshold})
	if err := printDiffs(con, o.format, diffs); err != nil {
		return err
	}
	if !o.failOnRegression {
		return nil
	}
	if slower := diffs.Regressions(); len(slower) > 0 {
		return exit.Fail(exit.Problem, "%s became slower by more than %g %%", text.Count(len(slower), "row"),
			o.threshold)
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
