package benchmark

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/bench"
	"github.com/batchctl/batchctl/pkg/check"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
)

func benchCompareCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "compare",
		Usage:     "hold two measurements against each other, row by row, with a test of significance",
		UsageText: "batchctl bench compare [FLAGS] OLD NEW",
		Description: cmdline.Help("OLD and NEW are a report's benchmark.json, or logs with result lines. A row is faster or slower only where a rank test\n"+
			"says so; with fewer than 4 repeats nothing can be told. With --fail-on-regression the exit code is 1 for a row that\n"+
			"became slower by more than --threshold, and 3 where a row could not be told.",
			"batchctl bench compare old/benchmark.json new/benchmark.json\nbatchctl bench compare --side GPU old.json new.json --fail-on-regression"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "text", Usage: "text, json or markdown"},
			&cli.BoolFlag{Name: "json", Usage: "the same as --output json"},
			&cli.StringFlag{Name: "side", Value: "CPU", Usage: "`CPU|GPU`: the side of a report"},
			&cli.Float64Flag{Name: "threshold", Value: 5, Usage: "how much slower is a regression, in `PERCENT`"},
			&cli.BoolFlag{Name: "fail-on-regression", Usage: "end with 1 for a regression, with 3 where nothing can be told: for CI"}},
		Action: func(c *cli.Context) error { return benchCompare(con, c) },
	}
}

func benchCompare(con *term.Console, c *cli.Context) error {
	format, err := cmdline.OutputFormat(c)
	if err != nil {
		return err
	}
	if c.NArg() != 2 {
		return exit.Usage("compare takes an old measurement and a new one").Try("for example: batchctl bench compare old/benchmark.json new/benchmark.json")
	}
	var sides [2]*bench.Side
	for i, path := range c.Args().Slice() {
		if sides[i], err = measurement(con, path, c.String("side")); err != nil {
			return err
		}
	}
	threshold := c.Float64("threshold") / 100
	if !(threshold >= 0) { // also NaN
		return exit.Usage("--threshold is 0 %% or more").Try("for example: --threshold 5")
	}
	if threshold == 0 {
		threshold = -1 // any slowdown that is significant
	}
	diffs := bench.Compare(sides[0], sides[1], bench.CompareOptions{Threshold: threshold})
	if err := printDiffs(con, format, diffs); err != nil {
		return err
	}
	if !c.Bool("fail-on-regression") {
		return nil
	}
	if slower := diffs.Regressions(); len(slower) > 0 {
		return exit.Fail(exit.Problem, "%s became slower by more than %g %%", term.Plural(len(slower), "row"), c.Float64("threshold"))
	}
	if untold := diffs.Untold(); len(untold) > 0 {
		hint := "measure with more repeats: --parameters repeats=9"
		if slices.ContainsFunc(untold, func(d *bench.Diff) bool { return d.Verdict == bench.NotMeasured }) {
			hint = "measure again on an idle machine, or with more runs: batchctl bench --runs 5"
		}
		return exit.Fail(exit.NotDone, "of %s nothing can be told", term.Plural(len(untold), "row")).Try("%s", hint)
	}
	return nil
}

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

// measurement reads a side of a report, or the result lines of a log.
func measurement(con *term.Console, path, side string) (*bench.Side, error) {
	kind, ok := map[string]string{"CPU": "cpu", "GPU": "cuda"}[side]
	if !ok {
		return nil, exit.Usage("--side %s is not known", side).Try("the sides are: CPU GPU")
	}
	text, err := check.AppendFile(nil, path)
	if err != nil {
		return nil, input.Unreadable(err, input.MakeLog)
	}
	lines, isReport := reportLines(text, side)
	if !isReport {
		lines = text
	}
	log, err := bench.ReadLog(bytes.NewReader(lines))
	if err != nil {
		return nil, exit.Fail(exit.NotDone, "read %s: %v", path, err)
	}
	if len(log.Results) == 0 {
		return nil, exit.Fail(exit.NotDone, "%s holds no result lines of the %s", path, side).Try("name a report's benchmark.json, or a log: batchctl logs JOB > old.log")
	}
	if !isReport {
		kind = "" // a log is of one job
	}
	return bench.NewSide(fmt.Sprintf("%s of %s", side, path), kind, log), nil
}

// reportLines are the result lines of one side of a report, as its logs had them.
func reportLines(text []byte, side string) ([]byte, bool) {
	type written struct {
		Name string `json:"name"`
		Rows []struct {
			Results []json.RawMessage `json:"results"`
		} `json:"rows"`
	}
	var report struct {
		Comparison *struct {
			Base  written `json:"base"`
			Other written `json:"other"`
		} `json:"comparison"`
	}
	if json.Unmarshal(text, &report) != nil || report.Comparison == nil {
		return nil, false
	}
	var lines bytes.Buffer
	for _, s := range []written{report.Comparison.Base, report.Comparison.Other} {
		if s.Name != side {
			continue
		}
		for _, row := range s.Rows {
			for _, result := range row.Results {
				_ = json.Compact(&lines, result) // it was valid a moment ago
				lines.WriteByte('\n')
			}
		}
	}
	return lines.Bytes(), true
}
