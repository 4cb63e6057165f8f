package document

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Names of the rules that hold the shape of a document.
const (
	RuleDocumentKind  = "document-kind"
	RuleUnknownMember = "unknown-member"
	RuleMissingMember = "missing-member"
	RuleWrongType     = "wrong-type"
	RuleBadValue      = "bad-value"
)

// checker turns what the validator found into problems with a place. The
// validator only says which keyword of which schema refuses which value; the
// words are made here, from the schema and the tree.
type checker struct {
	root   *jsontree.Node
	top    raw
	native bool // the document is an AWS request, or a list of them
	diags  diag.List
	// bad is the values that must not be lowered.
	bad map[*jsontree.Node]bool
	// overflow says that there were too many problems to find them all.
	overflow bool
	// searches bounds the look-ups of near words, which cost more than all the rest.
	searches int
}

// check holds the tree under root against the schema of the kind. The surplus
// members have been reported already.
func check(root *jsontree.Node, kind Kind, surplus ...*jsontree.Node) *checker {
	if len(surplus) == 0 && readable(root) && shapes[kind]().takes(root) {
		return &checker{root: root}
	}
	return judge(root, kind, surplus...)
}

// judge lets the validator library decide, and puts what it found into words.
func judge(root *jsontree.Node, kind Kind, surplus ...*jsontree.Node) *checker {
	top, _ := rawOf(kind.location())
	c := &checker{root: root, top: top, native: kind.native() || kind == KindJobList, bad: map[*jsontree.Node]bool{}, searches: 200}
	for _, n := range surplus {
		c.bad[n] = true
	}
	err := compiled[kind]().Validate(c.value(root))
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		c.walk(invalid)
		if c.overflow {
			c.report(RuleBadValue, root.Source, brace(root), "mend the others first", "more than %d problems, the rest is not shown", maxProblems)
		}
	} else if err != nil {
		panic(err) // only a schema of ours that is wrong
	}
	return c
}

