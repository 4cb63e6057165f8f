package cloud

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/local"
)

func printEnvironment(con *term.Console, o envOptions) error {
	if o.unset {
		if o.format != "text" {
			return exit.Usage("--unset prints shell commands, not %s", o.format).Try("omit --output: batchctl env --unset")
		}
		return con.PrintUnmasked(unsetExports() + "\n")
	}
	dir, err := o.engine.Dir()
	if err != nil {
		return err
	}
	if o.format == "text" {
		return printExports(con, dir)
	}
	connection, err := connected(dir)
	if err != nil {
		return err
	}
	return con.JSON(connection)
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
