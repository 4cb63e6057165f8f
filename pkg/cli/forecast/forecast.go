package forecast

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
	simulate "github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/forecast/observe"
	"github.com/batchctl/batchctl/pkg/target"
)

const (
	longestSpan = 31 * 24 * time.Hour
	// outlookDraws and outlookSteps are how fine the picture is.
	outlookDraws, outlookSteps = 60, 48
)

// ForecastCommand is batchctl forecast.
func ForecastCommand(con *term.Console) *cli.Command {
	o := Defaults()
	o.Output = cmdline.Outputs(cmdline.JSON[OutlookDocument](), cmdline.JSONWith[SizingDocument]("replay"),
		cmdline.JSONWith[[]simulate.Accuracy]("accuracy"))
	return cmdline.Command(cli.Command{
		Name:      "forecast",
		Usage:     "forecast a queue, and the effect of a change",
		UsageText: "batchctl forecast [FLAGS] [QUEUE]",
		Description: cmdline.Help("Simulates the queue and all queues that share compute environments with it. Durations come from earlier attempts. "+
			"Figures are medians, with the middle 80 % of the draws in brackets. The forecast assumes that the jobs of the last day come again at the same times.\n\n"+
			"--set, --policy, --add-jobs, --without-share and --spot-reclaims propose a change. The output then compares both, and ends with a patch for the files of "+
			"batchctl apply and for the platform file.\n\n"+
			"--replay simulates a trace instead of the queue's jobs. The trace history has the recorded attempts and the jobs that the target still lists. A file "+
			"has the Standard Workload Format (.swf), or the columns of Alibaba's GPU trace (.csv). The report names the cheapest compute environments found that "+
			"keep the wait of 95 % of the jobs below --max-wait.",
			"batchctl forecast gpu --target prod\nbatchctl forecast gpu --set gpu.maxvCpus=512 --set gpu.instanceTypes+=g6e.12xlarge\n"+
				"batchctl forecast gpu --add-jobs 'job.json*200'\n"+
				"batchctl forecast gpu --replay month.swf --max-wait 30m --html sizing.html\nbatchctl forecast --accuracy"),
	}, o, func(ctx context.Context, o Options) error { return forecast(ctx, con, o) }, "submission")
}

// Options are the flags of forecast. Args has at most one queue.
type Options struct {
	jobs.Options
	Prices       preview.PricesFile `flag:"prices"`
	Span         time.Duration      `flag:"for" usage:"the <DURATION> to forecast"`
	Set          []string           `flag:"set" usage:"propose a <CHANGE>: NAME.MEMBER=VALUE, or += and -= for lists; may be repeated"`
	AddJobs      []string           `flag:"add-jobs" usage:"propose more jobs from this <FILE>, N times with FILE*N; may be repeated"`
	Policy       string             `flag:"policy" usage:"propose the scheduling policy in this <FILE> for the queue"`
	WithoutShare string             `flag:"without-share" usage:"propose a queue without the waiting jobs of this <SHARE>"`
	Reclaims     float64            `flag:"spot-reclaims" usage:"propose that EC2 reclaims each Spot instance <N> times an hour"`
	// SetsReclaims means that Reclaims is proposed: 0 is a proposal too.
	SetsReclaims bool
	Replay       string        `flag:"replay" usage:"run this <TRACE>: history, FILE.swf or FILE.csv"`
	MaxWait      time.Duration `flag:"max-wait" usage:"with --replay, the longest wait for 95 % of the jobs, a <DURATION>"`
	SVG          string        `flag:"svg" usage:"draw the vCPUs by share to this <FILE>"`
	HTML         string        `flag:"html" usage:"with --replay, write the sizing report to this <FILE>"`
	Seed         uint64        `flag:"seed" usage:"the <NUMBER> that seeds the random draws; the same number gives the same forecast"`
	Accuracy     bool          `flag:"accuracy" usage:"compare earlier forecasts with what happened"`

	read files
}

// Defaults are the options of a command without flags.
func Defaults() Options { return Options{Span: 6 * time.Hour, MaxWait: 30 * time.Minute, Seed: 1} }

