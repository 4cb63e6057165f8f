package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/jobs"
	"github.com/batchctl/batchctl/pkg/bench"
	"github.com/batchctl/batchctl/pkg/check"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/workloads"
)

func benchCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "bench",
		Usage:     "run the same work on CPU and GPU, and decide: speed-up, cost, break-even size, what to change",
		UsageText: "batchctl bench [FLAGS] [CPU_FILE GPU_FILE]\n   batchctl bench compare [FLAGS] OLD NEW",
		Description: help("Without files it is the reference jobs of a workload, or of all. Other files are jobs that print the same result lines, as\n"+
			"--format json of the workloads does. Both are submitted to their queues and followed together, again and again until\n"+
			"every median is known to 5 % or --runs are done; on the local engine one after the other. Only verified results have a time. What\n"+
			"cannot be measured here is said, with the reason.",
			"batchctl bench --target local\nbatchctl bench --workload image --parameters sizes=2048 --target prod --out report\n"+
				"batchctl bench my-cpu.json my-gpu.json --runs 5 --limit 2h\nbatchctl bench compare old.json report/benchmark.json"),
		Flags: append(append(append(append(append(inputFlags(), planFlags()...), targetFlags()...), executorFlags()...), measureFlags(3, "benchmark", 0)...),
			&cli.StringFlag{Name: "workload", Value: "matrix", Usage: "`matrix|image|all`: the reference jobs"}),
		Subcommands: []*cli.Command{benchCompareCommand(con)},
		Action:      func(c *cli.Context) error { return benchJobs(con, c) },
	}
}

// measureFlags are the flags of how a benchmark is measured and reported. start is how long
// a job may wait for its start by default.
func measureFlags(runs int, out string, start time.Duration) []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "runs", Value: runs, Usage: "submit each job `N` times at most"},
		&cli.Float64Flag{Name: "tight", Value: 5, Usage: "enough is measured when each median is known to `PERCENT`"},
		&cli.DurationFlag{Name: "limit", Usage: "begin no further run after this `DURATION`"},
		&cli.DurationFlag{Name: "start-limit", Value: start, Usage: "give a job up that has not started after this `DURATION`, and say why; 0 waits for ever"},
		&cli.BoolFlag{Name: "published", Usage: "the report shows the table published with AWS Batch's GPU demonstration beside ours"},
		&cli.StringFlag{Name: "out", Value: out, Usage: "the `DIRECTORY` of the report"},
		&cli.StringFlag{Name: "prices", Usage: "`FILE` of prices newer than the built-in ones, or of other Regions (default: the platform file's prices)"},
	}
}

// benchmark is a benchmark on its way.
type benchmark struct {
	*term.Console
	t     *target
	sides [2]*benchSide // the CPU's is first
	o     benchOptions
	// gaveUp says that a job did not start in time; failed that one ended otherwise than
	// SUCCEEDED.
	gaveUp, failed bool
}

// benchOptions say what is measured, and how.
type benchOptions struct {
	// files are the CPU's and the GPU's; none: the reference jobs of the workloads.
	files, workloads []string
	// platform is the platform file; "" stands for the one that the flags or the working
	// directory lead to.
	platform string
	isLocal  func(*input) bool
	// parameters are NAME=VALUE for the jobs of a workload, settings PATH=VALUE for those of
	// a side ("CPU", "GPU") and a workload; the command line's come after both.
	parameters func(workload string) []string
	settings   func(side, workload string) []string
	runs       int
	tight      float64 // of 1
	limit      time.Duration
	startLimit time.Duration
	// keeps says that jobs go on when the benchmark is interrupted.
	keeps bool
	// submitting is told before a part's jobs are submitted, submitted when they were
	// accepted; nil for nobody.
	submitting, submitted func(*benchPart) error
}

func benchJobs(con *term.Console, c *cli.Context) error {
	b := &benchmark{Console: con}
	if err := b.understand(c); err != nil {
		return err
	}
	if err := b.load(c); err != nil {
		return err
	}
	out, err := beginReport(c.String("out"))
	if err != nil {
		return err
	}
	why := toChange
	platform := b.sides[0].parts[0].input.platform
	if targetName(c, platform) == localTarget {
		why = toRun
	}
	if b.t, err = openTarget(c.Context, con, c, platform, why); err != nil {
		return err
	}
	note, err := b.repeat(c.Context)
	if err = errors.Join(err, b.t.close()); err != nil {
		return err
	}
	return cmp.Or(b.report(c, out, note), b.verdict())
}

