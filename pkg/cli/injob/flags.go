package injob

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
)

// ChildCommand is batchctl child.
func ChildCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "child",
		Usage:     "run one child of an array",
		UsageText: "batchctl child COMMAND [ARGUMENT ...]",
		Description: cmdline.Help("Jobs whose array has a matrix, a table or a command list, and \"launcher\": \"batchctl\", begin with it: copy batchctl\n"+
			"into the image. It takes the cell of AWS_BATCH_JOB_ARRAY_INDEX from BATCHCTL_ARRAY, or from the object or file that\n"+
			"BATCHCTL_ARRAY_URL names, sets MATRIX_NAME for each value, replaces ${{ matrix.NAME }} in the arguments and becomes the\n"+
			"command. Without a command it runs the child's slice of a command list. An image can have it as its entry point,\n"+
			"with \"launcher\": \"image\".",
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

// StageCommand is batchctl stage.
func StageCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:  "stage",
		Usage: "download inputs, run a program, upload outputs",
		UsageText: "batchctl stage -- PROGRAM [ARGUMENT ...]\n" +
			"batchctl stage in\n" +
			"batchctl stage out [EXIT-CODE]\n" +
			"batchctl stage install DIRECTORY",
		Description: cmdline.Help("Jobs with \"inputs\" or \"outputs\" begin with it: copy batchctl into the image. What is to be moved stands in\n"+
			"BATCHCTL_STAGE. The program's exit code is the job's. Those of batchctl itself are 64 for a document or a variable\n"+
			"that makes no sense, 66 for inputs that did not come, 73 for outputs that did not arrive though the program succeeded,\n"+
			"126 and 127 for a program that cannot be run.\n\n"+
			"in and out do one part alone, for a script of your own; EXIT-CODE is that of the program (0), and decides with \"when\"\n"+
			"which outputs are due. install copies batchctl, and the machine's CA certificates where it has some, to a directory:\n"+
			"so a container that starts first brings it to one whose image lacks it, on a volume that they share.",
			"batchctl stage -- python train.py --epochs 10\n"+
				`ENTRYPOINT ["/usr/local/bin/batchctl", "stage", "--"]`+"\n"+
				"batchctl stage install /shared"),
		SkipFlagParsing: true,
		BashComplete: func(c *cli.Context) {
			if c.NArg() == 0 {
				fmt.Fprintln(c.App.Writer, strings.Join([]string{"in", "install", "out"}, "\n"))
			}
		},
		Action: func(c *cli.Context) error {
			args := c.Args().Slice()
			if len(args) > 0 && cmdline.IsHelp(args[0]) || len(args) > 1 && args[0] != "--" && cmdline.IsHelp(args[1]) {
				return showHelp(con, c)
			}
			return stageJob(c.Context, con, args)
		},
	}
}

// showHelp prints the help of a command that parses its words itself.
func showHelp(con *term.Console, c *cli.Context) error {
	return cmdline.ShowHelp(con.Out, c.App, "batchctl "+c.Command.Name, c.Command)
}
