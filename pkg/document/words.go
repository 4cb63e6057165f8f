package document

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/apimodel"
	"github.com/batchctl/batchctl/pkg/diag"
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
	c.report(RuleWrongType, node.Source, node.Span, rewrite(node, types, schemas),
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

// unknownMembers reports the members of an object that its schema does not have. Two
// members never get a fix for the same name.
func (c *checker) unknownMembers(node *jsontree.Node, schema raw, steps []string) {
	members := schema.members()
	taken := map[string]bool{}
	for child := range node.Children() {
		if _, known := members[child.Name]; known {
			continue
		}
		c.bad[child] = true
		hint, name := c.instead(child, members, steps)
		if name != "" && (taken[name] || node.Get(name) != nil) {
			hint, name = "did you mean "+strconv.Quote(name)+"? This object has it already", ""
		}
		c.report(RuleUnknownMember, child.Source, child.Key, hint, "unknown member %s", strconv.Quote(clip(child.Name)))
		if schema.file == nativeFile && hint == "" && name == "" && c.searches >= 0 && !strings.HasPrefix(child.Name, "_") {
			newest := &c.diags[len(c.diags)-1]
			newest.Severity, newest.Message, newest.Hint = diag.Warning, NotInModel(child.Name), "AWS Batch rejects a member that it does not have"
		}
		if name != "" {
			taken[name] = true
			c.diags[len(c.diags)-1].Fix = renamed(child, name)
		}
	}
}

// nativeFile is the schema of AWS requests, which AWS may extend at any time.
const nativeFile = "native.schema.json"

// NotInModel says that a member is unknown and resembles no other: AWS may have added it since.
func NotInModel(name string) string {
	return fmt.Sprintf("%s is not in the API model of %s", strconv.Quote(clip(name)), apimodel.Get().Date)
}

// renamed is the fix that replaces the name of a member and keeps its quotes, or their
// absence.
func renamed(n *jsontree.Node, name string) *diag.Fix {
	span := n.Key
	if span.Start == span.End {
		return nil
	}
	if quote := n.Source.Text[span.Start]; span.End-span.Start > 1 && quote == n.Source.Text[span.End-1] && (quote == '"' || quote == '\'') {
		span = diag.Span{Start: span.Start + 1, End: span.End - 1}
	}
	return &diag.Fix{Message: "write " + strconv.Quote(name), Edits: []diag.Edit{{Span: span, Text: name}}}
}

// missingMembers reports the members that an object lacks, except those that it has in a
// wrong spelling.
func (c *checker) missingMembers(node *jsontree.Node, schema raw, steps []string) {
	members := map[string]raw{}
	for _, s := range c.schemasAt(steps) {
		for name, m := range s.members() {
			members[name] = m
		}
	}
	misspelt := map[string]bool{}
	for child := range node.Children() {
		if _, known := members[child.Name]; !known {
			misspelt[c.spelling(child.Name, members)] = true
		}
	}
	var missing []string
	hint := ""
	required, _ := schema.m["required"].([]any)
	for _, v := range required {
		name := v.(string)
		if node.Get(name) != nil || misspelt[name] {
			continue
		}
		missing = append(missing, strconv.Quote(name))
		if list, _ := members[name].m["examples"].([]any); len(list) > 0 && short(list[0]) != "" {
			hint = "add " + strconv.Quote(name) + ": " + short(list[0])
		}
	}
	if len(missing) == 0 {
		return
	}
	noun := "member"
	if len(missing) > 1 {
		noun, hint = "members", ""
	}
	if len(missing) == 1 && missing[0] == `"name"` && !c.native && (members["image"].m != nil || members["jobs"].m != nil) {
		what := "job"
		if members["jobs"].m != nil {
			what = "workflow"
		}
		c.report(RuleMissingMember, node.Source, brace(node), hint, "a %s needs a name", what)
		return
	}
	c.report(RuleMissingMember, node.Source, brace(node), hint, "missing %s %s", noun, and(missing))
}

// instead returns the hint about an unknown member, and the correct name if only the name
// is wrong: in another case, in another form of the document, or misspelt.
func (c *checker) instead(n *jsontree.Node, members map[string]raw, steps []string) (hint, name string) {
	if c.searches--; c.searches < 0 {
		return "", ""
	}
	written := n.Name
	if name := caseOf(written, members); name != "" {
		return "write " + strconv.Quote(name) + ": case matters", name
	}
	if _, both := members["jobName"]; both && written == "name" && members["job"].m != nil {
		return `write "job" for a job in this workflow, or "jobName" for one submitted before`, ""
	}
	if written == "waivers" && c.native {
		return NoWaivers, ""
	}
	if own, known := members[compactName(written)]; known {
		if !own.takes(n) {
			return "write " + strconv.Quote(compactName(written)), ""
		}
		return "write " + strconv.Quote(compactName(written)), compactName(written)
	}
	if name := awsName(written, members); name != "" {
		if !members[name].takes(n) {
			return "write " + strconv.Quote(name), ""
		}
		return "write " + strconv.Quote(name), name
	}
	for _, name := range names(members) {
		below := members[name].members()
		if _, known := below[written]; known && written != "$comment" {
			return "it belongs in " + strconv.Quote(name), ""
		}
		if own := compactName(written); own != "" {
			if _, known := below[own]; known {
				return fmt.Sprintf("write %q in %q", own, name), ""
			}
		}
		if kind := requirement(written); kind != "" && c.native && below["resourceRequirements"].m != nil {
			return fmt.Sprintf(`write { "type": %q, "value": ... } in "%s.resourceRequirements"`, kind, name), ""
		}
	}
	if kind := requirement(written); kind != "" && members["resourceRequirements"].m != nil {
		return fmt.Sprintf(`write { "type": %q, "value": ... } in "resourceRequirements"`, kind), ""
	}
	if outer := c.outer(written, steps); outer != "" {
		return outer, ""
	}
	if near := diag.Near(written, maps.Keys(members)); near != "" {
		return "write " + strconv.Quote(near), near
	}
	if members["jobQueue"].m != nil || members["resourceRequirements"].m != nil {
		definition, _ := rawOf(KindJobDefinition.location())
		outer := definition.members()
		if outer[written].m != nil || outer["containerProperties"].members()[written].m != nil {
			return "it belongs in the job definition", ""
		}
	}
	return "", ""
}

// requirement returns the type of resource for a name in another tool; "" for other names.
func requirement(name string) string {
	switch name {
	case "cpu", "cpus", "vcpu", "vCPU", "vcpus":
		return "VCPU"
	case "gpu", "gpus":
		return "GPU"
	case "ram", "mem", "memory", "memoryMiB":
		return "MEMORY"
	}
	return ""
}

// spelling returns the known member for an unknown name, or "".
func (c *checker) spelling(written string, members map[string]raw) string {
	if c.searches--; c.searches < 0 {
		return ""
	}
	if _, known := members[written]; known {
		return written
	}
	if name := caseOf(written, members); name != "" {
		return name
	}
	if name := compactName(written); name != "" {
		return name
	}
	if name := awsName(written, members); name != "" {
		return name
	}
	return diag.Near(written, maps.Keys(members))
}

// caseOf returns the member that differs from a name only in case; "" for no such member.
func caseOf(written string, members map[string]raw) string {
	for name := range members {
		if strings.EqualFold(name, written) {
			return name
		}
	}
	return ""
}

// Meant reports whether an object of a job file has another name for a member that it
// lacks: a misspelling, or the name in another tool. That name is reported as unknown, so
// the member is not reported as missing.
func Meant(n *jsontree.Node, member string) bool {
	if n.Get(member) != nil {
		return false
	}
	for child := range n.Children() {
		if compactName(child.Name) == member || diag.Near(child.Name, func(yield func(string) bool) { yield(member) }) == member {
			return true
		}
	}
	return false
}

// outer suggests the object around the one that steps lead to, if it can have the member.
func (c *checker) outer(name string, steps []string) string {
	for i := len(steps) - 1; i >= 0; i-- {
		if !c.root.At(steps[:i]...).Is(jsontree.Object) {
			continue
		}
		for _, s := range c.schemasAt(steps[:i]) {
			if _, ok := s.members()[name]; ok {
				return "it belongs one level up, beside " + strconv.Quote(steps[i])
			}
		}
		return ""
	}
	return ""
}

// awsName returns the member of a native request for a name of the compact form.
func awsName(written string, members map[string]raw) string {
	for _, name := range names(members) {
		if written != "" && compactName(name) == written {
			return name
		}
	}
	return ""
}

// compactName returns the compact form's name for a member of AWS or of a container tool.
func compactName(name string) string {
	switch name {
	case "jobName", "jobDefinitionName":
		return "name"
	case "jobQueue":
		return "queue"
	case "arrayProperties":
		return "array"
	case "resourceRequirements":
		return "resources"
	case "env":
		return "environment"
	case "cpu", "cpus", "vCPU", "vcpu":
		return "vcpus"
	case "gpu":
		return "gpus"
	case "ram", "mem", "memoryMiB":
		return "memory"
	case "shm", "shmSize", "sharedMemorySize":
		return "sharedMemory"
	case "retry", "retries", "maxAttempts", "max_attempts":
		return "retryStrategy"
	case "args", "cmd", "entrypoint":
		return "command"
	}
	return ""
}
