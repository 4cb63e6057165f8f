package cmdline

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/target"
)

// TargetOptions reads the flags of TargetFlags and ExecutorFlags.
func TargetOptions(c *cli.Context) target.Options {
	return target.Options{Name: c.String("target"), StateDir: c.String("state-dir"), Platform: c.String("platform"),
		Profile: c.String("profile"),
		Region:  c.String("region"), EndpointURL: c.String("endpoint-url"), Settle: c.Duration("settle"),
		Resumes: c.Command != nil && c.Command.Name == "resume",
		Executor: target.ExecutorOptions{
			Runs: c.Command != nil && slices.ContainsFunc(c.Command.Flags,
				func(f cli.Flag) bool { return slices.Contains(f.Names(), "executor") }),
			Name: c.String("executor"), AllowMounts: c.StringSlice("allow-mount"),
			AllowProcess:    c.Bool("allow-process"),
			AllowPrivileged: c.Bool("allow-privileged"), AllowRoot: c.Bool("allow-root"),
			SecretsFrom: c.String("secrets-from"),
		}}
}

// PlatformFlag is --platform, which has one meaning in every command.
func PlatformFlag() cli.Flag {
	return &cli.StringFlag{Name: "platform",
		Usage: "the platform `FILE` (default: batchctl.json beside the job file or in this directory, or above)"}
}

// TargetFlags are the flags that select a target.
func TargetFlags() []cli.Flag {
	return append(targetFlags(), StateDirFlag())
}

// targetFlags are --target, and the flags that change a target on AWS, under the names that the aws CLI uses.
func targetFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "target", Aliases: []string{"t"},
			Usage: "the target's `NAME`: local, aws, or a target in the platform file (default: $BATCHCTL_TARGET, else the platform file's defaultTarget, else local)"},
		&cli.StringFlag{Name: "profile",
			Usage: "the `PROFILE` in the AWS configuration (default: the target's, else $AWS_PROFILE)"},
		&cli.StringFlag{Name: "region",
			Usage: "the AWS `REGION` (default: the target's, else $AWS_REGION, else the profile's)"},
		&cli.StringFlag{Name: "endpoint-url",
			Usage: "the `URL` of another server with the AWS Batch API (default: the target's, else $AWS_ENDPOINT_URL_BATCH, else $AWS_ENDPOINT_URL)"},
	}
}

// StateDirFlag is --state-dir.
func StateDirFlag() cli.Flag {
	return &cli.StringFlag{Name: "state-dir",
		Usage: "the `DIRECTORY` of the local engine (default: $BATCHCTL_STATE_DIR, else ~/.local/state/batchctl)"}
}

// SubmissionFlag is --submission, which names all jobs of a submission.
func SubmissionFlag() cli.Flag {
	return &cli.StringFlag{Name: "submission",
		Usage: "all jobs of a `SUBMISSION`: its id, workflow or file, or one of its jobs"}
}
