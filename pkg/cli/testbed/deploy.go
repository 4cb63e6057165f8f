package testbed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/benchmark"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/platform"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/infra"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/testbed"
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/urfave/cli/v2"
)

// The benchmark runs the steps of other commands: infra deploy, an image, infra outputs,
// bench, and finally infra destroy. This file has their order, and what the benchmark
// records to continue after an interrupt.

// Commands are bench deploy and bench destroy.
func Commands(con *term.Console) []*cli.Command {
	return []*cli.Command{DeployCommand(con), destroyCommand(con)}
}

// DeployCommand is batchctl bench deploy.
func DeployCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "deploy",
		Usage:     "deploy queues, benchmark CPU against GPU on them, and clean up",
		UsageText: "batchctl bench deploy [FLAGS]",
		Description: cmdline.Help("Shows what it will create and the maximum cost, and asks. Then it deploys the stacks, pushes the images to ECR, and runs the matrix and image "+
			"benchmarks on CPU and GPU.\n\nIf it is interrupted, run the same command again. If a job fails or does not start, it stops and prints the reason. Delete everything with batchctl "+
			"bench destroy, or pass --destroy-after. --target local runs the same benchmarks on this machine.",
			"batchctl bench deploy --target local\nbatchctl bench deploy --target aws --max-cost 5\nbatchctl bench deploy --target aws --yes --destroy-after --published\n"+
				"batchctl bench destroy"),
	}, options{Measure: benchmark.Measure{Runs: 1, Tight: 5, StartLimit: 30 * time.Minute, Out: reports},
		names: names{Prefix: prefix},
		Sizes: "1000,5000,8000,10000", ImageSizes: "2048,4096", Batch: "1,2", Builder: "container"},
		func(ctx context.Context, o options) error { return run(ctx, con, o) }, "secrets-from")
}

// reports is the default directory of the reports.
const reports = "benchmark"

// prefix is the default of --prefix.
const prefix = "batchctl-bench"

// options are the flags of bench deploy and bench destroy.
type options struct {
	cmdline.Given
	Target   target.Options
	Executor target.ExecutorOptions
	benchmark.Measure
	names
	MaxCost      preview.MaxCost `flag:"max-cost"`
	DestroyAfter bool            `flag:"destroy-after" usage:"delete everything at the end, also after a failure or Ctrl-C"`
	// StackParameters are NAME=VALUE.
	StackParameters []string    `flag:"parameter" usage:"set a template parameter, <NAME=VALUE>, such as GpuInstanceTypes=g5.xlarge; may be repeated"`
	Sizes           matrixSizes `flag:"sizes"`
	ImageSizes      string      `flag:"image-sizes" usage:"<SIZES> of the images"`
	Batch           string      `flag:"batch" usage:"the batch sizes: <NUMBERS> of images processed at a time"`
	Parameters      []string    `flag:"parameters" usage:"<NAME=VALUE> of the jobs, such as repeats=9; may be repeated"`
	Env             []string    `flag:"env" usage:"set a variable of the jobs, <NAME=VALUE>; may be repeated"`
	Set             []string    `flag:"set" usage:"change a member of all jobs, <PATH=VALUE>, such as timeout=1h; may be repeated"`
	// CPUImage and GPUImage are your own images; "" for those that batchctl builds.
	CPUImage string `flag:"cpu-image" usage:"use this <IMAGE> for the CPU jobs instead of building one"`
	GPUImage string `flag:"gpu-image" usage:"use this <IMAGE> for the GPU jobs instead of building one"`
	Builder  string `flag:"builder" usage:"the program that builds and pushes images: <docker|podman|container> (container: docker if its daemon answers, else podman)"`
	Programs string `flag:"workloads" usage:"the <DIRECTORY> of batchctl-workloads for Linux on x86_64 (default: beside batchctl)"`
	GPUBase  string `flag:"gpu-base" usage:"the base <IMAGE> of the GPU image, with a C library or CUDA (default: the Dockerfile's)"`
	Registry string `flag:"registry" usage:"push to the registry <HOST/PREFIX> instead of ECR, with your own login; the hosts must reach it"`
}

