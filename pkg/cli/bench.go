package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/jobs"
	"github.com/batchctl/batchctl/pkg/bench"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/spec"
	"github.com/batchctl/batchctl/workloads"
)

func (p *program) benchCommand() *cli.Command {
	return &cli.Command{
		Name:      "bench",
		Usage:     "run the same work on CPU and GPU, and decide: speed-up, cost, break-even size, what to change",
		UsageText: "batchctl bench [FLAGS] [CPU_FILE GPU_FILE]\n   batchctl bench compare [FLAGS] OLD NEW",
		Description: help("Without files it is the reference jobs of a workload. Other files are jobs that print the same result lines, as\n"+
			"--format json of the workloads does. Both are submitted to their queues and followed, again and again until every\n"+
			"median is known to 5 % or --runs are done; on the local engine one after the other. Only verified results have a time. What\n"+
			"cannot be measured here is said, with the reason.",
			"batchctl bench --target local\nbatchctl bench --workload image --parameters sizes=2048 --target prod --out report\n"+
				"batchctl bench my-cpu.json my-gpu.json --runs 5 --limit 2h\nbatchctl bench compare old.json report/benchmark.json"),
		Flags: append(append(append(append(inputFlags(), planFlags()...), targetFlags()...), executorFlags()...),
			&cli.StringFlag{Name: "workload", Value: "matrix", Usage: "`matrix|image`: the reference jobs"},
			&cli.IntFlag{Name: "runs", Value: 3, Usage: "submit each job `N` times at most"},
			&cli.Float64Flag{Name: "tight", Value: 5, Usage: "enough is measured when each median is known to `PERCENT`"},
			&cli.DurationFlag{Name: "limit", Usage: "begin no further run after this `DURATION`"},
			&cli.BoolFlag{Name: "published", Usage: "the report shows the table published with AWS Batch's GPU demonstration beside ours"},
			&cli.StringFlag{Name: "out", Value: "benchmark", Usage: "the `DIRECTORY` of the report"},
			&cli.StringFlag{Name: "prices", Usage: "`FILE` of prices newer than the built-in ones, or of other Regions (default: the platform file's prices)"}),
		Subcommands: []*cli.Command{p.benchCompareCommand()},
		Action:      p.bench,
	}
}

// benchSide is one side of a benchmark.
type benchSide struct {
	name, kind string // "CPU" and cpu, "GPU" and cuda
	file       string
	document   []byte
	input      *input
	made       *plan.Plan
	logs       []*bench.Log
	// absent says why the side cannot be measured; "" while it can.
	absent string
}

func (s *benchSide) side() *bench.Side {
	if s.absent != "" && len(s.logs) == 0 {
		return bench.AbsentSide(s.name, s.absent)
	}
	return bench.NewSide(s.name, s.kind, s.logs...)
}

// benchmark is a benchmark on its way.
type benchmark struct {
	*program
	t     *target
	sides [2]*benchSide // the CPU's is first
}

func (p *program) bench(c *cli.Context) error {
	b := &benchmark{program: p}
	if err := b.load(c); err != nil {
		return err
	}
	out, err := beginReport(c.String("out"))
	if err != nil {
		return err
	}
	why := toChange
	if targetName(c, b.sides[0].input.platform) == localTarget {
		why = toRun
	}
	if b.t, err = p.open(c.Context, c, b.sides[0].input.platform, why); err != nil {
		return err
	}
	note, err := b.repeat(c)
	if err = errors.Join(err, b.t.close()); err != nil {
		return err
	}
	return b.report(c, out, note)
}

// load reads the files of both sides and plans them.
func (b *benchmark) load(c *cli.Context) error {
	files := c.Args().Slice()
	workload := c.String("workload")
	switch {
	case len(files) == 0 && workload != "matrix" && workload != "image":
		return usage("--workload %s is not known", workload).try("the workloads are: matrix image")
	case len(files) == 0:
		files = []string{"", ""}
	case len(files) != 2:
		return usage("bench takes the CPU's file and the GPU's, or none for the reference jobs").try("for example: batchctl bench my-cpu.json my-gpu.json")
	case c.IsSet("workload"):
		return usage("--workload is of the reference jobs, and files are named, too").try("leave one of them out")
	}
	if c.Int("runs") < 1 || c.Float64("tight") <= 0 {
		return usage("--runs counts from 1 up, and --tight is more than 0 %%").try("for example: --runs 3 --tight 5")
	}
	for i, s := range []*benchSide{{name: "CPU", kind: "cpu"}, {name: "GPU", kind: "cuda"}} {
		s.file = files[i]
		if err := b.loadSide(c, s, workload); err != nil {
			return err
		}
		b.sides[i] = s
	}
	return nil
}

// benchRepeats is for the reference jobs: with fewer than 6 repeats no median is known
// to 5 %.
const benchRepeats = "repeats=7"

