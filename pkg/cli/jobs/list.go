package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/wire"
)

// ListCommand is batchctl list.
func ListCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "list",
		Usage:     "list jobs",
		UsageText: "batchctl list [FLAGS]",
		Description: cmdline.Help("Lists the newest jobs first. A job must match all flags. --array JOB lists the children of an array.\n\nA TIME is a date, a date "+
			"with a time, or an age: 2026-03-31, \"2026-03-31 14:00\", 2026-03-31T14:00:00Z, 90m, 7d.",
			"batchctl list\nbatchctl list --status RUNNABLE --queue gpu\n"+
				"batchctl list --name 'resnet*' --output json"),
	}, ListOptions{Options: Options{Output: cmdline.Outputs(cmdline.JSON[wire.Native[[]types.JobSummary]]())}, Limit: 50},
		func(ctx context.Context, o ListOptions) error { return list(ctx, con, o) }, "submission")
}

// ListOptions are the flags of list. Times are as written.
type ListOptions struct {
	Options
	Statuses      []string `flag:"status" usage:"only jobs in this <STATUS>; may be repeated"`
	Queues        []string `flag:"queue" usage:"only this <QUEUE>; may be repeated"`
	Name          string   `flag:"name" usage:"only jobs of this <NAME>; a trailing * is a wildcard"`
	Definition    string   `flag:"definition" usage:"only jobs of this <DEFINITION>: name, name:revision or ARN; a trailing * is a wildcard"`
	Share         string   `flag:"share" usage:"only jobs of this fair-share <IDENTIFIER>"`
	CreatedAfter  string   `flag:"created-after" usage:"only jobs created since this <TIME>"`
	CreatedBefore string   `flag:"created-before" usage:"only jobs created before this <TIME>"`
	Array         string   `flag:"array" usage:"the children of this array <JOB>"`
	Limit         int      `flag:"limit" usage:"list at most <N> jobs; 0 lists all"`
}

// list is batchctl list.
func list(ctx context.Context, con *term.Console, o ListOptions) error {
	found, more, err := o.list(ctx, con)
	switch {
	case err != nil:
		return err
	case o.Format == "json":
		err = con.JSON(found)
	default:
		err = printSummaries(con, found.Shape)
	}
	fmt.Fprint(con.Err, more)
	return err
}

// List returns the jobs that match all options, the newest first.
func List(ctx context.Context, con *term.Console, o ListOptions) (wire.Native[[]types.JobSummary], error) {
	found, _, err := o.list(ctx, con)
	return found, err
}

// list is List. more tells how many other jobs match; "" if there are none.
func (o ListOptions) list(ctx context.Context, con *term.Console) (found wire.Native[[]types.JobSummary], more string,
	err error) {
	if len(o.Args) > 0 {
		return found, "", exit.Usage("list takes no arguments").Try("did you mean: batchctl status %s", o.Args[0])
	}
	filter, err := o.filter(time.Now())
	if err != nil {
		return found, "", err
	}
	call, err := OpenFor(ctx, con, o.Options, target.ToRead)
	if err != nil {
		return found, "", err
	}
	defer call.Close()
	jobs, err := call.newest(ctx, con, o.Array, filter)
	if err != nil {
		return found, "", err
	}
	if len(jobs) == 0 && len(filter.Queues) > 0 {
		// The answer is complete without this note, so a denied call is no error.
		if queues, err := call.Described(ctx, filter.Queues); err == nil {
			noteServiceJobs(con, queues)
		}
	}
	// The limit applies after sorting, so that the newest jobs remain.
	if hidden := len(jobs) - o.Limit; o.Limit > 0 && hidden > 0 {
		jobs = jobs[:o.Limit]
		more = fmt.Sprintf("%d more; to list all: batchctl list --limit 0%s\n", hidden, call.Flags)
	}
	return wire.Native[[]types.JobSummary]{Shape: jobs}, more, nil
}

// newest lists the jobs that match the filter, the newest first. Jobs that only
// the ledger remembers are among them.
func (call *Call) newest(ctx context.Context, con *term.Console, array string,
	filter client.Filter) ([]types.JobSummary, error) {
	named := array != "" || filter.Share != "" || len(filter.Queues) > 0 // the ledger does not record these
	filter, err := ResolveFilter(ctx, NewResolver(con, "list", call.Target, call.Platform), array, call.Platform,
		filter)
	if err != nil {
		return nil, err
	}
	jobs := []types.JobSummary{}
	for job, err := range call.Client.List(ctx, filter) {
		if err != nil && len(filter.Queues) > 0 && IsNoSuchQueue(err) {
			return nil, exit.From(err).Try("see them all: batchctl queues%s", call.Flags)
		}
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job)
	}
	old, err := call.forgotten(ctx, named, filter, jobs)
	if err != nil {
		return nil, err
	}
	jobs = append(jobs, old...)
	slices.SortStableFunc(jobs, func(a, b types.JobSummary) int {
		return cmp.Compare(aws.ToInt64(b.CreatedAt), aws.ToInt64(a.CreatedAt))
	})
	return jobs, nil
}

// mostForgotten is the most jobs that list adds from the ledger.
const mostForgotten = 100

