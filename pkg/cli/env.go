package cli

import (
	"github.com/batchctl/batchctl/pkg/local"
	"github.com/urfave/cli/v2"
)

func (p *program) envCommand() *cli.Command {
	return &cli.Command{
		Name:      "env",
		Usage:     "print what a shell needs to talk to the local engine",
		UsageText: "batchctl env [FLAGS]",
		Description: help("The engine is the one that batchctl serve or batchctl submit has started. The key stands in the output: it is\n"+
			"good for this engine alone, as long as it runs.",
			"eval \"$(batchctl env)\"\naws batch describe-job-queues\nbatchctl env --output json"),
		Flags: append(outputFlags(),
			&cli.StringFlag{Name: "state-dir", Usage: "`DIRECTORY` of the engine (default: $BATCHCTL_STATE_DIR, else ~/.local/state/batchctl)"}),
		Action: func(c *cli.Context) error {
			if err := most(c, 0); err != nil {
				return err
			}
			format, err := outputFormat(c)
			if err != nil {
				return err
			}
			dir, err := stateDir(c)
			if err != nil {
				return err
			}
			if format == "text" {
				return p.printExports(dir)
			}
			connection, err := connected(dir)
			if err != nil {
				return err
			}
			return p.writeJSON(connection)
		},
	}
}

// connected is the way to the engine of a directory.
func connected(dir string) (local.Connection, error) {
	connection, err := local.Connect(dir)
	if err != nil {
		return connection, fail(ExitNotDone, "%v", err).try("start one: batchctl serve")
	}
	return connection, nil
}