func (b *benchmark) loadSide(c *cli.Context, s *benchSide, workload string) error {
	var src *diag.Source
	if s.file == "" {
		name := fmt.Sprintf("%s-%s.json", workload, strings.ToLower(s.name))
		text, err := jobs.Reference.ReadFile(name)
		if err != nil {
			return err
		}
		s.file, src = name, diag.NewSource(name, string(text))
	} else {
		var err error
		if src, err = b.read(s.file); err != nil {
			return err
		}
	}
	s.document = []byte(src.Text)
	in := &input{}
	var err error
	if in.types, err = suppliedTypes(c); err != nil {
		return err
	}
	at := s.file
	if !c.Args().Present() {
		at = "." // the reference jobs are nowhere, so the platform file is looked for from here
	}
	if err := in.findPlatform(c, at); err != nil {
		return err
	}
	words := c.StringSlice("parameters")
	if !c.Args().Present() {
		words = append([]string{benchRepeats}, words...)
	}
	parameters, err := parseParameters(words)
	if err != nil {
		return err
	}
	o := spec.Options{Platform: in.platform, Parameters: parameters}
	if err := b.vary(c, &o); err != nil {
		return err
	}
	edit := o.Edit
	o.Edit = func(root *jsontree.Node) (problems diag.List) {
		if edit != nil {
			problems = edit(root)
		}
		askForJSON(root)
		return problems
	}
	in.check([]*diag.Source{src}, o)
	s.input = in
	s.made, err = b.makePlan(c, in, targetName(c, in.platform) == localTarget)
	return err
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
func (b *benchmark) repeat(c *cli.Context) (note string, err error) {
	began, runs, tight := time.Now(), c.Int("runs"), c.Float64("tight")/100
	for run := 1; ; run++ {
		for _, s := range b.sides {
			if s.absent != "" {
				continue
			}
			fmt.Fprintf(b.Err, "run %d of %d at most: %s\n", run, runs, s.name)
			if err := b.once(c.Context, s); err != nil {
				return "", err
			}
		}
		loose := 0
		measured := false
		for _, s := range b.sides {
			side := s.side()
			loose += len(side.Loose(tight))
			measured = measured || side.Absent == ""
		}
		switch limit := c.Duration("limit"); {
		case !measured:
			return "nothing could be measured", nil
		case loose == 0:
			return fmt.Sprintf("after %s each median is known to %g %%", plural(run, "run"), 100*tight), nil
		case run == runs:
			return fmt.Sprintf("%s known less well than to %g %% after %s; --runs takes more", plural(loose, "median"), 100*tight, plural(run, "run")), nil
		case limit > 0 && time.Since(began) >= limit:
			return fmt.Sprintf("%s known less well than to %g %% when the limit of %v was over", plural(loose, "median"), 100*tight, limit), nil
		}
	}
}

// once submits a side's job, follows it and reads its log. A job that cannot be placed
// or that fails leaves its side without a time, with the reason.
func (b *benchmark) once(ctx context.Context, s *benchSide) error {
	sending := &sending{b.program, b.t, s.made}
	// Their logs are data here, and no story.
	jobs, _, err := sending.following(ctx, func(some []client.Submitted) (int, error) {
		f := b.newFollower(b.t, some, nil)
		f.untilStuck = b.t.isLocal()
		return f.run(ctx)
	})
	ended := withID(jobs)
	if stuck, ok := errors.AsType[*errStuck](err); ok {
		s.absent = "this machine can never hold the job"
		if known, describeErr := b.t.Describe(ctx, stuck.job.ID); describeErr == nil {
			s.absent = unplaced(known[0])
		}
		return b.endAll(b.t, ended, "it cannot be placed on this machine")
	}
	if err != nil {
		return errors.Join(err, b.endAll(b.t, ended, "the benchmark ended"))
	}
	for _, job := range ended {
		if err := b.readSide(ctx, s, job.ID); err != nil {
			return err
		}
	}
	return nil
}

// report writes the files and prints the summary.
func (b *benchmark) report(c *cli.Context, out *reportDir, note string) error {
	comparison := bench.Against(b.sides[0].side(), b.sides[1].side())
	prices, err := b.prices(c)
	if err != nil {
		return err
	}
	decision, err := bench.Decide(comparison, prices, bench.Jobs{Base: b.sides[0].job(), Other: b.sides[1].job()})
	if err != nil {
		return err
	}
	r := &bench.Report{Title: "CPU and GPU, " + time.Now().Format(time.DateOnly), Comparison: comparison, Decision: decision, Notes: []string{note}}
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
	if err := b.printText(r.Summary()); err != nil {
		return err
	}
	fmt.Fprintf(b.Err, "the report: %s\n", diag.Printable(filepath.Join(out.path, "benchmark.html")))
	if b.sides[0].side().Absent != "" && b.sides[1].side().Absent != "" {
		return fail(ExitProblem, "nothing was measured: %s", b.sides[0].side().Absent)
	}
	return nil
}

func (s *benchSide) job() bench.Job {
	return bench.Job{Name: s.made.Name, File: s.file, Document: s.document}
}
