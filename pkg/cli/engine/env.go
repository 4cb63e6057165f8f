package engine

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/urfave/cli/v2"
)

// EnvCommand is batchctl env.
func EnvCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "env",
		Usage:     "print the environment for other AWS clients",
		UsageText: "batchctl env [FLAGS]",
		Description: cmdline.Help("Prints the variables of the engine that batchctl serve or batchctl submit started. Only requests to AWS Batch, CloudWatch Logs and ECS go to it. The key works only for this engine, while it runs.\n\nThe key and the Region \"local\" apply to all AWS services in the shell, so aws s3 ls fails there. Use a subshell, or --unset afterwards. --unset does not restore variables that you had exported before.",
			"eval \"$(batchctl env)\"\naws batch describe-job-queues\neval \"$(batchctl env --unset)\"\n"+
				"(eval \"$(batchctl env)\"; aws batch describe-job-queues)\nbatchctl env --shell fish | source"),
	}, envOptions{Output: cmdline.Outputs(cmdline.JSON[local.Connection]()), Shell: posix},
		func(_ context.Context, o envOptions) error { return printEnvironment(con, o) }, cmdline.NoTarget("platform")...)
}

// envOptions are the flags of env. Shell is a key of dialects.
type envOptions struct {
	cmdline.Output
	Shell       string `flag:"shell" usage:"print commands for this <SHELL>: sh (also bash and zsh), fish or powershell"`
	Unset       bool   `flag:"unset" usage:"print commands that unset these variables; needs no engine"`
	AllServices bool   `flag:"all-services" usage:"also set AWS_ENDPOINT_URL, for programs that read only that; the engine rejects requests to other services"`
	Engine      target.Options
}

// printEnvironment is batchctl env: it prints shell exports or JSON for the
// running engine, or the command that unsets them.
func printEnvironment(con *term.Console, o envOptions) error {
	if o.Format != "text" && (o.Unset || o.AllServices || o.Shell != posix) {
		flag := "--shell " + diag.Printable(o.Shell)
		switch {
		case o.Unset:
			flag = "--unset"
		case o.AllServices:
			flag = "--all-services"
		}
		return exit.Usage("%s prints shell commands, not %s", flag, o.Format).
			Try("omit --output: batchctl env %s", flag)
	}
	sh, ok := dialects[o.Shell]
	if !ok {
		return cmdline.UnknownValue("shell", diag.Printable(o.Shell), "the shells are",
			slices.Sorted(maps.Keys(dialects))...)
	}
	if o.Unset {
		return con.PrintUnmasked(sh.unsetExports(o.AllServices || allRedirected()) + "\n")
	}
	dir, err := o.Engine.Dir()
	if err != nil {
		return err
	}
	if o.Format == "text" {
		return printExports(con, dir, o.AllServices, sh)
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

// dialect is how a shell sets and removes variables of the environment.
type dialect struct {
	set            string // a format of a name and a value
	unset, between string // stand before the names and between them
	undo           string // runs env --unset
}

// posix is the default of the flag --shell.
const posix = "sh"

// dialects are those of the flag --shell.
var dialects = map[string]dialect{
	posix:  {"export %s=%s", "unset ", " ", `eval "$(batchctl env --unset)"`},
	"fish": {"set -gx %s %s", "set -e ", " ", "batchctl env --shell fish --unset | source"},
	"powershell": {"$env:%s = '%s'", "Remove-Item -ErrorAction Ignore Env:", ",Env:",
		"batchctl env --shell powershell --unset | Invoke-Expression"},
}

// remove returns the command that removes variables.
func (d dialect) remove(names ...string) string { return d.unset + strings.Join(names, d.between) }

// printExports prints the shell exports of a running engine, and a note on stderr
// about the credentials that they replace. They are not masked: the key in them is
// the point.
func printExports(con *term.Console, dir string, allServices bool, sh dialect) error {
	connection, err := connected(dir)
	if err != nil {
		return err
	}
	if err := con.PrintUnmasked(sh.exports(connection, allServices)); err != nil {
		return err
	}
	fmt.Fprintf(con.Err, "note: the engine's key replaces your AWS credentials in this shell, so calls to other AWS services fail; to undo: %s\n", sh.undo)
	return nil
}

// exported returns the environment variables, with values, that connect the aws
// CLI and the SDKs to the engine. Endpoints are set per service, unless allServices:
// AWS_ENDPOINT_URL also redirects services that the engine does not have.
// AWS_IGNORE_CONFIGURED_ENDPOINT_URLS overrides a shell or a profile that ignores
// endpoints. AWS_DISABLE_HOST_PREFIX_INJECTION keeps the aws CLI and boto3 from
// sending StartLiveTail to the host stream-127.0.0.1.
func exported(c local.Connection, allServices bool) [][2]string {
	variables := [][2]string{
		{"AWS_ENDPOINT_URL_BATCH", c.Endpoint},
		{"AWS_ENDPOINT_URL_CLOUDWATCH_LOGS", c.Endpoint},
		{"AWS_ENDPOINT_URL_ECS", c.Endpoint},
		{"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "false"},
		{"AWS_DISABLE_HOST_PREFIX_INJECTION", "true"},
		{"AWS_REGION", c.Region},
		{"AWS_DEFAULT_REGION", c.Region},
		{"AWS_ACCESS_KEY_ID", c.AccessKeyID},
		{"AWS_SECRET_ACCESS_KEY", c.SecretAccessKey},
	}
	if allServices {
		variables = append(variables, [2]string{"AWS_ENDPOINT_URL", c.Endpoint})
	}
	return variables
}

// exports returns the shell commands that connect the aws CLI to the engine, and
// a comment with the command that undoes them. Profiles are unset because some SDKs
// prefer their credentials to those of the environment.
func (d dialect) exports(c local.Connection, allServices bool) string {
	var b strings.Builder
	for _, v := range exported(c, allServices) {
		fmt.Fprintf(&b, d.set+"\n", v[0], v[1])
	}
	b.WriteString(d.remove("AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_PROFILE") + "\n# undo: " +
		d.unsetExports(allServices) + "\n")
	return b.String()
}

// allRedirected reports whether this shell has the exports of --all-services.
func allRedirected() bool {
	endpoint := os.Getenv("AWS_ENDPOINT_URL")
	return endpoint != "" && endpoint == os.Getenv("AWS_ENDPOINT_URL_BATCH")
}

// unsetExports returns the shell command that undoes exports.
func (d dialect) unsetExports(allServices bool) string {
	var names []string
	for _, v := range exported(local.Connection{}, allServices) {
		names = append(names, v[0])
	}
	return d.remove(names...)
}
