package preview

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/forecast/observe"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
)

// ReaderOf returns the reader of a target's queues.
func ReaderOf(t *target.Target, types *catalog.Catalog, prices *catalog.Prices) observe.Reader {
	return observe.Reader{Client: t.Client.Client, Config: t.Config, Local: t.IsLocal(), Catalog: types, Prices: prices,
		Attempts: recorded(t)}
}

// recorded returns the recorded attempts on targets of the same kind: the same program takes another time on this
// machine. It leaves out what cannot be read, which history reports: a forecast from fewer attempts has a wider
// interval.
func recorded(t *target.Target) (attempts []history.Attempt) {
	if t.Client.Ledger == nil {
		return nil
	}
	for a, err := range t.Client.Ledger.History().All() {
		if err == nil && (a.Target == target.Local) == t.IsLocal() {
			attempts = append(attempts, a)
		}
	}
	return attempts
}

// addWhen adds to a review when the jobs of a plan start that wait for no other job of it. What cannot be forecast is
// a note, because the plan is right without it.
func addWhen(whole context.Context, con *term.Console, o PlanOptions, in *input.Input, v *plan.Review) error {
	note := func(why string) error {
		fmt.Fprintf(con.Err, "note: no forecast: %s\n", diag.Printable(why))
		return nil
	}
	if o.Offline {
		return exit.Usage("--when and --offline exclude each other").Try("omit one of them")
	}
	if v.Target != nil && v.Target.Unreached != "" {
		return note(v.Target.Unreached)
	}
	if o.Target.NameFrom(in.Platform) == target.Local && neverRan(o.Target) {
		return note("the local engine was never used, so no job is ahead")
	}
	prices, err := PricesFor(string(o.Prices), in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(whole, 2*queryTimeout)
	defer cancel()
	t, err := session.OpenTarget(ctx, con, o.Target, in.Platform, target.ToRead)
	if err != nil {
		return err
	}
	defer t.Close()
	for _, queue := range queuesOf(v) {
		seen, err := ReaderOf(t, CatalogOf(in), prices).Read(ctx, queue, time.Now())
		if err != nil {
			if whole.Err() != nil {
				return err
			}
			if err := note(exit.From(err).Message); err != nil {
				return err
			}
			continue
		}
		jobs := seen.Add(jobsFor(seen, queue, v)...)
		if len(jobs) == 0 {
			continue
		}
		answer, err := answerOf(t, seen, jobs)
		if err != nil {
			return err
		}
		v.When = append(v.When, answer)
	}
	return nil
}

// CatalogOf returns the instance types of the command line or the platform file; nil for batchctl's own.
func CatalogOf(in *input.Input) *catalog.Catalog {
	if in.Types == nil && in.Platform != nil {
		return in.Platform.Catalog
	}
	return in.Types
}

// queuesOf returns the names of the queues of jobs that wait for no other job.
func queuesOf(v *plan.Review) (queues []string) {
	for _, j := range v.Jobs {
		if j.Submit == nil || len(j.After)+len(j.Earlier) > 0 {
			continue
		}
		if name := batch.Name(aws.ToString(j.Submit.JobQueue)); !slices.Contains(queues, name) {
			queues = append(queues, name)
		}
	}
	return queues
}

// jobsFor returns the jobs of a plan in a queue for a simulation, an array as its children.
func jobsFor(seen *observe.Observation, queue string, v *plan.Review) (jobs []forecast.Job) {
	for _, j := range v.Jobs {
		if j.Submit != nil && len(j.After)+len(j.Earlier) == 0 && batch.Name(aws.ToString(j.Submit.JobQueue)) == queue {
			jobs = append(jobs, JobsOf(seen, j)...)
		}
	}
	return jobs
}

// needOf returns the request of one machine of a job.
func needOf(p plan.Part) model.Amount {
	return model.Amount{MilliCPU: int64(p.VCPUs * 1000), MemoryMiB: int64(p.MemoryMiB), GPUs: int64(p.GPUs)}
}

// JobsOf returns a job of a plan for a simulation, an array as its children, and a job of several nodes as its nodes.
func JobsOf(seen *observe.Observation, j plan.JobReview) (jobs []forecast.Job) {
	at := seen.Queue(aws.ToString(j.Submit.JobQueue))
	if at < 0 {
		return nil
	}
	one := forecast.Job{Name: j.Name, Queue: at, Share: aws.ToString(j.Submit.ShareIdentifier),
		Priority: aws.ToInt32(j.Submit.SchedulingPriorityOverride),
		Platform: types.PlatformCapabilityEc2, Team: j.Submit.Tags["team"]}
	definition := batch.Name(aws.ToString(j.Submit.JobDefinition))
	if j.Register != nil {
		definition = aws.ToString(j.Register.JobDefinitionName)
		if w, err := model.WorkOf(&model.Definition{Request: j.Register}, j.Submit); err == nil {
			one.Need = w.Need
		}
		if slices.Contains(j.Register.PlatformCapabilities, types.PlatformCapabilityFargate) {
			one.Platform = types.PlatformCapabilityFargate
		}
		one.Task = forecast.Task{Platform: j.Need.Platform, StorageGB: j.Need.StorageGB, PublicIP: j.Need.PublicIP}
		one.Priority = cmp.Or(one.Priority, aws.ToInt32(j.Register.SchedulingPriority))
	}
	if one.Need.MilliCPU == 0 { // a registered definition
		for _, p := range j.Need.Parts {
			one.Need = needOf(p)
			if p.Fargate {
				one.Platform = types.PlatformCapabilityFargate
			}
		}
	}
	if one.Need.MilliCPU == 0 {
		one.Need = model.Amount{MilliCPU: 1000, MemoryMiB: 1024}
		seen.Unknown = append(seen.Unknown, "what job "+j.Name+" asks for: 1 vCPU is assumed")
	}
	definition, _ = batch.SplitRevision(definition)
	one.Durations = seen.Durations(definition, at, j.Need.TimeoutSeconds)
	children := 1
	if a := j.Submit.ArrayProperties; a != nil {
		children = max(int(aws.ToInt32(a.Size)), 1)
	}
	if j.Need.MultiNode && seen.State.Machine == nil { // each node has an instance of its own
		for _, p := range j.Need.Parts {
			one.Need = needOf(p)
			jobs = append(jobs, slices.Repeat([]forecast.Job{one}, p.Nodes)...)
		}
		return jobs
	}
	return slices.Repeat([]forecast.Job{one}, children)
}

// answerOf makes the forecast, with what earlier forecasts for the queue taught.
func answerOf(t *target.Target, seen *observe.Observation, jobs []int) (forecast.Answer, error) {
	answer, err := forecast.When(seen.State, jobs, rand.Uint64(), runtime.GOMAXPROCS(0))
	if err != nil {
		return answer, err
	}
	answer.Unknown = append(slices.Clone(seen.Unknown), answer.Unknown...)
	earlier, err := (observe.Store{Dir: t.Submissions.Dir}).Learn(t.Submissions.Target, seen.Started())
	if err != nil {
		return answer, err
	}
	for _, a := range forecast.AccuracyOf(t.Submissions.Target, earlier) {
		if a.Queue == answer.Queue {
			answer.Start = answer.Start.Stretched(a.Stretch, answer.Now)
			if a.Poor {
				answer.Unknown = append(answer.Unknown,
					fmt.Sprintf("the accuracy for this queue is low: only %.0f %% of %d forecasts were right",
						100*a.Coverage, a.Forecasts))
			}
		}
	}
	return answer, nil
}

// WhenAccepted forecasts when submitted jobs start, stores the forecast, and returns it as one line. It returns "" if
// they start within a minute, or if there is no answer within the limit.
func WhenAccepted(whole context.Context, t *target.Target, types *catalog.Catalog, prices *catalog.Prices,
	jobs []once.Submitted, limit time.Duration) string {
	ctx, cancel := context.WithTimeout(whole, limit)
	defer cancel()
	if len(jobs) == 0 {
		return ""
	}
	seen, err := ReaderOf(t, types, prices).Read(ctx, batch.Name(jobs[0].Queue), time.Now())
	if err != nil {
		return "" // a forecast is a courtesy: the jobs are submitted
	}
	var waiting []int
	for i, j := range seen.State.Jobs {
		if !slices.ContainsFunc(jobs, func(s once.Submitted) bool { return s.ID == j.ID }) {
			continue
		}
		if j.Started > 0 {
			return "" // the first one, or the first child of an array, runs already
		}
		waiting = append(waiting, i)
	}
	if len(waiting) == 0 {
		return ""
	}
	answer, err := answerOf(t, seen, waiting[:1])
	switch {
	case err != nil:
		return ""
	case answer.Never > 0.5:
		return WhenLine(answer)
	}
	first := seen.State.Jobs[waiting[0]]
	// Without the record, later forecasts are no better; that is no reason to fail.
	_ = observe.Store{Dir: t.Submissions.Dir}.Add(forecast.Prediction{Target: t.Submissions.Target, Queue: answer.Queue,
		Job: first.ID, Made: answer.Now, Start: answer.Start})
	if answer.Start.High-answer.Now < soon.Milliseconds() {
		return ""
	}
	return WhenLine(answer)
}

// soon is the longest wait without a time of day, and atOnce the longest that counts as none.
const (
	soon   = time.Minute
	atOnce = time.Second
)

// WhenLine returns a forecast as one line: "starts between 14:10 and 15:40 (80 %), behind 37 jobs of share vision".
func WhenLine(a forecast.Answer) string {
	unfit := fmt.Sprintf("never starts: no enabled environment of queue %s fits %s", a.Queue,
		strings.Join(a.Unfit, ", "))
	switch {
	case a.Never > 0.5 && len(a.Unfit) > 0:
		return unfit
	case a.Never > 0.5:
		return "does not start within ten years"
	}
	line := "starts " + moment(a.Start, a.Now)
	switch {
	case len(a.Behind) == 1 && a.Behind[0].Share == "":
		line += ", behind " + text.Count(a.Behind[0].Jobs, "job")
	case len(a.Behind) > 0:
		var shares []string
		for _, b := range a.Behind[:min(len(a.Behind), 3)] {
			if b.Share == "" {
				b.Share = "none"
			}
			shares = append(shares, fmt.Sprintf("%s of share %s", text.Count(b.Jobs, "job"), b.Share))
		}
		line += ", behind " + strings.Join(shares, ", ")
	}
	if l := a.Larger; l != nil {
		line += fmt.Sprintf("; with maxvCpus %d of %s: %s", l.MaxvCpus, l.Environment, moment(l.Start, a.Now))
		if l.HourUSD > 0 {
			line += fmt.Sprintf(", for %s an hour more", text.USD(l.HourUSD))
		}
	}
	if len(a.Unfit) > 0 {
		line += "; " + unfit
	}
	return line
}

// moment returns an interval as text.
func moment(i forecast.Interval, now int64) string {
	switch {
	case i.High-now < atOnce.Milliseconds():
		return "at once"
	case i.High-now < soon.Milliseconds():
		return "within a minute"
	}
	layout := "15:04"
	if i.High-i.Low < 10*soon.Milliseconds() {
		layout = "15:04:05"
	}
	if i.High-now > 20*time.Hour.Milliseconds() {
		layout = "Jan 2 15:04"
	}
	low, high := time.UnixMilli(i.Low).Format(layout), time.UnixMilli(i.High).Format(layout)
	return fmt.Sprintf("between %s and %s (%.0f %%)", low, high, 100*forecast.Coverage)
}

// when adds the forecast to the page of a plan.
func (g *PlanPage) when(all []forecast.Answer) {
	for _, a := range all {
		g.Line("forecast", "queue %s: %s", a.Queue, WhenLine(a))
		var from []string
		for _, s := range []forecast.Source{forecast.FromDefinition, forecast.FromQueue, forecast.FromTimeout,
			forecast.FromNothing} {
			if n := a.Sources[s]; n > 0 {
				from = append(from, fmt.Sprintf("%s from %s", text.Count(n, "job"), s))
			}
		}
		if len(from) > 0 {
			g.Line("", "durations: %s", strings.Join(from, ", "))
		}
		for _, u := range a.Unknown {
			g.Line("", "unknown: %s", u)
		}
	}
}
