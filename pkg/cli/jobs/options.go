package jobs

import (
	"github.com/urfave/cli/v2"

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

// OptionsOf reads the flags and arguments that all commands about jobs share.
func OptionsOf(c *cli.Context) (o Options, err error) {
	if err := o.Given.Fill(c); err != nil {
		return o, err
	}
	o.Format, err = cmdline.OutputFormat(c)
	o.Submission, o.Target = c.String("submission"), cmdline.TargetOptions(c)
	return o, err
}

// Flags are the flags of every command that names jobs, and the command's own
// flags.
func Flags(more ...cli.Flag) []cli.Flag {
	return append(append([]cli.Flag{cmdline.PlatformFlag()}, cmdline.TargetFlags()...), more...)
}
