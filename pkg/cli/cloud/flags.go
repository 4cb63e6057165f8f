package cloud

import (
	"context"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/doctor"
	"github.com/batchctl/batchctl/pkg/ecs"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/infra"
	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/target"
)

// DoctorCommand is batchctl doctor.
func DoctorCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "doctor",
		Usage:     "diagnose a GPU host or a job's container",
		UsageText: "batchctl doctor [FLAGS]",
		Description: cmdline.Help("Detects whether it runs on a host or in a container, then checks:\n"+
			strings.Join(doctorTopics(), ", ")+
			".\nIt changes nothing. It reports checks that hang after at most 40 seconds, and lists what it could not read without root.\n\n--root checks only files: the disk of a broken host, or a copy of the disk.",
			"batchctl doctor\nsudo batchctl doctor --verbose\nbatchctl doctor --root /mnt/broken-host --output json"),
		Flags: append(cmdline.OutputFlags(cmdline.JSON[doctor.Report]()),
			&cli.StringFlag{Name: "root",
				Usage: "check only the files below this `DIR`; run no program and query no address"},
			&cli.BoolFlag{Name: "verbose", Usage: "also list the checks that passed"},
		),
		Action: func(c *cli.Context) error {
			format, err := cmdline.OutputFormat(c)
			if err != nil {
				return err
			}
			return examine(c.Context, con, doctorOptions{operands: c.Args().
				Slice(), format: format, root: c.String("root"), verbose: c.Bool("verbose")})
		},
	}
}

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
	return &cli.Command{
		Name:      "run",
		Usage:     "register the task definition if it changed, and run one task",
		UsageText: "batchctl ecs run [FLAGS] FILE",
		Description: cmdline.Help("If ECS's answer is lost, repeat the command within 24 hours: it finds the first task and does not start a second one.\n\nWith --dry-run, stdout contains the requests for `aws ecs ... --cli-input-json`, and nothing is sent. The target is AWS, even if other commands use the local engine by default.",
			"batchctl ecs run job.json --cluster gpu --target prod\nbatchctl ecs run job.json --cluster gpu --capacity-provider gpu-spot --wait\n"+
				"batchctl ecs run job.json --launch-type FARGATE --subnets subnet-0a1b2c3d\nbatchctl ecs run job.json --dry-run --operation RegisterTaskDefinition"),
		Flags: append(append(append(append(input.Flags(), input.VariationFlags()...), cmdline.TargetFlags()...),
			cmdline.OutputFlags(cmdline.JSON[ecsRunRow](), cmdline.JSONWith[[]ecsRequestRow]("dry-run"))...),
			clusterFlag("default"),
			&cli.StringFlag{Name: "launch-type",
				Usage: "EC2 or FARGATE (default: the job's platformCapabilities, else EC2)"},
			&cli.StringFlag{Name: "capacity-provider",
				Usage: "the `NAME` of a capacity provider of the cluster, instead of a launch type"},
			&cli.StringSliceFlag{Name: "subnets",
				Usage: "`SUBNETS` of the task's own network interface, separated by commas (default: the network of the host)"},
			&cli.StringSliceFlag{Name: "security-groups", Usage: "`GROUPS` of that interface, separated by commas"},
			&cli.BoolFlag{Name: "public-ip", Usage: "give the interface a public address (Fargate only)"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print what would be sent; send nothing"},
			&cli.StringFlag{Name: "operation",
				Usage: "with --dry-run, print only the request of this `OPERATION`: RegisterTaskDefinition or RunTask"},
			&cli.BoolFlag{Name: "again",
				Usage: "start another task even if the answer to an earlier command is missing"},
			&cli.BoolFlag{Name: "wait", Aliases: []string{"w", "monitor"},
				Usage: "wait until the task stops; Ctrl-C stops the waiting, not the task"}, input.RawFlag(con)),
		Action: func(c *cli.Context) error {
			o, err := ecsRunOptionsOf(c)
			if err != nil {
				return err
			}
			return ecsRun(c.Context, con, o)
		},
	}
}

