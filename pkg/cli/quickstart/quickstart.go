package quickstart

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

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/benchmark"
	"github.com/batchctl/batchctl/pkg/cli/cloud"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/infra"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/templates"
)

// The quick start is a sequence of what other commands do: infra deploy, an image, infra
// outputs, bench, and at the end infra destroy. Here is the order, and what it needs to
// know of itself to go on where it was cut off.

// QuickstartCommand is batchctl quickstart.
func QuickstartCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "quickstart",
		Usage:     "from nothing to a benchmark of CPU and GPU on AWS Batch in one command, and all of it away in another",
		UsageText: "batchctl quickstart [FLAGS]\n   batchctl quickstart destroy [FLAGS]",
		Description: cmdline.Help("Says what it makes and costs, asks, deploys the stacks, brings the images into ECR, runs the matrix and the image benchmark\n"+
			"on CPU and GPU, and writes cpu-benchmark.txt, gpu-benchmark.txt, benchmark-summary.txt and the other reports. Cut off at\n"+
			"any moment, the same command goes on. A job that fails or does not start ends the wait, with the reason. What it made stays\n"+
			"until batchctl quickstart destroy, or --destroy-after. --target local does the same on this machine and needs nothing.",
			"batchctl quickstart --target local\nbatchctl quickstart --target aws --max-cost 5\nbatchctl quickstart --target aws --yes --destroy-after --published\n"+
				"batchctl quickstart destroy"),
		Flags: jobs.Flags(slices.Concat(cmdline.ExecutorFlags(), benchmark.MeasureFlags(1, "quickstart", 30*time.Minute), quickstartFlags())...),
		Subcommands: []*cli.Command{{
			Name: "destroy", Usage: "remove all that the quick start made: jobs, stacks, images, job definitions, logs",
			UsageText: "batchctl quickstart destroy [FLAGS]",
			Description: cmdline.Help("Lists it, asks, removes it, and looks at the end whether anything is left. The reports stay in their directory.",
				"batchctl quickstart destroy\nbatchctl quickstart destroy --target prod --prefix trial --yes"),
			Flags: jobs.Flags(quickstartOut(), prefixFlag(), yesFlag()), Action: func(c *cli.Context) error { return quickstartDestroy(con, c) },
		}},
		Action: func(c *cli.Context) error { return runQuickstart(con, c) },
	}
}

func quickstartOut() cli.Flag {
	return &cli.StringFlag{Name: "out", Value: "quickstart", Usage: "the `DIRECTORY` of the quick start: its reports, platform file and memory"}
}

func prefixFlag() cli.Flag {
	return &cli.StringFlag{Name: "prefix", Value: "batchctl-quickstart", Usage: "names of all that is made begin with `PREFIX`"}
}

func yesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"}
}

func quickstartFlags() []cli.Flag {
	return []cli.Flag{
		prefixFlag(), yesFlag(), preview.MaxCostFlag(),
		&cli.BoolFlag{Name: "destroy-after", Usage: "remove all of it at the end, also after a failure and after Ctrl-C"},
		&cli.StringSliceFlag{Name: "parameter", Usage: "`NAME=VALUE` of a template's parameter, such as GpuInstanceTypes=g5.xlarge; may be repeated"},
		&cli.StringFlag{Name: "sizes", Value: "1000,5000,8000,10000", Usage: "`SIZES` of the matrices (with --target local: " + quickLocalSizes + ")"},
		&cli.StringFlag{Name: "image-sizes", Value: "2048,4096", Usage: "`SIZES` of the images"},
		&cli.StringFlag{Name: "batch", Value: "1,2", Usage: "`NUMBERS` of images at a time"},
		&cli.StringSliceFlag{Name: "parameters", Usage: "`NAME=VALUE` of the jobs, such as repeats=9; may be repeated"},
		&cli.StringSliceFlag{Name: "env", Usage: "`NAME=VALUE` for the jobs' environment; may be repeated"},
		&cli.StringSliceFlag{Name: "set", Usage: "`PATH=VALUE` changes a member of all jobs, as in timeout=1h; may be repeated"},
		&cli.StringFlag{Name: "cpu-image", Usage: "the `IMAGE` of the CPU jobs: none is built for them"},
		&cli.StringFlag{Name: "gpu-image", Usage: "the `IMAGE` of the GPU jobs: none is built for them"},
		&cli.StringFlag{Name: "builder", Value: "container", Usage: "what builds and pushes images: `docker|podman|container` (container: docker if its daemon answers, else podman)"},
		&cli.StringFlag{Name: "workloads", Usage: "the `DIRECTORY` of batchctl-workloads for Linux on x86_64 (default: beside batchctl)"},
		&cli.StringFlag{Name: "gpu-base", Usage: "the `IMAGE` with a C library, or with CUDA too, that the GPU image is built on (default: the Dockerfile's)"},
		&cli.StringFlag{Name: "registry", Usage: "push to `HOST/PREFIX` in place of the stack's ECR repository, with your own login: a registry of the organisation, which the hosts must reach"},
	}
}