// names are the names of everything that bench deploy creates, and whether it asks before.
type names struct {
	Prefix string `flag:"prefix" usage:"the <PREFIX> of all names"`
	Yes    bool   `flag:"yes,y" usage:"do not ask"`
}

// matrixSizes are the sizes of the matrices.
type matrixSizes string

// Usage is the help of --sizes.
func (matrixSizes) Usage() string {
	return "<SIZES> of the matrices (with --target local: " + testbed.LocalSizes + ")"
}

// sequence is a running benchmark.
type sequence struct {
	*term.Console
	o options
	t *target.Target
	// t's entry in the platform file
	entry  document.Target
	stacks *infra.Stacks
	memory *testbed.Memory
	// of the templates, with defaults
	parameters map[string]string
	images     images
	bench      *benchmark.Benchmark
	// agreed reports that you confirmed the offer. Resources are created only after that.
	agreed bool
}

// begin returns a benchmark whose target is not open yet.
func begin(con *term.Console, o options) *sequence {
	o.Target.Executor = o.Executor
	o.Target.Executor.Runs = true
	jobs := input.Options{Given: o.Given, Target: o.Target, Parameters: o.Parameters, Set: o.Set, Env: o.Env}
	return &sequence{Console: con, o: o, bench: &benchmark.Benchmark{Console: con,
		Options: benchmark.Options{Options: preview.Options{Options: jobs}, Measure: o.Measure}}}
}

// run is batchctl bench deploy. With --destroy-after it deletes everything, also
// after an error, if anything may have been created.
func run(ctx context.Context, con *term.Console, o options) error {
	if len(o.Args) > 0 {
		return exit.Usage("bench deploy takes no names").Try("see batchctl bench deploy --help")
	}
	q := begin(con, o)
	if err := o.Check(); err != nil {
		return err
	}
	in := &input.Input{PlacesNothing: true}
	if err := q.findPlatform(in); err != nil {
		return err
	}
	if o.Target.NameFrom(in.Platform) == target.Local {
		return q.local(ctx, in.Platform)
	}
	if !testbed.ValidPrefix(o.Prefix) {
		return exit.Usage("invalid --prefix %s: stack names cannot begin with it", o.Prefix).
			Try("use 2 to 26 lower-case letters, digits and hyphens, starting with a letter: --prefix trial")
	}
	if !o.Yes && !term.IsTerminal(con.In) {
		return exit.Usage("bench deploy needs a confirmation, but there is no terminal").
			Try("pass --yes and --max-cost USD; or without AWS: batchctl bench deploy --target local")
	}
	if err := q.open(ctx, in.Platform); err != nil {
		return err
	}
	defer q.t.Close()
	err := q.runSteps(ctx)
	if q.agreed && o.DestroyAfter {
		return errors.Join(err, q.removeAfter(ctx, err))
	}
	return err
}

// open opens the target, and reads the memory that an earlier process left in the
// directory.
func (q *sequence) open(ctx context.Context, file *document.Platform) (err error) {
	if q.t, err = session.OpenTarget(ctx, q.Console, q.o.Target, file, target.ToChange); err != nil {
		return err
	}
	if file != nil {
		q.entry, _ = file.Target(q.t.Name)
	}
	if q.memory, err = testbed.Recall(q.o.Out); err != nil {
		return err
	}
	if err := q.memory.Belongs(q.t.Kind(), q.o.Prefix, q.o.Out); err != nil {
		return err
	}
	q.stacks = platform.Stacks(q.Console, q.t, testbed.Templates(), q.o.Prefix)
	q.stacks.Progress = q.quarters()
	q.stacks.Approve = func(proposal *infra.Proposal) (bool, error) {
		fmt.Fprintf(q.Err, "stack %s: %s, %s\n", diag.Printable(proposal.Stack), proposal.Action,
			text.Count(len(proposal.Changes), "change"))
		return true, nil // the offer was confirmed for all stacks
	}
	q.stacks.Confirm = func(question string) (bool, error) {
		fmt.Fprintf(q.Err, "%s yes: the benchmark's own\n", diag.Printable(question))
		return true, nil
	}
	return nil
}

