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

// StageCommand is batchctl stage.
func StageCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:  "stage",
		Usage: "download inputs, run a program, upload outputs",
		UsageText: "batchctl stage -- PROGRAM [ARGUMENT ...]\n" +
			"batchctl stage in\n" +
			"batchctl stage out [EXIT-CODE]\n" +
			"batchctl stage install DIRECTORY",
		Description: cmdline.Help("Jobs with \"inputs\" or \"outputs\" start with stage. Copy batchctl into the image. BATCHCTL_STAGE says what to download and upload. The exit code is the program's. batchctl's own exit codes are: 64 for an invalid document or variable; 66 if an "+
			"input could not be downloaded; 73 if an output could not be uploaded although the program succeeded; 126 and 127 if the program "+
			"cannot be started.\n\nIn a task of Amazon ECS that AWS Batch did not start, ${AWS_BATCH_JOB_ID} in a location is the task's id.\n\nFor your own scripts, in only downloads and out only uploads. EXIT-CODE is the program's (default 0) and decides which outputs to upload. install "+
			"copies batchctl and the machine's CA certificates to a directory, for example to a volume that containers share.",
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

// showHelp prints the help of a command that parses its own arguments.
func showHelp(con *term.Console, c *cli.Context) error {
	return cmdline.ShowHelp(con.Out, c.App, "batchctl "+c.Command.Name, c.Command)
}
