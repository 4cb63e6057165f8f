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

	"github.com/batchctl/batchctl/pkg/cli/benchmark"
	"github.com/batchctl/batchctl/pkg/cli/cloud"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/infra"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/quickstart"
	"github.com/batchctl/batchctl/pkg/target"
)

// The quick start is a sequence of what other commands do: infra deploy, an image, infra
// outputs, bench, and at the end infra destroy. Here is the order, and what it needs to
// know of itself to continue where it was cut off.

// sequence is a quick start on its way.
type sequence struct {
	*term.Console
	o          options
	t          *target.Target
	entry      document.Target // t as the platform file has it
	stacks     *infra.Stacks
	memory     *quickstart.Memory
	parameters map[string]string // of the templates
	images     images
	bench      *benchmark.Benchmark
	// agreed says that the question was answered yes: from then on things are made.
	agreed bool
}

func begin(con *term.Console, o options) *sequence {
	return &sequence{Console: con, o: o, bench: &benchmark.Benchmark{Console: con, Options: o.Options}}
}

func run(ctx context.Context, con *term.Console, o options) error {
	if len(o.Paths) > 0 {
		return exit.Usage("quickstart takes no names").Try("it has one command: batchctl quickstart destroy")
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
	if !quickstart.ValidPrefix(o.prefix) {
		return exit.Usage("--prefix %s cannot begin the names of stacks", o.prefix).Try("use 3 to 26 lower-case letters, digits and hyphens, starting with a letter: --prefix trial")
	}
	if !o.yes && !term.IsTerminal(con.In) {
		return exit.Usage("quickstart needs a confirmation, and there is no terminal").
			Try("pass --yes and --max-cost USD; or without AWS: batchctl quickstart --target local")
	}
	if err := q.open(ctx, in.Platform); err != nil {
		return err
	}
	defer q.t.Close()
	err := q.road(ctx)
	if q.agreed && o.destroyAfter {
		return errors.Join(err, q.removeAfter(ctx, err))
	}
	return err
}

// open finds target, directory, and what an earlier process has left there.
func (q *sequence) open(ctx context.Context, platform *document.Platform) (err error) {
	if q.t, err = session.OpenTarget(ctx, q.Console, q.o.Target, platform, target.ToChange); err != nil {
		return err
	}
	if platform != nil {
		q.entry, _ = platform.Target(q.t.Name)
	}
	if q.memory, err = quickstart.Recall(q.o.Dir); err != nil {
		return err
	}
	if err := q.memory.Belongs(q.t.Kind(), q.o.prefix, q.o.Dir); err != nil {
		return err
	}
	q.stacks = cloud.Stacks(q.Console, q.t, quickstart.Templates(), q.o.prefix)
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

// road is the quick start from scratch to the summary.
func (q *sequence) road(ctx context.Context) error {
	if err := q.prepare(ctx); err != nil {
		return err
	}
	offer, err := q.offer(ctx)
	if err != nil {
		return err
	}
	fmt.Fprint(q.Err, q.text(offer))
	if err := within(offer, q.o.MaxCost); err != nil {
		return err
	}
	yes, err := q.o.confirm("continue?")
	if err != nil || !yes {
		return cmp.Or(err, error(exit.Fail(exit.NotDone, "not confirmed; nothing was created").Try("to see it without AWS: batchctl quickstart --target local")))
	}
	q.agreed = true
	if err := q.memory.Begin(q.t.Kind(), q.stacks.Prefix); err != nil {
		return err
	}
	if _, err := cloud.DeployStacks(ctx, q.Console, q.stacks, quickstart.Wanted(q.parameters), q.parameters); err != nil {
		return cloud.StackFailure(ctx, err, q.statusCommand(), q.again(""))
	}
	if err := q.provide(ctx); err != nil {
		return err
	}
	err = q.measure(ctx)
	q.printRemaining(offer)
	return err
}

// prepare reads everything that can be wrong before something is made.
func (q *sequence) prepare(ctx context.Context) error {
	if err := benchmark.BeginReport(q.o.Dir); err != nil {
		return err
	}
	given, err := cloud.StackParameters(q.o.stackParameters)
	if err != nil {
		return err
	}
	q.parameters = quickstart.Parameters(q.stacks.Prefix)
	maps.Copy(q.parameters, given)
	call := &cloud.InfraCall{Stacks: q.stacks, Given: given}
	if err := call.KnowsParameters(ctx); err != nil {
		return cloud.StackFailure(ctx, err, q.statusCommand(), q.again(""))
	}
	return q.chooseImages(ctx)
}

// provide brings the images to where the jobs find them and writes the platform file.
func (q *sequence) provide(ctx context.Context) error {
	if err := q.pushImages(ctx); err != nil {
		return err
	}
	outputs, err := q.stacks.Outputs(ctx, quickstart.Wanted(q.parameters))
	if err != nil {
		return cloud.StackFailure(ctx, err, q.statusCommand(), q.again(""))
	}
	queues, err := q.stacks.Queues(ctx, outputs)
	if err != nil {
		return cloud.StackFailure(ctx, err, q.statusCommand(), q.again(""))
	}
	queues = slices.DeleteFunc(queues, func(queue infra.Queue) bool { return queue.Alias != "cpu" && queue.Alias != "gpu" })
	if len(queues) < 2 {
		return exit.Fail(exit.NotDone, "the stacks' outputs contain %s; the quick start needs a CPU and a GPU queue", term.Plural(len(queues), "job queue")).Try("see them: %s", q.statusCommand())
	}
	return q.writePlatform(queues)
}

// writePlatform writes the quick start's own platform file, with which other commands find
// its jobs: batchctl status --platform DIRECTORY/batchctl.json.
func (q *sequence) writePlatform(queues []infra.Queue) error {
	entry := map[string]string{"region": q.t.Config.Region}
	of := q.o.Target.Override(q.entry)
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

func (q *sequence) platformFile() string { return filepath.Join(q.o.Dir, document.PlatformFile) }

// statusCommand is the command that shows the stacks, again the one that continues, or another one of
// the quick start.
func (q *sequence) statusCommand() string {
	return "batchctl infra status --prefix " + q.o.prefix + q.where()
}

func (q *sequence) again(verb string) string {
	line := "batchctl quickstart"
	if verb != "" {
		line += " " + verb
	}
	if q.o.given("prefix") {
		line += " --prefix " + q.o.prefix
	}
	if q.o.given("out") {
		line += " --out " + term.Quoted(q.o.Dir)
	}
	return line + q.where()
}

// where are the flags that lead to the target.
func (q *sequence) where() string {
	line := ""
	for _, flag := range [][2]string{{"target", q.o.Target.Name}, {"profile", q.o.Target.Profile}, {"region", q.o.Target.Region}, {"endpoint-url", q.o.Target.EndpointURL}, {"platform", q.o.Target.Platform}} {
		if flag[1] != "" {
			line += " --" + flag[0] + " " + term.Quoted(flag[1])
		}
	}
	return line
}

// quarters tells a stack's progress at each quarter, and what fails at once.
func (q *sequence) quarters() func(infra.Progress) {
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

// removeAfter is --destroy-after: it continues after Ctrl-C, and a second one ends it.
func (q *sequence) removeAfter(ctx context.Context, why error) error {
	if ctx.Err() != nil {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
		defer stop()
		fmt.Fprintf(q.Err, "interrupted; --destroy-after deletes everything. Press Ctrl-C again to keep it: %s\n", q.again("destroy"))
	} else if why != nil {
		fmt.Fprintln(q.Err, "--destroy-after removes what was made:")
	}
	r, err := q.remains(ctx)
	if err == nil {
		err = q.remove(ctx, r)
	}
	return err
}

// local is the quick start without AWS: both benchmarks on the local engine.
func (q *sequence) local(ctx context.Context, platform *document.Platform) (err error) {
	for _, name := range []string{"max-cost", "destroy-after", "registry", "cpu-image", "gpu-image", "parameter"} {
		if q.o.given(name) {
			return exit.Usage("--%s works only for a quick start on AWS", name).Try("omit it, or name a target: --target NAME")
		}
	}
	b := q.bench
	q.jobs(true, "")
	if err := b.Load(ctx); err != nil {
		return err
	}
	if err := benchmark.BeginReport(q.o.Dir); err != nil {
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
	fmt.Fprintln(q.Err, "nothing is left running; the same on AWS: batchctl quickstart --target aws")
	return b.Verdict()
}