// clusterFlag is --cluster. Only ecs run has a default; other commands use the
// cluster that the task was run in.
func clusterFlag(byDefault string) cli.Flag {
	return &cli.StringFlag{Name: "cluster", Value: byDefault, Usage: "the ECS cluster's `NAME` or ARN"}
}

// ecsTaskFlags are the flags of the ecs commands that name tasks, after those of
// the command itself.
func ecsTaskFlags(more ...cli.Flag) []cli.Flag {
	return jobs.Flags(append(more, clusterFlag(""))...)
}

// ecsStatusCommand is batchctl ecs status.
func ecsStatusCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "show tasks: status, GPUs, exit code, stop reason",
		UsageText: "batchctl ecs status [FLAGS] [TASK ...]",
		Description: cmdline.Help("Without a TASK, it shows the tasks that you started on this machine.",
			"batchctl ecs status train-1gpu --output json"),
		Flags: ecsTaskFlags(cmdline.OutputFlags(cmdline.JSON[[]ecsRow]())...), Action: withTasks(con, ecsStatus),
	}
}

// ecsWaitCommand is batchctl ecs wait.
func ecsWaitCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name: "wait", Usage: "wait until a task has stopped", UsageText: "batchctl ecs wait [FLAGS] [TASK]",
		Description: cmdline.Help("The exit code is 0 if the task's containers succeeded, 1 if one failed, and 3 if the result is unknown. Ctrl-C stops the waiting, not the task.", "batchctl ecs wait train-1gpu"),
		Flags:       ecsTaskFlags(), Action: withTasks(con, ecsWait),
	}
}

// ecsLogsCommand is batchctl ecs logs.
func ecsLogsCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name: "logs", Usage: "print the logs of a task", UsageText: "batchctl ecs logs [FLAGS] [TASK]",
		Description: cmdline.Help("Prints the log. With --follow, it continues until the task has stopped.",
			"batchctl ecs logs train-1gpu --follow"),
		Flags: ecsTaskFlags(
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "continue until the task has stopped"},
			&cli.IntFlag{Name: "tail", Aliases: []string{"n"}, Usage: "only the last `N` lines of each log"},
			input.RawFlag(con)),
		Action: withTasks(con, ecsLogs),
	}
}

// ecsStopCommand is batchctl ecs stop.
func ecsStopCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name: "stop", Usage: "stop a task", UsageText: "batchctl ecs stop [FLAGS] TASK",
		Description: cmdline.Help("ECS sends SIGTERM, then SIGKILL after 30 seconds.",
			"batchctl ecs stop train-1gpu"),
		Flags: ecsTaskFlags(&cli.StringFlag{Name: "reason", Value: "stopped with batchctl ecs stop",
			Usage: "the reason `TEXT` that ECS stores with the task"}),
		Action: withTasks(con, ecsStop),
	}
}

// EnvCommand is batchctl env.
func EnvCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "env",
		Usage:     "print the environment for other AWS clients",
		UsageText: "batchctl env [FLAGS]",
		Description: cmdline.Help("Prints the variables of the engine that batchctl serve or batchctl submit started. Only requests to AWS Batch, CloudWatch Logs and ECS go to it. The key works only for this engine, while it runs.\n\nThe key and the Region \"local\" apply to all AWS services in the shell, so aws s3 ls fails there. Use a subshell, or --unset afterwards. --unset does not restore variables that you had exported before.",
			"eval \"$(batchctl env)\"\naws batch describe-job-queues\neval \"$(batchctl env --unset)\"\n"+
				"(eval \"$(batchctl env)\"; aws batch describe-job-queues)\nbatchctl env --shell fish | source"),
		Flags: append(cmdline.OutputFlags(cmdline.JSON[local.Connection]()),
			&cli.StringFlag{Name: "shell", Value: posix,
				Usage: "print commands for this `SHELL`: sh (also bash and zsh), fish or powershell"},
			&cli.BoolFlag{Name: "unset", Usage: "print commands that unset these variables; needs no engine"},
			&cli.BoolFlag{Name: "all-services",
				Usage: "also set AWS_ENDPOINT_URL, for programs that read only that; the engine rejects requests to other services"},
			cmdline.StateDirFlag()),
		Action: func(c *cli.Context) error {
			if err := cmdline.Most(c, 0); err != nil {
				return err
			}
			format, err := cmdline.OutputFormat(c)
			if err != nil {
				return err
			}
			return printEnvironment(con, envOptions{format: format, shell: c.String("shell"), unset: c.Bool("unset"),
				allServices: c.Bool("all-services"), engine: cmdline.TargetOptions(c)})
		},
	}
}

