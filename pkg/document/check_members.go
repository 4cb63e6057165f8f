package document

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/apimodel"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
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
		hint, name, fix := c.instead(child, node, members, steps)
		if name != "" && (taken[name] || node.Get(name) != nil) {
			hint, name = fmt.Sprintf("did you mean %q? The object already has that member", name), ""
		}
		c.report(RuleUnknownMember, child.Source, child.Key, hint, "unknown member %s", strconv.Quote(clip(child.Name)))
		if schema.file == nativeFile && hint == "" && name == "" && c.searches >= 0 &&
			!strings.HasPrefix(child.Name, "_") {
			newest := &c.diags[len(c.diags)-1]
			newest.Severity, newest.Message, newest.Hint = diag.Warning, NotInModel(child.Name),
				"AWS Batch rejects a member that it does not have"
		}
		if name != "" {
			taken[name] = true
			c.unknown = append(c.unknown, UnknownMember{name, child.Span})
			fix = renamed(child, name)
		}
		c.diags[len(c.diags)-1].Fix = fix
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
	if quote := n.Source.Text[span.Start]; span.End-span.Start > 1 && quote == n.Source.Text[span.End-1] &&
		(quote == '"' || quote == '\'') {
		span = diag.Span{Start: span.Start + 1, End: span.End - 1}
	}
	fix := &diag.Fix{Message: "write " + strconv.Quote(name), Edits: []diag.Edit{{Span: span, Text: name}}}
	if strings.ContainsAny(n.Name, "<>") {
		fix.Class = diag.Choice // a placeholder, which --fix keeps
	}
	return fix
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
			if child.Name == node.Name { // the members are one level too deep, which is reported there
				for inner := range child.Children() {
					misspelt[inner.Name] = true
				}
			}
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
		c.missing = append(c.missing, UnknownMember{name, brace(node)})
		if list, _ := members[name].m["examples"].([]any); len(list) > 0 && short(list[0]) != "" {
			hint = "add " + strconv.Quote(name) + ", such as " + short(list[0])
		}
	}
	if len(missing) == 0 {
		return
	}
	noun := "member"
	if len(missing) > 1 {
		noun, hint = "members", ""
	}
	if len(missing) == 1 && missing[0] == `"name"` && !c.native && (members["image"].m != nil ||
		members["jobs"].m != nil) {
		what := "job"
		if members["jobs"].m != nil {
			what = "workflow"
		}
		c.report(RuleMissingMember, node.Source, brace(node), hint, "a %s needs a name", what)
		return
	}
	c.report(RuleMissingMember, node.Source, brace(node), hint, "missing %s %s", noun, text.And(missing))
}

// instead returns the hint about an unknown member, and the correct name if only the name
// is wrong: in another case, in another form of the document, or misspelt. For a member in the wrong
// object, it returns the fix that moves it.
func (c *checker) instead(n, parent *jsontree.Node, members map[string]raw,
	steps []string) (hint, name string, fix *diag.Fix) {
	if c.searches--; c.searches < 0 {
		return "", "", nil
	}
	written := n.Name
	if name := caseOf(written, members); name != "" {
		return "write " + strconv.Quote(name) + ": case matters", name, nil
	}
	if _, both := members["jobName"]; both && written == "name" && members["job"].m != nil {
		return `write "job" for a job in this workflow, or "jobName" for one submitted before`, "", nil
	}
	if written == "waivers" && c.native {
		return NoWaivers, "", nil
	}
	if own, known := members[compactName(written)]; known {
		if !own.takes(n) {
			return "did you mean " + strconv.Quote(compactName(written)) + "?", "", nil
		}
		return "write " + strconv.Quote(compactName(written)), compactName(written), nil
	}
	if name := awsName(written, members); name != "" {
		if !members[name].takes(n) {
			return "did you mean " + strconv.Quote(name) + "?", "", nil
		}
		return "write " + strconv.Quote(name), name, nil
	}
	for _, name := range names(members) {
		below := members[name].members()
		if _, known := below[written]; known && written != "$comment" {
			hint, fix := moved(n, parent, below[written], name, written)
			return hint, "", fix
		}
		if own := compactName(written); own != "" {
			if _, known := below[own]; known {
				hint, fix := moved(n, parent, below[own], name, own)
				return hint, "", fix
			}
		}
		if kind := requirementType(written); kind != "" && c.native && below["resourceRequirements"].m != nil {
			return fmt.Sprintf(`list it as { "type": %q, "value": ... } in "%s.resourceRequirements"`, kind, name), "",
				nil
		}
	}
	if other := MemberOfTool(written); c.native && other != "" {
		if _, known := members[other]; known {
			return "did you mean " + strconv.Quote(other) + "?", "", nil
		}
		for _, name := range names(members) {
			if _, known := members[name].members()[other]; known {
				return fmt.Sprintf("it belongs in %q, as %q", name, other), "", nil // the tool may count in other units
			}
		}
	}
	if kind := requirementType(written); kind != "" && members["resourceRequirements"].m != nil {
		return fmt.Sprintf(`list it as { "type": %q, "value": ... } in "resourceRequirements"`, kind), "", nil
	}
	if outer, fix := c.outer(n, steps); outer != "" {
		return outer, "", fix
	}
	if near := diag.Near(written, maps.Keys(members)); near != "" {
		return "write " + strconv.Quote(near), near, nil
	}
	if members["jobQueue"].m != nil || members["resourceRequirements"].m != nil {
		definition, _ := rawOf(KindJobDefinition.location())
		outer := definition.members()
		if outer[written].m != nil || outer["containerProperties"].members()[written].m != nil {
			return "it belongs in the job definition", "", nil
		}
	}
	return c.otherRequest(written, steps), "", nil
}

