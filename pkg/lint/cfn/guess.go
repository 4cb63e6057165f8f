package cfn

import (
	"maps"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/shape"
)

// guessing makes values for those that only CloudFormation knows. Each number of a guess
// is another way to do so, and the same way each time:
//
//	0              none of the values is there
//	1              all that can be there is: every member, every word that stands in the template
//	2 to ordered   all values change together, through the words that each can be
//	above          a mixture, so that values which are often set together are not
type guessing struct {
	number, ordered int
	// texts stand in the template: a name that is not known may be one that is.
	texts []string
	most  int // words that a value can be
	drawn uint32
}

// The bounds of guesses.
const (
	mixed      = 16
	maxTexts   = 24
	maxLetters = 100
	maxGuessed = 4 // levels of objects in a value
)

// someWords are what a text that is not known is taken for, where it has no list of
// words, beside the texts of the template.
var someWords = []string{"1", "*", "not-known", "100000", "arn:aws:batch:us-east-1:123456789012:not/known"}

// textsIn returns texts that stand in values of the template.
func textsIn(nodes []*jsontree.Node) (texts []string) {
	var visit func(n *jsontree.Node)
	visit = func(n *jsontree.Node) {
		if n.Str() != "" && len(n.Text) <= maxLetters && len(texts) < maxTexts && !strings.HasPrefix(n.Text, "AWS::") && !slices.Contains(texts, n.Text) {
			texts = append(texts, n.Text)
		}
		for c := range n.Children() {
			visit(c)
		}
	}
	for _, n := range nodes {
		visit(n.Get("Properties"))
	}
	return slices.Concat(someWords, texts)
}

// count is how many guesses are to be made once the first one is, which saw what is not
// known. A template of very many resources gets fewer.
func (g *guessing) count(unknown, resources int) int {
	if unknown == 0 {
		return 1
	}
	g.most = min(g.most, max(4, maxLooks/max(resources, 1)))
	return 2 + g.most + min(mixed, g.most)
}

// maxLooks bounds the guesses times the resources of a template.
const maxLooks = 2000

func (g *guessing) isMixed() bool { return g.ordered > 0 && g.number > g.ordered+1 }

// draw returns a number below n: the guess's own, or in a mixture any.
func (g *guessing) draw(n int) int {
	if !g.isMixed() {
		return g.number % n
	}
	g.drawn = (g.drawn+uint32(g.number)*2246822519)*2654435761 + 374761393
	return int(g.drawn >> 9 % uint32(n))
}

// value is a value of a shape that stands where n does; nil for none.
func (g *guessing) value(n *jsontree.Node, s *shape.Shape, depth int) *jsontree.Node {
	if s == nil || depth > maxGuessed {
		return nil
	}
	words := g.wordsOf(s)
	if g.most = max(g.most, len(words)); s.Element != nil {
		g.most = max(g.most, len(g.wordsOf(s.Element)))
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
	return jsontree.NewString(words[g.draw(len(words))], n)
}

func (g *guessing) wordsOf(s *shape.Shape) []string {
	if s.Words != nil {
		return s.Words
	}
	return g.texts
}

// list has one element, or one for each word that it can be.
func (g *guessing) list(n *jsontree.Node, s *shape.Shape, depth int) *jsontree.Node {
	list := jsontree.NewArray(n)
	words := g.wordsOf(s.Element)
	if g.number != 1 && (!g.isMixed() || g.draw(2) == 0) {
		words = words[:1]
	}
	for i := range words {
		if s.Element.Kind == jsontree.Object {
			list.Append(g.object(n, s.Element, depth+1, i))
		} else if len(words) > 1 && s.Element.Kind == jsontree.String {
			list.Append(jsontree.NewString(words[i], n))
		} else {
			list.Append(g.value(n, s.Element, depth+1))
		}
	}
	return list
}

// object has all members, or some in a mixture. Its texts are the i-th of what they can
// be, so that the elements of a list differ.
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
			words := g.wordsOf(member)
			out.Set(name, jsontree.NewString(words[i%len(words)], n))
		} else {
			out.Set(name, g.value(n, member, depth+2))
		}
	}
	return out
}

func sortedNames(members map[string]*shape.Shape) []string {
	return slices.Sorted(maps.Keys(members))
}
