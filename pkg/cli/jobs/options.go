package jobs

import (
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/target"
)

// Options are the flags and arguments that all commands about jobs share.
type Options struct {
	// Args name jobs. Without any, the command uses Submission, or else the last submission.
	cmdline.Given
	Target target.Options
	cmdline.Output
	Submission string `flag:"submission" usage:"all jobs of a <SUBMISSION>: its id, workflow or file, or one of its jobs"`
}