// otherRequest returns the hint for a member that another request of AWS Batch has: the one that changes the resource
// that this one creates, or else the only one with such a member.
func (c *checker) otherRequest(written string, steps []string) string {
	own := c.kind
	if i := slices.IndexFunc(ResourceLists[:], func(l ResourceList) bool {
		return len(steps) > 1 &&
			l.Member == steps[0]
	}); own == KindResources && i >= 0 {
		own, steps = ResourceLists[i].Kind, steps[2:]
	}
	resource, creates := strings.CutPrefix(string(own), "Create")
	switch {
	case own == KindComputeEnvironment && written == "updateToLatestImageVersion" &&
		slices.Equal(steps, []string{"computeResources"}):
		return "it belongs in UpdateComputeEnvironment"
	case !own.native() || len(steps) > 0:
		return ""
	}
	for _, ops := range operations() {
		for _, op := range ops {
			if creates && op.name == "Update"+resource && slices.Contains(op.members, plain(written)) {
				return "it belongs in " + op.name
			}
		}
	}
	var others []string
	for _, k := range kinds {
		if own == KindJobDefinition && k.kind != KindSubmitJob || own == KindSubmitJob && k.kind != KindJobDefinition {
			continue // these two belong together
		}
		if schema, _ := rawOf(k.kind.location()); k.kind.native() && k.kind != own &&
			schema.members()[written].m != nil {
			others = append(others, string(k.kind))
		}
	}
	if len(others) != 1 {
		return "" // a name such as type, which the author may have meant otherwise
	}
	return "it belongs in " + others[0]
}

// moved returns the hint and the fix that move a member into another object beside it, under a name that the object
// can have.
func moved(n, parent *jsontree.Node, own raw, into, name string) (hint string, fix *diag.Fix) {
	target := parent.Get(into)
	if target.Get(name) != nil {
		return fmt.Sprintf("%q already has %q: keep one of them", into, name), nil
	}
	if own.takes(n) {
		fix = jsontree.Move(n, target, into, name)
	}
	switch {
	case fix == nil:
		return "it belongs in " + strconv.Quote(into), nil
	case n.Name == name:
		fix.Message = "move it into " + strconv.Quote(into)
	default:
		fix.Message = fmt.Sprintf("write %q in %q", name, into)
	}
	return fix.Message, fix
}

// outer suggests the object around the one that steps lead to, if it can have the member.
func (c *checker) outer(n *jsontree.Node, steps []string) (hint string, fix *diag.Fix) {
	for i := len(steps) - 1; i >= 0; i-- {
		around := c.root.At(steps[:i]...)
		if !around.Is(jsontree.Object) {
			continue
		}
		for _, s := range c.schemasAt(steps[:i]) {
			own, ok := s.members()[n.Name]
			if !ok {
				continue
			}
			beside := strconv.Quote(steps[i])
			switch {
			case steps[i] == n.Name && i == len(steps)-1 && n.Is(jsontree.Object):
				return "write its members in the " + beside + " around it", nil
			case around.Get(n.Name) != nil:
				return "it belongs one level up, and " + strconv.Quote(n.Name) + " is there already: keep one of them",
					nil
			}
			if i == len(steps)-1 && own.takes(n) {
				fix = jsontree.Move(n, around, "", n.Name)
			}
			if fix == nil {
				return "it belongs one level up, beside " + beside, nil
			}
			fix.Message = "move it one level up, beside " + beside
			return fix.Message, fix
		}
		return "", nil
	}
	return "", nil
}