// InfraCommand is batchctl infra.
func InfraCommand(con *term.Console) *cli.Command {
	// sub is one of the commands below infra, with the flags that they share.
	sub := func(name, usage, what, examples string, form cmdline.Form, action cli.ActionFunc,
		more ...cli.Flag) *cli.Command {
		return &cli.Command{Name: name, Usage: usage, UsageText: "batchctl infra " + name + " [FLAGS]",
			Description: cmdline.Help(what, examples), Action: action,
			Flags: jobs.Flags(append(append(infraFlags(), cmdline.OutputFlags(form)...), more...)...)}
	}
	given := &cli.StringSliceFlag{Name: "parameter",
		Usage: "set a template parameter, `NAME=VALUE`; others keep their value; may be repeated"}
	with := &cli.StringSliceFlag{Name: "with", Usage: "also deploy the optional template `NAME`; may be repeated"}
	yes := &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"}
	prices := preview.PricesFlag()
	return &cli.Command{
		Name:      "infra",
		Usage:     "manage the queues' CloudFormation stacks",
		UsageText: "batchctl infra deploy|status|diff|destroy|outputs [FLAGS]",
		Description: cmdline.Help("Each template is a stack PREFIX-NAME. AWS continues if a command is interrupted; run the command again to follow it.",
			"batchctl infra diff --target prod\nbatchctl infra deploy --target prod\nbatchctl infra outputs --target prod --write"),
		Subcommands: []*cli.Command{
			sub("deploy", "create or update the stacks",
				"Shows each change set and its monthly cost, asks, and follows the events. All names begin with the prefix, so several prefixes can share an account. Optional templates are deployed only if --with or --only names them, or if their stack exists.",
				"batchctl infra deploy --target prod\nbatchctl infra deploy --only batch --parameter MaxvCpus=256 --yes", cmdline.JSON[[]deployed](), withInfra(con, infraDeploy), given, with, prices, yes),
			sub("status", "show the stacks and the last failure", "Changes nothing.",
				"batchctl infra status --target prod", cmdline.JSON[[]infra.State](), withInfra(con, infraStatus)),
			sub("diff", "show what deploy would change",
				"The exit code is 4 if something would change. For an existing stack it creates, shows and deletes a change set. Nothing else changes.",
				"batchctl infra diff --target prod", cmdline.JSON[[]*infra.Proposal](), withInfra(con, infraDiff),
				given, with, prices),
			sub("destroy", "drain the queues and delete the stacks",
				"Asks, disables and drains the queues, then deletes the stacks in reverse order. It lists the resources that stay: repositories that contain images, and resources that the templates retain. Only stacks with batchctl's tag "+infra.Mark+" are deleted.",
				"batchctl infra destroy --target prod", cmdline.JSON[*infra.Destruction](),
				withInfra(con, infraDestroy), yes),
			sub("outputs", "print the queues for the platform file, or add them to it",
				"--write adds the queues to the platform file, and \"staging\" to the target if the template data is deployed. Nothing else in the file changes. --output json prints all outputs.",
				"batchctl infra outputs --target prod\nbatchctl infra outputs --target prod --write",
				cmdline.JSON[outputsDocument](), withInfra(con, infraOutputs),
				&cli.BoolFlag{Name: "write",
					Usage: "add the queues to the platform file (--platform, else batchctl.json)"}),
		},
	}
}