// files are the contents of the files that options name. They are read before the target is opened, so that a wrong
// file is reported before any request, and Ctrl-C ends the wait for a pipe.
type files struct {
	policy *types.FairsharePolicy // of --policy
	trace  *simulate.Trace        // of --replay, if that is a file
}

// check returns the error of options that do not belong together.
func (o Options) check() error {
	switch {
	case len(o.Args) > 1:
		return exit.Usage("forecast takes one queue, not %d", len(o.Args)).
			Try("name one of: %s; or none, for all queues", strings.Join(o.Args, " "))
	case o.Span <= 0 || o.Span > longestSpan:
		return exit.Usage("--for %s: want a duration of more than 0 and at most %s", o.Span, longestSpan)
	case o.Reclaims < 0 || o.Reclaims > 60 || math.IsNaN(o.Reclaims):
		return exit.Usage("--spot-reclaims %g: want a number from 0 to 60", o.Reclaims)
	case o.HTML != "" && o.Replay == "":
		return exit.Usage("--html applies only to the sizing report of --replay").
			Try("add --replay history, or use --svg for the chart of a forecast")
	case o.Replay != "" && (len(o.AddJobs) > 0 || o.SVG != "" || o.WithoutShare != ""):
		return exit.Usage("--replay excludes --add-jobs, --without-share and --svg").Try("omit them")
	case o.MaxWait < 0:
		return exit.Usage("--max-wait %s is negative", o.MaxWait)
	}
	return nil
}

// OutlookDocument is the JSON of a forecast.
type OutlookDocument struct {
	Target string `json:"target"`
	// Queue is "" for all queues.
	Queue   string           `json:"queue,omitempty"`
	Outlook simulate.Outlook `json:"outlook"`
	// Proposed is the outlook after the proposed change, Patch the change in the form of the files of apply.
	Proposed *simulate.Outlook `json:"proposed,omitempty"`
	Patch    map[string]any    `json:"patch,omitempty"`
	// PlatformPatch is the change in the form of the platform file.
	PlatformPatch map[string]any `json:"platformPatch,omitempty"`
	// Costs are the shares whose jobs wait longer after the change.
	Costs   []simulate.Setback `json:"costsOthers,omitempty"`
	Unknown []string           `json:"unknown,omitempty"`
	// NoEffect names the proposals that change no figure, with the reason if batchctl knows it.
	NoEffect []string `json:"noEffect,omitempty"`
}

// world is what a forecast starts from.
type world struct {
	call *jobs.Call
	seen *observe.Observation
	// expand returns the instance types of an entry with their prices.
	expand simulate.Expander
	// offers returns instance families that the jobs of a state could use too.
	offers func(*simulate.State) []string
}

// platformPatch returns a change in the form of the platform file.
func (w *world) platformPatch(before, after *simulate.State) map[string]any {
	return before.PlatformPatch(after, func(queue string) string {
		if w.call.Platform == nil {
			return ""
		}
		q, _ := w.call.Platform.Queue(queue)
		return q.Alias
	})
}

// conflicts returns the error of a flag that has no effect beside, or without, another one.
func (o Options) conflicts() error {
	const replay, accuracy = "replay", "accuracy"
	names := map[string][]string{accuracy: {"set", "add-jobs", "policy", "without-share", "spot-reclaims", "for",
		"seed", "svg", "prices", replay, "html", "max-wait"}, replay: {"for", "seed"}}
	for _, mode := range []string{accuracy, replay} {
		for _, name := range names[mode] {
			if o.IsSet(mode) && o.IsSet(name) {
				return exit.Usage("--%s has no effect with --%s", name, mode).Try("omit one of them")
			}
		}
	}
	if o.IsSet("max-wait") && !o.IsSet(replay) {
		return exit.Usage("--max-wait has no effect without --replay").Try("add --replay history")
	}
	return nil
}

