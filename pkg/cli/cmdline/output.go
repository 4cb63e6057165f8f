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

// formatsOf are the formats of the commands that have others than text and json.
var formatsOf = map[string][]string{
	"compare": {"text", "json", "markdown"},
	"graph":   {"text", "dot", "svg"},
	"results": {"text", "csv", "json", "markdown"},
}

// IDsFile is the file that --output names in place of a format, for the ids of what is
// submitted: ids.json.
func IDsFile(c *cli.Context) string {
	if word := c.String("output"); strings.HasSuffix(word, ".json") && slices.Contains([]string{"submit", "retry"}, c.Command.Name) {
		return word
	}
	return ""
}

// OutputFormat is the format that the flags ask for: one of those that the command has.
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
