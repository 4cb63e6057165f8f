package preview

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/cost"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
)

// describedAtOnce is the maximum number of jobs per DescribeJobs call (AWS Batch
// API reference).
const describedAtOnce = 100

// account adds up the time and cost of submitted jobs. It is not safe for
// concurrent use.
type account struct {
	*jobs.Call
	in     *input.Input // the platform file
	prices *catalog.Prices
	// queue is the queue whose prices replace those of the local engine; "" for none.
	queue string
	state *plan.TargetState
	sums  cost.Sums // by group
	now   time.Time
	// runs maps a job's id to the name of its submission.
	runs map[string]string
	// rates caches the result of rate, by queue and definition.
	rates map[string]cost.Rate
	// missing counts children that the target no longer describes.
	missing int
}

// costAfter adds up the cost of submitted jobs, from the times of their attempts.
func costAfter(ctx context.Context, con *term.Console, o costOptions) error {
	now := time.Now()
	since, err := jobs.ParseTime("since", o.since, now)
	if err != nil {
		return err
	}
	in := &input.Input{}
	if err := in.FindPlatform(o.Target); err != nil {
		return err
	}
	prices, err := PricesFor(o.Prices, in)
	if err != nil {
		return err
	}
	call, err := jobs.OpenFor(ctx, con, o.ofJobs(o.submission), target.ToRead)
	if err != nil {
		return err
	}
	defer call.Close()
	a := &account{Call: call, in: in, prices: prices, sums: cost.Sums{By: o.by}, now: now,
		rates: map[string]cost.Rate{}}
	if a.queue, err = substituteQueue(o.Queue, call, in); err != nil {
		return err
	}
	ids, err := costlyJobs(ctx, con, o, call, since)
	if err != nil {
		return err
	}
	if err := a.readState(ctx); err != nil {
		return err
	}
	if a.runs, err = runsOf(con, call.Target); err != nil {
		return err
	}
	// all ids are passed on, because a child and its array may be in different
	// chunks.
	for page := range slices.Chunk(ids, describedAtOnce) {
		if err := a.add(ctx, page, ids); err != nil {
			return err
		}
	}
	if a.missing > 0 {
		fmt.Fprintf(con.Err, "note: %s of arrays no longer exist at %s\n", text.Count(a.missing, "child"),
			diag.Printable(call.Label))
	}
	if call.Format == "json" {
		return con.JSON(spentDocument{costHead{call.Kind(), newPriceTable(prices, a.allRates()), o.by,
			notIncluded(a.allRates())}, a.sums.Rows, a.sums.Total})
	}
	return printSpent(con, a)
}

// substituteQueue returns the queue whose machines and prices replace those of
// the local engine, from --queue. It returns "" at other targets, where --queue
// selects jobs.
func substituteQueue(queue string, call *jobs.Call, in *input.Input) (string, error) {
	if !call.IsLocal() || queue == "" {
		return "", nil
	}
	if in.Platform == nil {
		return "", exit.Usage("--queue %s: no platform file describes this queue", queue).
			Try("name one: --platform FILE")
	}
	q, ok := in.Platform.Queue(queue)
	if !ok || len(q.Environments) == 0 {
		return "", exit.Usage("--queue %s: %s gives no computeEnvironments for this queue", queue, in.PlatformFile).
			Try("add them to the file; its queues are: %s", strings.Join(aliases(in), " "))
	}
	return q.Name, nil
}

// aliases returns the names of the platform file's queues, for messages.
func aliases(in *input.Input) (names []string) {
	for _, q := range in.Platform.Queues {
		names = append(names, cmp.Or(q.Alias, q.Name))
	}
	return names
}

// costlyJobs returns the ids of the jobs that the command line names, without
// repetitions. Without names it is the last submission.
func costlyJobs(ctx context.Context, con *term.Console, o costOptions, call *jobs.Call,
	since time.Time) (ids []string, err error) {
	words := slices.Concat(o.jobs, o.Paths)
	if !since.IsZero() {
		return jobsSince(ctx, con, call, o, words, since)
	}
	if o.submission != "" && len(words) > 0 {
		return nil, exit.Usage("--submission already names the jobs; do not name %s", words[0]).Try("use one of them")
	}
	r := jobs.NewResolver(con, o.Command, call.Target, call.Platform)
	found, err := jobs.Resolve(ctx, r, jobs.Options{Given: cmdline.Given{Command: o.Command, Args: words}, Submission: o.submission})
	return session.IDs(session.Jobs(found)), err
}

