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
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/batchctl/batchctl/workloads"
	"github.com/urfave/cli/v2"
)

// BenchCommand is batchctl bench, with more commands after its own.
func BenchCommand(con *term.Console, more ...*cli.Command) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "bench",
		Usage:     "compare CPU and GPU: speed-up, cost, break-even size",
		UsageText: "batchctl bench [FLAGS] [CPU_FILE GPU_FILE]\n   batchctl bench compare [FLAGS] OLD NEW\n   batchctl bench deploy [FLAGS]\n   batchctl bench destroy [FLAGS]",
		Description: cmdline.Help("Without files, it runs the reference jobs of a workload. Your own jobs must print the same result lines, or have a rate or a time in \"metrics\". Both jobs "+
			"are submitted to their queues and followed together, until every median is within 5 % or --runs is reached; the local engine runs "+
			"them one after the other.\n\nOnly verified results, and metrics, have a time. The report says what could not be measured, and why.",
			"batchctl bench --target local\nbatchctl bench --workload image --parameters sizes=2048 --target prod --out report\n"+
				"batchctl bench my-cpu.json my-gpu.json --runs 5 --limit 2h\nbatchctl bench compare old.json report/benchmark.json"),
		Subcommands: append([]*cli.Command{benchCompareCommand(con)}, more...),
	}, benchOptions{Options: Options{Measure: Measure{Runs: 3, Tight: 5, Out: "benchmark"}}, Workload: "matrix"},
		func(ctx context.Context, o benchOptions) error { return benchJobs(ctx, con, o) }, "secrets-from")
}

// benchOptions are the flags of bench.
type benchOptions struct {
	Options
	Workload string `flag:"workload" usage:"<matrix|image|all>: the reference jobs"`
}

// Options say what is measured, and how. bench and bench deploy share them.
type Options struct {
	// Args are the CPU's and the GPU's job file. Without them, the reference jobs of
	// Workloads are measured.
	preview.Options
	Executor target.ExecutorOptions
	Measure
	Workloads []string
	// Platform is the path of the platform file; "" for the one that the flags or the working
	// directory select.
	Platform string
	IsLocal  func(*input.Input) bool
	// ParametersOf returns NAME=VALUE parameters for a workload. SettingsOf returns PATH=VALUE
	// settings for a side ("CPU", "GPU") and a workload. Those of the command line come later.
	ParametersOf func(workload string) []string
	SettingsOf   func(side, workload string) []string
	// Keeps lets jobs continue when the benchmark is interrupted.
	Keeps bool
	// Submitting is called before a part's jobs are submitted, and Submitted after they were
	// accepted, unless they are nil.
	Submitting, Submitted func(*BenchPart) error
}

// Measure says how a benchmark measures and reports.
type Measure struct {
	// Runs is the most submissions of each job.
	Runs int `flag:"runs" usage:"submit each job at most <N> times"`
	// Tight is the wanted confidence interval of each median, in percent of it.
	Tight float64 `flag:"tight" usage:"stop when every median is within <PERCENT>"`
	// Limit is 0 for none.
	Limit      time.Duration `flag:"limit" usage:"start no further run after this <DURATION>"`
	StartLimit time.Duration `flag:"start-limit" usage:"give up on a job that has not started after this <DURATION>, and explain why; 0 waits indefinitely"`
	Published  bool          `flag:"published" usage:"compare with the table published with AWS Batch's GPU demonstration"`
	// Out is the directory of the report.
	Out    string             `flag:"out" usage:"the <DIRECTORY> of the report"`
	Prices preview.PricesFile `flag:"prices"`
}

// Benchmark is a running benchmark. Its methods are called in the order Load,
// Repeat, Report, Verdict.
type Benchmark struct {
	*term.Console
	Target  *target.Target
	Sides   [2]*benchSide // CPU, then GPU
	Options Options
	// gaveUp reports that a job did not start in time; failed reports that one did not end
	// SUCCEEDED.
	gaveUp, failed bool
}