// understand reads the command line of bench.
func (b *benchmark) understand(c *cli.Context) error {
	b.o.files = c.Args().Slice()
	workload := c.String("workload")
	switch {
	case len(b.o.files) == 0 && !slices.Contains([]string{"matrix", "image", "all"}, workload):
		return exit.Usage("--workload %s is not known", workload).Try("the workloads are: matrix image all")
	case len(b.o.files) == 0:
	case len(b.o.files) != 2:
		return exit.Usage("bench takes the CPU's file and the GPU's, or none for the reference jobs").Try("for example: batchctl bench my-cpu.json my-gpu.json")
	case c.IsSet("workload"):
		return exit.Usage("--workload is of the reference jobs, and files are named, too").Try("leave one of them out")
	}
	b.o.workloads = []string{workload}
	if workload == "all" {
		b.o.workloads = []string{"matrix", "image"}
	}
	b.o.isLocal = func(in *input) bool { return targetName(c, in.platform) == localTarget }
	return b.measures(c)
}

// measures reads measureFlags.
func (b *benchmark) measures(c *cli.Context) error {
	if c.Int("runs") < 1 || !(c.Float64("tight") > 0) { // also NaN
		return exit.Usage("--runs counts from 1 up, and --tight is more than 0 %%").Try("for example: --runs 3 --tight 5")
	}
	b.o.runs, b.o.tight, b.o.limit, b.o.startLimit = c.Int("runs"), c.Float64("tight")/100, c.Duration("limit"), c.Duration("start-limit")
	return nil
}

