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

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	simulate "github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/forecast/observe"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/target"
)

const (
	defaultSpan     = 6 * time.Hour
	longestSpan     = 31 * 24 * time.Hour
	defaultMostWait = 30 * time.Minute
	// outlookDraws and outlookSteps are how fine the picture is.
	outlookDraws, outlookSteps = 60, 48
)

// options are the flags of forecast. Args has at most one queue.
type options struct {
	jobs.Options
	prices       string // path of a file
	span         time.Duration
	set          []string
	addJobs      []string
	withoutShare string
	reclaims     float64
	setReclaims  bool   // reclaims was given
	policy       string // path of a file
	replay       string
	mostWait     time.Duration
	svg, html    string
	seed         uint64
	read         files
}

// files are the contents of the files that options name. They are read before the target is opened, so that a wrong
// file is reported before any request, and Ctrl-C ends the wait for a pipe.
type files struct {
	policy *types.FairsharePolicy // of --policy
	trace  *simulate.Trace        // of --replay, if that is a file
}

// check returns the error of options that do not belong together.
func (o options) check() error {
	switch {
	case len(o.Args) > 1:
		return exit.Usage("forecast takes one queue, not %d", len(o.Args)).
			Try("name one of: %s; or none, for all queues", strings.Join(o.Args, " "))
	case o.span <= 0 || o.span > longestSpan:
		return exit.Usage("--for %s: want a duration of more than 0 and at most %s", o.span, longestSpan)
	case o.reclaims < 0 || o.reclaims > 60 || math.IsNaN(o.reclaims):
		return exit.Usage("--spot-reclaims %g: want a number from 0 to 60", o.reclaims)
	case o.html != "" && o.replay == "":
		return exit.Usage("--html applies only to the sizing report of --replay").
			Try("add --replay history, or use --svg for the chart of a forecast")
	case o.replay != "" && (len(o.addJobs) > 0 || o.svg != "" || o.withoutShare != ""):
		return exit.Usage("--replay excludes --add-jobs, --without-share and --svg").Try("omit them")
	case o.mostWait < 0:
		return exit.Usage("--max-wait %s is negative", o.mostWait)
	}
	return nil
}

// outlookDocument is the JSON of a forecast.
type outlookDocument struct {
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

// forecast is batchctl forecast.
func forecast(ctx context.Context, con *term.Console, o options) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := o.readFiles(con); err != nil {
		return err
	}
	call, err := jobs.OpenFor(ctx, con, o.Options, target.ToRead)
	if err != nil {
		return err
	}
	defer call.Close()
	w, err := observed(ctx, o, call)
	if err != nil {
		return err
	}
	if o.replay != "" {
		return replay(ctx, con, o, w)
	}
	return show(ctx, con, o, w)
}

// observed reads the target.
func observed(ctx context.Context, o options, call *jobs.Call) (*world, error) {
	in := &input.Input{Platform: call.Platform}
	prices, err := preview.PricesFor(o.prices, in)
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

// show prints the outlook of the queues, and that of the proposed change.
func show(ctx context.Context, con *term.Console, o options, w *world) error {
	arrive(w.seen, o.span)
	d := outlookDocument{Target: w.call.Submissions.Target, Unknown: w.seen.Unknown}
	if len(o.Args) == 1 {
		d.Queue = o.Args[0]
	}
	var err error
	if d.Outlook, err = outlook(w.seen.State, o); err != nil {
		return err
	}
	changes, err := o.proposals(ctx, con, w)
	if err != nil {
		return err
	}
	next, after := w.seen.State, d.Outlook
	for _, p := range changes {
		changed, err := p.apply(next)
		if err != nil {
			return err
		}
		before := after
		if after, err = outlook(changed, o); err != nil {
			return err
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
	for _, text := range d.NoEffect {
		fmt.Fprintf(con.Err, "note: %s\n", diag.Printable(text))
	}
	if o.svg != "" {
		if err := newfile.Write(o.svg, newfile.ForAll, newfile.Bytes([]byte(picture(o, d)))); err != nil {
			return err
		}
	}
	if o.Format == "json" {
		return con.MaskedJSON(d)
	}
	return printOutlook(con, o, d)
}

// outlook simulates a state for the span of the options.
func outlook(state *simulate.State, o options) (simulate.Outlook, error) {
	sim, err := simulate.New(state)
	if err != nil {
		return simulate.Outlook{}, exit.Usage("%v", err)
	}
	return sim.Outlook(o.seed, state.Now+o.span.Milliseconds(), outlookSteps, outlookDraws, runtime.GOMAXPROCS(0)), nil
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
func (o *options) readFiles(con *term.Console) (err error) {
	if o.policy != "" {
		src, err := input.Read(con, o.policy)
		if err != nil {
			return exit.Usage("--policy: %v", err)
		}
		if o.read.policy, err = simulate.ParsePolicy([]byte(src.Text)); err != nil {
			return exit.Usage("--policy %s: %v", o.policy, err)
		}
	}
	if o.replay != "" && o.replay != recorded {
		o.read.trace, err = readTrace(o.replay)
	}
	return err
}

// withJobs adds the jobs of FILE or FILE*N.
func withJobs(ctx context.Context, con *term.Console, o options, w *world, state *simulate.State,
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
	of := preview.Options{Options: input.Options{Given: cmdline.Given{Command: "forecast", Args: []string{path}}, Target: o.Target}}
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

// showAccuracy is forecast --accuracy.
func showAccuracy(ctx context.Context, con *term.Console, o options) error {
	call, err := jobs.OpenFor(ctx, con, o.Options, target.ToRead)
	if err != nil {
		return err
	}
	defer call.Close()
	store := observe.Store{Dir: call.Submissions.Dir}
	all, err := store.All()
	if err != nil {
		return err
	}
	// Jobs that the target still has tell when they started.
	var ids []string
	for _, p := range all {
		if p.Started == 0 && p.Target == call.Submissions.Target {
			ids = append(ids, p.Job)
		}
	}
	started := map[string]int64{}
	for part := range slices.Chunk(ids, 100) {
		found, err := call.Client.ByID(ctx, part)
		if err != nil {
			return err
		}
		for id, d := range found {
			if d.StartedAt != nil {
				started[id] = *d.StartedAt
			}
		}
	}
	if all, err = store.Learn(call.Submissions.Target, started); err != nil {
		return err
	}
	list := simulate.AccuracyOf(call.Submissions.Target, all)
	if len(o.Args) > 0 {
		list = slices.DeleteFunc(list, func(a simulate.Accuracy) bool { return !slices.Contains(o.Args, a.Queue) })
	}
	if o.Format == "json" {
		return con.MaskedJSON(list)
	}
	if len(list) == 0 {
		fmt.Fprintln(con.Err, "no forecasts yet: batchctl submit records one for each job that has to wait")
		return nil
	}
	t := con.Table("QUEUE", "FORECASTS", "OPEN", "IN 80 % INTERVAL", "LATER THAN MEDIAN", "VERDICT")
	for _, a := range list {
		t.Row(append([]string{diag.Printable(a.Queue)}, a.Cells()...)...)
	}
	return t.Flush()
}
