package schemas

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/packed"
)

// OutputVersion is the version of the JSON output. It changes if a member is removed or gets another meaning.
const OutputVersion = 1

// definitions is the part of the file that contains schemas: those of commands, whose names begin with "batchctl ", and
// those of their parts.
type definitions struct {
	Defs map[string]any `json:"$defs"`
}

// command begins the name of the definition of a command's output.
const command = "batchctl "

// readOutput decodes the schemas of the output.
func readOutput() map[string]any {
	var d definitions
	if err := json.Unmarshal([]byte(packed.Text(files(), "output/v1.schema.json")), &d); err != nil {
		panic(fmt.Errorf("read output/v1.schema.json: %w", err)) // a file of this package
	}
	return d.Defs
}

// OutputCommands returns the commands that print JSON, such as "infra status", in alphabetical order.
func OutputCommands() []string {
	var names []string
	for name := range readOutput() {
		if name, ok := strings.CutPrefix(name, command); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Output returns the schema of a command's JSON output with all definitions that it refers to; nil if the command
// prints no JSON.
func Output(name string) map[string]any {
	defs := readOutput()
	schema, _ := defs[command+name].(map[string]any)
	if schema == nil {
		return nil
	}
	used := map[string]any{}
	collect(schema, defs, used)
	schema = maps.Clone(schema)
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["$id"] = fmt.Sprintf("output/v%d/%s.schema.json", OutputVersion, strings.ReplaceAll(name, " ", "-"))
	schema["title"] = command + name + " --output json"
	schema["description"] = "Later versions of batchctl may print more members. Ignore members that you do not know."
	if len(used) > 0 {
		schema["$defs"] = used
	}
	return schema
}

// collect adds the definitions that a schema refers to.
func collect(v any, defs, used map[string]any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			collect(item, defs, used)
		}
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			name := strings.TrimPrefix(ref, "#/$defs/")
			if used[name] == nil {
				used[name] = defs[name]
				collect(defs[name], defs, used)
			}
		}
		for _, item := range v {
			collect(item, defs, used)
		}
	}
}
