package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/jobqueue"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/target"
)

// QueuesCommand is batchctl queues.
func QueuesCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "queues",
		Usage:     "show the job queues and their capacity",
		UsageText: "batchctl queues [FLAGS] [QUEUE ...]",
		Description: cmdline.Help("Counts the unfinished jobs of each queue, children of arrays included. IN USE is the vCPUs of running jobs. CAPACITY is the total "+
			"maxvCpus of the queue's compute environments. SHARES lists what each share of a fair-share queue uses.\n\nbatchctl top shows the "+
			"same, and the jobs, live.",
			"batchctl queues\nbatchctl queues gpu --target prod"),
	}, Options{Output: cmdline.Outputs(cmdline.JSON[[]jobqueue.Queue]())},
		func(ctx context.Context, o Options) error { return queues(ctx, con, o) }, "submission")
}

// queues is batchctl queues.
func queues(ctx context.Context, con *term.Console, o Options) error {
	call, err := OpenFor(ctx, con, o, target.ToRead)
	if err != nil {
		return err
	}
	defer call.Close()
	queues, denied, err := call.states(ctx, o.Args)
	if err != nil {
		return err
	}
	if denied != nil {
		fmt.Fprintf(con.Err, "note: the vCPUs in use are not shown: %s\n", diag.Printable(con.Redacted(denied.Error())))
	}
	noteServiceJobs(con, queues)
	if call.Format == "json" {
		return con.MaskedJSON(queues)
	}
	if len(queues) == 0 {
		fmt.Fprintln(con.Err, "no queues")
		return nil
	}
	if err := PrintQueues(con, queues); err != nil {
		return err
	}
	return con.Print(machineLines(queues...))
}

// machineLines returns the lines of the machines that AWS Batch does not scale.
func machineLines(queues ...jobqueue.Queue) (text string) {
	var environments []jobqueue.Environment
	for _, q := range queues {
		environments = append(environments, q.EnvironmentStates...)
	}
	for _, line := range jobqueue.MachinesInUse(environments) {
		text += line + "\n"
	}
	return text
}

// PrintQueues prints queues as a table. The column SHARES appears only if a queue
// has fair shares.
func PrintQueues(con *term.Console, queues []jobqueue.Queue) error {
	head := []string{"QUEUE", "STATE", "PRIORITY", "WAITING", "RUNNABLE", "STARTING", "RUNNING", "IN USE", "CAPACITY",
		"ENVIRONMENTS"}
	shared := slices.ContainsFunc(queues, jobqueue.Queue.HasShares)
	if shared {
		head = append(head, "SHARES")
	}
	t := con.Table(head...)
	for _, q := range queues {
		cells := []string{q.Name, string(q.State), strconv.Itoa(int(q.Priority)),
			q.Count(types.JobStatusSubmitted, types.JobStatusPending), q.Count(types.JobStatusRunnable),
			q.Count(types.JobStatusStarting), q.Count(types.JobStatusRunning),
			cmp.Or(q.InUse(), "-"), q.Capacity(), strings.Join(slices.Concat(q.Environments, q.ServiceEnvironments),
				" ")}
		if shared {
			cells = append(cells, cmp.Or(q.Shares(), "-"))
		}
		t.Row(cells...)
	}
	return t.Flush()
}

// states returns the queues with these names or aliases, or all queues, sorted by
// name. If the credentials do not allow snapshots, it leaves out the capacity in
// use, and denied is the reason.
func (call *Call) states(ctx context.Context, names []string) (states []jobqueue.Queue, denied, err error) {
	if states, err = call.Described(ctx, names); err != nil {
		return nil, nil, err
	}
	for i := range states {
		s := &states[i]
		if !s.HasServiceJobs() {
			if s.Jobs, err = call.Client.Depth(ctx, s.Name); err != nil {
				return nil, nil, err
			}
		}
		snapshot, err := call.Client.QueueSnapshot(ctx, s.Name)
		switch {
		case err == nil:
			s.Utilization.Shape = snapshot.QueueUtilization
		case client.SnapshotDenied(err):
			denied = err
		default:
			return nil, nil, err
		}
	}
	return states, denied, nil
}

// noteServiceJobs names the queues whose jobs batchctl does not show, with the command that lists them.
func noteServiceJobs(con *term.Console, queues []jobqueue.Queue) {
	for _, q := range queues {
		if q.HasServiceJobs() {
			name := diag.Printable(q.Name)
			fmt.Fprintf(con.Err, "note: batchctl does not show the service jobs of queue %s: aws batch list-service-jobs --job-queue %s\n", name, name)
		}
	}
}

// Described returns queues without the counts of their jobs, sorted by name. It needs two calls, and two for each
// environment that AWS Batch does not scale. names are names, ARNs or aliases; an empty list means all queues.
func (call *Call) Described(ctx context.Context, names []string) ([]jobqueue.Queue, error) {
	all, err := call.Client.Queues(ctx)
	if err != nil {
		return nil, err
	}
	environments, err := call.Client.Environments(ctx)
	if err != nil {
		return nil, err
	}
	machines, err := call.Client.FixedMachines(ctx, environments)
	if err != nil && !rpc.Denied(err) {
		return nil, err
	}
	// Each found queue is removed, so the rest are missing.
	asked := map[string]string{}
	for _, arg := range names {
		asked[call.queueName(arg)] = arg
	}
	states := []jobqueue.Queue{}
	for _, q := range all {
		name := aws.ToString(q.JobQueueName)
		arn := aws.ToString(q.JobQueueArn)
		_, byName := asked[name]
		_, byARN := asked[arn]
		if !byName && !byARN && len(names) > 0 {
			continue
		}
		delete(asked, name)
		delete(asked, arn)
		states = append(states, jobqueue.New(q, environments, machines))
	}
	for _, arg := range names {
		if _, missing := asked[call.queueName(arg)]; missing {
			return nil, exit.Fail(exit.NotDone, "no queue %s here", arg).
				Try("see them all: batchctl queues%s", call.Flags)
		}
	}
	slices.SortStableFunc(states, func(a, b jobqueue.Queue) int { return cmp.Compare(a.Name, b.Name) })
	return states, nil
}

// QueueNamed returns the queue that an argument names: by its name, ARN or alias.
func (call *Call) QueueNamed(states []jobqueue.Queue, arg string) (q jobqueue.Queue, found bool) {
	name := batch.Name(call.queueName(arg))
	at := slices.IndexFunc(states, func(s jobqueue.Queue) bool { return s.Name == name })
	if at < 0 {
		return q, false
	}
	return states[at], true
}

// queueName returns the queue of an alias in the platform file. It returns other
// arguments unchanged.
func (call *Call) queueName(arg string) string {
	if call.Platform != nil {
		if q, ok := call.Platform.Queue(arg); ok {
			return q.Name
		}
	}
	return arg
}

// IsNoSuchQueue reports whether the service answered that a queue does not exist.
func IsNoSuchQueue(err error) bool { return strings.Contains(err.Error(), "does not exist") }
