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

func ChildCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "child",
		Usage:     "inside a container: run a child of an array with the values of its cell",
		UsageText: "batchctl child COMMAND [ARGUMENT ...]",
		Description: cmdline.Help("Jobs whose array has a matrix, a table or a command list, and \"launcher\": \"batchctl\", begin with it: copy batchctl\n"+
			"into the image. It takes the cell of AWS_BATCH_JOB_ARRAY_INDEX from BATCHCTL_ARRAY, or from the object or file that\n"+
			"BATCHCTL_ARRAY_URL names, sets MATRIX_NAME for each value, replaces ${{ matrix.NAME }} in the arguments and becomes the\n"+
			"command. Without a command it runs the child's slice of a command list. An image can have it as its entry point,\n"+
			"with \"launcher\": \"image\".",
			`ENTRYPOINT ["/usr/local/bin/batchctl", "child"]`),
		SkipFlagParsing: true,
		Action:          func(c *cli.Context) error { return child(con, c) },
	}
}

func child(con *term.Console, c *cli.Context) error {
	args := c.Args().Slice()
	if len(args) == 1 && cmdline.IsHelp(args[0]) {
		return cmdline.ShowHelp(con.Out, c.App, "batchctl "+c.Command.Name, c.Command)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	child := &sweep.Child{
		Environ: os.Environ(), Args: args, Exec: become, Signals: signals, Stdout: con.Out, Stderr: term.Unmasked(con.Err),
		Open: (&objects.Store{Config: func(ctx context.Context) (aws.Config, error) { return containerConfig(ctx, con) }}).Open,
	}
	code, err := child.Run(context.WithoutCancel(c.Context))
	if err != nil {
		return exit.Fail(code, "%v", err)
	}
	return exit.Silent(code)
}
