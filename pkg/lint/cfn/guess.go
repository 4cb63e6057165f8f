package cfn

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/shape"
)

// guessing generates values for those that only CloudFormation knows. Each number of a
// guess stands for a different, repeatable choice of values:
//
//	0              all unknown values are absent
//	1              everything is present: every member, every text of the template
//	2 to ordered   all values change together, through the texts that each can be
//	above          a mixture, so that values which are often set together differ
type guessing struct {
	number, ordered int
	// texts are those of the template: an unknown name may be one of them.
	texts []string
	most  int // number of texts that a value can be
	drawn uint32
}

// The bounds of guesses.
const (
	// mixed is the number of mixtures. maxTexts and maxLetters bound the texts of a
	// template that are guessed, by their number and their length in bytes.
	mixed      = 16
	maxTexts   = 24
	maxLetters = 100
	maxGuessed = 4 // levels of objects in a value
)

// someTexts are guesses for an unknown text without a list of values, in addition to the
// texts of the template.
var someTexts = []string{"1", "*", "not-known", "100000", "arn:aws:batch:us-east-1:123456789012:not/known"}

// textsIn returns the texts in values of the template.
func textsIn(nodes []*jsontree.Node) (texts []string) {
	var visit func(n *jsontree.Node)
	visit = func(n *jsontree.Node) {
		if n.Str() != "" && isGuessable(n.Text) && len(texts) < maxTexts && !slices.Contains(texts, n.Text) {
			texts = append(texts, n.Text)
		}
		for c := range n.Children() {
			visit(c)
		}
	}
	for _, n := range nodes {
		visit(cmp.Or(n.Get("Properties"), n))
	}
	return slices.Concat(someTexts, texts)
}

// isGuessable reports whether an unknown value may be this text of the template.
func isGuessable(text string) bool {
	return len(text) <= maxLetters && !strings.HasPrefix(text, "AWS::")
}

// count returns the number of guesses to check after the first, which has found the
// unknown values. A template with very many resources gets fewer.
func (g *guessing) count(unknown, resources int) int {
	if unknown == 0 {
		return 1
	}
	g.most = min(g.most, max(4, maxChecks/max(resources, 1)))
	return 2 + g.most + min(mixed, g.most)
}

// maxChecks bounds the guesses times the resources of a template.
const maxChecks = 2000

// isMixed reports whether the values of this guess are independent of each other.
func (g *guessing) isMixed() bool { return g.ordered > 0 && g.number > g.ordered+1 }

// draw returns a number below n: the guess's own, or a random one in a mixture.
func (g *guessing) draw(n int) int {
	if !g.isMixed() {
		return g.number % n
	}
	// A linear congruential step; the quality of the numbers does not matter.
	g.drawn = (g.drawn+uint32(g.number)*2246822519)*2654435761 + 374761393
	return int(g.drawn >> 9 % uint32(n))
}

// value returns a value of a shape with the location of n; nil for an absent value.
func (g *guessing) value(n *jsontree.Node, s *shape.Shape, depth int) *jsontree.Node {
	if s == nil || depth > maxGuessed {
		return nil
	}
	choices := g.textsOf(s)
	if g.most = max(g.most, len(choices)); s.Element != nil {
		g.most = max(g.most, len(g.textsOf(s.Element)))
	}
	if g.number == 0 || g.isMixed() && g.draw(5) == 0 {
		return nil
	}
	switch s.Kind {
	case jsontree.Array:
		return g.list(n, s, depth)
	case jsontree.Object:
		return g.object(n, s, depth, g.draw(len(g.texts)))
	case jsontree.Bool:
		return jsontree.NewBool(g.draw(2) == 1, n)
	case jsontree.Number:
		return jsontree.NewInt([...]int64{1, 64, 100000}[g.draw(3)], n)
	}
	return jsontree.NewString(choices[g.draw(len(choices))], n)
}

// textsOf returns the texts that a string can be: its list of values, or the texts of the
// template.
func (g *guessing) textsOf(s *shape.Shape) []string {
	if s.Words != nil {
		return s.Words
	}
	return g.texts
}

// list returns a list of one element, or of one for each text that it can be.
func (g *guessing) list(n *jsontree.Node, s *shape.Shape, depth int) *jsontree.Node {
	list := jsontree.NewArray(n)
	choices := g.textsOf(s.Element)
	if g.number != 1 && (!g.isMixed() || g.draw(2) == 0) {
		choices = choices[:1]
	}
	for i := range choices {
		if s.Element.Kind == jsontree.Object {
			list.Append(g.object(n, s.Element, depth+1, i))
		} else if len(choices) > 1 && s.Element.Kind == jsontree.String {
			list.Append(jsontree.NewString(choices[i], n))
		} else {
			list.Append(g.value(n, s.Element, depth+1))
		}
	}
	return list
}

// object returns an object with all members, or with some in a mixture. It uses the i-th
// choice for its texts, so that the elements of a list differ.
func (g *guessing) object(n *jsontree.Node, s *shape.Shape, depth, i int) *jsontree.Node {
	out := jsontree.NewObject(n)
	if s.Element != nil && g.draw(2) == 1 { // a map: with each key that could be meant
		for _, text := range g.texts {
			name := strings.TrimPrefix(text, "Ref::")
			out.Set(name, g.value(n, s.Element, depth+2))
		}
	}
	for _, name := range sortedNames(s.Members) {
		member := s.Members[name]
		if g.isMixed() && g.draw(2) == 0 {
			continue
		}
		if member.Kind == jsontree.String {
			choices := g.textsOf(member)
			out.Set(name, jsontree.NewString(choices[i%len(choices)], n))
		} else {
			out.Set(name, g.value(n, member, depth+2))
		}
	}
	return out
}

// sortedNames returns the members in a fixed order, so that a guess is repeatable.
func sortedNames(members map[string]*shape.Shape) []string {
	return slices.Sorted(maps.Keys(members))
}