// quickstart is a quick start on its way.
type quickstart struct {
	*term.Console
	c      *cli.Context
	dir    string // --out
	t      *target.Target
	entry  document.Target // t as the platform file has it
	stacks *infra.Stacks
	memory *quickstartMemory
	given  map[string]string // parameters of the templates
	images *workloadImages
	bench  *benchmark.Benchmark
	// agreed says that the question was answered yes: from then on things are made.
	agreed bool
}

func runQuickstart(con *term.Console, c *cli.Context) error {
	if c.Args().Present() {
		return exit.Usage("quickstart takes no names").Try("it has one command: batchctl quickstart destroy")
	}
	q := &quickstart{Console: con, c: c, dir: c.String("out"), bench: &benchmark.Benchmark{Console: con}}
	if err := q.bench.Measures(c); err != nil {
		return err
	}
	in := &input.Input{PlacesNothing: true}
	if err := q.findPlatform(in); err != nil {
		return err
	}
	if cmdline.TargetOptions(c).NameFrom(in.Platform) == target.Local {
		return q.local(in.Platform)
	}
	if !quickPrefix(c.String("prefix")) {
		return exit.Usage("--prefix %s cannot begin the names of stacks", c.String("prefix")).Try("3 to 26 lower-case letters, digits and hyphens, a letter first, such as: --prefix trial")
	}
	if !c.Bool("yes") && !term.IsTerminal(con.In) {
		return exit.Usage("quickstart asks before it makes anything, and there is no terminal to ask on").
			Try("say --yes, and --max-cost USD; or without AWS: batchctl quickstart --target local")
	}
	if err := q.open(in.Platform); err != nil {
		return err
	}
	defer q.t.Close()
	err := q.road(c.Context)
	if q.agreed && c.Bool("destroy-after") {
		return errors.Join(err, q.destroyAfter(err))
	}
	return err
}

// open finds target, directory, and what an earlier process has left there.
func (q *quickstart) open(platform *document.Platform) (err error) {
	if q.t, err = session.OpenTarget(q.c.Context, q.Console, cmdline.TargetOptions(q.c), platform, target.ToChange); err != nil {
		return err
	}
	if platform != nil {
		q.entry, _ = platform.Target(q.t.Name)
	}
	if q.memory, err = recallQuickstart(q.dir); err != nil {
		return err
	}
	if err := q.memory.belongs(q.t, q.c.String("prefix"), q.dir); err != nil {
		return err
	}
	q.stacks = cloud.Stacks(q.Console, q.t, quickTemplates(), q.c.String("prefix"))
	q.stacks.Progress = q.quarters()
	q.stacks.Approve = func(proposal *infra.Proposal) (bool, error) {
		fmt.Fprintf(q.Err, "stack %s: %s, %s\n", diag.Printable(proposal.Stack), proposal.Action, term.Plural(len(proposal.Changes), "change"))
		return true, nil // the question has been answered for all of them
	}
	q.stacks.Confirm = func(question string) (bool, error) {
		fmt.Fprintf(q.Err, "%s yes: the quick start's own\n", diag.Printable(question))
		return true, nil
	}
	return nil
}

