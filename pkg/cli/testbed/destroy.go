package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/benchmark"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/platform"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/infra"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/testbed"
	"github.com/batchctl/batchctl/pkg/text"
)

// destroyCommand is batchctl bench destroy.
func destroyCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name: "destroy", Usage: "delete everything that bench deploy created",
		UsageText: "batchctl bench destroy [FLAGS]",
		Description: cmdline.Help("Lists everything that bench deploy created, asks, deletes it, and checks that nothing is left. The reports are kept.",
			"batchctl bench destroy\nbatchctl bench destroy --target prod --prefix trial --yes"),
	}, destroyOptions{Out: reports, names: names{Prefix: prefix}}, func(ctx context.Context, o destroyOptions) error {
		return destroy(ctx, con, options{Given: o.Given, Target: o.Target, names: o.names,
			Measure: benchmark.Measure{Out: o.Out}})
	})
}

// destroyOptions are the flags of bench destroy. It needs Out to find the platform file and the memory.
type destroyOptions struct {
	cmdline.Given
	Target target.Options
	Out    string `flag:"out" usage:"the <DIRECTORY> for reports, platform file and state"`
	names
}

// remainder is everything of a benchmark that exists, and that destroy
// deletes.
type remainder struct {
	stacks      *infra.Destruction // in the order of deletion
	jobs        []types.JobSummary // unfinished ones
	repository  string             // "" for none
	tags        []string           // of the images in the repository
	definitions []once.Revision    // of the benchmark's jobs
	streams     []logStream        // of the jobs in the directory's memory
}

// logStream is one stream in CloudWatch Logs.
type logStream struct{ group, name string }

// batchLogs is the log group of jobs that name none (AWS Batch User Guide, "Using
// the awslogs log driver").
const batchLogs = "/aws/batch/job"

// destroy is batchctl bench destroy. It lists what exists, asks, and deletes
// it.
func destroy(ctx context.Context, con *term.Console, o options) error {
	if len(o.Args) > 0 {
		return exit.Usage("bench destroy takes no names").Try("it deletes everything with the prefix %s", o.Prefix)
	}
	if !o.Yes && !term.IsTerminal(con.In) {
		return exit.Usage("bench destroy needs a confirmation, but there is no terminal").Try("pass --yes")
	}
	q := begin(con, o)
	in := &input.Input{PlacesNothing: true}
	if err := q.findPlatform(in); err != nil {
		return err
	}
	if o.Target.NameFrom(in.Platform) == target.Local {
		return exit.Usage("a local benchmark leaves nothing running").
			Try("name a target: batchctl bench destroy --target NAME")
	}
	if err := q.open(ctx, in.Platform); err != nil {
		return err
	}
	defer q.t.Close()
	r, err := q.remains(ctx)
	if err != nil {
		return err
	}
	if r.nothing() {
		return q.prove(ctx)
	}
	yes, err := platform.Confirm(ctx, con, o.Yes, "remove all of it?")
	if err != nil || !yes {
		return errors.Join(err, exit.Fail(exit.NotDone, "not confirmed; nothing was deleted"))
	}
	return q.remove(ctx, r)
}

// findPlatform finds the platform file that names the target. The benchmark's
// own file comes first, so that destroy needs no flags.
func (q *sequence) findPlatform(in *input.Input) error {
	var err error
	isNamed := q.o.Target.Platform+q.o.Target.Name+os.Getenv("BATCHCTL_TARGET") != "" || q.o.Target.NamesAWS()
	if _, statErr := os.Stat(q.o.platformFile()); !isNamed && statErr == nil {
		err = in.UsePlatform(q.o.platformFile())
	} else {
		err = in.FindPlatform(q.o.Target)
	}
	if err == nil && in.Problems.HasErrors() {
		err = input.Complain(q.Console, in.Problems)
	}
	return err
}