// jobsSince lists the jobs of the given handles and files that were created
// after since. Without any it lists all jobs. A trailing * in a name is a
// wildcard.
func jobsSince(ctx context.Context, con *term.Console, call *jobs.Call, o costOptions, handles []string,
	since time.Time) (ids []string, err error) {
	if len(o.jobs) > 0 || o.submission != "" {
		return nil, exit.Usage("--since selects jobs by name").Try("batchctl cost NAME --since %s", o.since)
	}
	r := jobs.NewResolver(con, o.Command, call.Target, call.Platform)
	filter, queue := client.Filter{CreatedAfter: since}, ""
	if o.Queue != "" && !call.IsLocal() {
		filter.Queues = []string{o.Queue}
	}
	if filter, err = jobs.ResolveFilter(ctx, r, "", call.Platform, filter); err != nil {
		return nil, err
	}
	if o.Queue != "" && !call.IsLocal() {
		queue = filter.Queues[0] // its name, if the flag has an alias
	}
	all := handles
	if len(all) == 0 {
		all = []string{""}
	}
	for _, handle := range all {
		more, err := r.Since(ctx, handle, queue, filter)
		if err != nil {
			return nil, err
		}
		ids = append(ids, more...)
	}
	if len(ids) == 0 {
		return nil, exit.Fail(exit.NotDone, "no job of %s was created since %s",
			cmp.Or(strings.Join(handles, " "), "any name"), o.since).
			Try("list the jobs: batchctl list --created-after %s%s", o.since, call.Flags)
	}
	return client.Distinct(ids), nil
}

// readState queries the queues and compute environments of the target. Jobs in a
// queue that it cannot read have no price, and the output explains why.
func (a *account) readState(ctx context.Context) error {
	if a.queue != "" {
		return nil // the platform file describes it
	}
	a.state = &plan.TargetState{Target: a.Kind(), Region: a.Config.Region, Local: a.IsLocal()}
	if a.state.Local {
		a.state.Region = ""
		return nil
	}
	var err error
	if a.state.Queues, err = a.Client.Queues(ctx); err != nil {
		a.state.QueuesErr = exit.From(err).Message
		return ctx.Err()
	}
	names := a.state.EnvironmentNames()
	if len(names) == 0 {
		return nil
	}
	if a.state.Environments, err = a.Call.Client.Environments(ctx, names...); err != nil {
		a.state.EnvironmentsErr = exit.From(err).Message
	}
	return ctx.Err()
}

// runsOf returns the name of each job's submission, by job id, from the ledger:
// the workflow's with the submission's id, or the first job's.
func runsOf(con *term.Console, t *target.Target) (map[string]string, error) {
	entries, err := session.Entries(con, t)
	if err != nil {
		return nil, err
	}
	first, count := map[string]once.Entry{}, map[string]int{}
	for _, e := range entries {
		if count[e.Run]++; count[e.Run] == 1 {
			first[e.Run] = e
		}
	}
	runs := map[string]string{}
	for _, e := range entries {
		if e.Run == "" {
			continue
		}
		if e.Workflow != "" {
			runs[e.ID] = workflowName(e.Workflow, e.Run)
			continue
		}
		name := first[e.Run].Name + " " + batch.ShortID(first[e.Run].ID)
		if more := count[e.Run] - 1; more > 0 {
			name += fmt.Sprintf(" and %d more", more)
		}
		runs[e.ID] = name
	}
	return runs, nil
}

// workflowName names one submission of a workflow. Its id is a handle of the submission.
func workflowName(name, run string) string { return strings.TrimSpace(name + " " + run) }

// workflowOf returns the name of a job's submission: from the ledger, or from the
// tags of a job that another machine submitted.
func (a *account) workflowOf(job types.JobDetail, parent string) string {
	if name := a.runs[parent]; name != "" {
		return name
	}
	return workflowName(job.Tags[client.WorkflowTag], job.Tags[client.RunTag])
}

// add adds the cost of some jobs, and of all children if a job is an array. all
// are the ids of every named job: a child whose array is also named must not
// count twice.
func (a *account) add(ctx context.Context, ids, all []string) error {
	jobs, err := a.Client.Recall(ctx, ids...)
	if err != nil {
		return err
	}
	for _, job := range jobs {
		id := aws.ToString(job.JobId)
		parent, _, isChild := batch.SplitChildID(id)
		if isChild && slices.Contains(all, parent) {
			continue
		}
		rate, err := a.rate(job.JobDetail)
		if err != nil {
			return err
		}
		key := cost.Key{Job: aws.ToString(job.JobName) + " " + batch.ShortID(id),
			Workflow: a.workflowOf(job.JobDetail, parent), Tags: job.Tags}
		if isChild || batch.ArraySize(job.JobDetail) > 0 {
			key.Array = aws.ToString(job.JobName) + " " + batch.ShortID(parent)
		}
		row := a.sums.Begin(key)
		if batch.ArraySize(job.JobDetail) == 0 || job.Forgotten {
			a.sums.Add(row, cost.Took(job.JobDetail, a.now).At(rate))
			continue
		}
		if err := a.addChildren(ctx, row, id, rate); err != nil {
			return err
		}
	}
	return nil
}

