package platform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/ecs"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
)

// An argument names a task by its name, the beginning of its id, or its ARN. Without an
// argument, the commands use the task that was started last.

// taskOptions are the flags that the ecs commands about tasks share. Args are the tasks.
type taskOptions struct {
	cmdline.Given
	Target target.Options
	// Cluster is "" for the cluster that the task was run in.
	Cluster string `flag:"cluster" usage:"the ECS cluster's <NAME> or ARN"`
}

// ecsCall is a command that names tasks.
type ecsCall struct {
	*ecsTarget
	tasks []ecs.Entry
}

// openTasks opens the target and finds the tasks that the arguments name. Without
// arguments it is the task that was started last. The caller closes the result.
func openTasks(ctx context.Context, con *term.Console, o taskOptions, why target.Need) (*ecsCall, error) {
	in := &input.Input{PlacesNothing: true}
	if err := in.FindPlatform(o.Target); err != nil {
		return nil, err
	}
	if in.Problems.HasErrors() {
		return nil, input.Complain(con, in.Problems)
	}
	t, err := openECS(ctx, con, o.Target, in.Platform, why)
	if err != nil {
		return nil, err
	}
	call := &ecsCall{ecsTarget: t}
	entries, err := t.record.Entries()
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	entries = slices.DeleteFunc(entries, func(e ecs.Entry) bool { return !t.Submissions.Covers(e.Target) })
	args := o.Args
	if len(args) == 0 {
		args = []string{""}
	}
	for _, arg := range args {
		e, err := call.entry(o, entries, arg)
		if err != nil {
			return nil, errors.Join(err, t.Close())
		}
		call.tasks = append(call.tasks, e)
	}
	return call, nil
}

// entry finds the task of an argument; "" is the task that was started last. A
// task that was not started here needs an ARN, or --cluster.
func (call *ecsCall) entry(o taskOptions, entries []ecs.Entry, arg string) (ecs.Entry, error) {
	e, ok := ecs.Find(entries, arg)
	cluster := o.Cluster
	switch {
	case ok:
		e.Cluster = cmp.Or(cluster, e.Cluster)
		return e, nil
	case batch.IsARN(arg):
		return ecs.Entry{Name: ecs.ShortID(arg), Task: arg, Cluster: cmp.Or(cluster, ecs.ClusterOf(arg), "default")}, nil
	case arg != "" && cluster != "":
		return ecs.Entry{Name: arg, Task: arg, Cluster: cluster}, nil
	case arg == "":
		return e, exit.Usage("no task was started from here on this target").
			Try("name a task and its cluster: batchctl ecs %s TASK --cluster NAME%s", o.Command, call.Flags)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	f := exit.Fail(exit.NotDone, "no task %s was started from here on this target", arg)
	if near := diag.Near(arg, slices.Values(names)); near != "" {
		return e, f.Try("did you mean %s?", near)
	}
	return e, f.Try("name the cluster of a task that was not started here: batchctl ecs %s %s --cluster NAME%s",
		o.Command, arg, call.Flags)
}

// oneTask opens the target for a command that takes at most one task, and returns
// that task.
func oneTask(ctx context.Context, con *term.Console, o taskOptions, why target.Need) (*ecsCall, ecs.Entry, error) {
	if len(o.Args) > 1 {
		return nil, ecs.Entry{}, exit.Usage("ecs %s takes one task", o.Command).
			Try("name one: batchctl ecs %s %s", o.Command, o.Args[0])
	}
	call, err := openTasks(ctx, con, o, why)
	if err != nil {
		return nil, ecs.Entry{}, err
	}
	return call, call.tasks[0], nil
}

// ecsStatusCommand is batchctl ecs status.
func ecsStatusCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name: "status", Usage: "show tasks: status, GPUs, exit code, stop reason",
		UsageText: "batchctl ecs status [FLAGS] [TASK ...]",
		Description: cmdline.Help("Without a TASK, it shows the tasks that you started on this machine.",
			"batchctl ecs status train-1gpu --output json"),
	}, ecsStatusOptions{Output: cmdline.Outputs(cmdline.JSON[[]ecs.Row]())},
		func(ctx context.Context, o ecsStatusOptions) error { return ecsStatus(ctx, con, o) })
}