// remains finds and lists everything of the benchmark. It changes nothing.
func (q *sequence) remains(ctx context.Context) (*remainder, error) {
	r := &remainder{}
	var err error
	if r.stacks, err = q.stacks.PlanDestruction(ctx, q.stacks.Templates); err != nil {
		return nil, q.notRemoved(ctx, err)
	}
	if r.jobs, err = q.running(ctx, r.stacks.Queues); err != nil {
		return nil, q.notRemoved(ctx, err)
	}
	// CloudFormation keeps a repository that contains images, so destroy deletes
	// it itself.
	repository := testbed.Repository(q.stacks.Prefix)
	var exists bool
	if r.tags, exists, err = q.stacks.Cloud.RepositoryTags(ctx, repository); err != nil {
		return nil, q.notRemoved(ctx, err)
	}
	if exists {
		r.repository = repository
		r.stacks.Keeps = slices.DeleteFunc(r.stacks.Keeps, func(k infra.Kept) bool { return k.ID == repository })
	}
	// No revision is kept, also not the newest.
	if r.definitions, _, err = q.t.Client.Revisions(ctx, 0, testbed.JobNames(q.stacks.Prefix)...); err != nil {
		return nil, q.notRemoved(ctx, err)
	}
	if r.streams, err = q.logs(ctx); err != nil {
		return nil, q.notRemoved(ctx, err)
	}
	return r, q.list(r)
}

// running returns the unfinished jobs in the stacks' queues. A queue that is
// already deleted has none.
func (q *sequence) running(ctx context.Context, queues []string) (list []types.JobSummary, err error) {
	for _, queue := range queues {
		for job, err := range q.t.Client.List(ctx, client.Filter{Queues: []string{queue}}) {
			if err != nil {
				if jobs.IsNoSuchQueue(err) {
					break
				}
				return nil, err
			}
			if !batch.HasEnded(job.Status) {
				list = append(list, job)
			}
		}
	}
	return list, nil
}

// logs returns the log streams of the jobs whose ids are in the directory's
// memory. Jobs that AWS Batch has forgotten are left out.
func (q *sequence) logs(ctx context.Context) (streams []logStream, err error) {
	for _, id := range q.memory.Logs {
		known, err := q.t.Client.Describe(ctx, id)
		if err != nil {
			continue // AWS Batch forgets jobs after a week; their streams cannot be found then
		}
		names := map[string]bool{}
		for _, a := range known[0].Attempts {
			if a.Container != nil {
				names[aws.ToString(a.Container.LogStreamName)] = true
			}
		}
		if known[0].Container != nil {
			names[aws.ToString(known[0].Container.LogStreamName)] = true
		}
		for name := range names {
			if name != "" {
				streams = append(streams, logStream{batchLogs, name})
			}
		}
	}
	return streams, nil
}

// nothing reports whether there is nothing to delete.
func (r *remainder) nothing() bool {
	return len(r.stacks.Stacks)+len(r.jobs)+len(r.definitions)+len(r.streams) == 0 && r.repository == ""
}