// road is the quick start from nothing to the summary.
func (q *quickstart) road(ctx context.Context) error {
	if err := q.prepare(ctx); err != nil {
		return err
	}
	offer, err := q.offer()
	if err != nil {
		return err
	}
	fmt.Fprint(q.Err, offer.text(q))
	if err := offer.within(q.c.String("max-cost")); err != nil {
		return err
	}
	yes, err := cloud.Confirm(ctx, q.Console, q.c.Bool("yes"), "go on?")
	if err != nil || !yes {
		return cmp.Or(err, error(exit.Fail(exit.NotDone, "not confirmed: nothing was made").Try("to see it without AWS: batchctl quickstart --target local")))
	}
	q.agreed = true
	if err := q.memory.begin(q.t, q.stacks.Prefix); err != nil {
		return err
	}
	if _, err := cloud.DeployStacks(ctx, q.Console, q.stacks, q.wanted(), q.given); err != nil {
		return cloud.StackFailure(ctx, err, q.look(), q.again(""))
	}
	if err := q.provide(ctx); err != nil {
		return err
	}
	err = q.measure(ctx)
	q.tellStanding(offer)
	return err
}

// prepare reads everything that can be wrong before something is made.
func (q *quickstart) prepare(ctx context.Context) error {
	if _, err := benchmark.BeginReport(q.dir); err != nil {
		return err
	}
	given, err := cloud.StackParameters(q.c.StringSlice("parameter"))
	if err != nil {
		return err
	}
	q.given = quickParameters(q.stacks.Prefix)
	maps.Copy(q.given, given)
	call := &cloud.InfraCall{Stacks: q.stacks, Given: given}
	if err := call.KnowsParameters(ctx); err != nil {
		return cloud.StackFailure(ctx, err, q.look(), q.again(""))
	}
	q.images, err = q.chooseImages(ctx)
	return err
}

// quickTemplates are the templates in their order of which the quick start deploys some.
func quickTemplates() (all []infra.Template) {
	for _, t := range templates.Infra() {
		all = append(all, infra.Template(t))
	}
	return all
}

// wanted are the templates that the quick start deploys. Where there is a NAT gateway no
// interface endpoints are needed: they cost four times as much, and minutes.
func (q *quickstart) wanted() []infra.Template {
	names := []string{"network", "iam", "ecr", "gpu-host", "batch"}
	if q.given["Nat"] != "true" {
		names = append(names, "endpoints")
	}
	return slices.DeleteFunc(slices.Clone(q.stacks.Templates), func(t infra.Template) bool { return !slices.Contains(names, t.Name) })
}

// quickParameters are the parameters of the templates where the quick start wants
// something else than their defaults: one machine of each kind at most, so that nothing
// can cost more than that.
func quickParameters(prefix string) map[string]string {
	return map[string]string{
		"Nat": "true", "RepositoryName": quickRepository(prefix), "ImageRepositories": prefix + "/*", "RootVolumeSize": "60",
		"CpuInstanceTypes": "c6i.4xlarge,m6i.4xlarge", "CpuMaxvCpus": "16", "GpuInstanceTypes": "g4dn.xlarge,g5.xlarge", "GpuMaxvCpus": "4",
	}
}

