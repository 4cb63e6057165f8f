package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// member is a member of an object.
type member struct {
	name string
	schema
}

type schema struct {
	Title       string
	Description string
	Type        any
	Ref         string  `json:"$ref"`
	Defs        members `json:"$defs"`
	Properties  members
	Examples    []json.RawMessage
	AnyOf       []schema
	Items       json.RawMessage
	Values      json.RawMessage `json:"additionalProperties"`
	Enum        []any
}

// members are the members of an object in their order.
type members []member

func (o *members) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		m := member{name: fmt.Sprint(name)}
		if len(value) > 0 && value[0] == '{' { // true allows anything
			if err := json.Unmarshal(value, &m.schema); err != nil {
				return err
			}
		}
		*o = append(*o, m)
	}
	return nil
}

// reference writes the page of some schemas.
type reference struct{ defs map[string]schema }

// typeText describes the type of a value for a column of a table.
func (r reference) typeText(s schema) string {
	if _, name, ok := strings.Cut(s.Ref, "#/$defs/"); ok {
		d, known := r.defs[name]
		switch {
		case strings.HasPrefix(s.Ref, "native."):
			return "as in AWS"
		case strings.HasPrefix(s.Ref, "job.") && name == "members":
			return "members of a [job file](job-file.md)"
		case known && len(d.Properties) > 1:
			return "[" + name + "](#" + name + ")"
		case known:
			return r.typeText(d)
		}
	}
	if strings.HasPrefix(s.Ref, "job.") {
		return "a job as in a [job file](job-file.md)"
	}
	var all []string
	switch t := s.Type.(type) {
	case string:
		all = append(all, r.container(t, s))
	case []any:
		for _, one := range t {
			all = append(all, fmt.Sprint(one))
		}
	}
	for _, one := range s.AnyOf {
		if text := r.typeText(one); text != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	for _, one := range s.Enum {
		all = append(all, fmt.Sprintf("`%v`", one))
	}
	return strings.Join(all, " or ")
}

// container adds the type of the elements or members to object and array.
func (r reference) container(typ string, s schema) string {
	values := map[string]json.RawMessage{"object": s.Values, "array": s.Items}[typ]
	var inner schema
	if len(values) == 0 || values[0] != '{' || json.Unmarshal(values, &inner) != nil {
		return typ
	}
	if text := r.typeText(inner); text != "" {
		return typ + " of " + text
	}
	return typ
}

// table lists the members of an object.
func (r reference) table(list members) string {
	var b strings.Builder
	b.WriteString("| member | type | description |\n| --- | --- | --- |\n")
	for _, m := range list {
		if strings.HasPrefix(m.name, "$") {
			continue
		}
		example := ""
		if len(m.Examples) > 0 {
			var line bytes.Buffer
			if json.Compact(&line, m.Examples[0]) == nil {
				example = " Example: `" + line.String() + "`"
			}
		}
		description := strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(m.Description)
		fmt.Fprintf(&b, "| `%s` | %s | %s%s |\n", m.name, strings.ReplaceAll(r.typeText(m.schema), "|", `\|`), description, strings.ReplaceAll(example, "|", `\|`))
	}
	return b.String()
}

// page describes schemas, and after each the objects within it.
func page(t *testing.T, title, intro string, files ...string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n<!-- Generated from the schemas in schemas by go test ./schemas -update. Change those, not this page. -->\n", title, intro)
	for _, file := range files {
		text, err := FS.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var s schema
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		r := reference{defs: map[string]schema{}}
		for _, d := range s.Defs {
			r.defs[d.name] = d.schema
		}
		top := s.Properties
		if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
			top = r.defs[name].Properties
			delete(r.defs, name)
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n%s", s.Title, s.Description, r.table(top))
		r.nested(&b, top)
		for _, d := range s.Defs {
			if len(r.defs[d.name].Properties) > 1 {
				fmt.Fprintf(&b, "\n### %s\n\n%s", d.name, r.table(d.Properties))
			}
		}
	}
	return b.String()
}

// nested writes tables for members that are objects of their own.
func (r reference) nested(b *strings.Builder, list members) {
	for _, m := range list {
		if m.Ref == "" && len(m.Properties) > 0 && !strings.HasPrefix(m.Properties[len(m.Properties)-1].name, "$") {
			fmt.Fprintf(b, "\n### %s\n\n%s\n\n%s", m.name, m.Description, r.table(m.Properties))
			r.nested(b, m.Properties)
		}
	}
}

// TestPages compares the reference pages in docs with the schemas.
func TestPages(t *testing.T) {
	golden.File(t, "../docs/job-file.md", page(t, "Job file", "A job file describes one job; a workflow file describes several. To start, run `batchctl init job.json`. "+
		"`batchctl schema job` prints the schema for your editor. Members \"as in AWS\" have the form of the [AWS Batch API](https://docs.aws.amazon.com/batch/latest/APIReference/).",
		"job.schema.json", "workflow.schema.json"))
	golden.File(t, "../docs/platform-file.md", page(t, "Platform file", "The platform file, `batchctl.json`, describes an organisation's targets, queues and policy. batchctl looks for it beside a job file and in the directories above; the nearest one applies. "+
		"If it replaces another one, the warning `platform-hides-policy` names the rules of the other policy that no longer apply; `validate --strict` reports an error, and the report of a pull request has a line. `--platform FILE` is treated alike. "+
		"To start, run `batchctl init --new-platform batchctl.json`. [jobs/batchctl.json](https://github.com/batchctl/batchctl/blob/main/jobs/batchctl.json) is a complete example.",
		"platform.schema.json"))
}
