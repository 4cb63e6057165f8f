package cloud

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/local"
)

// EnvCommand is batchctl env.
func EnvCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "env",
		Usage:     "print the environment for other AWS clients",
		UsageText: "batchctl env [FLAGS]",
		Description: cmdline.Help("The engine is the one that batchctl serve or batchctl submit has started. Only AWS Batch, CloudWatch Logs and\n"+
			"ECS are sent to it; other services still go to AWS. The output contains a key that works for this engine alone,\n"+
			"as long as it runs. That key and the Region \"local\" apply to every service of the shell, so aws s3 ls fails there:\n"+
			"use a subshell, or --unset when you are done. --unset does not restore credentials that you had exported before.",
			"eval \"$(batchctl env)\"\naws batch describe-job-queues\neval \"$(batchctl env --unset)\"\n"+
				"(eval \"$(batchctl env)\"; aws batch describe-job-queues)\nbatchctl env --output json"),
		Flags: append(cmdline.OutputFlags(),
			&cli.BoolFlag{Name: "unset", Usage: "print what removes these variables from a shell; no engine is needed"},
			&cli.StringFlag{Name: "state-dir", Usage: "`DIRECTORY` of the engine (default: $BATCHCTL_STATE_DIR, else ~/.local/state/batchctl)"}),
		Action: func(c *cli.Context) error {
			if err := cmdline.Most(c, 0); err != nil {
				return err
			}
			format, err := cmdline.OutputFormat(c)
			if err != nil {
				return err
			}
			if c.Bool("unset") {
				if format != "text" {
					return exit.Usage("--unset prints shell commands, not %s", format).Try("omit --output: batchctl env --unset")
				}
				return con.PrintUnmasked(unsetExports() + "\n")
			}
			dir, err := cmdline.TargetOptions(c).Dir()
			if err != nil {
				return err
			}
			if format == "text" {
				return printExports(con, dir)
			}
			connection, err := connected(dir)
			if err != nil {
				return err
			}
			return con.JSON(connection)
		},
	}
}

// connected is the way to the engine of a directory.
func connected(dir string) (local.Connection, error) {
	connection, err := local.Connect(dir)
	if err != nil {
		return connection, exit.Fail(exit.NotDone, "%v", err).Try("start one: batchctl serve")
	}
	return connection, nil
}

// exported are the environment variables with which the aws CLI and every SDK reach the
// engine, and their values. The endpoint is set for the services that the engine has: set
// for all of them, it would get the calls of every other service, too.
func exported(c local.Connection) [][2]string {
	return [][2]string{
		{"AWS_ENDPOINT_URL_BATCH", c.Endpoint},
		{"AWS_ENDPOINT_URL_CLOUDWATCH_LOGS", c.Endpoint},
		{"AWS_ENDPOINT_URL_ECS", c.Endpoint},
		{"AWS_REGION", c.Region},
		{"AWS_DEFAULT_REGION", c.Region},
		{"AWS_ACCESS_KEY_ID", c.AccessKeyID},
		{"AWS_SECRET_ACCESS_KEY", c.SecretAccessKey},
	}
}

// exports are the shell commands that lead the aws CLI to the engine, with how to undo them.
func exports(c local.Connection) string {
	var b strings.Builder
	for _, v := range exported(c) {
		b.WriteString("export " + v[0] + "=" + v[1] + "\n")
	}
	b.WriteString("unset AWS_SESSION_TOKEN AWS_PROFILE\n# undo: " + unsetExports() + "\n")
	return b.String()
}

// unsetExports is the shell command that undoes exports.
func unsetExports() string {
	names := []string{"unset"}
	for _, v := range exported(local.Connection{}) {
		names = append(names, v[0])
	}
	return strings.Join(names, " ")
}
