package clitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/batchctl/batchctl/schemas"
)

// wrongOutput is the environment variable with the file to which the test program appends wrong JSON output. A script
// that expects a failure would not see it in the exit status.
const wrongOutput = "BATCHCTL_TEST_WRONG_OUTPUT"

// outputCheck copies stdout, and compares it with the schema of a command's JSON.
type outputCheck struct {
	args    []string
	schema  map[string]any
	text    bytes.Buffer
	aborted bool // stdout took no more
}

// checkedOutput returns the check of a command line; nil if it does not ask for JSON.
func checkedOutput(args []string) *outputCheck {
	asks := false
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	for i, arg := range args {
		switch {
		case arg == "--json", arg == "--output=json", arg == "-o=json",
			i > 0 && arg == "json" && (args[i-1] == "--output" || args[i-1] == "-o"):
			asks = true
		}
	}
	if !asks || len(args) < 2 {
		return nil
	}
	name := args[0]
	if pair := args[0] + " " + args[1]; slices.Contains(schemas.OutputCommands(), pair) {
		name = pair
	}
	schema := schemas.Output(name)
	if schema == nil {
		return nil // an unknown command
	}
	schema["anyOf"] = formsOf(schema["anyOf"].([]any), args)
	return &outputCheck{args: args, schema: schema}
}

// formsOf returns the forms that the flags of a command line select.
func formsOf(all []any, args []string) []any {
	var usual, selected []any
	for _, form := range all {
		title := form.(map[string]any)["title"].(string)
		switch _, flag, ok := strings.Cut(title, " --"); {
		case !ok:
			usual = append(usual, form)
		case slices.ContainsFunc(args, func(arg string) bool {
			return arg == "--"+flag ||
				strings.HasPrefix(arg, "--"+flag+"=")
		}):
			selected = append(selected, form)
		}
	}
	if selected != nil {
		return selected
	}
	return usual
}

// Write writes to stdout and keeps a copy.
func (c *outputCheck) Write(p []byte) (int, error) {
	n, err := os.Stdout.Write(p)
	c.text.Write(p[:n])
	c.aborted = c.aborted || err != nil
	return n, err
}

// end compares what was written with the schema. It returns the exit status: code, or 70 after a difference.
func (c *outputCheck) end(code int) int {
	err := c.compare()
	if c.aborted || err == nil {
		return code
	}
	report := fmt.Sprintf("batchctl %s: stdout does not match schemas/output: %#v\n%s\n", strings.Join(c.args, " "),
		err, c.text.Bytes())
	fmt.Fprint(os.Stderr, report)
	if path := os.Getenv(wrongOutput); path != "" {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(report)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	return 70
}

// compare returns the first difference between the output and the schema. The output may be several documents. A
// member that the schema does not have is a difference, so that the schema stays complete.
func (c *outputCheck) compare() error {
	strict(c.schema)
	text, err := json.Marshal(c.schema)
	if err != nil {
		return err
	}
	schema, err := jsonschema.CompileString("schema.json", string(text))
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(c.text.Bytes()))
	d.UseNumber()
	for {
		var v any
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := schema.Validate(v); err != nil {
			return err
		}
	}
}

// strict forbids unknown members in all parts of a schema.
func strict(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			strict(item)
		}
	case map[string]any:
		if v["type"] == "object" && v["properties"] != nil {
			v["additionalProperties"] = false
		}
		for _, item := range v {
			strict(item)
		}
	}
}
