package cfn

import (
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/intrinsic"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/userdata"
	"github.com/batchctl/batchctl/pkg/yamltree"
)

// composer composes a text from literal strings and functions. A function becomes a variable of Fn::Sub, so that each
// string of the JSON in the text can be evaluated on its own.
type composer struct {
	text strings.Builder
	at   []diag.Span
	// variables are the values of the names in the text. completes means that the text has such names.
	variables map[string]*jsontree.Node
	completes bool
}

// inText is the tree in a text, or the reason why there is none.
type inText struct {
	root *jsontree.Node
	why  intrinsic.Reason
	// quoted are the functions in quotes, whose value is a string in any case.
	quoted map[*jsontree.Node]bool
}

// cached returns the tree for a value of the template. Many guesses read the same one.
func (t *template) cached(n *jsontree.Node, read func(n *jsontree.Node) inText) inText {
	found, again := t.inTexts[n]
	if !again {
		found = read(n)
		if t.inTexts == nil {
			t.inTexts = map[*jsontree.Node]inText{}
		}
		t.inTexts[n] = found
	}
	return found
}

// treeOf returns the tree of a file with a definition; nil if it could not be read.
func treeOf(src *diag.Source) inText {
	if src == nil {
		return inText{why: intrinsic.Because("the definition is in another file")}
	}
	parse := jsontree.Parse
	if document.IsYAML(src) {
		parse = yamltree.Parse
	}
	root, problems := parse(src)
	return checked(root, problems, src.Name)
}

// checked returns a tree unless it has errors, other than the values that CloudFormation fills in.
func checked(root *jsontree.Node, problems diag.List, what string) inText {
	for _, d := range problems {
		if d.Rule != jsontree.RulePlaceholder {
			return inText{why: intrinsic.Because(what + " is not JSON: " + d.Message)}
		}
	}
	if !root.Is(jsontree.Object) {
		return inText{why: intrinsic.Because(what + " is not a JSON object")}
	}
	return inText{root: root}
}

// maxTextJSON bounds a text whose bytes have places.
const maxTextJSON = 1 << 20

// treeIn returns the tree of JSON in a literal string, or in one that Fn::Sub or Fn::Join completes.
func treeIn(n *jsontree.Node) inText {
	because := func(clause string) inText { return inText{why: intrinsic.Because(clause)} }
	c := &composer{variables: map[string]*jsontree.Node{}}
	if !c.add(n, false) {
		return because("the text is not in the template")
	}
	if c.text.Len() > maxTextJSON {
		return because("the text is longer than 1 MiB")
	}
	quoted := map[*jsontree.Node]bool{}
	root, problems := userdata.Compose(n.Source, c.text.String(), c.at).JSON(func(n *jsontree.Node, isQuoted bool) {
		if c.completes && n.Is(jsontree.String) && strings.Contains(n.Text, "${") {
			c.complete(n)
			quoted[n] = isQuoted
		}
	})
	found := checked(root, problems, "the text")
	found.quoted = quoted
	return found
}

// add appends the text of a value, or of a piece of Fn::Join; it returns false for one without any text in the
// template.
func (c *composer) add(n *jsontree.Node, isPiece bool) bool {
	switch sub, join := n.Get("Fn::Sub"), n.Get("Fn::Join"); {
	case n.Is(jsontree.String):
		c.literal(n, isPiece)
	case sub.Is(jsontree.String):
		c.literal(sub, false)
		c.completes = true
	case sub.Index(0).Is(jsontree.String):
		c.literal(sub.Index(0), false)
		c.completes = true
		for v := range sub.Index(1).Children() {
			c.variables[v.Name] = v
		}
	case join.Index(1).Is(jsontree.Array):
		i := 0
		for piece := range join.Index(1).Children() {
			if i > 0 {
				c.literal(join.Index(0), true)
			}
			if i++; !c.add(piece, true) {
				c.variable(piece)
			}
		}
	default:
		return false
	}
	return true
}

// variable appends a function as a name.
func (c *composer) variable(n *jsontree.Node) {
	name := "=" + strconv.Itoa(len(c.variables)) // no resource or parameter has this name
	c.variables[name] = n
	c.put("${"+name+"}", n.Span)
	c.completes = true
}

// put appends a text that has one place.
func (c *composer) put(text string, at diag.Span) {
	if c.text.Len() > maxTextJSON {
		return
	}
	c.text.WriteString(text)
	for range len(text) {
		c.at = append(c.at, at)
	}
}

// literal appends a string. In a piece of Fn::Join, ${ is text, which Fn::Sub writes as ${!.
func (c *composer) literal(n *jsontree.Node, isPiece bool) {
	at := yamltree.ByteSpans(n)
	for i := range len(at) {
		c.put(n.Text[i:i+1], at[i])
		if isPiece && i > 0 && n.Text[i-1:i+1] == "${" {
			c.put("!", at[i])
			c.completes = true
		}
	}
}

// complete makes a string Fn::Sub, with the variables in it.
func (c *composer) complete(n *jsontree.Node) {
	list, own := jsontree.NewArray(n), jsontree.NewObject(n)
	for rest, found := n.Text, true; found; {
		_, rest, found = strings.Cut(rest, "${")
		name, _, _ := strings.Cut(rest, "}")
		if v := c.variables[name]; v != nil && found {
			own.Set(name, v.Clone())
		}
	}
	list.Append(jsontree.NewString(n.Text, n))
	list.Append(own)
	n.Kind, n.Text = jsontree.Object, ""
	n.Set("Fn::Sub", list)
}
