package secret

import (
	"regexp/syntax"
	"strings"
	"sync"
)

// grammar is a pattern of formats that is read in one direction without going back: a repetition takes as many bytes
// as it can, and the first alternative that fits is taken. The patterns of formats match the same texts this way as
// with package regexp, which TestGrammar checks. In exchange, the time to search a text is linear.
type grammar struct {
	items []item
	// runs is the number of repetitions without an upper bound.
	runs int
}

// item is one part of a sequence. One of the fields literal, set, alternatives and boundary is in use.
type item struct {
	literal      string
	set          *[256]bool
	alternatives [][]item
	boundary     bool // \b
	// least and most count repetitions of the set or the alternatives; most is -1 without a bound.
	least, most int
	// run is the index of a set without an upper bound.
	run int
}

// lazyGrammar returns a grammar that is compiled on first use.
func lazyGrammar(expression string) func() *grammar {
	return sync.OnceValue(func() *grammar {
		tree, err := syntax.Parse(expression, syntax.Perl)
		if err != nil {
			panic("secret: " + expression + ": " + err.Error()) // formats is a table of this package
		}
		g := &grammar{}
		g.items = g.compile(tree)
		return g
	})
}

// compile returns a regular expression as a sequence. It panics on an operator that no pattern of formats has.
func (g *grammar) compile(tree *syntax.Regexp) (list []item) {
	switch tree.Op {
	case syntax.OpEmptyMatch:
		return nil
	case syntax.OpConcat:
		for _, sub := range tree.Sub {
			list = append(list, g.compile(sub)...)
		}
		return list
	case syntax.OpCapture:
		return g.compile(tree.Sub[0])
	case syntax.OpLiteral:
		return []item{{literal: string(tree.Rune)}}
	case syntax.OpWordBoundary:
		return []item{{boundary: true}}
	case syntax.OpCharClass:
		return g.repeat(tree, 1, 1)
	case syntax.OpStar:
		return g.repeat(tree.Sub[0], 0, -1)
	case syntax.OpPlus:
		return g.repeat(tree.Sub[0], 1, -1)
	case syntax.OpQuest:
		return g.repeat(tree.Sub[0], 0, 1)
	case syntax.OpRepeat:
		return g.repeat(tree.Sub[0], tree.Min, tree.Max)
	case syntax.OpAlternate:
		return g.repeat(tree, 1, 1)
	}
	panic("secret: no operator of formats: " + tree.String())
}

// repeat returns a repetition of a class, a letter or a group.
func (g *grammar) repeat(tree *syntax.Regexp, least, most int) []item {
	for tree.Op == syntax.OpCapture {
		tree = tree.Sub[0]
	}
	it := item{least: least, most: most}
	switch {
	case tree.Op == syntax.OpCharClass, tree.Op == syntax.OpLiteral && len(tree.Rune) == 1:
		it.set = setOf(tree.Rune)
		if most < 0 {
			it.run = g.runs
			g.runs++
		}
	case most < 0:
		panic("secret: unbounded repetition of a group: " + tree.String())
	case tree.Op == syntax.OpAlternate:
		for _, sub := range tree.Sub {
			it.alternatives = append(it.alternatives, g.compile(sub))
		}
	default:
		it.alternatives = [][]item{g.compile(tree)}
	}
	return []item{it}
}

// setOf returns the bytes of a class, which is a letter or the bounds of ranges.
func setOf(runes []rune) *[256]bool {
	set := &[256]bool{}
	if len(runes) == 1 {
		set[runes[0]] = true
		return set
	}
	for i := 0; i < len(runes); i += 2 {
		for r := runes[i]; r <= runes[i+1]; r++ {
			set[r] = true
		}
	}
	return set
}

// reader matches grammars in a text from marks in ascending order. It remembers for each unbounded repetition where
// the last run of its bytes ended, so that no run is read twice.
type reader struct {
	text string
	// steps counts the bytes and items that were compared.
	steps int
	runs  []Span
}

// forward returns the end of a sequence that begins at an offset; -1 if the text does not match.
func (r *reader) forward(items []item, at int) int {
	for i := range items {
		it := &items[i]
		r.steps++
		switch {
		case it.boundary:
			if (at > 0 && isWordByte(r.text[at-1])) == (at < len(r.text) && isWordByte(r.text[at])) {
				return -1
			}
		case it.set != nil:
			end := r.runEnd(it, at)
			if end-at < it.least {
				return -1
			}
			at = end
		case it.alternatives != nil:
			n := 0
			for ; n < it.most; n++ {
				end := r.firstMatch(it.alternatives, at)
				if end < 0 {
					break
				}
				at = end
			}
			if n < it.least {
				return -1
			}
		case strings.HasPrefix(r.text[at:], it.literal):
			at += len(it.literal)
		default:
			return -1
		}
	}
	return at
}

// firstMatch returns the end of the first alternative that matches; -1 for none.
func (r *reader) firstMatch(alternatives [][]item, at int) int {
	for _, items := range alternatives {
		if end := r.forward(items, at); end >= 0 {
			return end
		}
	}
	return -1
}

// runEnd returns the end of the bytes of a set, at most as many as the repetition takes.
func (r *reader) runEnd(it *item, at int) int {
	if it.most >= 0 {
		most := min(len(r.text), at+it.most)
		for at < most && it.set[r.text[at]] {
			at++
			r.steps++
		}
		return at
	}
	last := &r.runs[it.run]
	if at < last.Start || at >= last.End {
		end := at
		for end < len(r.text) && it.set[r.text[end]] {
			end++
			r.steps++
		}
		*last = Span{at, end}
		return end
	}
	return last.End
}

// backward returns the beginning of a sequence that ends at an offset and begins at least or later; -1 if the text
// does not match.
func (r *reader) backward(items []item, at, least int) int {
	for i := len(items) - 1; i >= 0; i-- {
		it := &items[i]
		r.steps++
		switch {
		case it.set != nil:
			n := 0
			for at > least && n != it.most && it.set[r.text[at-1]] {
				at--
				n++
				r.steps++
			}
			if n < it.least {
				return -1
			}
		case it.alternatives != nil: // (X)?
			if start := r.backward(it.alternatives[0], at, least); start >= 0 {
				at = start
			} else if it.least > 0 {
				return -1
			}
		case strings.HasSuffix(r.text[least:at], it.literal):
			at -= len(it.literal)
		default:
			return -1
		}
	}
	return at
}

// isWordByte reports whether a byte is part of a word by the rule of \b.
func isWordByte(c byte) bool { return isAlnum(c) || c == '_' }