// forgotten returns matching jobs that only the ledger remembers, and adds that to their
// reason. named means that the filter has a condition that the ledger cannot check; the
// result is then empty.
func (call *Call) forgotten(ctx context.Context, named bool, filter client.Filter,
	listed []types.JobSummary) ([]types.JobSummary, error) {
	if named {
		return nil, nil
	}
	seen := map[string]bool{}
	for _, job := range listed {
		seen[aws.ToString(job.JobId)] = true
	}
	jobs, err := call.Client.Forgotten(ctx, func(id string) bool { return seen[id] }, filter.Matches, mostForgotten)
	for i, job := range jobs {
		jobs[i].StatusReason = aws.String(term.JoinClauses(session.LedgerNote(serviceOf(call.Target)),
			aws.ToString(job.StatusReason)))
	}
	return jobs, err
}

// filter converts the flags to a filter. Names of queues are not resolved yet,
// see ResolveFilter.
func (o ListOptions) filter(now time.Time) (f client.Filter, err error) {
	f = client.Filter{Name: o.Name, Queues: o.Queues, Definition: o.Definition, Share: o.Share}
	if f.Statuses, err = parseStatuses(o.Statuses); err != nil {
		return f, err
	}
	if f.CreatedAfter, err = ParseTime("created-after", o.CreatedAfter, now); err != nil {
		return f, err
	}
	if f.CreatedBefore, err = ParseTime("created-before", o.CreatedBefore, now); err != nil {
		return f, err
	}
	if !f.CreatedBefore.IsZero() && !f.CreatedAfter.Before(f.CreatedBefore) {
		return f, exit.Usage("no job was created after %s and before %s", o.CreatedAfter, o.CreatedBefore).
			Try("--created-after must be the earlier time")
	}
	return f, nil
}

// timeLayouts are the accepted formats of --created-after and --created-before. A
// time without a zone is local.
var timeLayouts = [...]string{time.DateOnly, "2006-01-02 15:04", time.DateTime, "2006-01-02T15:04",
	"2006-01-02T15:04:05", time.RFC3339}

// ParseTime parses a flag that is a moment or an age, such as 7d. It returns the
// zero time for "". now is the end of an age.
func ParseTime(flag, value string, now time.Time) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	// time.ParseDuration does not know days.
	if days, ok := strings.CutSuffix(value, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	if d, err := time.ParseDuration(value); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range timeLayouts {
		if at, err := time.ParseInLocation(layout, value, time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, exit.Usage("--%s %q is not a time", flag, value).
		Try("write a date, a date with a time, or an age: --%s 2026-03-31, --%s 2026-03-31T14:00:00Z, --%s 24h", flag,
			flag, flag)
}

// ResolveFilter replaces the queue aliases and the array in a filter by names and
// ids at the target. Without queues, the filter gets those of the platform file.
func ResolveFilter(ctx context.Context, r *session.Resolver, array string, platform *document.Platform,
	f client.Filter) (client.Filter, error) {
	if platform != nil {
		for i, alias := range f.Queues {
			if q, ok := platform.Queue(alias); ok {
				f.Queues[i] = q.Name
			}
		}
	}
	if len(f.Queues) == 0 {
		f.Queues = r.Queues
	}
	if array != "" {
		found, err := r.Resolve(ctx, array, session.OneJob)
		if err != nil {
			return f, err
		}
		id := found[0][0].ID
		known, err := r.Target.Client.Recall(ctx, id)
		if err != nil {
			return f, err
		}
		if batch.ArraySize(known[0].JobDetail) == 0 && known[0].Status != once.StatusExpired {
			return f, exit.Fail(exit.NotDone, "list the children of %s: it is not an array", array).
				Try("show the job: batchctl status %s%s", array, r.Target.Flags)
		}
		f.ArrayOf = id
	}
	return f, nil
}

// printSummaries prints jobs as a table.
func printSummaries(con *term.Console, jobs []types.JobSummary) error {
	if len(jobs) == 0 {
		fmt.Fprintln(con.Err, "no jobs")
		return nil
	}
	now := time.Now()
	t := con.Table("ID", "NAME", "STATUS", "CREATED", "RAN", "REASON")
	for _, j := range jobs {
		t.Row(batch.ShortID(aws.ToString(j.JobId)), aws.ToString(j.JobName), string(j.Status),
			term.Ago(j.CreatedAt, now),
			term.Took(j.StartedAt, j.StoppedAt, now), cmp.Or(session.ListedReason(j), "-"))
	}
	return t.Flush()
}

// parseStatuses parses --status, in upper or lower case.
func parseStatuses(names []string) ([]types.JobStatus, error) {
	var known []string
	for _, status := range types.JobStatus("").Values() {
		known = append(known, string(status))
	}
	var out []types.JobStatus
	for _, name := range names {
		status := types.JobStatus(strings.ToUpper(name))
		if !slices.Contains(known, string(status)) {
			return nil, exit.Usage("unknown status %q", name).Try("%s",
				diag.Instead(name, known, diag.Offer{Near: "did you mean --status %s?", Are: "the statuses are"}))
		}
		out = append(out, status)
	}
	return out, nil
}
