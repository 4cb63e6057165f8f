package injob

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/objects"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// ChildCommand is batchctl child.
func ChildCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "child",
		Usage:     "run one child of an array",
		UsageText: "batchctl child COMMAND [ARGUMENT ...]",
		Description: cmdline.Help("Runs one child of an array whose job has \"launcher\": \"batchctl\". Copy batchctl into the image. child reads the cell of "+
			"AWS_BATCH_JOB_ARRAY_INDEX from BATCHCTL_ARRAY, or from the URL or file in BATCHCTL_ARRAY_URL. It sets MATRIX_NAME for each value, "+
			"replaces ${{ matrix.NAME }} in the arguments, and starts the command.\n\nWithout a command, it runs the child's part of a command list. With \"launcher\": \"image\", make it the entry point of the image.",
			`ENTRYPOINT ["/usr/local/bin/batchctl", "child"]`),
		SkipFlagParsing: true,
		Action: func(c *cli.Context) error {
			args := c.Args().Slice()
			if len(args) == 1 && cmdline.IsHelp(args[0]) {
				return showHelp(con, c)
			}
			return child(c.Context, con, args)
		},
	}
}

// child is batchctl child. It ignores the end of ctx: signals are for the child's
// program, which decides how to stop.
func child(ctx context.Context, con *term.Console, args []string) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	// The list of a sweep may be in S3, which Open reads with the container's
	// role.
	environ := os.Environ()
	m := &measurement{}
	if !stages(args) { // which also stores the measurement beside the outputs
		m = startMeasurement(&environ, false)
	}
	child := &sweep.Child{
		Environ: environ, Args: args, Exec: m.exec, Signals: signals, Stdout: con.Out, Stderr: term.Unmasked(con.Err),
		Open: (&objects.Store{Config: func(ctx context.Context) (aws.Config, error) {
			return containerConfig(ctx,
				con)
		}}).Open,
	}
	code, err := child.Run(context.WithoutCancel(ctx))
	m.finish(con)
	if err != nil {
		return exit.Fail(code, "%v", err)
	}
	return exit.Silent(max(code, m.exit))
}
