package document

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/apimodel"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

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
			c.unknown = append(c.unknown, UnknownMember{name, child.Span})
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
		if kind := requirementType(written); kind != "" && c.native && below["resourceRequirements"].m != nil {
			return fmt.Sprintf(`write { "type": %q, "value": ... } in "%s.resourceRequirements"`, kind, name), ""
		}
	}
	if other := MemberOfTool(written); c.native && other != "" {
		if _, known := members[other]; known {
			return "write " + strconv.Quote(other), ""
		}
		for _, name := range names(members) {
			if _, known := members[name].members()[other]; known {
				return fmt.Sprintf("write %q in %q", other, name), ""
			}
		}
	}
	if kind := requirementType(written); kind != "" && members["resourceRequirements"].m != nil {
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