// benchJobs is batchctl bench.
func benchJobs(ctx context.Context, con *term.Console, o benchOptions) error {
	o.Target.Executor = o.Executor
	o.Target.Executor.Runs = true
	if err := o.check(); err != nil {
		return err
	}
	b := &Benchmark{Console: con, Options: o.Options}
	b.Options.Workloads = []string{o.Workload}
	if o.Workload == "all" {
		b.Options.Workloads = []string{"matrix", "image"}
	}
	b.Options.IsLocal = func(in *input.Input) bool { return o.Target.NameFrom(in.Platform) == target.Local }
	if err := b.Load(ctx); err != nil {
		return err
	}
	if err := BeginReport(o.Out); err != nil {
		return err
	}
	why := target.ToChange
	in := b.Sides[0].Parts[0].Input
	if b.Options.IsLocal(in) {
		why = target.ToRun
	}
	var err error
	if b.Target, err = session.OpenTarget(ctx, con, o.Target, in.Platform, why); err != nil {
		return err
	}
	note, err := b.Repeat(ctx)
	if err = errors.Join(err, b.Target.Close()); err != nil {
		return err
	}
	return cmp.Or(b.Report(note), b.Verdict())
}

// check refuses invalid flags and arguments of bench.
func (o benchOptions) check() error {
	switch {
	case len(o.Args) == 0 && !slices.Contains([]string{"matrix", "image", "all"}, o.Workload):
		return cmdline.UnknownValue("workload", o.Workload, "the workloads are", "matrix", "image", "all")
	case len(o.Args) == 0:
	case len(o.Args) != 2:
		return exit.Usage("bench needs a CPU file and a GPU file, or no files to run the reference jobs").
			Try("%s", diag.Instead(o.Args[0], []string{"compare", "deploy", "destroy"},
				diag.Offer{Near: "did you mean: batchctl bench %s",
					Are: "for example: batchctl bench my-cpu.json my-gpu.json; its commands are"}))
	case o.IsSet("workload"):
		return exit.Usage("--workload cannot be combined with files").Try("omit one of them")
	}
	return o.Check()
}

// Check refuses values with which nothing can be measured.
func (o Measure) Check() error {
	if o.Runs < 1 || !(o.Tight > 0) { // also NaN
		return exit.Usage("--runs must be at least 1, and --tight must be more than 0 %%").
			Try("for example: --runs 3 --tight 5")
	}
	return nil
}