// forecast is batchctl forecast.
func forecast(ctx context.Context, con *term.Console, o Options) error {
	if err := o.conflicts(); err != nil {
		return err
	}
	o.SetsReclaims = o.IsSet("spot-reclaims")
	switch {
	case o.Accuracy:
		list, err := Accuracy(ctx, con, o)
		if err != nil {
			return err
		}
		return printAccuracy(con, o.Format, list)
	case o.Replay != "":
		d, err := Sizing(ctx, con, o)
		if err != nil {
			return err
		}
		return writeSizing(con, o, d)
	}
	d, err := Outlook(ctx, con, o)
	if err != nil {
		return err
	}
	return writeOutlook(con, o, d)
}

// begin checks the options, and reads the files and the target. The caller closes the call.
func begin(ctx context.Context, con *term.Console, o *Options) (*world, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := o.readFiles(con); err != nil {
		return nil, err
	}
	call, err := jobs.OpenFor(ctx, con, o.Options, target.ToRead)
	if err != nil {
		return nil, err
	}
	w, err := observed(ctx, *o, call)
	if err != nil {
		call.Close()
		return nil, err
	}
	return w, nil
}

// observed reads the target.
func observed(ctx context.Context, o Options, call *jobs.Call) (*world, error) {
	in := &input.Input{Platform: call.Platform}
	prices, err := preview.PricesFor(string(o.Prices), in)
	if err != nil {
		return nil, err
	}
	queue := ""
	if len(o.Args) == 1 {
		queue = batch.Name(o.Args[0])
		if call.Platform != nil {
			if q, ok := call.Platform.Queue(queue); ok {
				queue = batch.Name(q.Name)
			}
		}
	}
	types := preview.CatalogOf(in)
	reader := preview.ReaderOf(call.Target, types, prices)
	seen, err := reader.Read(ctx, queue, time.Now())
	if no, ok := errors.AsType[*observe.NoQueueError](err); ok {
		return nil, exit.Fail(exit.NotDone, "%v", no).Try("see them all: batchctl queues%s", call.Flags)
	}
	if err != nil {
		return nil, err
	}
	if len(seen.State.Queues) == 0 {
		return nil, exit.Fail(exit.NotDone, "the target has no job queue with compute environments")
	}
	if _, err := (observe.Store{Dir: call.Submissions.Dir}).Learn(call.Submissions.Target, seen.Started()); err != nil {
		return nil, err
	}
	return &world{call, seen, func(entry string, spot bool) ([]simulate.InstanceType, error) {
		list := observe.Types(types, prices, reader.Region(), spot, []string{entry})
		if len(list) == 0 {
			return nil, fmt.Errorf("instance type %s is not in the catalogue", entry)
		}
		return list, nil
	}, reader.Offers}, nil
}

// Outlook forecasts the queues, also after the proposed change.
func Outlook(ctx context.Context, con *term.Console, o Options) (d OutlookDocument, err error) {
	w, err := begin(ctx, con, &o)
	if err != nil {
		return d, err
	}
	defer w.call.Close()
	arrive(w.seen, o.Span)
	d = OutlookDocument{Target: w.call.Submissions.Target, Unknown: w.seen.Unknown}
	if len(o.Args) == 1 {
		d.Queue = o.Args[0]
	}
	if d.Outlook, err = simulated(w.seen.State, o); err != nil {
		return d, err
	}
	changes, err := o.proposals(ctx, con, w)
	if err != nil {
		return d, err
	}
	next, after := w.seen.State, d.Outlook
	for _, p := range changes {
		changed, err := p.apply(next)
		if err != nil {
			return d, err
		}
		before := after
		if after, err = simulated(changed, o); err != nil {
			return d, err
		}
		if reflect.DeepEqual(before, after) {
			d.NoEffect = append(d.NoEffect, p.noEffect(next, changed))
		}
		next = changed
	}
	if len(changes) > 0 {
		d.Proposed, d.Patch, d.Costs = &after, w.seen.State.Patch(next), simulate.Setbacks(d.Outlook, after)
		d.PlatformPatch = w.platformPatch(w.seen.State, next)
	}
	return d, nil
}

