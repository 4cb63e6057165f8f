package platform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/ecs"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/target"
)

// ECSCommand is batchctl ecs.
func ECSCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "ecs",
		Usage:     "run a job file on an ECS cluster, without AWS Batch",
		UsageText: "batchctl ecs COMMAND [FLAGS] [FILE or TASK]",
		Description: cmdline.Help("The job file becomes a task definition and one task. ECS has no queues, arrays, dependencies, retries or timeouts. batchctl refuses a job whose result would change, and reports what else has no effect.",
			"batchctl ecs run jobs/train-1gpu.json --cluster gpu --target prod --wait\nbatchctl ecs run jobs/train-8gpu.json --cluster gpu --dry-run\n"+
				""),
		Subcommands: []*cli.Command{ecsRunCommand(con), ecsStatusCommand(con), ecsWaitCommand(con), ecsLogsCommand(con),
			ecsStopCommand(con)},
	}
}

// ecsRunCommand is batchctl ecs run. Its flags include those of submit that vary
// the job.
func ecsRunCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "run",
		Usage:     "register the task definition if it changed, and run one task",
		UsageText: "batchctl ecs run [FLAGS] FILE",
		Description: cmdline.Help("If ECS's answer is lost, repeat the command within 24 hours: it finds the first task and does not start a second one.\n\nWith --dry-run, stdout contains the requests for `aws ecs ... --cli-input-json`, and nothing is sent. The target is AWS, even if other commands use the local engine by default.",
			"batchctl ecs run job.json --cluster gpu --target prod\nbatchctl ecs run job.json --cluster gpu --capacity-provider gpu-spot --wait\n"+
				"batchctl ecs run job.json --launch-type FARGATE --subnets subnet-0a1b2c3d\nbatchctl ecs run job.json --dry-run --operation RegisterTaskDefinition"),
	}, ecsRunOptions{Output: cmdline.Outputs(cmdline.JSON[ecsRunRow](), cmdline.JSONWith[[]ecsRequestRow]("dry-run")),
		Cluster: "default"},
		func(ctx context.Context, o ecsRunOptions) error { return ecsRun(ctx, con, o) })
}

// ecsRunOptions are the flags of ecs run.
type ecsRunOptions struct {
	input.Options
	cmdline.Output
	Cluster          string   `flag:"cluster" usage:"the ECS cluster's <NAME> or ARN"`
	LaunchType       string   `flag:"launch-type" usage:"EC2 or FARGATE (default: the job's platformCapabilities, else EC2)"`
	CapacityProvider string   `flag:"capacity-provider" usage:"the <NAME> of a capacity provider of the cluster, instead of a launch type"`
	Subnets          []string `flag:"subnets" usage:"<SUBNETS> of the task's own network interface, separated by commas (default: the network of the host)"`
	SecurityGroups   []string `flag:"security-groups" usage:"<GROUPS> of that interface, separated by commas"`
	PublicIP         bool     `flag:"public-ip" usage:"give the interface a public address (Fargate only)"`
	DryRun           bool     `flag:"dry-run" usage:"print what would be sent; send nothing"`
	Operation        string   `flag:"operation" usage:"with --dry-run, print only the request of this <OPERATION>: RegisterTaskDefinition or RunTask"`
	Again            bool     `flag:"again" usage:"start another task even if the answer to an earlier command is missing"`
	Wait             bool     `flag:"wait,w,monitor" usage:"wait until the task stops; Ctrl-C stops the waiting, not the task"`
	input.Raw
}

// task returns the options of the task. It refuses combinations that ECS rejects.
func (o ecsRunOptions) task() (ecs.Options, error) {
	task := ecs.Options{Cluster: o.Cluster, LaunchType: strings.ToUpper(o.LaunchType),
		CapacityProvider: o.CapacityProvider,
		Subnets:          commas(o.Subnets), SecurityGroups: commas(o.SecurityGroups), PublicIP: o.PublicIP}
	switch {
	case task.LaunchType != "" && task.CapacityProvider != "":
		return task, exit.Usage("--launch-type and --capacity-provider exclude each other").Try("omit --launch-type")
	case task.LaunchType != "" && task.LaunchType != ecs.EC2 && task.LaunchType != ecs.Fargate:
		return task, cmdline.UnknownValue("launch-type", o.LaunchType, "the launch types are", "EC2", "FARGATE")
	case len(task.Subnets) == 0 && (len(task.SecurityGroups) > 0 || task.PublicIP):
		return task, exit.Usage("--security-groups and --public-ip need --subnets").Try("add --subnets SUBNET,SUBNET")
	case o.Operation != "" && !o.DryRun:
		return task, exit.Usage("--operation only prints a request").Try("add --dry-run")
	}
	return task, nil
}

