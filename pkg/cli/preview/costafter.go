package preview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
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
	sums  cost.Sums // by group
	now   time.Time
	rates *cost.Rates
	// runs maps a job's id to the name of its submission.
	runs map[string]string
	// missing counts children that the target no longer describes.
	missing int
}

// SpentDocument is the JSON output for submitted jobs.
type SpentDocument struct {
	costHead
	Rows  []*cost.Row `json:"rows,omitempty"`
	Total cost.Row    `json:"total"`

	isFree bool   // the jobs have no prices
	queue  string // the queue whose prices replace those of the local engine; "" for none
	prices *catalog.Prices
	rates  []cost.Rate
}

// Spent adds up the cost of submitted jobs, from the times of their attempts.
func Spent(ctx context.Context, con *term.Console, o CostOptions) (*SpentDocument, error) {
	by, err := o.by()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	since, err := jobs.ParseTime("since", o.Since, now)
	if err != nil {
		return nil, err
	}
	in := &input.Input{}
	if err := in.FindPlatform(o.Target); err != nil {
		return nil, err
	}
	prices, err := PricesFor(string(o.Prices), in)
	if err != nil {
		return nil, err
	}
	call, err := jobs.OpenFor(ctx, con, o.ofJobs(o.Submission), target.ToRead)
	if err != nil {
		return nil, err
	}
	defer call.Close()
	queue, err := substituteQueue(o.Queue, call, in)
	if err != nil {
		return nil, err
	}
	ids, err := costlyJobs(ctx, con, o, call, since)
	if err != nil {
		return nil, err
	}
	a := &account{Call: call, sums: cost.Sums{By: by}, now: now}
	a.rates = &cost.Rates{Platform: in.Platform, Prices: prices, Queue: queue}
	if queue == "" { // the platform file describes it otherwise
		if a.rates.State, err = readState(ctx, call.Target); err != nil {
			return nil, err
		}
	}
	if a.runs, err = runsOf(con, call.Target); err != nil {
		return nil, err
	}
	// all ids are passed on, because a child and its array may be in different
	// chunks.
	for page := range slices.Chunk(ids, describedAtOnce) {
		if err := a.add(ctx, page, ids); err != nil {
			return nil, err
		}
	}
	if a.missing > 0 {
		fmt.Fprintf(con.Err, "note: %s of arrays no longer exist at %s\n", text.Count(a.missing, "child"),
			diag.Printable(call.Label))
	}
	rates := a.rates.All()
	return &SpentDocument{costHead{call.Kind(), cost.NewPriceTable(prices, rates), by, cost.NotIncluded(rates)},
		a.sums.Rows, a.sums.Total, queue == "" && call.IsLocal(), queue, prices, rates}, nil
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
func costlyJobs(ctx context.Context, con *term.Console, o CostOptions, call *jobs.Call,
	since time.Time) (ids []string, err error) {
	words := slices.Concat(o.Jobs, o.Args)
	if !since.IsZero() {
		return jobsSince(ctx, con, call, o, words, since)
	}
	if o.Submission != "" && len(words) > 0 {
		return nil, exit.Usage("--submission already names the jobs; do not name %s", words[0]).Try("use one of them")
	}
	r := jobs.NewResolver(con, o.Command, call.Target, call.Platform)
	o.Args = words
	found, err := jobs.Resolve(ctx, r, o.ofJobs(o.Submission))
	return session.IDs(session.Jobs(found)), err
}

// jobsSince lists the jobs of the given handles and files that were created
// after since. Without any it lists all jobs. A trailing * in a name is a
// wildcard.
func jobsSince(ctx context.Context, con *term.Console, call *jobs.Call, o CostOptions, handles []string,
	since time.Time) (ids []string, err error) {
	if len(o.Jobs) > 0 || o.Submission != "" {
		return nil, exit.Usage("--since selects jobs by name").Try("batchctl cost NAME --since %s", o.Since)
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
			cmp.Or(strings.Join(handles, " "), "any name"), o.Since).
			Try("list the jobs: batchctl list --created-after %s%s", o.Since, call.Flags)
	}
	return client.Distinct(ids), nil
}

// readState queries the queues and compute environments of a target. Jobs in a
// queue that it cannot read have no price, and the output explains why.
func readState(ctx context.Context, t *target.Target) (*plan.TargetState, error) {
	state := &plan.TargetState{Target: t.Kind(), Region: t.Config.Region, Local: t.IsLocal()}
	if state.Local {
		state.Region = ""
		return state, nil
	}
	var err error
	if state.Queues, err = t.Client.Queues(ctx); err != nil {
		state.QueuesErr = exit.From(err).Message
		return state, ctx.Err()
	}
	names := state.EnvironmentNames()
	if len(names) == 0 {
		return state, nil
	}
	if state.Environments, err = t.Client.Environments(ctx, names...); err != nil {
		state.EnvironmentsErr = exit.From(err).Message
	}
	return state, ctx.Err()
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
		rate, err := a.rates.Of(job.JobDetail)
		if err != nil {
			return err
		}
		row := a.sums.Begin(cost.KeyOf(job.JobDetail, a.workflowOf(job.JobDetail, parent)))
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

// Print prints one line per group, and below them how the figures are
// calculated.
func (d *SpentDocument) Print(con *term.Console) error {
	t := con.Table(headOf(d.By), "COST", "TIME", "WASTE", "RUNS", "FAILED", "ATTEMPTS", "RETRIED", "WASTED")
	row := func(r *cost.Row) {
		money, wasted := r.Cost.String(), r.Waste.String()
		if d.isFree {
			money, wasted = "-", "-"
		}
		t.Row(shown(con, r.Name), money, secondsText(r.Seconds), wasteText(r.Spent), fmt.Sprint(r.Runs),
			fmt.Sprint(r.Failed), fmt.Sprint(r.Attempts), fmt.Sprint(r.Retried), wasted)
	}
	for _, r := range d.Rows {
		row(r)
	}
	if len(d.Rows) > 1 {
		row(&d.Total)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	total := d.Total
	g := &costPage{PlanPage{Con: con, Width: term.Width(con.Out)}}
	g.Text.WriteString("\n")
	if total.WasteSeconds() > 0 {
		g.Line("waste", "%s in attempts that were retried, %s in the last attempts of FAILED jobs",
			secondsText(total.RetriedSeconds), secondsText(total.FailedSeconds))
	}
	if total.Unended > 0 {
		g.Line("so far", "%s not ended", text.Count(total.Unended, "run")+" of them")
	}
	if d.isFree {
		g.Line("prices", "none: this machine costs nothing; to see the cost in a queue of the platform file: --queue QUEUE")
	} else {
		if total.Alone.Known() && total.Alone.USD > total.Cost.High.USD {
			g.Line("at most", "%s USD, if every attempt had its machine alone", text.Money(total.Alone.USD))
		}
		g.gaps("low", total.Cost.Low, "run")
		g.gaps("high", total.Cost.High, "run")
		g.prices(d.Prices, d.NotIncluded, d.prices, d.rates)
		if d.queue != "" {
			g.More("as if the jobs had run in queue %s", d.queue)
		}
	}
	g.Line("target", "%s", d.Target)
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