// runSteps runs all steps, from the offer to the summary.
func (q *sequence) runSteps(ctx context.Context) error {
	if err := q.prepare(ctx); err != nil {
		return err
	}
	offer, err := q.offer(ctx)
	if err != nil {
		return err
	}
	fmt.Fprint(q.Err, q.text(offer))
	if err := within(offer, string(q.o.MaxCost)); err != nil {
		return err
	}
	yes, err := platform.Confirm(ctx, q.Console, q.o.Yes, "continue?")
	if err != nil || !yes {
		return cmp.Or(err, error(exit.Fail(exit.NotDone, "not confirmed; nothing was created").
			Try("to try it without AWS: batchctl bench deploy --target local")))
	}
	q.agreed = true
	// From here on, destroy must find what this process creates.
	if err := q.memory.Begin(q.t.Kind(), q.stacks.Prefix); err != nil {
		return err
	}
	if _, err := platform.DeployStacks(ctx, q.Console, q.stacks, testbed.Wanted(q.parameters), q.parameters); err != nil {
		return platform.StackFailure(ctx, err, q.o.statusCommand(), q.o.again(""))
	}
	if err := q.provide(ctx); err != nil {
		return err
	}
	// Also after a failure, print what still costs money.
	err = q.measure(ctx)
	q.printRemaining(offer)
	return err
}

// prepare checks everything that can be wrong before something is created.
func (q *sequence) prepare(ctx context.Context) error {
	if err := benchmark.BeginReport(q.o.Out); err != nil {
		return err
	}
	given, err := platform.StackParameters(q.o.StackParameters)
	if err != nil {
		return err
	}
	q.parameters = testbed.Parameters(q.stacks.Prefix)
	maps.Copy(q.parameters, given)
	call := &platform.InfraCall{Stacks: q.stacks, Given: given}
	if err := call.KnowsParameters(ctx); err != nil {
		return platform.StackFailure(ctx, err, q.o.statusCommand(), q.o.again(""))
	}
	return q.chooseImages(ctx)
}

// provide pushes the images, and writes a platform file with the queues of the
// stacks.
func (q *sequence) provide(ctx context.Context) error {
	if err := q.pushImages(ctx); err != nil {
		return err
	}
	outputs, err := q.stacks.Outputs(ctx, testbed.Wanted(q.parameters))
	if err != nil {
		return platform.StackFailure(ctx, err, q.o.statusCommand(), q.o.again(""))
	}
	queues, err := q.stacks.Queues(ctx, outputs)
	if err != nil {
		return platform.StackFailure(ctx, err, q.o.statusCommand(), q.o.again(""))
	}
	queues = slices.DeleteFunc(queues, func(queue infra.Queue) bool {
		return queue.Alias != "cpu" &&
			queue.Alias != "gpu"
	})
	if len(queues) < 2 {
		return exit.Fail(exit.NotDone, "the stacks' outputs contain %s; the benchmark needs a CPU and a GPU queue",
			text.Count(len(queues), "job queue")).Try("see them: %s", q.o.statusCommand())
	}
	return q.writePlatform(queues)
}

// writePlatform writes the benchmark's own platform file. With it, other
// commands find the jobs: batchctl status --platform DIRECTORY/batchctl.json.
func (q *sequence) writePlatform(queues []infra.Queue) error {
	entry := map[string]string{"region": q.t.Config.Region}
	of := q.o.Target.Override(q.entry)
	for name, value := range map[string]string{"profile": of.Profile, "roleArn": of.RoleARN, "accountId": of.AccountID,
		"endpoint": of.Endpoint} {
		if value != "" {
			entry[name] = value
		}
	}
	head, err := term.JSONText(map[string]any{"$comment": "Written by batchctl bench deploy.",
		"defaultTarget": targetName, "targets": map[string]any{targetName: entry}})
	if err != nil {
		return err
	}
	text, _, err := infra.AddQueues(diag.NewSource(document.PlatformFile, string(head)), queues)
	if err != nil {
		return err
	}
	return newfile.Write(q.o.platformFile(), newfile.ForAll, newfile.Bytes([]byte(text)))
}

