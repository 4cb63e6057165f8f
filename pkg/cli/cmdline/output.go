package cmdline

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/exit"
)

// OutputFlags are --output and --json.
func OutputFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "text", Usage: "text or json"},
		&cli.BoolFlag{Name: "json", Usage: "the same as --output json"},
	}
}

// formatsOf are the formats of commands that have others than text and json.
var formatsOf = map[string][]string{
	"compare": {"text", "json", "markdown"},
	"graph":   {"text", "dot", "svg"},
	"plan":    {"text", "json", "markdown"},
	"results": {"text", "csv", "json", "markdown"},
}

// IDsFile returns the file for the ids of submitted jobs. submit and retry accept
// its name as --output instead of a format. It is "" if --output is a format.
func IDsFile(c *cli.Context) string {
	if path := c.String("output"); strings.HasSuffix(path, ".json") && slices.Contains([]string{"submit", "retry"}, c.Command.Name) {
		return path
	}
	return ""
}

// OutputFormat returns the output format that the flags select. A format that the
// command does not have is a usage error. A command without --output has text.
func OutputFormat(c *cli.Context) (string, error) {
	if c.Bool("json") {
		return "json", nil
	}
	formats := formatsOf[c.Command.Name]
	if formats == nil {
		formats = []string{"text", "json"}
	}
	format := c.String("output")
	takes := slices.ContainsFunc(c.Command.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), "output") })
	if !takes || IDsFile(c) != "" {
		return "text", nil
	}
	if !slices.Contains(formats, format) {
		return "", exit.Usage("unknown --output %s", format).Try("the formats are: %s", strings.Join(formats, " "))
	}
	return format, nil
}
