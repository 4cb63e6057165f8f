package yamltree

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// node converts a node of the library, and the nodes below it.
func (p *parser) node(y *yaml.Node, depth int) *jsontree.Node {
	if p.gaveUp {
		return nil
	}
	start := p.offset(y)
	if depth > maxDepth {
		p.giveUp(start, start+1, "flatten the document", "nested deeper than %d levels", maxDepth)
		return nil
	}
	if y.Kind == yaml.AliasNode {
		return p.alias(y, start, depth)
	}
	tag, body := p.properties(y, start)
	switch y.Kind {
	case yaml.ScalarNode:
		return p.tagged(y, p.scalar(y, body, tag), tag, depth)
	case yaml.SequenceNode:
		return p.tagged(y, p.sequence(y, body, depth), tag, depth)
	case yaml.MappingNode:
		return p.tagged(y, p.mapping(y, body, depth), tag, depth)
	}
	p.giveUp(start, start+1, "", "cannot read this")
	return nil
}

// alias returns the value at the anchor, with its locations.
func (p *parser) alias(y *yaml.Node, start, depth int) *jsontree.Node {
	end := start + 1 + len(y.Value)
	switch {
	case y.Alias == nil:
		p.giveUp(start, end, "", "no anchor &%s before this alias", y.Value)
	case p.anchors[y.Alias]:
		p.giveUp(start, end, "", "the value of &%s contains itself", y.Value)
	default:
		// The anchor stays marked while its value is read, which finds an alias inside it.
		p.anchors[y.Alias] = true
		n := p.node(y.Alias, depth)
		delete(p.anchors, y.Alias)
		if p.gaveUp && len(p.list) > 0 && p.list[len(p.list)-1].Message == tooMany {
			p.list[len(p.list)-1].Span = diag.Span{Start: start, End: end}
		}
		return n
	}
	return nil
}

// tooMany is the message if aliases expand to more than maxValues values.
const tooMany = "more values than a template can have, including expanded aliases"

// take allocates a node, and counts it: aliases can expand to far more than the text.
func (p *parser) take(kind jsontree.Kind, text string, start, end int) *jsontree.Node {
	if p.values++; p.values > maxValues {
		p.giveUp(start, end, "write less, or split the file", tooMany)
	}
	// Nodes are allocated in slabs, in proportion to the length of the text.
	if len(p.slab) == cap(p.slab) {
		p.slab = make([]jsontree.Node, 0, min(max(len(p.text)/32, 8), 1024))
	}
	p.slab = p.slab[:len(p.slab)+1]
	n := &p.slab[len(p.slab)-1]
	n.Kind, n.Text, n.Source, n.Span = kind, text, p.src, diag.Span{Start: start, End: end}
	return n
}

// properties skips the tag and the anchor before a value.
func (p *parser) properties(y *yaml.Node, start int) (tag diag.Span, body int) {
	tag, body = diag.Span{Start: start, End: start}, start
	// A tag and an anchor can come in either order.
	named, tagged := y.Anchor != "", y.Style&yaml.TaggedStyle != 0 || y.Kind == yaml.ScalarNode && y.Value != "" &&
		strings.HasPrefix(p.text[start:], "!")
	for i := start; named || tagged; {
		i = p.skip(i)
		if i >= len(p.text) {
			break
		}
		end := i + 1
		for end < len(p.text) && !isBlank(p.text[end]) && strings.IndexByte("\r\n,]}", p.text[end]) < 0 {
			end++
		}
		switch {
		case p.text[i] == '!' && tagged:
			tag, tagged = diag.Span{Start: i, End: end}, false
		case p.text[i] == '&' && named:
			named = false
		default:
			return tag, i
		}
		body, i = end, end
	}
	// An empty scalar has nothing after its tag: what follows belongs to the next node.
	if next := p.skip(body); body > start && (y.Kind != yaml.ScalarNode || y.Value != "" || next < len(p.text) &&
		strings.IndexByte(`"'|>`, p.text[next]) >= 0) {
		body = next
	}
	return tag, body
}

// skip skips white space and comments.
func (p *parser) skip(i int) int {
	for i < len(p.text) {
		_, size := lineBreak(p.text, i)
		switch {
		case size > 0:
			i += size
		case isBlank(p.text[i]):
			i++
		// A comment begins only at the start of a line or after a blank.
		case p.text[i] == '#' && (i == 0 || isBlank(p.text[i-1]) || endsInBreak(p.text[:i])):
			for i < len(p.text) && p.text[i] != '\n' && p.text[i] != '\r' {
				i++
			}
		default:
			return i
		}
	}
	return i
}

// quoted are the styles of scalars in quotes.
const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// scalar returns a scalar whose text begins at start.
func (p *parser) scalar(y *yaml.Node, start int, tag diag.Span) *jsontree.Node {
	end := start
	if y.Value != "" || y.Style&quoted != 0 {
		// The library does not return where a scalar ends, so the text is read again.
		r, ok := read(p.text, start, y.Value, false)
		if end = r.pos; !ok { // the locations of its characters are unknown
			end = start + len(p.firstWord(start))
		}
	}
	// A text in quotes is a string. Of the others, the tag or the spelling decides.
	kind, text := jsontree.String, y.Value
	if y.Style&quoted == 0 && (tag.Start == tag.End || !isYAMLTag(p.text[tag.Start:tag.End])) {
		kind, text = resolve(y.Value)
	} else if y.Style&quoted == 0 {
		kind, text = forced(p.text[tag.Start:tag.End], y.Value)
	}
	if kind == jsontree.String {
		text = y.Value
	}
	return p.take(kind, text, start, end)
}