// ecsStatusOptions are the flags of ecs status.
type ecsStatusOptions struct {
	cmdline.Output
	taskOptions
}

// ecsStatus is batchctl ecs status: a row for each container of each task.
func ecsStatus(ctx context.Context, con *term.Console, o ecsStatusOptions) error {
	call, err := openTasks(ctx, con, o.taskOptions, target.ToRead)
	if err != nil {
		return err
	}
	defer call.Close()
	rows := []ecs.Row{}
	for _, e := range call.tasks {
		s, err := call.ecs.Describe(ctx, e.Cluster, e.Task)
		if err != nil {
			return call.ecsFailure(ctx, "describe task "+e.Name, err)
		}
		rows = append(rows, ecs.RowOf(e, s))
	}
	if o.Format == "json" {
		return con.JSON(rows)
	}
	t := con.Table("TASK", "NAME", "STATUS", "CONTAINER", "EXIT", "GPUS", "WHY")
	for _, r := range rows {
		for _, k := range r.Containers {
			exit := "-"
			if k.ExitCode != nil {
				exit = strconv.Itoa(int(*k.ExitCode))
			}
			t.Row(r.ShortID, r.Name, r.Status, k.Name, exit, cmp.Or(strings.Join(k.GPUIDs, ","), "-"),
				term.JoinClauses(k.Reason, r.StoppedReason))
		}
	}
	return t.Flush()
}

// ecsWaitCommand is batchctl ecs wait.
func ecsWaitCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name: "wait", Usage: "wait until a task has stopped", UsageText: "batchctl ecs wait [FLAGS] [TASK]",
		Description: cmdline.Help("The exit code is 0 if the task's containers succeeded, 1 if one failed, and 3 if the result is unknown. Ctrl-C stops the waiting, not the task.", "batchctl ecs wait train-1gpu"),
	}, taskOptions{}, func(ctx context.Context, o taskOptions) error { return ecsWait(ctx, con, o) })
}

// ecsWait is batchctl ecs wait: it follows one task without its log.
func ecsWait(ctx context.Context, con *term.Console, o taskOptions) error {
	call, e, err := oneTask(ctx, con, o, target.ToRead)
	if err != nil {
		return err
	}
	defer call.Close()
	return (&ecsFollow{con: con, t: call.ecsTarget, name: e.Name, cluster: e.Cluster, task: e.Task}).run(ctx)
}

// ecsFollow prints the status changes and the log of one task.
type ecsFollow struct {
	con                 *term.Console
	t                   *ecsTarget
	name, cluster, task string
	tail                int // the last lines of each log; 0 for all
	// log receives the lines of the log; nil if they are not printed.
	log    io.Writer
	gpus   int  // the number of GPU ids that were printed
	marked bool // lines begin with their container's name
	failed bool // a log could not be read
}

// run follows the task until it stops. The exit status is 0 if its containers
// succeeded, else exit.Problem.
func (f *ecsFollow) run(ctx context.Context) error {
	w := ecs.Watcher{State: f.printStatus}
	if f.log != nil {
		w.Open, w.Line, w.LogTrouble = f.open, f.line, f.warnUnreadable
	}
	state, logs, err := f.t.ecs.Follow(ctx, f.cluster, f.task, w)
	id := ecs.ShortID(f.task) + f.t.Flags
	switch {
	case ctx.Err() != nil:
		return exit.Fail(exit.Interrupted, "stopped waiting; the task continues").
			Try("continue waiting: batchctl ecs wait %[1]s    stop: batchctl ecs stop %[1]s", id)
	case err != nil:
		failure := exit.From(f.t.ecsFailure(ctx, "follow task "+f.name, err))
		if failure.Hint == "" {
			return failure.Try("continue waiting: batchctl ecs wait %s", id)
		}
		return failure
	case ecs.Succeeded(state, logs):
		return nil
	}
	return exit.Silent(exit.Problem)
}