// list prints what will be deleted and kept.
func (q *sequence) list(r *remainder) error {
	t := &term.Table{Out: q.Err, Width: term.Width(q.Err)}
	for _, j := range r.jobs {
		t.Row("end", "job "+batch.ShortID(aws.ToString(j.JobId))+" "+client.DisplayName(aws.ToString(j.JobName)),
			string(j.Status))
	}
	for _, s := range r.stacks.Stacks {
		t.Row("delete", "stack "+s, "")
	}
	if r.repository != "" {
		t.Row("delete", "repository "+r.repository+" with "+text.Count(len(r.tags), "image"), "")
	}
	for _, d := range r.definitions {
		t.Row("deregister", fmt.Sprintf("job definition %s:%d", d.Name, d.Revision), "")
	}
	if n := len(r.streams); n > 0 {
		t.Row("delete", fmt.Sprintf("%s in %s", text.Count(n, "log stream"), batchLogs), "")
	}
	for _, k := range r.stacks.Keeps {
		t.Row("keep", k.ID, platform.ShortType(k.Type)+": "+k.Reason)
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t.Flush()
}

// remove deletes everything, and checks that nothing is left. The order allows it
// to start again after an interrupt at any point.
func (q *sequence) remove(ctx context.Context, r *remainder) error {
	for _, j := range r.jobs {
		id := aws.ToString(j.JobId)
		if _, err := q.t.Client.Stop(ctx, id, "batchctl bench destroy"); err != nil {
			return q.notRemoved(ctx, fmt.Errorf("end job %s: %w", batch.ShortID(id), err))
		}
		fmt.Fprintf(q.Err, "job %s: ended\n", batch.ShortID(id))
	}
	for _, s := range r.streams {
		if err := q.stacks.Cloud.DeleteLogStream(ctx, s.group, s.name); err != nil {
			if ctx.Err() != nil || rpc.Login(err) != nil {
				return q.notRemoved(ctx, err)
			}
			fmt.Fprintf(q.Err, "kept: log %s %s: %s\n", s.group, diag.Printable(s.name), diag.Printable(err.Error()))
		}
	}
	for _, d := range r.definitions {
		if err := q.t.Client.Deregister(ctx, d); err != nil {
			return q.notRemoved(ctx, err)
		}
	}
	if r.repository != "" { // before its stack: the template keeps a repository with images
		if err := q.stacks.Cloud.DeleteRepository(ctx, r.repository); err != nil {
			return q.notRemoved(ctx, err)
		}
		fmt.Fprintf(q.Err, "repository %s: deleted, with its images\n", r.repository)
	}
	if err := platform.DestroyStacks(ctx, q.Console, q.stacks, r.stacks); err != nil {
		return q.notRemoved(ctx, err)
	}
	return q.prove(ctx)
}

// prove queries the account again and returns an error if something is left. If
// not, it deletes the directory's memory of the benchmark.
func (q *sequence) prove(ctx context.Context) error {
	stacks, err := q.stacks.Left(ctx)
	if err != nil {
		return q.notRemoved(ctx, err)
	}
	_, repository, err := q.stacks.Cloud.RepositoryTags(ctx, testbed.Repository(q.stacks.Prefix))
	if err != nil {
		return q.notRemoved(ctx, err)
	}
	definitions, _, err := q.t.Client.Revisions(ctx, 0, testbed.JobNames(q.stacks.Prefix)...)
	if err != nil {
		return q.notRemoved(ctx, err)
	}
	var left []string
	for _, s := range stacks {
		left = append(left, "stack "+s)
	}
	if repository {
		left = append(left, "repository "+testbed.Repository(q.stacks.Prefix))
	}
	if len(definitions) > 0 {
		left = append(left, text.Count(len(definitions), "job definition"))
	}
	if len(left) > 0 {
		return exit.Fail(exit.NotDone, "still exists: %s", strings.Join(left, ", ")).
			Try("again: %s", q.o.again("destroy"))
	}
	if err := q.memory.Forget(); err != nil {
		return err
	}
	fmt.Fprintf(q.Err, "nothing is left in %s: no stack with the tag %s and the prefix %s, no repository, no job definition\n",
		diag.Printable(q.t.Label), infra.Mark, q.stacks.Prefix)
	fmt.Fprintf(q.Err, "kept on this machine: the reports in %s, and the ledger of submissions\n",
		diag.Printable(q.o.Out))
	return nil
}

// notRemoved explains why the deletion stopped, and how to continue.
func (q *sequence) notRemoved(ctx context.Context, err error) error {
	if !isStackError(err) && ctx.Err() == nil && rpc.Login(err) == nil && !rpc.Denied(err) {
		return exit.Fail(exit.NotDone, "%s", strings.ReplaceAll(err.Error(), "\n", "; ")).
			Try("continue: %s", q.o.again("destroy"))
	}
	return platform.StackFailure(ctx, err, q.o.statusCommand(), q.o.again("destroy"))
}

// isStackError reports whether platform.StackFailure has its own text for err.
func isStackError(err error) bool {
	_, running := errors.AsType[*infra.StillRunningError](err)
	_, failed := errors.AsType[*infra.FailedError](err)
	_, draining := errors.AsType[*infra.DrainError](err)
	return running || failed || draining
}

// printRemaining prints what still exists and costs money, and how to delete it.
func (q *sequence) printRemaining(o *testbed.Offer) {
	if q.o.DestroyAfter {
		return
	}
	price := "at an unknown price"
	if o.Why == "" {
		price = fmt.Sprintf("for %s USD an hour", text.Money(o.Hourly))
	}
	fmt.Fprintf(q.Err, "still exists: %s, %s; machines stop on their own\ndelete everything: %s\n",
		text.And(o.Standing), price, q.o.again("destroy"))
}