// targetName is the name of the target in that file.
const targetName = "benchmark"

// platformFile returns the path of that file.
func (o options) platformFile() string { return filepath.Join(o.Out, document.PlatformFile) }

// statusCommand returns the command line that shows the stacks.
func (o options) statusCommand() string {
	return "batchctl infra status --prefix " + o.Prefix + o.where()
}

// again returns the command line that continues the benchmark, or with verb
// another of its commands.
func (o options) again(verb string) string {
	line := "batchctl bench " + cmp.Or(verb, "deploy")
	if o.IsSet("prefix") {
		line += " --prefix " + o.Prefix
	}
	if o.IsSet("out") {
		line += " --out " + term.Quoted(o.Out)
	}
	return line + o.where()
}

// where returns the flags that select the target.
func (o options) where() string {
	line := ""
	for _, flag := range [][2]string{{"target", o.Target.Name}, {"profile", o.Target.Profile},
		{"region", o.Target.Region}, {"endpoint-url", o.Target.EndpointURL}, {"platform", o.Target.Platform}} {
		if flag[1] != "" {
			line += " --" + flag[0] + " " + term.Quoted(flag[1])
		}
	}
	return line
}

// quarters returns a function that prints a stack's progress at each quarter, and
// failures at once.
func (q *sequence) quarters() func(infra.Progress) {
	printed := map[string]int{}
	return func(progress infra.Progress) {
		if strings.HasSuffix(string(progress.Event.ResourceStatus), "_FAILED") {
			platform.StackEvent(q.Console, progress)
			return
		}
		if progress.Total == 0 {
			return
		}
		if quarter := 4 * progress.Done / progress.Total; quarter > printed[progress.Stack] && quarter < 4 {
			printed[progress.Stack] = quarter
			fmt.Fprintf(q.Err, "  %d of %d\n", progress.Done, progress.Total)
		}
	}
}

// removeAfter deletes everything for --destroy-after. It also runs after Ctrl-C;
// a second Ctrl-C stops it. why is the error of the run.
func (q *sequence) removeAfter(ctx context.Context, why error) error {
	if ctx.Err() != nil {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
		defer stop()
		fmt.Fprintf(q.Err, "interrupted; --destroy-after deletes everything. Press Ctrl-C again to keep it: %s\n",
			q.o.again("destroy"))
	} else if why != nil {
		fmt.Fprintln(q.Err, "--destroy-after deletes everything that was created:")
	}
	r, err := q.remains(ctx)
	if err == nil {
		err = q.remove(ctx, r)
	}
	return err
}

// local is the benchmark without AWS: it runs both benchmarks on the local
// engine.
func (q *sequence) local(ctx context.Context, platform *document.Platform) (err error) {
	for _, name := range []string{"max-cost", "destroy-after", "registry", "cpu-image", "gpu-image", "parameter"} {
		if q.o.IsSet(name) {
			return exit.Usage("--%s works only for a benchmark on AWS", name).
				Try("omit it, or name a target: --target NAME")
		}
	}
	b := q.bench
	q.jobs(true, "")
	if err := b.Load(ctx); err != nil {
		return err
	}
	if err := benchmark.BeginReport(q.o.Out); err != nil {
		return err
	}
	if b.Target, err = session.OpenTarget(ctx, q.Console, q.o.Target, platform, target.ToRun); err != nil {
		return err
	}
	note, err := b.Repeat(ctx)
	if err = errors.Join(err, b.Target.Close()); err != nil {
		return err
	}
	if err := b.Report(note); err != nil {
		return err
	}
	fmt.Fprintln(q.Err, "nothing is left running; the same on AWS: batchctl bench deploy --target aws")
	return b.Verdict()
}
