package cloud

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
		Description: cmdline.Help("The same job file as for AWS Batch becomes a task definition and one task. ECS has no queue, no arrays, no dependencies,\n"+
			"no retries and no timeout: what would change the result is refused, and what else does not hold is said.",
			"batchctl ecs run jobs/train-1gpu.json --cluster gpu --target prod --wait\nbatchctl ecs run jobs/train-8gpu.json --cluster gpu --dry-run\n"+
				"batchctl ecs logs train-1gpu --follow\nbatchctl ecs stop train-1gpu"),
		Subcommands: []*cli.Command{ecsRunCommand(con), ecsStatusCommand(con), ecsWaitCommand(con), ecsLogsCommand(con), ecsStopCommand(con)},
	}
}

func ecsRunCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "register the job's task definition if it has changed, and run one task of it",
		UsageText: "batchctl ecs run [FLAGS] FILE",
		Description: cmdline.Help("A command whose answer was lost can be repeated for 24 hours: it finds the task of the first, and runs no second one.\n"+
			"With --dry-run stdout holds the requests as `aws ecs ... --cli-input-json` takes them, and nothing is sent. The target is AWS,\n"+
			"also where other commands would take the local engine by default.",
			"batchctl ecs run job.json --cluster gpu --target prod\nbatchctl ecs run job.json --cluster gpu --capacity-provider gpu-spot --wait\n"+
				"batchctl ecs run job.json --launch-type FARGATE --subnets subnet-0a1b2c3d\nbatchctl ecs run job.json --dry-run --operation RegisterTaskDefinition"),
		Flags: append(append(append(append(input.Flags(), input.VariationFlags()...), cmdline.TargetFlags()...), cmdline.OutputFlags()...),
			clusterFlag("default"),
			&cli.StringFlag{Name: "launch-type", Usage: "EC2 or FARGATE (default: the job's platformCapabilities, else EC2)"},
			&cli.StringFlag{Name: "capacity-provider", Usage: "the `NAME` of a capacity provider of the cluster, in place of a launch type"},
			&cli.StringSliceFlag{Name: "subnets", Usage: "`SUBNETS` of the task's own network interface, separated by commas (default: the network of the host)"},
			&cli.StringSliceFlag{Name: "security-groups", Usage: "`GROUPS` of that interface, separated by commas"},
			&cli.BoolFlag{Name: "public-ip", Usage: "give the interface a public address, on Fargate"},
			&cli.BoolFlag{Name: "dry-run", Usage: "show what would be sent, and send nothing"},
			&cli.StringFlag{Name: "operation", Usage: "with --dry-run, only the request of this `OPERATION`: RegisterTaskDefinition or RunTask"},
			&cli.BoolFlag{Name: "again", Usage: "run another task although the answer to an earlier command is missing"},
			&cli.BoolFlag{Name: "wait", Aliases: []string{"w"}, Usage: "follow the task to its end; Ctrl-C stops the waiting, not the task"}, input.RawFlag(con)),
		Action: func(c *cli.Context) error { return ecsRun(con, c) },
	}
}

func clusterFlag(byDefault string) cli.Flag {
	return &cli.StringFlag{Name: "cluster", Value: byDefault, Usage: "the ECS cluster's `NAME` or ARN"}
}

// ecsTarget is an account in which tasks run.
type ecsTarget struct {
	*target.Target
	ecs    *ecs.Client
	record *ecs.Record
}

// openECS opens the AWS target: what would be the local engine by default is AWS here.
func openECS(con *term.Console, c *cli.Context, platform *document.Platform, why target.Need) (*ecsTarget, error) {
	name := cmdline.TargetOptions(c).NameFrom(platform)
	switch {
	case name == target.Local && c.String("target") == target.Local:
		return nil, exit.Usage("the local engine is not an ECS cluster").Try("name a target: --target aws; or run the job here: batchctl run FILE")
	case name == target.Local:
		name = target.AWS
	}
	t, err := session.OpenNamed(c.Context, con, cmdline.TargetOptions(c), platform, name, why)
	if err != nil {
		return nil, err
	}
	e := &ecsTarget{Target: t, ecs: ecs.New(t.Config), record: &ecs.Record{Dir: filepath.Join(t.Submissions.Dir, "ecs"), Target: t.Kind()}}
	e.ecs.Tell = func(text string) { fmt.Fprintf(con.Err, "%s\n", diag.Printable(con.Redacted(text))) }
	return e, nil
}