// addChildren adds the cost of an array's children, a page at a time.
func (a *account) addChildren(ctx context.Context, row *cost.Row, array string, rate cost.Rate) error {
	page := make([]string, 0, describedAtOnce)
	flush := func() error {
		if len(page) == 0 {
			return nil
		}
		children, err := a.Client.Describe(ctx, page...)
		if missing, ok := errors.AsType[*client.MissingError](err); ok {
			a.missing += len(missing.IDs)
		} else if err != nil {
			return err
		}
		for _, child := range children {
			a.sums.Add(row, cost.Took(child, a.now).At(rate))
		}
		page = page[:0]
		return nil
	}
	for child, err := range a.Client.List(ctx, client.Filter{ArrayOf: array}) {
		if err != nil {
			return err
		}
		if page = append(page, aws.ToString(child.JobId)); len(page) == describedAtOnce {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// rate returns the hourly cost of a job. Jobs with the same requirements in the
// same queue share the result.
func (a *account) rate(d types.JobDetail) (cost.Rate, error) {
	made, err := cost.PlanOf(d, a.queue)
	if err != nil {
		return cost.Rate{}, fmt.Errorf("read job %s: %w", aws.ToString(d.JobId), err)
	}
	// Equal definitions in the same queue have the same rate.
	key, err := json.Marshal(made.Jobs[0].Register)
	if err != nil {
		return cost.Rate{}, err
	}
	at := aws.ToString(made.Jobs[0].Submit.JobQueue) + string(key)
	r, ok := a.rates[at]
	if !ok {
		region, isLocal := "", false
		if a.state != nil {
			region, isLocal = a.state.Region, a.state.Local
		}
		r = cost.RateOf(made.Review(a.state, a.in.Platform, a.prices).Jobs[0], a.prices, region, isLocal)
		if isLocal { // even if a platform file describes a queue of this name
			r = cost.Rate{Free: "this machine costs nothing"}
		}
		a.rates[at] = r
	}
	return r, nil
}

// allRates returns the cached rates, in no particular order.
func (a *account) allRates() (rates []cost.Rate) {
	for _, r := range a.rates {
		rates = append(rates, r)
	}
	return rates
}

// printSpent prints one line per group, and below them how the figures are
// calculated.
func printSpent(con *term.Console, a *account) error {
	// Local jobs have a price only with --queue.
	isFree := a.queue == "" && a.IsLocal()
	t := con.Table(headOf(a.sums.By), "COST", "TIME", "WASTE", "RUNS", "FAILED", "ATTEMPTS", "RETRIED", "WASTED")
	row := func(r *cost.Row) {
		money, wasted := r.Cost.String(), r.Waste.String()
		if isFree {
			money, wasted = "-", "-"
		}
		t.Row(shown(con, r.Name), money, secondsText(r.Seconds), wasteText(r.Spent), fmt.Sprint(r.Runs),
			fmt.Sprint(r.Failed), fmt.Sprint(r.Attempts), fmt.Sprint(r.Retried), wasted)
	}
	for _, r := range a.sums.Rows {
		row(r)
	}
	if len(a.sums.Rows) > 1 {
		row(&a.sums.Total)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	total := a.sums.Total
	g := &costPage{PlanPage{Con: con, Width: term.Width(con.Out)}}
	g.Text.WriteString("\n")
	if total.WasteSeconds() > 0 {
		g.Line("waste", "%s in attempts that were retried, %s in the last attempts of FAILED jobs",
			secondsText(total.RetriedSeconds), secondsText(total.FailedSeconds))
	}
	if total.Unended > 0 {
		g.Line("so far", "%s not ended", text.Count(total.Unended, "run")+" of them")
	}
	if isFree {
		g.Line("prices", "none: this machine costs nothing; to see the cost in a queue of the platform file: --queue QUEUE")
	} else {
		if total.Alone.Known() && total.Alone.USD > total.Cost.High.USD {
			g.Line("at most", "%s USD, if every attempt had its machine alone", text.Money(total.Alone.USD))
		}
		g.gaps("low", total.Cost.Low, "run")
		g.gaps("high", total.Cost.High, "run")
		g.prices(a.prices, a.allRates())
		if a.queue != "" {
			g.More("as if the jobs had run in queue %s", a.queue)
		}
	}
	g.Line("target", "%s", a.Kind())
	return con.Print(g.Text.String())
}

// secondsText formats a number of seconds.
func secondsText(seconds float64) string {
	return text.Duration(time.Duration(seconds * float64(time.Second)))
}

// wasteText formats the wasted seconds and their percentage of the total.
func wasteText(s cost.Spent) string {
	if s.WasteSeconds() == 0 {
		return "-"
	}
	return fmt.Sprintf("%s (%.0f %%)", secondsText(s.WasteSeconds()), 100*s.WasteSeconds()/s.Seconds)
}
