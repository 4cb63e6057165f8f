package cloud

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/local"
)

// printEnvironment is batchctl env: it prints shell exports or JSON for the
// running engine, or the command that unsets them.
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

// connected returns the connection to the running engine of a state directory.
func connected(dir string) (local.Connection, error) {
	connection, err := local.Connect(dir)
	if err != nil {
		return connection, exit.Fail(exit.NotDone, "%v", err).Try("start one: batchctl serve")
	}
	return connection, nil
}

// exported returns the environment variables, with values, that connect the aws
// CLI and the SDKs to the engine. Endpoints are set per service: AWS_ENDPOINT_URL
// would also redirect services that the engine does not have.
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

// exports returns the shell commands that connect the aws CLI to the engine, and
// a comment with the command that undoes them.
func exports(c local.Connection) string {
	var b strings.Builder
	for _, v := range exported(c) {
		b.WriteString("export " + v[0] + "=" + v[1] + "\n")
	}
	b.WriteString("unset AWS_SESSION_TOKEN AWS_PROFILE\n# undo: " + unsetExports() + "\n")
	return b.String()
}

// unsetExports returns the shell command that undoes exports.
func unsetExports() string {
	names := []string{"unset"}
	for _, v := range exported(local.Connection{}) {
		names = append(names, v[0])
	}
	return strings.Join(names, " ")
}
