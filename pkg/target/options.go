package target

import "time"

// Options are what a command line says about the target; the zero value is the default target. The tags are flags,
// which cmdline.Command reads.
type Options struct {
	// Platform is the path of the platform file on the command line.
	Platform string `flag:"platform" usage:"the platform <FILE> (default: batchctl.json beside the job file or in this directory, or above)"`
	// Name is the target's name: local, aws, or one from the platform file.
	Name string `flag:"target,t" usage:"the target's <NAME>: local, aws, or a target in the platform file (default: $BATCHCTL_TARGET, else the platform file's defaultTarget, else local)"`
	// Profile, Region and EndpointURL are the settings of the AWS tools; each overrides the
	// target's.
	Profile     string `flag:"profile" usage:"the <PROFILE> in the AWS configuration (default: the target's, else $AWS_PROFILE)"`
	Region      string `flag:"region" usage:"the AWS <REGION> (default: the target's, else $AWS_REGION, else the profile's)"`
	EndpointURL string `flag:"endpoint-url" usage:"the <URL> of another server with the AWS Batch API (default: the target's, else $AWS_ENDPOINT_URL_BATCH, else $AWS_ENDPOINT_URL)"`
	// StateDir is the directory of the local engine and of the ledger.
	StateDir string `flag:"state-dir" usage:"the <DIRECTORY> of the local engine (default: $BATCHCTL_STATE_DIR, else ~/.local/state/batchctl)"`
	// Settle is how long to search for a job whose answer is missing; 0 means once.DefaultSettle.
	Settle time.Duration
	// Resumes means that the command finishes what earlier commands left, so that opening the
	// target need not.
	Resumes bool
	// Executor is for the commands that run jobs, which have its flags.
	Executor ExecutorOptions `flag:"-"`
}

// ExecutorOptions are how the local engine runs jobs.
type ExecutorOptions struct {
	// Runs means that the command runs jobs and has the other options.
	Runs bool
	// Name is one of container.Executors; "" means the platform file's choice.
	Name string `flag:"executor" usage:"the <EXECUTOR> of local jobs: process, docker, podman, or container (docker if its daemon answers, else podman) (default: the platform file's targets.local.executor, else process)"`
	// AllowMounts are the directories that jobs in containers may mount.
	AllowMounts     []string `flag:"allow-mount" usage:"let containers mount this <DIRECTORY> and everything below it; may be repeated"`
	AllowProcess    bool     `flag:"allow-process" usage:"let jobs with the tag batchctl:executor=process run as processes even if other jobs run in containers"`
	AllowRoot       bool     `flag:"allow-root" usage:"if you are root, also run jobs from other clients (AWS CLI, SDKs) as processes; BATCHCTL_ALLOW_ROOT=1 does the same"`
	AllowPrivileged bool     `flag:"allow-privileged" usage:"allow privileged containers and devices; either gives a job full control of the host"`
	// SecretsFrom is where the values of secrets come from: see secretsource.Open.
	SecretsFrom string `flag:"secrets-from" usage:"the <SOURCE> of secrets for local jobs: env (environment variables with the secrets' names), file:PATH (a JSON object; mode 0600), or file (batchctl-secrets.json)"`
}