// infraFlags are the flags that all infra commands share.
func infraFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "prefix", Value: "batchctl",
			Usage: "the `PREFIX` of all names: stacks, queues, repository, roles"},
		&cli.StringSliceFlag{Name: "only", Usage: "use only the template `NAME`; may be repeated"},
		&cli.StringFlag{Name: "templates",
			Usage: "a `DIRECTORY` of templates (.json, .yaml) that replace batchctl's own, deployed in the order of their names; 10-network.json is the template network"},
		&cli.StringFlag{Name: "template-bucket",
			Usage: "the `BUCKET` for templates of more than 51,200 bytes (default: the bucket of the template data, if it is deployed)"},
	}
}

// ServeCommand is batchctl serve.
func ServeCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "serve",
		Usage:     "serve the AWS Batch API on this machine",
		UsageText: "batchctl serve [FLAGS]",
		Description: cmdline.Help("Prints exports that make the AWS CLI, boto3 and the SDKs use this engine. Only programs on this machine that have its key can use it. Jobs run with your permissions. If you are root, jobs from other clients run as processes only with --allow-root.\n\nCtrl-C and --stop end the engine and its jobs; the state is kept.",
			"batchctl serve\neval \"$(batchctl serve --exports)\"\naws batch describe-job-queues"),
		Flags: append([]cli.Flag{
			cmdline.StateDirFlag(),
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:0",
				Usage: "the loopback `ADDRESS`; port 0 uses a free port"},
			&cli.Float64Flag{Name: "vcpus", Usage: "the `NUMBER` of vCPUs for all jobs", DefaultText: "this machine's"},
			&cli.IntFlag{Name: "memory", Usage: "the memory for all jobs, in `MIB`", DefaultText: "this machine's"},
			&cli.IntFlag{Name: "gpus", Value: -1, Usage: "the `NUMBER` of GPUs for all jobs",
				DefaultText: "those found"},
			&cli.IntFlag{Name: "log-limit", Value: local.DefaultLogLimit >> 20,
				Usage: "limit the log of an attempt to this many `MIB`; the job continues when its log is full; 0 sets no limit"},
			&cli.DurationFlag{Name: "exit-when-idle",
				Usage: "stop after this `DURATION` without a job or a request; 0 never stops"},
			&cli.StringSliceFlag{Name: "events",
				Usage: "deliver the state changes of jobs, as EventBridge events, to `DESTINATION`: file:PATH, unix:PATH or http://127.0.0.1:PORT/PATH; may be repeated"},
			&cli.BoolFlag{Name: "exports", Usage: "print the exports of the running engine"},
			&cli.BoolFlag{Name: "daemon", Hidden: true, Usage: "be the background engine of a command that ends"},
			&cli.BoolFlag{Name: "stop", Usage: "stop the running engine and its jobs"},
			cmdline.SecretsFlag(),
		}, cmdline.ExecutorFlags()...),
		Action: func(c *cli.Context) error {
			if err := cmdline.Most(c, 0); err != nil {
				return err
			}
			return serve(c.Context, con, serveOptionsOf(c))
		},
	}
}

// doctorOptions are the flags and arguments of doctor.
type doctorOptions struct {
	// arguments; doctor takes none
	operands []string
	format   string // text or json
	root     string // the directory whose files are checked; "" for this machine
	verbose  bool
}

// envOptions are the flags of env.
type envOptions struct {
	format             string // text or json
	shell              string // a key of dialects
	unset, allServices bool
	engine             target.Options
}

// serveOptions are the flags of serve.
type serveOptions struct {
	engine                 target.Options
	exports, stop, daemon  bool
	vcpus                  float64
	memory, gpus, logLimit int // MiB; -1 GPU stands for those found; MiB, 0 for no limit
	idle                   time.Duration
	listen                 string // the address of --listen, if listens
	listens                bool
	events                 []string // destinations
}

// serveOptionsOf reads the flags of serve; checkServe checks their values.
func serveOptionsOf(c *cli.Context) serveOptions {
	return serveOptions{engine: cmdline.TargetOptions(c), exports: c.Bool("exports"), stop: c.Bool("stop"),
		daemon: c.Bool("daemon"),
		vcpus:  c.Float64("vcpus"), memory: c.Int("memory"), gpus: c.Int("gpus"), logLimit: c.Int("log-limit"),
		idle:   c.Duration("exit-when-idle"),
		listen: c.String("listen"), listens: c.IsSet("listen"), events: c.StringSlice("events")}
}