// load reads the files of both sides and plans them.
func (b *benchmark) load(c *cli.Context) error {
	for i, s := range []*benchSide{{name: "CPU", kind: "cpu"}, {name: "GPU", kind: "cuda"}} {
		b.sides[i] = s
		if len(b.o.files) > 0 {
			part := &benchPart{side: s, file: b.o.files[i]}
			s.parts = []*benchPart{part}
			if err := b.loadPart(c, part); err != nil {
				return err
			}
			continue
		}
		for _, workload := range b.o.workloads {
			part := &benchPart{side: s, workload: workload, file: fmt.Sprintf("%s-%s.json", workload, strings.ToLower(s.name))}
			s.parts = append(s.parts, part)
			if err := b.loadPart(c, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// benchRepeats is for the reference jobs: with fewer than 6 repeats no median is known
// to 5 %.
const benchRepeats = "repeats=7"

func (b *benchmark) loadPart(c *cli.Context, part *benchPart) error {
	src, err := b.source(part)
	if err != nil {
		return err
	}
	part.document = []byte(src.Text)
	document := check.Document{Path: part.file, Named: true, Source: src}
	o := check.Options{PlatformFile: cmp.Or(b.o.platform, c.String("platform"))}
	if o.Catalog, err = suppliedTypes(c); err != nil {
		return err
	}
	var words []string
	if part.workload != "" {
		document.Directory, words = ".", []string{benchRepeats} // a reference job has no directory
		here := &input{types: o.Catalog}
		if o.PlatformFile == "" {
			if err := here.findPlatform(c); err != nil {
				return err
			}
			o.PlatformFile = here.platformFile
		}
	}
	if b.o.parameters != nil {
		words = append(words, b.o.parameters(part.workload)...)
	}
	if o.Load.Parameters, err = parseParameters(append(words, c.StringSlice("parameters")...)); err != nil {
		return err
	}
	variables, err := vary(b.Console, c, &o.Load)
	if err != nil {
		return err
	}
	b.Sources = append(b.Sources, variables...)
	if o.Load.Edit, err = b.editing(part, o.Load.Edit); err != nil {
		return err
	}
	in, err := checkInput(b.Console, []check.Document{document}, o)
	if err != nil {
		return err
	}
	part.input = in
	part.made, err = buildPlan(b.Console, c, in, b.o.isLocal(in))
	return err
}

// source is the text of a part's job file.
func (b *benchmark) source(part *benchPart) (*diag.Source, error) {
	if part.workload == "" {
		return read(b.Console, part.file)
	}
	text, err := jobs.Reference.ReadFile(part.file)
	if err != nil {
		return nil, err
	}
	return diag.NewSource(part.file, string(text)), nil
}

// editing is how a part's document is changed before it is checked: by the settings of
// its side, then by the command line, and then so that it prints result lines.
func (b *benchmark) editing(part *benchPart, byUser func(*jsontree.Node) diag.List) (func(*jsontree.Node) diag.List, error) {
	var settings []setting
	if b.o.settings != nil {
		var err error
		if settings, err = parseSettings(b.o.settings(part.side.name, part.workload)); err != nil {
			return nil, err
		}
	}
	return func(root *jsontree.Node) (problems diag.List) {
		for _, s := range settings {
			problems = append(problems, s.apply(root)...)
		}
		if byUser != nil {
			problems = append(problems, byUser(root)...)
		}
		askForJSON(root)
		return problems
	}, nil
}

// askForJSON has a shipped workload print result lines, if its job does not say how it
// is to print.
func askForJSON(root *jsontree.Node) {
	command := root.Get("command")
	known := false
	for _, w := range workloads.All() {
		known = known || w.Name == command.Index(0).Str()
	}
	for word := range command.Children() {
		known = known && !strings.HasPrefix(word.Str(), "--format")
	}
	if known {
		command.Append(jsontree.NewString("--format", command))
		command.Append(jsontree.NewString("json", command))
	}
}

// repeat runs both sides until enough is measured, and says why it ended.
func (b *benchmark) repeat(ctx context.Context) (note string, err error) {
	began := time.Now()
	for run := 1; ; run++ {
		for _, parts := range b.rounds() {
			fmt.Fprintf(b.Err, "run %d of %d at most: %s\n", run, b.o.runs, partNames(parts))
			if err := b.once(ctx, parts); err != nil {
				return "", err
			}
		}
		loose := 0
		measured := false
		for _, s := range b.sides {
			side := s.side()
			loose += len(side.Loose(b.o.tight))
			measured = measured || s.why(side) == ""
		}
		percent := 100 * b.o.tight
		switch {
		case !measured:
			return "nothing could be measured", nil
		case loose == 0:
			return fmt.Sprintf("after %s each median is known to %g %%", term.Plural(run, "run"), percent), nil
		case run == b.o.runs:
			return fmt.Sprintf("%s known less well than to %g %% after %s; --runs takes more", term.Plural(loose, "median"), percent, term.Plural(run, "run")), nil
		case b.o.limit > 0 && time.Since(began) >= b.o.limit:
			return fmt.Sprintf("%s known less well than to %g %% when the limit of %v was over", term.Plural(loose, "median"), percent, b.o.limit), nil
		}
	}
}

// report writes the files and prints the summary.
func (b *benchmark) report(c *cli.Context, out *reportDir, note string) error {
	base, other := b.sides[0].side(), b.sides[1].side()
	comparison := bench.Against(base, other)
	prices, err := b.prices(c)
	if err != nil {
		return err
	}
	decision, err := bench.Decide(comparison, prices, bench.Jobs{Base: b.sides[0].job(), Other: b.sides[1].job()})
	if err != nil {
		return err
	}
	r := &bench.Report{Title: "CPU and GPU, " + time.Now().Format(time.DateOnly), Comparison: comparison, Decision: decision,
		Notes: append([]string{note}, b.partNotes()...)}
	if c.Bool("published") {
		r.Published = bench.Demonstration()
	}
	files, err := r.Files()
	if err != nil {
		return err
	}
	if err := out.keep(files); err != nil {
		return err
	}
	if err := b.Print(r.Summary()); err != nil {
		return err
	}
	fmt.Fprintf(b.Err, "the report: %s\n", diag.Printable(filepath.Join(out.path, "benchmark.html")))
	if b.sides[0].why(base) != "" && b.sides[1].why(other) != "" {
		return exit.Fail(exit.Problem, "nothing was measured: %s", b.sides[0].why(base))
	}
	return nil
}
