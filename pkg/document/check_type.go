package document

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
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
	c.report(RuleWrongType, node.Source, span, rewrite(node, types, schemas),
		"%s must be %s, not %s", c.label(steps...), either(phrases), clip(found))
}

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

// rewrite suggests the value in an accepted type; "" if that is not possible.
func rewrite(node *jsontree.Node, types []string, schemas []raw) string {
	wanted := func(typ string) bool { return slices.Contains(types, typ) }
	text := clip(node.Text)
	_, notNumber := strconv.ParseFloat(text, 64)
	number := wanted("integer") || wanted("number")
	switch {
	case node.Is(jsontree.Null):
		return "remove it"
	case node.Is(jsontree.Number) && (node.Name == "timeout" || node.Name == "every"):
		return "write " + strconv.Quote(text+"s")
	case (node.Is(jsontree.Number) || node.Is(jsontree.Bool)) && wanted("string") && !number:
		return "write " + strconv.Quote(text)
	case node.Is(jsontree.String) && wanted("boolean") && (text == "true" || text == "false"),
		node.Is(jsontree.String) && number && notNumber == nil:
		return "write " + text
	case node.Is(jsontree.String) && wanted("array"):
		return "write " + wordList(text)
	case node.Is(jsontree.Object) && wanted("array"):
		return nameList(node, schemas)
	case node.Is(jsontree.Array) && wanted("object"):
		return keyMap(node)
	case wanted("object"):
		return onlyMember(node, schemas)
	}
	return ""
}

// nameList suggests a list of names and values, the form of AWS, in place of a map. It
// shows the first entry.
func nameList(node *jsontree.Node, schemas []raw) string {
	for _, item := range elements(schemas) {
		members, entry := item.members(), first(node)
		for _, value := range [...]string{"value", "valueFrom"} {
			if members["name"].m != nil && members[value].m != nil && entry.Is(jsontree.String) {
				return fmt.Sprintf("write [{\"name\": %q, %q: %q}]", clip(entry.Name), value, clip(entry.Text))
			}
		}
	}
	return ""
}

// keyMap suggests a map, the form of AWS Batch, in place of a list of keys and values, the
// form of tags in CloudFormation and ECS. It shows the first entry.
func keyMap(node *jsontree.Node) string {
	entry := node.Index(0)
	for _, names := range [...][2]string{{"Key", "Value"}, {"key", "value"}, {"Name", "Value"}, {"name", "value"}} {
		if key, value := entry.Get(names[0]), entry.Get(names[1]); key.Is(jsontree.String) && value.Is(jsontree.String) {
			return fmt.Sprintf("write {%q: %q}", clip(key.Text), clip(value.Text))
		}
	}
	return ""
}

// onlyMember suggests an object for a scalar, if the schema requires only one member, or
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
				return fmt.Sprintf("write {%q: %s}", name, node.AppendJSON(nil))
			}
		}
	}
	return ""
}

// wordList suggests the list of arguments for a command line. Quotes and operators need a
// shell.
func wordList(text string) string {
	args := strings.Fields(text)
	if strings.ContainsAny(text, "\"'`\\$|&;<>*?~#") {
		args = []string{"sh", "-c", text}
	}
	for i, w := range args {
		args[i] = strconv.Quote(w)
	}
	return "[" + strings.Join(args, ", ") + "]"
}
