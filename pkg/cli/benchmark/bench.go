package benchmark

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
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/workloads"
)

// BenchCommand is batchctl bench.
func BenchCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "bench",
		Usage:     "run the same work on CPU and GPU, and decide: speed-up, cost, break-even size, what to change",
		UsageText: "batchctl bench [FLAGS] [CPU_FILE GPU_FILE]\n   batchctl bench compare [FLAGS] OLD NEW",
		Description: cmdline.Help("Without files it is the reference jobs of a workload, or of all. Other files are jobs that print the same result lines, as\n"+
			"--format json of the workloads does. Both are submitted to their queues and followed together, again and again until\n"+
			"every median is known to 5 % or --runs are done; on the local engine one after the other. Only verified results have a time. What\n"+
			"cannot be measured here is said, with the reason.",
			"batchctl bench --target local\nbatchctl bench --workload image --parameters sizes=2048 --target prod --out report\n"+
				"batchctl bench my-cpu.json my-gpu.json --runs 5 --limit 2h\nbatchctl bench compare old.json report/benchmark.json"),
		Flags: append(append(append(append(append(input.Flags(), preview.PlanFlags()...), cmdline.TargetFlags()...), cmdline.ExecutorFlags()...), MeasureFlags(3, "benchmark", 0)...),
			&cli.StringFlag{Name: "workload", Value: "matrix", Usage: "`matrix|image|all`: the reference jobs"}),
		Subcommands: []*cli.Command{benchCompareCommand(con)},
		Action:      func(c *cli.Context) error { return benchJobs(con, c) },
	}
}