func ecsRun(con *term.Console, c *cli.Context) error {
	format, err := cmdline.OutputFormat(c)
	if err != nil {
		return err
	}
	o, err := ecsOptions(c)
	if err != nil {
		return err
	}
	in, err := input.Load(con, input.OptionsOf(c))
	if err != nil {
		return err
	}
	job, definition, err := ecsJob(con, c, in)
	if err != nil {
		return err
	}
	// Nothing is asked before the task is known to be one: this opening only reads settings.
	t, err := openECS(con, c, in.Platform, target.ToRead)
	if err != nil {
		return err
	}
	defer t.Close()
	o.Region = t.Config.Region
	task, err := ecsTask(con, c, job, definition, o)
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return ecsDryRun(con, c, task)
	}
	if t, err = openECS(con, c, in.Platform, target.ToChange); err != nil {
		return err
	}
	fmt.Fprintf(con.Err, "cluster: %s\n", diag.Printable(o.Cluster))
	state, err := ecsSend(con, c, t, task)
	if err != nil {
		return err
	}
	return ecsTold(con, c, t, task, state, format)
}

func ecsOptions(c *cli.Context) (ecs.Options, error) {
	o := ecs.Options{Cluster: c.String("cluster"), LaunchType: strings.ToUpper(c.String("launch-type")), CapacityProvider: c.String("capacity-provider"),
		Subnets: commas(c.StringSlice("subnets")), SecurityGroups: commas(c.StringSlice("security-groups")), PublicIP: c.Bool("public-ip")}
	switch {
	case o.LaunchType != "" && o.CapacityProvider != "":
		return o, exit.Usage("use either a launch type or a capacity provider").Try("omit --launch-type")
	case o.LaunchType != "" && o.LaunchType != ecs.EC2 && o.LaunchType != ecs.Fargate:
		return o, exit.Usage("unknown --launch-type %s", c.String("launch-type")).Try("use one of: EC2 FARGATE")
	case len(o.Subnets) == 0 && (len(o.SecurityGroups) > 0 || o.PublicIP):
		return o, exit.Usage("--security-groups and --public-ip need --subnets").Try("add --subnets SUBNET,SUBNET")
	case c.String("operation") != "" && !c.Bool("dry-run"):
		return o, exit.Usage("--operation prints a request").Try("add --dry-run")
	}
	return o, nil
}

