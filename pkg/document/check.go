package document

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
)

// check compares the tree under root with the schema of the kind. The surplus members have
// been reported already.
func check(root *jsontree.Node, kind Kind, surplus ...*jsontree.Node) checker {
	if len(surplus) == 0 && readable(root) && shapes[kind]().takes(root) {
		return checker{root: root}
	}
	c := judge(root, kind, surplus...)
	if !c.overflow {
		c.newerValues(root, shapes[kind](), nil)
	}
	return *c
}

// judge runs the validator library and reports its findings.
func judge(root *jsontree.Node, kind Kind, surplus ...*jsontree.Node) *checker {
	top, _ := rawOf(kind.location())
	c := &checker{root: root, top: top, kind: kind, native: kind.native() || kind == KindJobList,
		bad: map[*jsontree.Node]bool{}, searches: 200}
	for _, n := range surplus {
		c.bad[n] = true
	}
	err := compiled[kind]().Validate(c.value(root))
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		c.walk(invalid)
		if c.overflow {
			c.report(RuleBadValue, root.Source, brace(root), "fix the others first",
				"more than %d problems; the rest are not shown", maxProblems)
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
		slices.SortStableFunc(e.Causes, func(a, b *jsonschema.ValidationError) int {
			return cmp.Or(strings.Compare(a.InstanceLocation, b.InstanceLocation),
				strings.Compare(a.KeywordLocation, b.KeywordLocation))
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
	case "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems":
		c.outside(keyword, node, schema, steps)
	case "pattern":
		c.report(RuleBadValue, node.Source, node.Span, "",
			"%s must be letters, digits, hyphens and underscores, not %s", c.label(steps...),
			clip(strconv.Quote(node.Text)))
	default: // a member whose schema is false
		c.bad[node] = true
		c.report(RuleUnknownMember, node.Source, node.Key, "remove it", "%s is not allowed here", c.label(steps...))
	}
}

// outside reports a number, a length or a number of elements that is out of range. Rules can still read a value of an
// AWS request: many of them know more about it.
func (c *checker) outside(keyword string, node *jsontree.Node, schema raw, steps []string) {
	bound, span := fmt.Sprint(schema.m[keyword]), node.Span
	if most, ok := schema.m[keyword].(float64); ok {
		bound = strconv.FormatFloat(most, 'f', -1, 64)
	}
	relation := "at least " + bound
	if strings.HasPrefix(keyword, "max") {
		relation = "at most " + bound
	}
	switch {
	case strings.HasSuffix(keyword, "Length"):
		c.report(RuleBadValue, node.Source, span, "", "%s must be %s characters long, not %d", c.label(steps...),
			relation, utf8.RuneCountInString(node.Text))
	case keyword == "maxItems":
		if surplus := node.Index(int(schema.m[keyword].(float64))); surplus.Source != nil {
			span = surplus.Span
		}
		c.report(RuleBadValue, node.Source, span, "", "%s has %d entries, and the limit is %s", c.label(steps...),
			node.Len(), bound)
	case keyword == "minItems":
		c.report(RuleBadValue, node.Source, span, "", "%s must have %s element", c.label(steps...), relation)
	case schema.file == nativeFile:
		c.report(RuleBadValue, node.Source, span, "", "%s must be %s, not %s", c.label(steps...), relation,
			clip(node.Text))
	default:
		c.bad[node] = true
		c.report(RuleBadValue, node.Source, span, "", "%s must be %s", c.label(steps...), relation)
	}
}

// newerValues warns about the values below a node that the API model does not list: AWS adds some before batchctl
// knows them.
func (c *checker) newerValues(n *jsontree.Node, s *shape, steps []string) {
	switch {
	case c.bad[n] || len(c.diags) >= maxProblems:
		return
	case s.grows && n.Is(jsontree.String) && !slices.Contains(s.enum, n.Text):
		hint, fix := nearest(n, s.enum)
		c.report(RuleNewerValue, n.Source, n.Span, cmp.Or(hint, "AWS Batch rejects a value that it does not have"),
			"%s: %s, which has %s", c.label(steps...), NotInModel(n.Text), text.And(s.enum))
		newest := &c.diags[len(c.diags)-1]
		newest.Severity, newest.Fix = diag.Warning, fix
		return
	case s.ref != nil:
		c.newerValues(n, s.ref(), steps)
	}
	if !slices.ContainsFunc(s.anyOf, func(b *shape) bool { return b.takes(n) }) {
		if i := slices.IndexFunc(s.anyOf, func(b *shape) bool { return b.fitsSome(n) }); i >= 0 {
			c.newerValues(n, s.anyOf[i], steps)
		}
	}
	i := -1
	for child := range n.Children() {
		below, step := s.items, strconv.Itoa(i+1)
		if i++; n.Is(jsontree.Object) {
			below, step = s.others, child.Name
			if m, known := s.members[child.Name]; known {
				below = m.shape
			}
		}
		if below != nil {
			c.newerValues(child, below, append(steps[:len(steps):len(steps)], step))
		}
	}
}

// oneOf reports a value that is not in the list, with the nearest one as the hint.
func (c *checker) oneOf(node *jsontree.Node, schema raw, steps []string) {
	var allowed []string
	listed, _ := schema.m["enum"].([]any)
	for _, v := range listed {
		allowed = append(allowed, fmt.Sprint(v))
	}
	hint, fix := nearest(node, allowed)
	c.report(RuleBadValue, node.Source, node.Span, hint, "%s must be one of %s", c.label(steps...),
		strings.Join(allowed, ", "))
	c.diags[len(c.diags)-1].Fix = fix
}

// nearest returns the hint and the fix that replace a value by the one of a list that it is a misspelling of.
func nearest(node *jsontree.Node, allowed []string) (hint string, fix *diag.Fix) {
	near := diag.Near(node.Str(), slices.Values(allowed))
	if near == "" {
		return "", nil
	}
	if node.Source != nil && !jsontree.HasPlaceholder(node.Text) && !IsYAML(node.Source) {
		fix = jsontree.TypoFix(node, strconv.Quote(near))
	}
	return fmt.Sprintf("write %q", near), fix
}
