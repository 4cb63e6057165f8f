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
	"github.com/batchctl/batchctl/pkg/stable"
)

// check compares the tree under root with the schema of the kind. The surplus members have
// been reported already.
func check(root *jsontree.Node, kind Kind, surplus ...*jsontree.Node) checker {
	if len(surplus) == 0 && readable(root) && shapes[kind]().takes(root) {
		return checker{root: root}
	}
	return *judge(root, kind, surplus...)
}

// judge runs the validator library and reports its findings.
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
			c.report(RuleBadValue, root.Source, brace(root), "fix the others first", "more than %d problems; the rest are not shown", maxProblems)
		}
	} else if err != nil {
		panic(err) // only a mistake in an embedded schema
	}
	return c
}

// value returns a node in the form that the validator accepts. Of members with the same
// name, the first counts, as in Node.Get. Values that the validator cannot handle are
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
			"%s has %d elements; at most %d are allowed", c.label(n.Name), n.Len(), maxChildren)
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

// walk visits the causes of an error that do not follow from other causes.
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
		stable.Sort(e.Causes, func(a, b *jsonschema.ValidationError) int {
			return cmp.Or(strings.Compare(a.InstanceLocation, b.InstanceLocation), strings.Compare(a.KeywordLocation, b.KeywordLocation))
		})
		for _, cause := range e.Causes {
			c.walk(cause)
		}
	default:
		c.leaf(keyword, e)
	}
}

// choose reports a value that satisfies none of several schemas: its type if that is wrong
// for all of them, or else what violates the schema for its type.
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

// leaf reports one error of the schema validator in the user's terms. Such errors are
// rare: a valid document is checked by its shape, and only an invalid one by the
// validator.
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
		c.unreadable(node, steps)
		c.oneOf(node, schema, steps)
	case "minimum":
		c.bad[node] = true
		c.report(RuleBadValue, node.Source, node.Span, "", "%s must be at least %v", c.label(steps...), schema.m[keyword])
	case "minItems":
		c.report(RuleBadValue, node.Source, node.Span, "", "%s must have at least %v element", c.label(steps...), schema.m[keyword])
	default: // a member whose schema is false
		c.bad[node] = true
		c.report(RuleUnknownMember, node.Source, node.Key, "remove it", "%s is not allowed here", c.label(steps...))
	}
}

// oneOf reports a value that is not in the list, with the nearest one as the hint.
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