// quickPrefix reports whether the templates take a prefix as their Project.
func quickPrefix(prefix string) bool {
	plain := !strings.ContainsFunc(prefix, func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", r) })
	return plain && len(prefix) >= 3 && len(prefix) <= 26 && prefix[0] >= 'a' && !strings.HasSuffix(prefix, "-") && !strings.Contains(prefix, "--")
}

// quickRepository is the repository of a quick start's images. Its last part is the name
// by which the local engine knows the image of the shipped workloads.
func quickRepository(prefix string) string { return prefix + "/batchctl-workloads" }

// provide brings the images to where the jobs find them and writes the platform file.
func (q *quickstart) provide(ctx context.Context) error {
	if err := q.bringImages(ctx); err != nil {
		return err
	}
	outputs, err := q.stacks.Outputs(ctx, q.wanted())
	if err != nil {
		return cloud.StackFailure(ctx, err, q.look(), q.again(""))
	}
	queues, err := q.stacks.Queues(ctx, outputs)
	if err != nil {
		return cloud.StackFailure(ctx, err, q.look(), q.again(""))
	}
	queues = slices.DeleteFunc(queues, func(queue infra.Queue) bool { return queue.Alias != "cpu" && queue.Alias != "gpu" })
	if len(queues) < 2 {
		return exit.Fail(exit.NotDone, "the stacks' outputs lead to %s, and a CPU and a GPU queue are needed", term.Plural(len(queues), "job queue")).Try("see them: %s", q.look())
	}
	return q.writePlatform(queues)
}

// writePlatform writes the quick start's own platform file, with which other commands find
// its jobs: batchctl status --platform DIRECTORY/batchctl.json.
func (q *quickstart) writePlatform(queues []infra.Queue) error {
	entry := map[string]string{"region": q.t.Config.Region}
	of := cmdline.TargetOptions(q.c).Override(q.entry)
	for name, value := range map[string]string{"profile": of.Profile, "roleArn": of.RoleARN, "accountId": of.AccountID, "endpoint": of.Endpoint} {
		if value != "" {
			entry[name] = value
		}
	}
	head, err := term.JSONText(map[string]any{"$comment": "Written by batchctl quickstart.", "defaultTarget": quickTarget, "targets": map[string]any{quickTarget: entry}})
	if err != nil {
		return err
	}
	text, _, err := infra.AddQueues(diag.NewSource(document.PlatformFile, string(head)), queues)
	if err != nil {
		return err
	}
	return newfile.Write(q.platformFile(), newfile.ForAll, newfile.Bytes([]byte(text)))
}

const quickTarget = "quickstart"

func (q *quickstart) platformFile() string { return filepath.Join(q.dir, document.PlatformFile) }

// look is the command that shows the stacks, again the one that goes on, or another one of
// the quick start.
func (q *quickstart) look() string {
	return "batchctl infra status --prefix " + q.c.String("prefix") + q.where()
}

func (q *quickstart) again(verb string) string {
	line := "batchctl quickstart"
	if verb != "" {
		line += " " + verb
	}
	if q.c.IsSet("prefix") {
		line += " --prefix " + q.c.String("prefix")
	}
	if q.c.IsSet("out") {
		line += " --out " + term.Quoted(q.dir)
	}
	return line + q.where()
}

// where are the flags that lead to the target.
func (q *quickstart) where() string {
	line := ""
	for _, name := range []string{"target", "profile", "region", "endpoint-url", "platform"} {
		if v := q.c.String(name); v != "" {
			line += " --" + name + " " + term.Quoted(v)
		}
	}
	return line
}

// quarters tells a stack's progress at each quarter, and what fails at once.
func (q *quickstart) quarters() func(infra.Progress) {
	told := map[string]int{}
	return func(progress infra.Progress) {
		if strings.HasSuffix(string(progress.Event.ResourceStatus), "_FAILED") {
			cloud.StackEvent(q.Console, progress)
			return
		}
		if progress.Total == 0 {
			return
		}
		if quarter := 4 * progress.Done / progress.Total; quarter > told[progress.Stack] && quarter < 4 {
			told[progress.Stack] = quarter
			fmt.Fprintf(q.Err, "  %d of %d\n", progress.Done, progress.Total)
		}
	}
}

// destroyAfter is --destroy-after: it goes on after Ctrl-C, and a second one ends it.
func (q *quickstart) destroyAfter(why error) error {
	ctx := q.c.Context
	if ctx.Err() != nil {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
		defer stop()
		fmt.Fprintf(q.Err, "interrupted; --destroy-after removes what was made. Once more Ctrl-C leaves it: %s\n", q.again("destroy"))
	} else if why != nil {
		fmt.Fprintln(q.Err, "--destroy-after removes what was made:")
	}
	r, err := q.remains(ctx)
	if err == nil {
		err = q.remove(ctx, r)
	}
	return err
}

// local is the quick start without AWS: both benchmarks on the engine of this machine.
func (q *quickstart) local(platform *document.Platform) (err error) {
	for _, name := range []string{"max-cost", "destroy-after", "registry", "cpu-image", "gpu-image", "parameter"} {
		if q.c.IsSet(name) {
			return exit.Usage("--%s is of a quick start on AWS", name).Try("leave it out, or name a target: --target NAME")
		}
	}
	b := q.bench
	q.jobs(true, "")
	if err := b.Load(q.c); err != nil {
		return err
	}
	out, err := benchmark.BeginReport(q.dir)
	if err != nil {
		return err
	}
	if b.Target, err = session.OpenTarget(q.c.Context, q.Console, cmdline.TargetOptions(q.c), platform, target.ToRun); err != nil {
		return err
	}
	note, err := b.Repeat(q.c.Context)
	if err = errors.Join(err, b.Target.Close()); err != nil {
		return err
	}
	if err := b.Report(q.c, out, note); err != nil {
		return err
	}
	fmt.Fprintln(q.Err, "nothing is left running; the same on AWS: batchctl quickstart --target aws")
	return b.Verdict()
}