// infraOptions are the flags of the infra commands, which take no arguments.
type infraOptions struct {
	jobs.Options
	prefix     string
	ownPrefix  bool     // --prefix is on the command line
	only, with []string // names of templates
	parameters []string // NAME=VALUE
	templates  string   // a directory; "" for batchctl's own templates
	bucket     string   // for templates of more than 51,200 bytes; "" for the default
	prices     string   // a price file; "" for the platform file's
	yes, write bool
}

// withInfra reads the flags of an infra command and runs it.
func withInfra(con *term.Console, run func(context.Context, *term.Console, infraOptions) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		of, err := jobs.OptionsOf(c)
		if err != nil {
			return err
		}
		return run(c.Context, con, infraOptions{Options: of, prefix: c.String("prefix"), ownPrefix: c.IsSet("prefix"),
			only: c.StringSlice("only"), with: c.StringSlice("with"),
			parameters: c.StringSlice("parameter"), templates: c.String("templates"),
			bucket: c.String("template-bucket"), prices: c.String("prices"), yes: c.Bool("yes"),
			write: c.Bool("write")})
	}
}

// ecsRunOptions are the flags of ecs run.
type ecsRunOptions struct {
	input               input.Options
	format              string // text or json
	task                ecs.Options
	operation           string // the one request that a dry run prints; "" for all
	dryRun, again, wait bool
}

// ecsRunOptionsOf reads the flags of ecs run, and refuses combinations that ECS
// rejects.
func ecsRunOptionsOf(c *cli.Context) (o ecsRunOptions, err error) {
	if o.format, err = cmdline.OutputFormat(c); err != nil {
		return o, err
	}
	o.input, o.operation, o.dryRun, o.again, o.wait = input.OptionsOf(c), c.String("operation"), c.Bool("dry-run"),
		c.Bool("again"), c.Bool("wait")
	o.task = ecs.Options{Cluster: c.String("cluster"), LaunchType: strings.ToUpper(c.String("launch-type")),
		CapacityProvider: c.String("capacity-provider"),
		Subnets:          commas(c.StringSlice("subnets")), SecurityGroups: commas(c.StringSlice("security-groups")),
		PublicIP: c.Bool("public-ip")}
	switch task := o.task; {
	case task.LaunchType != "" && task.CapacityProvider != "":
		return o, exit.Usage("--launch-type and --capacity-provider exclude each other").Try("omit --launch-type")
	case task.LaunchType != "" && task.LaunchType != ecs.EC2 && task.LaunchType != ecs.Fargate:
		return o, cmdline.UnknownValue("launch-type", c.String("launch-type"), "the launch types are", "EC2", "FARGATE")
	case len(task.Subnets) == 0 && (len(task.SecurityGroups) > 0 || task.PublicIP):
		return o, exit.Usage("--security-groups and --public-ip need --subnets").Try("add --subnets SUBNET,SUBNET")
	case o.operation != "" && !o.dryRun:
		return o, exit.Usage("--operation only prints a request").Try("add --dry-run")
	}
	return o, nil
}

// taskOptions are the flags of the ecs commands that name tasks; Args are the
// tasks.
type taskOptions struct {
	jobs.Options
	cluster string // "" for the cluster that the task was run in
	follow  bool
	tail    int    // lines of each log; 0 for all
	reason  string // why a task is stopped
}

// withTasks reads the flags of an ecs command that names tasks and runs it.
func withTasks(con *term.Console, run func(context.Context, *term.Console, taskOptions) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		of, err := jobs.OptionsOf(c)
		if err != nil {
			return err
		}
		return run(c.Context, con, taskOptions{Options: of, cluster: c.String("cluster"), follow: c.Bool("follow"),
			tail: c.Int("tail"), reason: c.String("reason")})
	}
}
