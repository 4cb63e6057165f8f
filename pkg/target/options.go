package target

import "time"

// Options are what a command line says about the target; the zero value is the default target.
type Options struct {
	// Name is the target's name: local, aws, or one from the platform file.
	Name string
	// StateDir is the directory of the local engine and of the ledger.
	StateDir string
	// Platform is the path of the platform file on the command line.
	Platform string
	// Profile, Region and EndpointURL are the settings of the AWS tools; each overrides the
	// target's.
	Profile, Region, EndpointURL string
	// Settle is how long to search for a job whose answer is missing; 0 means once.DefaultSettle.
	Settle time.Duration
	// Resumes means that the command finishes what earlier commands left, so that opening the
	// target need not.
	Resumes bool
	// Executor is for the commands that run jobs.
	Executor ExecutorOptions
}

// ExecutorOptions are how the local engine runs jobs.
type ExecutorOptions struct {
	// Runs means that the command runs jobs and has the other options.
	Runs bool
	// Name is one of container.Executors; "" means the platform file's choice.
	Name string
	// AllowMounts are the directories that jobs in containers may mount.
	AllowMounts []string
	// AllowProcess, AllowPrivileged and AllowRoot are the flags of the same names.
	AllowProcess, AllowPrivileged, AllowRoot bool
	// SecretsFrom is where the values of secrets come from: see secretsource.Open.
	SecretsFrom string
}