// ecsTarget is an account and Region in which tasks run.
type ecsTarget struct {
	*target.Target
	ecs    *ecs.Client
	record *ecs.Record // tasks that were started here
}

// openECS opens a target in AWS. If the local engine is the default target, it
// opens target aws instead. It refuses an explicit --target local.
func openECS(ctx context.Context, con *term.Console, o target.Options, platform *document.Platform,
	why target.Need) (*ecsTarget, error) {
	name := o.NameFrom(platform)
	switch {
	case name == target.Local && o.Name == target.Local:
		return nil, exit.Usage("the local engine is not an ECS cluster").
			Try("name a target: --target aws; or run the job here: batchctl run FILE")
	case name == target.Local:
		name = target.AWS
	}
	t, err := session.OpenNamed(ctx, con, o, platform, name, why)
	if err != nil {
		return nil, err
	}
	e := &ecsTarget{Target: t, ecs: ecs.New(t.Config), record: &ecs.Record{Dir: filepath.Join(t.Submissions.Dir, "ecs"),
		Target: t.Kind()}}
	// An error of ECS may repeat parts of a request.
	e.ecs.Progress = func(text string) { fmt.Fprintf(con.Err, "%s\n", diag.Printable(con.Redacted(text))) }
	return e, nil
}

// ecsRun is batchctl ecs run: it converts the one job of the files to a task,
// registers its definition and runs it. It opens the target twice: first to read
// settings only, then to change something, so that a file that is no task sends
// no request.
func ecsRun(ctx context.Context, con *term.Console, o ecsRunOptions) error {
	con.RawLog = o.IsRaw
	options, err := o.task()
	if err != nil {
		return err
	}
	in, err := input.Load(con, o.Options)
	if err != nil {
		return err
	}
	job, definition, err := ecsJob(con, strings.Join(o.Args, " "), in)
	if err != nil {
		return err
	}
	// This only reads settings: no request is sent before the job is known to fit a task.
	t, err := openECS(ctx, con, o.Target, in.Platform, target.ToRead)
	if err != nil {
		return err
	}
	defer t.Close()
	options.Region = t.Config.Region
	task, err := ecsTask(con, job, definition, options)
	if err != nil {
		return err
	}
	if o.DryRun {
		return ecsDryRun(con, o.Operation, task)
	}
	if t, err = openECS(ctx, con, o.Target, in.Platform, target.ToChange); err != nil {
		return err
	}
	fmt.Fprintf(con.Err, "cluster: %s\n", diag.Printable(options.Cluster))
	state, err := ecsSend(ctx, con, t, task, o.Again)
	if err != nil {
		return err
	}
	return ecsStarted(ctx, con, t, task, state, o)
}