// simulated returns the outlook of a state for the span of the options.
func simulated(state *simulate.State, o Options) (simulate.Outlook, error) {
	sim, err := simulate.New(state)
	if err != nil {
		return simulate.Outlook{}, exit.Usage("%v", err)
	}
	return sim.Outlook(o.Seed, state.Now+o.Span.Milliseconds(), outlookSteps, outlookDraws, runtime.GOMAXPROCS(0)), nil
}

// arrive adds the jobs that came in the last day at the time of the forecast, as those that will come.
func arrive(seen *observe.Observation, span time.Duration) {
	const day = 24 * int64(time.Hour/time.Millisecond)
	now, n := seen.State.Now, 0
	var later []simulate.Job
	for _, j := range seen.State.Past {
		for at := j.Submitted + day; at < now+span.Milliseconds(); at += day {
			if at <= now {
				continue
			}
			j.Submitted, j.Started, j.Exact = at, 0, 0
			later = append(later, j)
			n++
		}
	}
	slices.SortStableFunc(later, func(a, b simulate.Job) int { return int(a.Submitted - b.Submitted) })
	seen.State.Jobs = append(seen.State.Jobs, later...)
	if n == 0 {
		seen.Unknown = append(seen.Unknown,
			"which jobs will be submitted: none ended in the last day, so the forecast assumes none")
		return
	}
	seen.Unknown = append(seen.Unknown,
		fmt.Sprintf("which jobs will be submitted: the forecast assumes %d, as many as yesterday at this time", n))
}

// readFiles reads the files of --policy and --replay.
func (o *Options) readFiles(con *term.Console) (err error) {
	if o.Policy != "" {
		src, err := input.Read(con, o.Policy)
		if err != nil {
			return exit.Usage("--policy: %v", err)
		}
		if o.read.policy, err = simulate.ParsePolicy([]byte(src.Text)); err != nil {
			return exit.Usage("--policy %s: %v", o.Policy, err)
		}
	}
	if o.Replay != "" && o.Replay != recorded {
		o.read.trace, err = readTrace(o.Replay)
	}
	return err
}

// withJobs adds the jobs of FILE or FILE*N.
func withJobs(ctx context.Context, con *term.Console, o Options, w *world, state *simulate.State,
	arg string) (*simulate.State, error) {
	path, times := arg, 1
	if at := strings.LastIndexByte(arg, '*'); at > 0 {
		n, err := strconv.Atoi(arg[at+1:])
		if err != nil || n < 1 || n > 100_000 {
			return nil, exit.Usage("--add-jobs %s: want a whole number from 1 to 100000 after *", arg)
		}
		path, times = arg[:at], n
	}
	if _, err := os.Stat(path); err != nil {
		return nil, exit.Usage("--add-jobs %s: %v", arg, err)
	}
	given := cmdline.Given{Command: "forecast", Args: []string{path}}
	of := preview.Options{Options: input.Options{Given: given, Target: o.Target}}
	in, err := input.Load(con, of.Options)
	if err != nil {
		return nil, err
	}
	planned, err := preview.BuildPlan(ctx, con, of, in, w.call.IsLocal())
	if err != nil {
		return nil, err
	}
	v := preview.ReviewOf(in, planned, w.call.Client.TargetState(ctx, planned), nil)
	shadow := *w.seen // durations of new definitions belong to the proposed state
	shadow.State = state
	next := *state
	next.Jobs = slices.Clone(state.Jobs)
	shadow.State = &next
	for _, j := range v.Jobs {
		if j.Submit == nil {
			continue
		}
		some := preview.JobsOf(&shadow, j)
		if len(some) == 0 {
			return nil, exit.Usage("--add-jobs %s: job %s is for queue %s, which is not in this forecast", arg, j.Name,
				batch.Name(*j.Submit.JobQueue))
		}
		for range times {
			for _, one := range some {
				one.Submitted = next.Now
				next.Jobs = append(next.Jobs, one)
			}
		}
	}
	slices.SortStableFunc(next.Jobs, func(a, b simulate.Job) int { return int(a.Submitted - b.Submitted) })
	return &next, nil
}