// printStatus prints the task's status, its GPU ids the first time that they are
// known, and in the end its exit codes.
func (f *ecsFollow) printStatus(s *types.Task) {
	text := aws.ToString(s.LastStatus)
	if gpus := ecs.GPUs(s); len(gpus) > f.gpus {
		f.gpus = len(gpus)
		text += "  gpuIds " + strings.Join(gpus, ", ")
	}
	if ecs.Stopped(s) {
		text = term.JoinClauses(text, ecsEnd(s))
	}
	fmt.Fprintf(f.con.Err, "%s  %s  %s\n", diag.Printable(f.name), ecs.ShortID(f.task),
		diag.Printable(f.con.Redacted(text)))
}

// ecsEnd describes how a stopped task ended: exit codes, and the reasons that ECS
// gives.
func ecsEnd(s *types.Task) string {
	var clauses []string
	for _, c := range s.Containers {
		name := ""
		if len(s.Containers) > 1 {
			name = aws.ToString(c.Name) + " "
		}
		switch {
		case c.ExitCode != nil:
			clauses = append(clauses, fmt.Sprintf("%sexit code %d", name, *c.ExitCode))
		default:
			clauses = append(clauses, name+"did not start")
		}
		clauses = append(clauses, aws.ToString(c.Reason))
	}
	return term.JoinClauses(append(clauses, aws.ToString(s.StoppedReason))...)
}

// open returns a reader of one container's log.
func (f *ecsFollow) open(l ecs.Log) *client.StreamReader {
	return f.t.Client.StreamReader(f.task, l.Group, l.Stream, client.LogOptions{Tail: f.tail})
}

// line prints one line of a log, with the container's name if the task has
// several.
func (f *ecsFollow) line(l ecs.Log, line client.Line) error {
	text := f.con.LogText(line.Text)
	if f.marked {
		text = diag.Printable(l.Container) + " | " + text
	}
	_, err := fmt.Fprintln(f.log, text)
	return err
}

// warnUnreadable prints the first error of reading a log, and makes the command
// exit with exit.NotDone.
func (f *ecsFollow) warnUnreadable(err error) {
	if !f.failed {
		fmt.Fprintf(f.con.Err, "batchctl: log of %s: %s\n", diag.Printable(f.name), diag.Printable(err.Error()))
	}
	f.failed = true
}

// ecsLogsCommand is batchctl ecs logs.
func ecsLogsCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name: "logs", Usage: "print the logs of a task", UsageText: "batchctl ecs logs [FLAGS] [TASK]",
		Description: cmdline.Help("Prints the log. With --follow, it continues until the task has stopped.",
			"batchctl ecs logs train-1gpu --follow"),
	}, ecsLogOptions{}, func(ctx context.Context, o ecsLogOptions) error { return ecsLogs(ctx, con, o) })
}

// ecsLogOptions are the flags of ecs logs.
type ecsLogOptions struct {
	Follow bool `flag:"follow,f" usage:"continue until the task has stopped"`
	Tail   int  `flag:"tail,n" usage:"only the last <N> lines of each log"`
	input.Raw
	taskOptions
}

// ecsLogs is batchctl ecs logs. It needs only the definition of the task, because
// ECS forgets a stopped task after about an hour while CloudWatch Logs keeps the
// log.
func ecsLogs(ctx context.Context, con *term.Console, o ecsLogOptions) error {
	con.RawLog = o.IsRaw
	if o.Tail < 0 {
		return exit.Usage("--tail must not be negative").Try("use numbers from 0 up")
	}
	call, e, err := oneTask(ctx, con, o.taskOptions, target.ToRead)
	if err != nil {
		return err
	}
	defer call.Close()
	task, definition := e.Task, e.Definition // from the record: ECS may have forgotten the task
	if definition == "" {
		state, err := call.ecs.Describe(ctx, e.Cluster, e.Task)
		if err != nil {
			return call.ecsFailure(ctx, "describe task "+e.Name, err)
		}
		task, definition = aws.ToString(state.TaskArn), aws.ToString(state.TaskDefinitionArn)
	}
	logs, err := call.ecs.Logs(ctx, task, definition)
	if err != nil {
		return call.ecsFailure(ctx, "describe the task definition of "+e.Name, err)
	}
	f := &ecsFollow{con: con, t: call.ecsTarget, name: e.Name, cluster: e.Cluster, task: e.Task, tail: o.Tail,
		log: con.Out, marked: len(logs) > 1}
	for _, l := range logs {
		if l.Stream == "" {
			f.warnUnreadable(fmt.Errorf("container %s uses the log driver %s, so its log is not in CloudWatch Logs",
				l.Container, cmp.Or(l.Driver, "of the host")))
		}
	}
	if o.Follow {
		err = f.run(ctx)
	} else {
		err = f.once(ctx, logs)
	}
	if err == nil && f.failed {
		return exit.Silent(exit.NotDone)
	}
	return err
}

