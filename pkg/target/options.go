package target

import "time"

// Options are what a command line says about the target; the zero value asks for the default one.
type Options struct {
	// Name is the target's: local, aws, or one of the platform file's.
	Name string
	// StateDir is the directory of the local engine and of the ledger.
	StateDir string
	// Platform is the path of the platform file that the command line names.
	Platform string
	// Profile, Region and EndpointURL are the AWS tools' own; each overrides the target's.
	Profile, Region, EndpointURL string
	// Settle is how long a job whose answer is missing is looked for; 0 stands for once.DefaultSettle.
	Settle time.Duration
	// Resumes says that the command does all that earlier commands left, so that opening the target
	// need not.
	Resumes bool
	// Executor is for the commands that run jobs.
	Executor ExecutorOptions
}

// ExecutorOptions say how the local engine is to run jobs.
type ExecutorOptions struct {
	// Runs says that the command runs jobs, so that the other options are its own.
	Runs bool
	// Name is one of container.Executors; "" for the platform file's choice.
	Name string
	// AllowMounts are the directories that jobs in containers may mount.
	AllowMounts []string
	// AllowProcess, AllowPrivileged and AllowRoot are the flags of the same names.
	AllowProcess, AllowPrivileged, AllowRoot bool
}