func commas(words []string) (list []string) {
	for _, w := range words {
		for part := range strings.SplitSeq(w, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
	}
	return list
}

// noQueue stands for the queue of a job that names none.
const noQueue = "none"

// ecsJob plans the files, and finds the one job in them with its definition. Neither a
// queue nor a place for texts is needed: what would need it is refused.
func ecsJob(con *term.Console, c *cli.Context, in *input.Input) (*plan.Job, *awsbatch.RegisterJobDefinitionInput, error) {
	if err := input.Complain(con, in.Problems); err != nil {
		return nil, nil, err
	}
	made, problems := plan.Build(in.Files, nil, plan.Options{Queue: noQueue, Staging: "/"})
	if err := input.Complain(con, problems); err != nil {
		return nil, nil, err
	}
	preview.NoteRequests(con, in.Files)
	var jobs []*plan.Job
	for _, j := range made.Jobs {
		if j.Submit != nil {
			jobs = append(jobs, j)
		}
	}
	words := strings.Join(c.Args().Slice(), " ")
	switch {
	case len(jobs) == 0:
		return nil, nil, exit.Usage("%s holds no job", words).Try("name a job file: batchctl ecs run job.json")
	case len(jobs) > 1:
		return nil, nil, exit.Fail(exit.Problem, "%s holds %d jobs, but an ECS task is one job; nothing was sent", words, len(jobs)).
			Try("name a file of one job; a workflow or a large array belongs on AWS Batch: batchctl submit %s", words)
	}
	return jobs[0], definitionIn(made, jobs[0]), nil
}

// definitionIn is the definition that a job of the plan runs; nil if the plan lacks it.
func definitionIn(made *plan.Plan, job *plan.Job) *awsbatch.RegisterJobDefinitionInput {
	if job.Register != nil {
		return job.Register
	}
	for _, j := range made.Jobs {
		if j.Register != nil && aws.ToString(j.Register.JobDefinitionName) == batch.Name(aws.ToString(job.Submit.JobDefinition)) {
			return j.Register
		}
	}
	return nil
}

// ecsTask makes the task, and says what does not hold.
func ecsTask(con *term.Console, c *cli.Context, job *plan.Job, definition *awsbatch.RegisterJobDefinitionInput, o ecs.Options) (*ecs.Task, error) {
	task, err := ecs.Build(job, definition, o)
	if cannot, ok := errors.AsType[*ecs.CannotError](err); ok {
		for _, reason := range cannot.Reasons {
			fmt.Fprintf(con.Err, "%s: %s\n", diag.Printable(job.Name), diag.Printable(con.Redacted(reason)))
		}
		return nil, exit.Fail(exit.Problem, "ECS cannot hold job %s: nothing was sent", job.Name)
	}
	if err != nil {
		return nil, err
	}
	if queue := aws.ToString(job.Submit.JobQueue); queue != noQueue {
		fmt.Fprintf(con.Err, "note: job queue %s is not used: the task goes to cluster %s\n", diag.Printable(queue), diag.Printable(o.Cluster))
	}
	for _, lost := range task.Lost {
		fmt.Fprintf(con.Err, "note: %s\n", diag.Printable(lost))
	}
	return task, nil
}

type ecsRequestRow struct {
	Operation string          `json:"operation"`
	CLI       string          `json:"cli"`
	Input     json.RawMessage `json:"input"`
}

func ecsDryRun(con *term.Console, c *cli.Context, task *ecs.Task) error {
	rows := []ecsRequestRow{}
	requests, err := task.Requests()
	if err != nil {
		return err
	}
	for _, r := range requests {
		if c.String("operation") == r.Operation {
			return con.JSON(r.Input)
		}
		rows = append(rows, ecsRequestRow{r.Operation, r.Command, r.Input})
	}
	if operation := c.String("operation"); operation != "" {
		return exit.Usage("there is no %s", operation).Try("the operations are: RegisterTaskDefinition RunTask")
	}
	if err := con.JSON(rows); err != nil {
		return err
	}
	fmt.Fprintln(con.Err, "dry run: nothing was sent")
	return nil
}

// ecsSend registers and runs the task, once.
func ecsSend(con *term.Console, c *cli.Context, t *ecsTarget, task *ecs.Task) (*ecstypes.Task, error) {
	registered, err := t.ecs.Register(c.Context, task.Definition)
	if err != nil {
		return nil, t.ecsFailure(c.Context, "register task definition "+aws.ToString(task.Definition.Family), err)
	}
	tellRegistered(con, registered)
	task.Run.TaskDefinition = &registered.Arn
	intent, err := t.record.Begin(&task.Run, task.Name, time.Now(), c.Bool("again"))
	if forgotten, ok := errors.AsType[*ecs.ForgottenError](err); ok {
		return nil, exit.Fail(exit.Unknown, "%v", err).
			Try("look: aws ecs list-tasks --cluster %s --started-by %s --desired-status STOPPED    then run another: --again", forgotten.Cluster, forgotten.Token)
	}
	if err != nil {
		return nil, exit.Fail(exit.NotDone, "write the record of the request: %v", err)
	}
	if intent.Earlier {
		fmt.Fprintf(con.Err, "note: the answer to the command of %s is missing; this command requests the same task and does not start a second one\n", intent.Began.Local().Format(time.DateTime))
	}
	state, err := t.ecs.Run(c.Context, task.Stamped(intent.Token))
	if err == nil {
		return state, intent.Accepted(state, time.Now())
	}
	open, closing := intent.Failed(err)
	if !open {
		return state, errors.Join(t.ecsFailure(c.Context, "run task "+task.Name, err), closing)
	}
	code := exit.Unknown
	if c.Context.Err() != nil {
		code = exit.Interrupted
	}
	return state, errors.Join(exit.Fail(code, "run task %s: %v; there may be a task", task.Name, err).
		Try("repeat the command within 24 hours: it finds the task if there is one, and starts one if not"), closing)
}

func tellRegistered(con *term.Console, r ecs.Registered) {
	if !r.Fresh {
		fmt.Fprintf(con.Err, "task definition: %s, already registered\n", diag.Printable(batch.Name(r.Arn)))
		return
	}
	fmt.Fprintf(con.Err, "task definition: %s, registered\n", diag.Printable(batch.Name(r.Arn)))
	for _, change := range r.Changes {
		fmt.Fprintf(con.Err, "  %s\n", diag.Printable(change.String()))
	}
}

// ecsFailure gives an error of a call its exit code and the next step.
func (t *ecsTarget) ecsFailure(ctx context.Context, action string, err error) error {
	text := fmt.Sprintf("%s: %v", action, err)
	_, failed := errors.AsType[*ecs.FailedError](err)
	missing, isMissing := errors.AsType[*ecs.MissingError](err)
	answer, _ := errors.AsType[*rpc.Error](err)
	switch {
	case ctx.Err() != nil:
		return exit.Fail(exit.Interrupted, "%s: interrupted", action)
	case isMissing:
		return exit.Fail(exit.NotDone, "%v", missing).Try("check --cluster and --region; the log may still exist: batchctl ecs logs %s%s", short8(missing.Task), t.Flags)
	case failed:
		return exit.Fail(exit.NotDone, "%s", text)
	case answer != nil && answer.Code == "ClusterNotFoundException":
		return exit.Fail(exit.Problem, "%s", text).Try("list the clusters: aws ecs list-clusters; and name one: --cluster NAME")
	case rpc.Denied(err):
		return exit.Fail(exit.NotDone, "%s", text).Try("ask for the permission that it names, and for iam:PassRole of the job's roles")
	case ecs.Refused(err):
		return exit.Fail(exit.Problem, "%s", text)
	}
	return exit.From(errors.New(text))
}

type ecsRunRow struct {
	Name       string `json:"name"`
	Task       string `json:"task"`
	ShortID    string `json:"shortId"`
	Cluster    string `json:"cluster"`
	Definition string `json:"definition"`
	Target     string `json:"target"`
}

// ecsTold says which task it is, and follows it if that is asked for.
func ecsTold(con *term.Console, c *cli.Context, t *ecsTarget, task *ecs.Task, state *ecstypes.Task, format string) error {
	arn, definition, cluster := aws.ToString(state.TaskArn), aws.ToString(state.TaskDefinitionArn), aws.ToString(task.Run.Cluster)
	id := short8(arn)
	row := ecsRunRow{task.Name, arn, id, cluster, definition, t.Label}
	if format == "json" {
		if err := con.JSON(row); err != nil {
			return err
		}
	} else if err := con.Print(fmt.Sprintf("%s  %s  %s\n", id, diag.Printable(task.Name), diag.Printable(batch.Name(definition)))); err != nil {
		return err
	}
	if !c.Bool("wait") {
		fmt.Fprintf(con.Err, "next: batchctl ecs wait %[1]s    batchctl ecs logs %[1]s --follow    batchctl ecs stop %[1]s\n", id+t.Flags)
		return nil
	}
	f := &ecsFollow{con: con, t: t, name: task.Name, cluster: cluster, task: arn, log: con.Out, marked: len(task.Definition.ContainerDefinitions) > 1}
	if format == "json" {
		f.log = con.Err
	}
	return f.run(c.Context)
}

// short8 is how people name a task: the beginning of its id.
func short8(task string) string {
	id := ecs.ID(task)
	return id[:min(8, len(id))]
}