// Load reads the job files of both sides and plans them. It sends no request.
func (b *Benchmark) Load(ctx context.Context) error {
	for i, s := range []*benchSide{{Name: "CPU", kind: "cpu"}, {Name: "GPU", kind: "cuda"}} {
		b.Sides[i] = s
		if len(b.Options.Args) > 0 {
			part := &BenchPart{side: s, file: b.Options.Args[i]}
			s.Parts = []*BenchPart{part}
			if err := b.loadPart(ctx, part); err != nil {
				return err
			}
			continue
		}
		for _, workload := range b.Options.Workloads {
			part := &BenchPart{side: s, workload: workload, file: fmt.Sprintf("%s-%s.json", workload,
				strings.ToLower(s.Name))}
			s.Parts = append(s.Parts, part)
			if err := b.loadPart(ctx, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// benchRepeats is the parameter of the reference jobs. With fewer than 6 repeats, no median
// has a confidence interval of 5 %.
const benchRepeats = "repeats=7"

// loadPart reads, checks and plans the job file of one part.
func (b *Benchmark) loadPart(ctx context.Context, part *BenchPart) error {
	src, err := b.source(part)
	if err != nil {
		return err
	}
	part.document = []byte(src.Text)
	document := check.Document{Path: part.file, Named: true, Source: src}
	o := check.Options{PlatformFile: cmp.Or(b.Options.Platform, b.Options.Target.Platform)}
	if o.Catalog, err = input.SuppliedTypes(b.Options.Catalog); err != nil {
		return err
	}
	var parameters []string
	if part.workload != "" {
		document.Directory, parameters = ".", []string{benchRepeats} // a reference job has no directory
		nearest := &input.Input{Types: o.Catalog}
		if o.PlatformFile == "" {
			if err := nearest.FindPlatform(b.Options.Target); err != nil {
				return err
			}
			o.PlatformFile = nearest.PlatformFile
		}
	}
	if b.Options.ParametersOf != nil {
		parameters = append(parameters, b.Options.ParametersOf(part.workload)...)
	}
	if o.Load.Parameters, err = input.ParseParameters(append(parameters, b.Options.Parameters...)); err != nil {
		return err
	}
	variables, err := b.Options.Vary(&o.Load)
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
	part.Plan, err = preview.BuildPlan(ctx, b.Console, b.Options.Options, in, b.Options.IsLocal(in))
	return err
}

// source returns the text of a part's job file.
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

// editing returns the function that changes a part's document before it is
// checked. It applies the settings of the side, then those of the command line,
// and finally makes the workload print result lines.
func (b *Benchmark) editing(part *BenchPart,
	byUser func(*jsontree.Node) diag.List) (func(*jsontree.Node) diag.List, error) {
	var settings []input.Setting
	if b.Options.SettingsOf != nil {
		var err error
		if settings, err = input.ParseSettings(b.Options.SettingsOf(part.side.Name, part.workload)); err != nil {
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

// askForJSON adds --format json to a reference workload, unless its job has a
// --format already.
func askForJSON(root *jsontree.Node) {
	command := root.Get("command")
	known := false
	for _, w := range workloads.All() {
		known = known || w.Name == command.Index(0).Str()
	}
	for arg := range command.Children() {
		known = known && !strings.HasPrefix(arg.Str(), "--format")
	}
	if known {
		command.Append(jsontree.NewString("--format", command))
		command.Append(jsontree.NewString("json", command))
	}
}

// Repeat runs both sides until every median is tight enough, or a limit is
// reached. The note says why it ended.
func (b *Benchmark) Repeat(ctx context.Context) (note string, err error) {
	began := time.Now()
	for run := 1; ; run++ {
		for _, parts := range b.rounds() {
			fmt.Fprintf(b.Err, "run %d of at most %d: %s\n", run, b.Options.Runs, partNames(parts))
			if err := b.once(ctx, parts); err != nil {
				return "", err
			}
		}
		loose := 0
		measured := false
		for _, s := range b.Sides {
			side := s.side()
			loose += len(side.Loose(b.Options.Tight / 100))
			measured = measured || side.Untimed() == ""
		}
		percent := b.Options.Tight
		switch {
		case !measured:
			return "nothing could be measured", nil
		case loose == 0:
			return fmt.Sprintf("after %s, each median is known to within %g %%", text.Count(run, "run"), percent), nil
		case run == b.Options.Runs:
			return fmt.Sprintf("%s not yet known to within %g %% after %s; to measure more, raise --runs",
				text.Count(loose, "median"), percent, text.Count(run, "run")), nil
		case b.Options.Limit > 0 && time.Since(began) >= b.Options.Limit:
			return fmt.Sprintf("%s not yet known to within %g %% when the limit of %v was reached",
				text.Count(loose, "median"), percent, b.Options.Limit), nil
		}
	}
}

// Report compares the sides, writes the files of the report and prints the
// summary.
func (b *Benchmark) Report(note string) error {
	base, other := b.Sides[0].side(), b.Sides[1].side()
	comparison := bench.Against(base, other)
	prices, err := b.prices()
	if err != nil {
		return err
	}
	decision, err := bench.Decide(comparison, prices, bench.Jobs{Base: b.Sides[0].job(), Other: b.Sides[1].job()})
	if err != nil {
		return err
	}
	r := &bench.Report{Title: "CPU and GPU, " + time.Now().Format(time.DateOnly), Comparison: comparison,
		Decision: decision,
		Notes:    append([]string{note}, b.partNotes()...)}
	if b.Options.Published {
		r.Published = bench.Demonstration()
	}
	files, err := r.Files()
	if err != nil {
		return err
	}
	if err := keepReport(b.Options.Out, files); err != nil {
		return err
	}
	if err := b.Print(r.Summary()); err != nil {
		return err
	}
	fmt.Fprintf(b.Err, "the report: %s\n", diag.Printable(filepath.Join(b.Options.Out, "benchmark.html")))
	if why := base.Untimed(); why != "" && other.Untimed() != "" {
		return exit.Fail(exit.Problem, "nothing was measured: %s", why)
	}
	return nil
}