// commas returns the parts of arguments that are separated by commas. It drops
// empty parts.
func commas(args []string) (list []string) {
	for _, arg := range args {
		for part := range strings.SplitSeq(arg, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
	}
	return list
}

// noQueue replaces the queue of a job that names none: plan.Build requires one,
// ECS has none.
const noQueue = "none"

// ecsJob plans the files and returns their only job with its definition. args are
// the file arguments, for messages. It needs neither a queue nor a staging
// location; ecs.Build refuses jobs that need one.
func ecsJob(con *term.Console, args string, in *input.Input) (*plan.Job, *awsbatch.RegisterJobDefinitionInput, error) {
	if err := input.Complain(con, in.Problems); err != nil {
		return nil, nil, err
	}
	planned, problems := plan.Build(in.Files, nil, plan.Options{Queue: noQueue, Staging: "/"})
	if err := input.Complain(con, problems); err != nil {
		return nil, nil, err
	}
	preview.NoteRequests(con, in.Files)
	var jobs []*plan.Job
	for _, j := range planned.Jobs {
		if j.Submit != nil {
			jobs = append(jobs, j)
		}
	}
	switch {
	case len(jobs) == 0:
		return nil, nil, exit.Usage("%s contains no job", args).Try("name a job file: batchctl ecs run job.json")
	case len(jobs) > 1:
		return nil, nil, exit.Fail(exit.Problem, "%s contains %d jobs, but an ECS task is one job; nothing was sent",
			args, len(jobs)).
			Try("name a file with one job; for a workflow or a large array, use AWS Batch: batchctl submit %s", args)
	}
	return jobs[0], ecs.DefinitionIn(planned, jobs[0]), nil
}

// ecsTask builds the task and prints a note for every setting that has no effect
// on ECS. If the job cannot run on ECS, it prints all reasons and returns an
// error.
func ecsTask(con *term.Console, job *plan.Job, definition *awsbatch.RegisterJobDefinitionInput,
	o ecs.Options) (*ecs.Task, error) {
	task, err := ecs.Build(job, definition, o)
	if cannot, ok := errors.AsType[*ecs.CannotError](err); ok {
		for _, reason := range cannot.Reasons {
			fmt.Fprintf(con.Err, "%s: %s\n", diag.Printable(job.Name), diag.Printable(con.Redacted(reason)))
		}
		return nil, exit.Fail(exit.Problem, "ECS cannot run job %s; nothing was sent", job.Name)
	}
	if err != nil {
		return nil, err
	}
	if queue := aws.ToString(job.Submit.JobQueue); queue != noQueue {
		fmt.Fprintf(con.Err, "note: job queue %s is ignored; the task goes to cluster %s\n", diag.Printable(queue),
			diag.Printable(o.Cluster))
	}
	for _, lost := range task.Lost {
		fmt.Fprintf(con.Err, "note: %s\n", diag.Printable(lost))
	}
	return task, nil
}

// ecsRequestRow is one request in the JSON output of ecs run --dry-run.
type ecsRequestRow struct {
	Operation string          `json:"operation"`
	CLI       string          `json:"cli"` // the aws command that sends it
	Input     json.RawMessage `json:"input"`
}

// ecsDryRun prints the requests of a task as JSON, or only the input of the
// request that operation names.
func ecsDryRun(con *term.Console, operation string, task *ecs.Task) error {
	rows := []ecsRequestRow{}
	requests, err := task.Requests()
	if err != nil {
		return err
	}
	for _, r := range requests {
		if operation == r.Operation {
			return con.JSON(r.Input)
		}
		rows = append(rows, ecsRequestRow{r.Operation, r.Command, r.Input})
	}
	if operation != "" {
		return exit.Usage("there is no %s", operation).Try("the operations are: RegisterTaskDefinition RunTask")
	}
	if err := con.JSON(rows); err != nil {
		return err
	}
	fmt.Fprintln(con.Err, "dry run: nothing was sent")
	return nil
}

// ecsSend registers the definition and runs the task. It writes an intent before
// the call, so that repeating the command after a lost answer does not start a
// second task. again permits another task although an earlier answer is missing.
func ecsSend(ctx context.Context, con *term.Console, t *ecsTarget, task *ecs.Task, again bool) (*ecstypes.Task, error) {
	registered, err := t.ecs.Register(ctx, task.Definition)
	if err != nil {
		return nil, t.ecsFailure(ctx, "register task definition "+aws.ToString(task.Definition.Family), err)
	}
	printRegistered(con, registered)
	task.Run.TaskDefinition = &registered.Arn
	intent, err := t.record.Begin(&task.Run, task.Name, time.Now(), again)
	if forgotten, ok := errors.AsType[*ecs.ForgottenError](err); ok {
		return nil, exit.Fail(exit.Unknown, "%v", err).
			Try("check: aws ecs list-tasks --cluster %s --started-by %s --desired-status STOPPED    then run another task: --again", forgotten.Cluster, forgotten.Token)
	}
	if err != nil {
		return nil, exit.Fail(exit.NotDone, "write the record of the request: %v", err)
	}
	if intent.Earlier {
		fmt.Fprintf(con.Err, "note: the command of %s got no answer; this command repeats the same request and does not start a second task\n", intent.Began.Local().Format(time.DateTime))
	}
	state, err := t.ecs.Run(ctx, task.Stamped(intent.Token))
	if err == nil {
		return state, intent.Accepted(state, time.Now())
	}
	// open means that ECS may have started the task although the answer did not
	// arrive. The intent then stays in the record for the next command.
	open, closing := intent.Failed(err)
	if !open {
		return state, errors.Join(t.ecsFailure(ctx, "run task "+task.Name, err), closing)
	}
	code := exit.Unknown
	if ctx.Err() != nil {
		code = exit.Interrupted
	}
	return state, errors.Join(exit.Fail(code, "run task %s: %v; the task may have started", task.Name, err).
		Try("repeat the command within 24 hours: it finds the task if it started, and otherwise starts it"), closing)
}

// printRegistered prints the revision that the task uses, and what changed since
// the revision before.
func printRegistered(con *term.Console, r ecs.Registered) {
	if !r.Fresh {
		fmt.Fprintf(con.Err, "task definition: %s, already registered\n", diag.Printable(batch.Name(r.Arn)))
		return
	}
	fmt.Fprintf(con.Err, "task definition: %s, registered\n", diag.Printable(batch.Name(r.Arn)))
	for _, change := range r.Changes {
		fmt.Fprintf(con.Err, "  %s\n", diag.Printable(change.String()))
	}
}

// ecsFailure returns an exit.Failure for the error of a call, with the next step.
// action says what failed, as "describe task NAME".
func (t *ecsTarget) ecsFailure(ctx context.Context, action string, err error) error {
	text := fmt.Sprintf("%s: %v", action, err)
	_, failed := errors.AsType[*ecs.FailedError](err)
	missing, isMissing := errors.AsType[*ecs.MissingError](err)
	answer, _ := errors.AsType[*rpc.Error](err)
	switch {
	case ctx.Err() != nil:
		return exit.Fail(exit.Interrupted, "%s: interrupted", action)
	case isMissing:
		return exit.Fail(exit.NotDone, "%v", missing).
			Try("check --cluster and --region; the log may still exist: batchctl ecs logs %s%s", ecs.ShortID(missing.Task),
				t.Flags)
	case failed:
		return exit.Fail(exit.NotDone, "%s", text)
	case answer != nil && answer.Code == "ClusterNotFoundException":
		return exit.Fail(exit.Problem, "%s", text).
			Try("list the clusters: aws ecs list-clusters; and name one: --cluster NAME")
	case rpc.Denied(err):
		return exit.Fail(exit.NotDone, "%s", text).
			Try("request the permission in the message, and iam:PassRole for the job's roles")
	case ecs.Refused(err):
		return exit.Fail(exit.Problem, "%s", text)
	}
	return exit.From(fmt.Errorf("%s: %w", action, err))
}

// ecsRunRow is the JSON output of ecs run.
type ecsRunRow struct {
	Name       string `json:"name"`
	Task       string `json:"task"` // the ARN
	ShortID    string `json:"shortId"`
	Cluster    string `json:"cluster"`
	Definition string `json:"definition"` // the ARN with its revision
	Target     string `json:"target"`     // the account and Region, or the endpoint
}

// ecsStarted prints the task that was started, and follows it with --wait.
func ecsStarted(ctx context.Context, con *term.Console, t *ecsTarget, task *ecs.Task, state *ecstypes.Task,
	o ecsRunOptions) error {
	arn, definition, cluster := aws.ToString(state.TaskArn), aws.ToString(state.TaskDefinitionArn),
		aws.ToString(task.Run.Cluster)
	id := ecs.ShortID(arn)
	row := ecsRunRow{task.Name, arn, id, cluster, definition, t.Label}
	if o.Format == "json" {
		if err := con.JSON(row); err != nil {
			return err
		}
	} else if err := con.Print(fmt.Sprintf("%s  %s  %s\n", id, diag.Printable(task.Name),
		diag.Printable(batch.Name(definition)))); err != nil {
		return err
	}
	if !o.Wait {
		fmt.Fprintf(con.Err, "next: batchctl ecs wait %[1]s    batchctl ecs logs %[1]s --follow    batchctl ecs stop %[1]s\n", id+t.Flags)
		return nil
	}
	f := &ecsFollow{con: con, t: t, name: task.Name, cluster: cluster, task: arn, log: con.Out,
		marked: len(task.Definition.ContainerDefinitions) > 1}
	if o.Format == "json" {
		f.log = con.Err
	}
	return f.run(ctx)
}
