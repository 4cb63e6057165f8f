package document

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
)

// wrongType reports a value of the wrong type, with an example from the schema, and with
// the correct spelling if it is obvious.
func (c *checker) wrongType(node *jsontree.Node, steps []string) {
	c.unreadable(node, steps)
	var types, phrases []string
	schemas := c.schemasAt(steps)
	for _, s := range schemas {
		types = append(types, s.types()...)
	}
	types = unique(types)
	for _, t := range types {
		phrases = append(phrases, phrase(t, schemas)+suchAs(schemas, t))
	}
	found := node.Kind.String()
	if node.Is(jsontree.Number) {
		if _, whole := node.Int(); !whole && slices.Contains(types, "integer") {
			found = node.Text
		}
	}
	span := node.Span
	if node.Source != nil && IsYAML(node.Source) && (node.Is(jsontree.Object) || node.Is(jsontree.Array)) {
		span = Opening(node) // of a block, as rules report it
	}
	value := rewrite(node, types, schemas)
	c.report(RuleWrongType, node.Source, span, "", "%s must be %s, not %s", c.label(steps...), text.Or(phrases),
		clip(found))
	d := &c.diags[len(c.diags)-1]
	switch {
	case node.Is(jsontree.Null):
		d.Hint = "remove it"
	case value == "":
	case len(value) > maxShown || node.Source == nil ||
		jsontree.HasPlaceholder(node.Source.Text[node.Span.Start:node.Span.End]):
		d.Hint = "did you mean " + clip(value) + "?"
	default:
		d.Hint = "write " + value
		if !IsYAML(node.Source) {
			d.Fix = &diag.Fix{Message: d.Hint, Edits: []diag.Edit{{Span: node.Span, Text: value}}, Respells: true}
		}
	}
}

// maxShown is the length of the longest value that a hint shows in full.
const maxShown = 200

// phrase describes a JSON type for a message.
func phrase(typ string, schemas []raw) string {
	switch typ {
	case "integer":
		return "a whole number"
	case "boolean":
		return "true or false"
	case "object":
		return "an object"
	case "array":
		for _, item := range elements(schemas) {
			if slices.Equal(item.types(), []string{"string"}) {
				return "an array of strings"
			}
		}
		return "an array"
	}
	return "a " + typ
}

// elements returns the schemas of the elements of an array.
func elements(schemas []raw) []raw {
	var out []raw
	for _, s := range schemas {
		out = append(out, s.step(&jsontree.Node{Kind: jsontree.Array}, "")...)
	}
	return out
}

// suchAs returns ` such as "2h"`, or nothing if the schemas have no short example.
func suchAs(schemas []raw, typ string) string {
	for _, s := range schemas {
		for _, v := range s.examples(typ) {
			if text := short(v); text != "" && typ != "boolean" && typ != "object" {
				return " such as " + text
			}
		}
	}
	return ""
}

// short returns the value as JSON if it fits into a message.
func short(v any) string {
	text, err := json.Marshal(v)
	if err != nil || len(text) > 40 {
		return ""
	}
	return strings.ReplaceAll(string(text), `","`, `", "`)
}

// rewrite returns the value in an accepted type, as JSON; "" if that is not possible.
func rewrite(node *jsontree.Node, types []string, schemas []raw) string {
	wanted := func(typ string) bool { return slices.Contains(types, typ) }
	text := node.Text
	_, notNumber := strconv.ParseFloat(text, 64)
	number := wanted("integer") || wanted("number")
	switch {
	case node.Is(jsontree.Null):
		return ""
	case node.Is(jsontree.Number) && wanted("string") && (node.Name == "timeout" || node.Name == "every"):
		return strconv.Quote(text + "s")
	case node.Is(jsontree.Number) && wanted("object") && node.Name == "timeout":
		return `{ "attemptDurationSeconds": ` + text + ` }`
	case (node.Is(jsontree.Number) || node.Is(jsontree.Bool)) && wanted("string") && !number:
		return strconv.Quote(text)
	case node.Is(jsontree.String) && wanted("boolean") && (text == "true" || text == "false"),
		node.Is(jsontree.String) && number && notNumber == nil:
		return text
	case node.Is(jsontree.String) && wanted("array"):
		return wordList(text)
	case node.Is(jsontree.Object) && wanted("array"):
		return nameList(node, schemas)
	case node.Is(jsontree.Array) && wanted("object"):
		return keyMap(node)
	case wanted("object"):
		return onlyMember(node, schemas)
	}
	return ""
}

// nameList returns a list of names and values, the form of AWS, in place of a map.
func nameList(node *jsontree.Node, schemas []raw) string {
	for _, item := range elements(schemas) {
		members := item.members()
		for _, value := range [...]string{"value", "valueFrom"} {
			if members["name"].m == nil || members[value].m == nil {
				continue
			}
			var entries []string
			for entry := range node.Children() {
				if !entry.Is(jsontree.String) {
					return ""
				}
				entries = append(entries, fmt.Sprintf(`{ "name": %s, %q: %s }`, jsonString(entry.Name), value,
					jsonString(entry.Text)))
			}
			return "[" + strings.Join(entries, ", ") + "]"
		}
	}
	return ""
}

// keyMap returns a map, the form of AWS Batch, in place of a list of keys and values, the
// form of tags in CloudFormation and ECS.
func keyMap(node *jsontree.Node) string {
	seen := map[string]bool{}
	var members []string
	for entry := range node.Children() {
		key, value := keyMember(entry)
		if key == "" || seen[key] {
			return ""
		}
		seen[key] = true
		members = append(members, key+": "+value)
	}
	if len(members) == 0 {
		return ""
	}
	return "{ " + strings.Join(members, ", ") + " }"
}

// keyMember returns the member of a map, as JSON, for an entry with only a key and a value; "" for another entry.
func keyMember(entry *jsontree.Node) (name, text string) {
	for _, names := range [...][2]string{{"Key", "Value"}, {"key", "value"}, {"Name", "Value"}, {"name", "value"}} {
		if key, value := entry.Get(names[0]), entry.Get(names[1]); entry.Len() == 2 && key.Is(jsontree.String) &&
			value.Is(jsontree.String) {
			return jsonString(key.Text), jsonString(value.Text)
		}
	}
	return "", ""
}

// jsonString returns a text as a JSON string.
func jsonString(text string) string { return string(jsontree.NewString(text, nil).AppendJSON(nil)) }

// onlyMember returns an object for a scalar, if the schema requires only one member, or
// an example has only one.
func onlyMember(node *jsontree.Node, schemas []raw) string {
	for _, s := range schemas {
		var sole []string
		if required, _ := s.m["required"].([]any); len(required) == 1 {
			sole = append(sole, required[0].(string))
		}
		for _, example := range s.examples("object") {
			if m := example.(map[string]any); len(m) == 1 {
				sole = slices.AppendSeq(sole, maps.Keys(m))
			}
		}
		for _, name := range sole {
			if s.members()[name].takes(node) {
				return fmt.Sprintf("{ %q: %s }", name, node.AppendJSON(nil))
			}
		}
	}
	return ""
}

// wordList returns the list of arguments for a command line. Quotes and operators need a
// shell.
func wordList(text string) string {
	args := strings.Fields(text)
	if strings.ContainsAny(text, "\"'`\\$|&;<>*?~#") {
		args = []string{"sh", "-c", text}
	}
	for i, w := range args {
		args[i] = jsonString(w)
	}
	return "[" + strings.Join(args, ", ") + "]"
}
