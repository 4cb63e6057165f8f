package cmdline

import (
	"reflect"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/exit"
)

// OutputFlags are --output and --json of a command whose JSON has these forms.
func OutputFlags(forms ...Form) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "text", Usage: "text or json"},
		JSONFlag(forms...),
	}
}

// Form is a form of a command's JSON output. schemas/output/v1.schema.json describes its type, and the tests
// compare both.
type Form struct {
	// Flag is the flag that selects the form, without dashes; "" for the usual form.
	Flag string
	// Type is the Go type of the document.
	Type reflect.Type
}

// JSON is the usual form of a command's JSON output, or one of them.
func JSON[T any]() Form { return JSONWith[T]("") }

// JSONWith is the form that a flag selects.
func JSONWith[T any](flag string) Form { return Form{flag, reflect.TypeFor[T]()} }

// jsonFlag is --json. It knows what the command prints.
type jsonFlag struct {
	*cli.BoolFlag
	forms []Form
}

// JSONFlag is --json of a command whose JSON has these forms.
func JSONFlag(forms ...Form) cli.Flag {
	return &jsonFlag{&cli.BoolFlag{Name: "json", Usage: "the same as --output json"}, forms}
}

// Forms returns the forms of a command's JSON output. It is empty for a command without --json.
func Forms(c *cli.Command) []Form {
	if f, ok := findFlag(c.Flags, "json").(*jsonFlag); ok {
		return f.forms
	}
	return nil
}

// isSwitch reports whether a flag has no value.
func isSwitch(f cli.Flag) bool {
	switch f.(type) {
	case *cli.BoolFlag, *jsonFlag:
		return true
	}
	return false
}

// formatsOf are the formats of commands that have others than text and json.
var formatsOf = map[string][]string{
	"compare": {"text", "json", "markdown"},
	"graph":   {"text", "dot", "svg"},
	"history": {"text", "json", "csv"},
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