// once prints the current content of the logs. Containers that do not log to
// CloudWatch Logs have no stream.
func (f *ecsFollow) once(ctx context.Context, logs []ecs.Log) error {
	lines := 0
	for _, l := range logs {
		if l.Stream == "" {
			continue
		}
		var stopped error
		_, err := f.open(l).Read(ctx, func(line client.Line) bool {
			lines++
			stopped = f.line(l, line)
			return stopped == nil
		})
		switch {
		case stopped != nil:
			return stopped
		case ctx.Err() != nil:
			return exit.Fail(exit.Interrupted, "stopped reading")
		case err != nil:
			f.warnUnreadable(err)
		}
	}
	if lines == 0 && !f.failed {
		fmt.Fprintf(f.con.Err, "%s has written nothing; its status: batchctl ecs status %s%s\n", diag.Printable(f.name),
			ecs.ShortID(f.task), f.t.Flags)
	}
	return nil
}

// ecsStopCommand is batchctl ecs stop.
func ecsStopCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name: "stop", Usage: "stop a task", UsageText: "batchctl ecs stop [FLAGS] TASK",
		Description: cmdline.Help("ECS sends SIGTERM, then SIGKILL after 30 seconds.",
			"batchctl ecs stop train-1gpu"),
	}, ecsStopOptions{Reason: "stopped with batchctl ecs stop"},
		func(ctx context.Context, o ecsStopOptions) error { return ecsStop(ctx, con, o) })
}

// ecsStopOptions are the flags of ecs stop.
type ecsStopOptions struct {
	Reason string `flag:"reason" usage:"the reason <TEXT> that ECS stores with the task"`
	taskOptions
}

// ecsStop is batchctl ecs stop: it stops one task and waits until ECS reports
// STOPPED.
func ecsStop(ctx context.Context, con *term.Console, o ecsStopOptions) error {
	if len(o.Args) == 0 {
		return exit.Usage("ecs stop needs a task").Try("name one: batchctl ecs stop NAME")
	}
	call, e, err := oneTask(ctx, con, o.taskOptions, target.ToChange)
	if err != nil {
		return err
	}
	defer call.Close()
	before, err := call.ecs.Describe(ctx, e.Cluster, e.Task)
	if err != nil {
		return call.ecsFailure(ctx, "describe task "+e.Name, err)
	}
	if ecs.Stopped(before) {
		return con.Print(fmt.Sprintf("%s  %s  not stopped: already STOPPED\n", ecs.ShortID(aws.ToString(before.TaskArn)),
			diag.Printable(e.Name)))
	}
	if err := call.ecs.Stop(ctx, e.Cluster, e.Task, o.Reason); err != nil {
		return call.ecsFailure(ctx, "stop task "+e.Name, err)
	}
	following, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	after, _, err := call.ecs.Follow(following, e.Cluster, e.Task, ecs.Watcher{})
	switch {
	case ctx.Err() != nil:
		return exit.Fail(exit.Interrupted, "interrupted; task %s was asked to stop", e.Name).
			Try("check: batchctl ecs status %s", ecs.ShortID(e.Task)+call.Flags)
	case err != nil:
		return exit.Fail(exit.NotDone, "task %s was asked to stop; whether it stopped is unknown: %v", e.Name, err).
			Try("check: batchctl ecs status %s", ecs.ShortID(e.Task)+call.Flags)
	}
	return con.Print(fmt.Sprintf("%s  %s  STOPPED, was %s\n", ecs.ShortID(aws.ToString(after.TaskArn)),
		diag.Printable(e.Name), aws.ToString(before.LastStatus)))
}

// stopPatience is how long ecs stop waits. ECS limits a container's stop timeout
// to 120 seconds.
const stopPatience = 3 * time.Minute