// MeasureFlags are the flags of how a benchmark is measured and reported. start is how long
// a job may wait for its start by default.
func MeasureFlags(runs int, out string, start time.Duration) []cli.Flag {
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

// Benchmark is a benchmark on its way.
type Benchmark struct {
	*term.Console
	Target  *target.Target
	Sides   [2]*benchSide // the CPU's is first
	Options benchOptions
	// gaveUp says that a job did not start in time; failed that one ended otherwise than
	// SUCCEEDED.
	gaveUp, failed bool
}

// benchOptions say what is measured, and how.
type benchOptions struct {
	// files are the CPU's and the GPU's; none: the reference jobs of the workloads.
	files, Workloads []string
	// Platform is the platform file; "" stands for the one that the flags or the working
	// directory lead to.
	Platform string
	IsLocal  func(*input.Input) bool
	// Parameters are NAME=VALUE for the jobs of a workload, settings PATH=VALUE for those of
	// a side ("CPU", "GPU") and a workload; the command line's come after both.
	Parameters func(workload string) []string
	Settings   func(side, workload string) []string
	runs       int
	tight      float64 // of 1
	limit      time.Duration
	StartLimit time.Duration
	// Keeps says that jobs go on when the benchmark is interrupted.
	Keeps bool
	// Submitting is told before a part's jobs are submitted, submitted when they were
	// accepted; nil for nobody.
	Submitting, Submitted func(*BenchPart) error
}

func benchJobs(con *term.Console, c *cli.Context) error {
	b := &Benchmark{Console: con}
	if err := b.understand(c); err != nil {
		return err
	}
	if err := b.Load(c); err != nil {
		return err
	}
	out, err := BeginReport(c.String("out"))
	if err != nil {
		return err
	}
	why := target.ToChange
	platform := b.Sides[0].Parts[0].Input.Platform
	if cmdline.TargetOptions(c).NameFrom(platform) == target.Local {
		why = target.ToRun
	}
	if b.Target, err = session.OpenTarget(c.Context, con, cmdline.TargetOptions(c), platform, why); err != nil {
		return err
	}
	note, err := b.Repeat(c.Context)
	if err = errors.Join(err, b.Target.Close()); err != nil {
		return err
	}
	return cmp.Or(b.Report(c, out, note), b.Verdict())
}

// understand reads the command line of bench.
func (b *Benchmark) understand(c *cli.Context) error {
	b.Options.files = c.Args().Slice()
	workload := c.String("workload")
	switch {
	case len(b.Options.files) == 0 && !slices.Contains([]string{"matrix", "image", "all"}, workload):
		return exit.Usage("--workload %s is not known", workload).Try("the workloads are: matrix image all")
	case len(b.Options.files) == 0:
	case len(b.Options.files) != 2:
		return exit.Usage("bench takes the CPU's file and the GPU's, or none for the reference jobs").Try("for example: batchctl bench my-cpu.json my-gpu.json")
	case c.IsSet("workload"):
		return exit.Usage("--workload is of the reference jobs, and files are named, too").Try("leave one of them out")
	}
	b.Options.Workloads = []string{workload}
	if workload == "all" {
		b.Options.Workloads = []string{"matrix", "image"}
	}
	b.Options.IsLocal = func(in *input.Input) bool { return cmdline.TargetOptions(c).NameFrom(in.Platform) == target.Local }
	return b.Measures(c)
}

// Measures reads measureFlags.
func (b *Benchmark) Measures(c *cli.Context) error {
	if c.Int("runs") < 1 || !(c.Float64("tight") > 0) { // also NaN
		return exit.Usage("--runs counts from 1 up, and --tight is more than 0 %%").Try("for example: --runs 3 --tight 5")
	}
	b.Options.runs, b.Options.tight, b.Options.limit, b.Options.StartLimit = c.Int("runs"), c.Float64("tight")/100, c.Duration("limit"), c.Duration("start-limit")
	return nil
}

// Load reads the files of both sides and plans them.
func (b *Benchmark) Load(c *cli.Context) error {
	for i, s := range []*benchSide{{Name: "CPU", kind: "cpu"}, {Name: "GPU", kind: "cuda"}} {
		b.Sides[i] = s
		if len(b.Options.files) > 0 {
			part := &BenchPart{side: s, file: b.Options.files[i]}
			s.Parts = []*BenchPart{part}
			if err := b.loadPart(c, part); err != nil {
				return err
			}
			continue
		}
		for _, workload := range b.Options.Workloads {
			part := &BenchPart{side: s, workload: workload, file: fmt.Sprintf("%s-%s.json", workload, strings.ToLower(s.Name))}
			s.Parts = append(s.Parts, part)
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

func (b *Benchmark) loadPart(c *cli.Context, part *BenchPart) error {
	src, err := b.source(part)
	if err != nil {
		return err
	}
	part.document = []byte(src.Text)
	document := check.Document{Path: part.file, Named: true, Source: src}
	o := check.Options{PlatformFile: cmp.Or(b.Options.Platform, c.String("platform"))}
	if o.Catalog, err = input.SuppliedTypes(c.String("catalog")); err != nil {
		return err
	}
	var words []string
	if part.workload != "" {
		document.Directory, words = ".", []string{benchRepeats} // a reference job has no directory
		here := &input.Input{Types: o.Catalog}
		if o.PlatformFile == "" {
			if err := here.FindPlatform(cmdline.TargetOptions(c)); err != nil {
				return err
			}
			o.PlatformFile = here.PlatformFile
		}
	}
	if b.Options.Parameters != nil {
		words = append(words, b.Options.Parameters(part.workload)...)
	}
	if o.Load.Parameters, err = input.ParseParameters(append(words, c.StringSlice("parameters")...)); err != nil {
		return err
	}
	variables, err := input.OptionsOf(c).Vary(&o.Load)
	if err != nil {
		return err
	}
	b.Sources = append(b.Sources, variables...)
	if o.Load.Edit, err = b.editing(part, o.Load.Edit); err != nil {
		return err
	}
	in, err := input.CheckInput(b.Console, []check.Document{document}, o)
	if err != nil {
		return err
	}
	part.Input = in
	planned, err := preview.OptionsOf(c)
	if err != nil {
		return err
	}
	part.Made, err = preview.BuildPlan(c.Context, b.Console, planned, in, b.Options.IsLocal(in))
	return err
}

// source is the text of a part's job file.
func (b *Benchmark) source(part *BenchPart) (*diag.Source, error) {
	if part.workload == "" {
		return input.Read(b.Console, part.file)
	}
	text, err := jobs.Reference.ReadFile(part.file)
	if err != nil {
		return nil, err
	}
	return diag.NewSource(part.file, string(text)), nil
}

// editing is how a part's document is changed before it is checked: by the settings of
// its side, then by the command line, and then so that it prints result lines.
func (b *Benchmark) editing(part *BenchPart, byUser func(*jsontree.Node) diag.List) (func(*jsontree.Node) diag.List, error) {
	var settings []input.Setting
	if b.Options.Settings != nil {
		var err error
		if settings, err = input.ParseSettings(b.Options.Settings(part.side.Name, part.workload)); err != nil {
			return nil, err
		}
	}
	return func(root *jsontree.Node) (problems diag.List) {
		for _, s := range settings {
			problems = append(problems, s.Apply(root)...)
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

// Repeat runs both sides until enough is measured, and says why it ended.
func (b *Benchmark) Repeat(ctx context.Context) (note string, err error) {
	began := time.Now()
	for run := 1; ; run++ {
		for _, parts := range b.rounds() {
			fmt.Fprintf(b.Err, "run %d of %d at most: %s\n", run, b.Options.runs, partNames(parts))
			if err := b.once(ctx, parts); err != nil {
				return "", err
			}
		}
		loose := 0
		measured := false
		for _, s := range b.Sides {
			side := s.side()
			loose += len(side.Loose(b.Options.tight))
			measured = measured || s.why(side) == ""
		}
		percent := 100 * b.Options.tight
		switch {
		case !measured:
			return "nothing could be measured", nil
		case loose == 0:
			return fmt.Sprintf("after %s each median is known to %g %%", term.Plural(run, "run"), percent), nil
		case run == b.Options.runs:
			return fmt.Sprintf("%s known less well than to %g %% after %s; --runs takes more", term.Plural(loose, "median"), percent, term.Plural(run, "run")), nil
		case b.Options.limit > 0 && time.Since(began) >= b.Options.limit:
			return fmt.Sprintf("%s known less well than to %g %% when the limit of %v was over", term.Plural(loose, "median"), percent, b.Options.limit), nil
		}
	}
}

// Report writes the files and prints the summary.
func (b *Benchmark) Report(c *cli.Context, out *ReportDir, note string) error {
	base, other := b.Sides[0].side(), b.Sides[1].side()
	comparison := bench.Against(base, other)
	prices, err := b.prices(c)
	if err != nil {
		return err
	}
	decision, err := bench.Decide(comparison, prices, bench.Jobs{Base: b.Sides[0].job(), Other: b.Sides[1].job()})
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
	fmt.Fprintf(b.Err, "the report: %s\n", diag.Printable(filepath.Join(out.Path, "benchmark.html")))
	if b.Sides[0].why(base) != "" && b.Sides[1].why(other) != "" {
		return exit.Fail(exit.Problem, "nothing was measured: %s", b.Sides[0].why(base))
	}
	return nil
}