func (c *checker) report(rule string, src *diag.Source, span diag.Span, hint, format string, args ...any) {
	c.diags = append(c.diags, diag.Diagnostic{
		Rule: rule, Source: src, Span: span, Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// maxProblems bounds what is reported of one document.
const maxProblems = 1000

// maxChildren bounds the members of an object and the elements of an array.
// Nothing that AWS takes comes near it, and the validator's memory grows with
// every value that is wrong.
const maxChildren = 10000

// value is the form of a node that the validator takes. Of members of one name
// the first counts, as in Node.Get. What the validator could choke on is
// reported here and replaced.
func (c *checker) value(n *jsontree.Node) any {
	switch {
	case n.Is(jsontree.Number):
		// The validator computes with fractions, whose size grows with the exponent.
		f, err := strconv.ParseFloat(n.Text, 64)
		if err != nil {
			c.report(RuleBadValue, n.Source, n.Span, "", "number out of range")
			c.bad[n] = true
			return 0
		}
		return f
	case n.Len() > maxChildren:
		c.report(RuleBadValue, n.Source, n.Span, "",
			"%s has %d elements; %d is the most that is read", c.label(n.Name), n.Len(), maxChildren)
		c.bad[n] = true
		if n.Is(jsontree.Array) {
			return []any{}
		}
		return map[string]any{}
	case n.Is(jsontree.Array):
		list := make([]any, 0, n.Len())
		for child := range n.Children() {
			list = append(list, c.value(child))
		}
		return list
	case n.Is(jsontree.Object):
		m := make(map[string]any, n.Len())
		for child := range n.Children() {
			if _, twice := m[child.Name]; !twice && !c.bad[child] {
				m[child.Name] = c.value(child)
			}
		}
		return m
	}
	return n.Value()
}

// walk goes down to the causes that are no mere consequence of others.
func (c *checker) walk(e *jsonschema.ValidationError) {
	if len(c.diags) >= maxProblems {
		c.overflow = true
		return
	}
	switch keyword := path.Base(e.AbsoluteKeywordLocation); {
	case keyword == "anyOf":
		c.choose(e)
	case len(e.Causes) > 0:
		// The validator ranges over maps.
		slices.SortFunc(e.Causes, func(a, b *jsonschema.ValidationError) int {
			return cmp.Or(strings.Compare(a.InstanceLocation, b.InstanceLocation), strings.Compare(a.KeywordLocation, b.KeywordLocation))
		})
		for _, cause := range e.Causes {
			c.walk(cause)
		}
	default:
		c.leaf(keyword, e)
	}
}

// choose reports a value that none of several schemas takes: its type if that
// is wrong for all of them, else what the schema for its type has against it.
func (c *checker) choose(e *jsonschema.ValidationError) {
	steps := tokens(e.InstanceLocation)
	node := c.root.At(steps...)
	var chosen []*jsonschema.ValidationError
	for _, cause := range e.Causes {
		branch := strings.TrimPrefix(cause.KeywordLocation, e.KeywordLocation+"/")
		index, _, _ := strings.Cut(branch, "/")
		schema, ok := rawOf(e.AbsoluteKeywordLocation + "/" + index)
		if ok && schema.takes(node) {
			chosen = append(chosen, cause)
		}
	}
	if len(chosen) == 0 {
		c.wrongType(node, steps)
		return
	}
	c.walk(chosen[0])
}

// takes reports whether a node of this JSON type can satisfy the schema.
func (r raw) takes(n *jsontree.Node) bool {
	for _, t := range r.types() {
		_, whole := n.Int()
		if t == jsonTypes[n.Kind] || t == "integer" && whole {
			return true
		}
	}
	return false
}

// jsonTypes names the types as schemas do, by jsontree.Kind.
var jsonTypes = [...]string{"null", "boolean", "number", "string", "array", "object"}

func (c *checker) leaf(keyword string, e *jsonschema.ValidationError) {
	steps := tokens(e.InstanceLocation)
	node := c.root.At(steps...)
	file, v := lookup(path.Dir(e.AbsoluteKeywordLocation))
	schema := raw{file: file}
	schema.m, _ = v.(map[string]any)

	switch keyword {
	case "type":
		c.wrongType(node, steps)
	case "additionalProperties":
		c.unknownMembers(node, schema, steps)
	case "required":
		c.missingMembers(node, schema, steps)
	case "enum":
		c.bad[node] = true
		c.oneOf(node, schema, steps)
	case "minimum":
		c.bad[node] = true
		c.report(RuleBadValue, node.Source, node.Span, "", "%s must be at least %v", c.label(steps...), schema.m[keyword])
	case "minItems":
		c.report(RuleBadValue, node.Source, node.Span, "", "%s must have at least %v element", c.label(steps...), schema.m[keyword])
	default: // a member whose schema is false
		c.bad[node] = true
		c.report(RuleUnknownMember, node.Source, node.Key, "remove it", "%s has no place here", c.label(steps...))
	}
}

// oneOf reports a value that is none of those listed, with the near one.
func (c *checker) oneOf(node *jsontree.Node, schema raw, steps []string) {
	var allowed []string
	listed, _ := schema.m["enum"].([]any)
	for _, v := range listed {
		allowed = append(allowed, fmt.Sprint(v))
	}
	hint := ""
	if near := diag.Near(node.Str(), slices.Values(allowed)); near != "" {
		hint = fmt.Sprintf("write %q", near)
	}
	c.report(RuleBadValue, node.Source, node.Span, hint, "%s must be one of %s", c.label(steps...), strings.Join(allowed, ", "))
}

// label names a value by the end of its path: "timeout", "resources.vcpus",
// "command[1]".
func (c *checker) label(steps ...string) string {
	if len(steps) == 0 {
		return "the document"
	}
	n, index := len(steps), ""
	for n > 1 && c.root.At(steps[:n-1]...).Is(jsontree.Array) {
		index = "[" + steps[n-1] + "]" + index
		n--
	}
	name := steps[n-1]
	if n > 1 && !c.root.At(steps[:n-2]...).Is(jsontree.Array) && !c.root.At(steps[:n-1]...).Is(jsontree.Array) {
		name = steps[n-2] + "." + name
	}
	return clip(name) + index
}

// clip keeps a name from the file short enough for a message.
func clip(name string) string {
	const most = 60
	if r := []rune(name); len(r) > most {
		return string(r[:most]) + "…"
	}
	return name
}

// schemasAt returns the schemas that a path of the document leads to.
func (c *checker) schemasAt(steps []string) []raw {
	level, node := []raw{c.top}, c.root
	for _, step := range steps {
		var next []raw
		for _, r := range level {
			next = append(next, r.step(node, step)...)
		}
		level, node = next, node.At(step)
	}
	return level
}

// lost reports whether the job said what runs, but in a way that is left out.
func (c *checker) lost(job *jsontree.Node) bool {
	if len(c.bad) == 0 {
		return false
	}
	top, _ := rawOf(KindJob.location())
	members := top.members()
	for m := range job.Children() {
		if !c.bad[m] {
			continue
		}
		switch name := c.spelling(m.Name, members); name {
		case "image", "definition", "jobDefinition":
			return true
		}
	}
	return c.bad[job]
}

// spoilt reports whether a value, or one inside of it, is left out.
func (c *checker) spoilt(n *jsontree.Node) bool {
	if len(c.bad) == 0 || n == nil {
		return false
	}
	if c.bad[n] {
		return true
	}
	for child := range n.Children() {
		if c.spoilt(child) {
			return true
		}
	}
	return false
}

// clean returns a copy of what can be lowered: without the values found bad,
// comments, and the $schema of a document or of a job in its list. Of members of one
// name only the first is there, which is the one that was judged.
func (c *checker) clean(n *jsontree.Node) *jsontree.Node {
	if n.Kind != jsontree.Object && n.Kind != jsontree.Array {
		return n.Clone()
	}
	out := *jsontree.NewObject(n)
	out.Kind, out.Name = n.Kind, n.Name
	seen := map[string]bool{}
	for child := range n.Children() {
		if n.Kind == jsontree.Object && seen[child.Name] {
			continue
		}
		seen[child.Name] = true
		// In a map such as tags $schema is a name like any other.
		if !c.bad[child] && child.Name != "$comment" && (child.Name != "$schema" || n.Name != "") {
			out.Append(c.clean(child))
		}
	}
	return &out
}
