package cmdline

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/target"
)

// TargetOptions reads the flags of TargetFlags and ExecutorFlags.
func TargetOptions(c *cli.Context) target.Options {
	return target.Options{Name: c.String("target"), StateDir: c.String("state-dir"), Platform: c.String("platform"), Profile: c.String("profile"),
		Region: c.String("region"), EndpointURL: c.String("endpoint-url"), Settle: c.Duration("settle"),
		Resumes: c.Command != nil && c.Command.Name == "resume",
		Executor: target.ExecutorOptions{
			Runs: c.Command != nil && slices.ContainsFunc(c.Command.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), "executor") }),
			Name: c.String("executor"), AllowMounts: c.StringSlice("allow-mount"), AllowProcess: c.Bool("allow-process"),
			AllowPrivileged: c.Bool("allow-privileged"), AllowRoot: c.Bool("allow-root"),
		}}
}

// awsFlags are named as those of the aws CLI.
func awsFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "profile", Usage: "the `PROFILE` of the AWS configuration (default: the target's, else $AWS_PROFILE)"},
		&cli.StringFlag{Name: "region", Usage: "the AWS `REGION` (default: the target's, else $AWS_REGION, else the profile's)"},
		&cli.StringFlag{Name: "endpoint-url", Usage: "the `URL` of another server that speaks the AWS Batch API (default: the target's, else $AWS_ENDPOINT_URL_BATCH, else $AWS_ENDPOINT_URL)"},
	}
}

// ExecutorFlags are the flags of the commands that run jobs.
func ExecutorFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "executor", Usage: "how the local engine runs jobs: `process|docker|podman|container` (container: docker if its daemon answers, else podman; default: the platform file's targets.local.executor, else process)"},
		&cli.StringSliceFlag{Name: "allow-mount", Usage: "let jobs in containers mount this `DIRECTORY` and what is below it; may be given more than once"},
		&cli.BoolFlag{Name: "allow-process", Usage: "let jobs that have the tag " + attempt.ExecutorTag + "=process run as processes of this machine where the others run in containers"},
		&cli.BoolFlag{Name: "allow-root", Usage: "as root, let other clients of the engine (aws CLI, SDKs) start processes too; BATCHCTL_ALLOW_ROOT=1 does the same"},
		&cli.BoolFlag{Name: "allow-privileged", Usage: "let jobs in containers be privileged and use devices: either gives them this machine"},
	}
}

// TargetFlags are the flags that lead to a target.
func TargetFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "target", Aliases: []string{"t"}, Usage: "`NAME` of a target: local, aws, or one of the platform file's (default: $BATCHCTL_TARGET, else the platform file's defaultTarget, else local)"},
		&cli.StringFlag{Name: "state-dir", Usage: "`DIRECTORY` of the local engine (default: $BATCHCTL_STATE_DIR, else ~/.local/state/batchctl)"},
	}, awsFlags()...)
}

// SubmissionFlag names a submission in the place of jobs.
func SubmissionFlag() cli.Flag {
	return &cli.StringFlag{Name: "submission", Usage: "all jobs of one `SUBMISSION`: named by a job of it (name or short id), or by its file"}
}