// forced returns a plain scalar whose type a tag of YAML sets.
func forced(tag, value string) (jsontree.Kind, string) {
	if tag == "!!str" || tag == "!" {
		return jsontree.String, value
	}
	return resolve(value)
}

// firstWord returns the rest of a line, without white space at its end.
func (p *parser) firstWord(start int) string {
	line, _, _ := strings.Cut(p.text[start:], "\n")
	return strings.TrimRight(line, " \t\r")
}

// sequence converts a list. Its span ends with its last element or its bracket.
func (p *parser) sequence(y *yaml.Node, start, depth int) *jsontree.Node {
	n := p.take(jsontree.Array, "", start, start)
	end := start
	for _, e := range y.Content {
		child := p.node(e, depth+1)
		if child == nil {
			return n
		}
		end = max(end, p.endOf(e, child))
		n.Append(child)
	}
	n.Span.End = p.closing(y, start, end)
	return n
}

// endOf returns where the text of a value ends. For an alias that is not the end of its node.
func (p *parser) endOf(y *yaml.Node, n *jsontree.Node) int {
	if y.Kind == yaml.AliasNode {
		return p.offset(y) + 1 + len(y.Value)
	}
	return n.Span.End
}

// closing returns the end of a collection whose last child ends at end: after its bracket
// if it has one.
func (p *parser) closing(y *yaml.Node, start, end int) int {
	// A block collection has no bracket, and ends with its last child.
	if start >= len(p.text) || p.text[start] != '[' && p.text[start] != '{' {
		return end
	}
	for i := max(end, start+1); i < len(p.text); {
		i = p.skip(i)
		if i >= len(p.text) {
			break
		}
		switch p.text[i] {
		case ']', '}':
			return i + 1
		case ',', ':', '?':
			i++
		default:
			return end
		}
	}
	return end
}

// mapping converts an object, and reports duplicate names, of which CloudFormation deploys the last. Members of merge
// keys (<<) come last, and only if the object does not have them.
func (p *parser) mapping(y *yaml.Node, start, depth int) *jsontree.Node {
	n := p.take(jsontree.Object, "", start, start)
	end := start
	seen := make(map[string]diag.Span, len(y.Content)/2)
	var merged []*yaml.Node
	for i := 0; i+1 < len(y.Content) && !p.gaveUp; i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		// Merge keys are of YAML 1.1. In quotes, << is an ordinary name.
		if key.Kind == yaml.ScalarNode && key.Value == "<<" && key.Style&quoted == 0 {
			merged = append(merged, value)
			if value.Kind == yaml.AliasNode {
				end = max(end, p.offset(value)+1+len(value.Value))
			}
			continue
		}
		name, at, ok := p.key(key)
		if !ok {
			continue
		}
		child := p.node(value, depth+1)
		if child == nil {
			return n
		}
		end = max(end, at.End, p.endOf(value, child))
		if first, twice := seen[name]; twice {
			p.warnTwice(name, first, at)
		} else {
			seen[name] = at
		}
		child.Name, child.Key = name, at
		n.Append(child)
	}
	for _, m := range merged {
		p.merge(n, m, seen, depth)
	}
	n.Span.End = p.closing(y, start, end)
	return n
}

// warnTwice reports the second of two members with the same name. Even many of them do not end the conversion.
func (p *parser) warnTwice(name string, first, second diag.Span) {
	p.twice = true
	if len(p.list) < maxErrors {
		p.report(RuleDuplicateKey, second.Start, second.End, "keep one of the two",
			"%s is given twice, first on line %d; CloudFormation uses this one", strconv.Quote(name),
			p.line(first.Start)+1)
		p.list[len(p.list)-1].Severity = diag.Warning
	}
}

// key returns the text of a key unchanged: 012345678901 in a map of accounts is not a
// number.
func (p *parser) key(y *yaml.Node) (name string, at diag.Span, ok bool) {
	start := p.offset(y)
	// An alias can be a key, if its value is a text.
	if y.Kind == yaml.AliasNode && y.Alias != nil && y.Alias.Kind == yaml.ScalarNode {
		return y.Alias.Value, diag.Span{Start: start, End: start + 1 + len(y.Value)}, true
	}
	if y.Kind != yaml.ScalarNode {
		p.report(RuleSyntax, start, start+1, "use text as the name",
			"a list or an object cannot be the name of a member")
		return "", at, false
	}
	_, body := p.properties(y, start)
	r, found := read(p.text, body, y.Value, false)
	end := r.pos
	if !found {
		end = body + len(p.firstWord(body))
	}
	return y.Value, diag.Span{Start: body, End: end}, true
}

// merge adds the members of a merge key's objects that the object does not have.
func (p *parser) merge(n *jsontree.Node, y *yaml.Node, seen map[string]diag.Span, depth int) {
	sources := []*yaml.Node{y}
	if y.Kind == yaml.SequenceNode {
		sources = y.Content
	}
	for _, s := range sources {
		from := p.node(s, depth+1)
		if from == nil {
			return
		}
		if !from.Is(jsontree.Object) {
			start := p.offset(s)
			p.report(RuleSyntax, start, start+1, "use an anchor of an object", "<< merges an object, not %s", from.Kind)
			continue
		}
		// Of several sources, the first that has a member wins.
		for m := range from.Clone().Children() {
			if _, exists := seen[m.Name]; !exists {
				seen[m.Name] = m.Key
				c := m.Clone()
				n.Append(c)
			}
		}
	}
}
