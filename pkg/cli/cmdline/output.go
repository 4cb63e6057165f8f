package cmdline

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// OutputFlag is --output of a command with these formats.
func OutputFlag(formats string) cli.Flag {
	return &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "text", Usage: formats}
}

// Form is a form of a command's JSON output. schemas/output/v1.schema.json describes its type, and the tests
// compare both.
type Form struct {
	// Flag is the flag that selects the form, without dashes; "" for the usual form.
	Flag string
	// Type is a nil pointer to the Go type of the document. A reflect.Type would be read by each package that uses Form,
	// and has many methods.
	Type any
}

// JSON is the usual form of a command's JSON output, or one of them.
func JSON[T any]() Form { return JSONWith[T]("") }

// JSONWith is the form that a flag selects.
func JSONWith[T any](flag string) Form { return Form{flag, (*T)(nil)} }

// jsonFlag is --json. It knows what the command prints.
type jsonFlag struct {
	*cli.BoolFlag
	forms []Form
}

// JSONFlag is --json of a command whose JSON has these forms. Help omits it, because --output json is the same.
func JSONFlag(forms ...Form) cli.Flag {
	return &jsonFlag{&cli.BoolFlag{Name: "json", Hidden: true}, forms}
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

// formatNamed returns the format with this name, of those that the help names: "text, json or csv". Another one is a
// usage error.
func formatNamed(name, formats string) (string, error) {
	formats, _, _ = strings.Cut(formats, " (")
	names := strings.Split(strings.ReplaceAll(formats, " or ", ", "), ", ")
	if !slices.Contains(names, name) {
		return "", UnknownValue("output", name, "the formats are", names...)
	}
	return name, nil
}
