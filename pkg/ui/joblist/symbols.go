package joblist

import (
	"bytes"
	"slices"
	"strings"
)

// symbol is the number of a text in a table. Symbol 0 is the empty text.
type symbol uint32

// symbolTable stores each text once and keeps the texts in natural order. Symbols make jobs small,
// and a query tests or compares each distinct text once instead of once per job.
type symbolTable struct {
	texts []string
	find  map[string]symbol
	// order has the symbols in natural order of their texts, and rank is its inverse. Both lack the
	// texts that came after the last call of arrange.
	order []symbol
	rank  []int32
	// folded has the texts by symbol, for searches.
	folded foldedTexts
}

func newSymbolTable() *symbolTable {
	t := &symbolTable{find: map[string]symbol{}}
	t.intern("")
	t.arrange()
	return t
}

// intern returns the symbol of text, which it adds if it is new.
func (t *symbolTable) intern(text string) symbol {
	s, ok := t.find[text]
	if !ok {
		text = strings.Clone(text) // it may be a part of a large response
		s = symbol(len(t.texts))
		t.texts = append(t.texts, text)
		t.find[text] = s
		t.folded.add(text)
	}
	return s
}

// foldedTexts has texts in lower case, each followed by a line feed. A search through one long text is
// many times faster than one through each of them. The words of a query have no white space, so a
// match cannot be in two texts.
type foldedTexts struct {
	joined []byte
	starts []uint32
}

func (f *foldedTexts) add(text string) {
	f.starts = append(f.starts, uint32(len(f.joined)))
	f.joined = append(append(f.joined, strings.ToLower(text)...), '\n')
}

// end returns where text i ends.
func (f *foldedTexts) end(i int) int {
	if i+1 == len(f.starts) {
		return len(f.joined) - 1
	}
	return int(f.starts[i+1]) - 1
}

// containing returns which texts contain the word, which is in lower case.
func (f *foldedTexts) containing(word string) []bool {
	contain := make([]bool, len(f.starts))
	for i := 0; i < len(f.starts); i++ {
		from := int(f.starts[i])
		at := bytes.Index(f.joined[from:], []byte(word))
		if at < 0 {
			break
		}
		for f.end(i) < from+at {
			i++
		}
		contain[i] = true
	}
	return contain
}

// equal returns which texts are the word, which is in lower case.
func (f *foldedTexts) equal(word string) []bool {
	same := f.containing(word)
	for i, contains := range same {
		same[i] = contains && f.end(i)-int(f.starts[i]) == len(word)
	}
	return same
}

// arrange brings order and rank up to date.
func (t *symbolTable) arrange() {
	if len(t.order) == len(t.texts) {
		return
	}
	var added []symbol
	for i := len(t.order); i < len(t.texts); i++ {
		added = append(added, symbol(i))
	}
	byText := func(a, b symbol) int { return compareNatural(t.texts[a], t.texts[b]) }
	slices.SortFunc(added, byText)
	t.order = mergeSorted(t.order, added, byText)
	t.rank = slices.Grow(t.rank, len(added))[:len(t.order)]
	for i, s := range t.order {
		t.rank[s] = int32(i)
	}
}

// mergeSorted inserts the sorted elements of added into the sorted slice old.
func mergeSorted[E any](old, added []E, compare func(E, E) int) []E {
	i, j := len(old)-1, len(added)-1
	merged := append(old, added...)
	for at := len(merged) - 1; j >= 0; at-- {
		if i >= 0 && compare(old[i], added[j]) > 0 {
			merged[at] = merged[i]
			i--
		} else {
			merged[at] = added[j]
			j--
		}
	}
	return merged
}

// compareNatural compares byte by byte, and runs of digits by their value: "job-9" is before
// "job-10". It returns 0 only for equal texts.
func compareNatural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if !isDigit(x[0]) || !isDigit(y[0]) {
			if x[0] != y[0] {
				return int(x[0]) - int(y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		m, n := digits(x), digits(y)
		v, w := strings.TrimLeft(x[:m], "0"), strings.TrimLeft(y[:n], "0")
		if len(v) != len(w) {
			return len(v) - len(w)
		}
		if c := strings.Compare(v, w); c != 0 {
			return c
		}
		x, y = x[m:], y[n:]
	}
	if len(x) > 0 || len(y) > 0 {
		return len(x) - len(y)
	}
	return strings.Compare(a, b) // "1" and "01"
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// digits returns the length of the digits that text begins with.
func digits(text string) int {
	n := 0
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	return n
}

// symbolsOf returns the symbols of those texts that a job has.
func (t *symbolTable) symbolsOf(texts []string) []symbol {
	var symbols []symbol
	for _, text := range texts {
		if s, ok := t.find[text]; ok {
			symbols = append(symbols, s)
		}
	}
	return symbols
}

// progress returns the index of a status in a job's life. Unknown statuses are last.
func (t *symbolTable) progress(status symbol) int {
	if i := slices.Index(lifeOrder, t.texts[status]); i >= 0 {
		return i
	}
	return len(lifeOrder)
}

// duration returns the sort key of a duration: longest first. An unfinished job without an end of
// the duration has it until now.
func (t *symbolTable) duration(r *record, from, to, now int64) int64 {
	if to == 0 && !ended(t.texts[r.status]) {
		to = now
	}
	if from == 0 || to == 0 {
		return missing
	}
	return -max(to-from, 0)
}

// runLabel returns the workflow's name and the first 8 characters of the run.
func (t *symbolTable) runLabel(g *group) string {
	run := []rune(t.texts[g.key])
	label := string(run[:min(8, len(run))])
	if g.workflow == 0 {
		return label
	}
	return t.texts[g.workflow] + " " + label
}

// countsOf returns a list of counts by status.
func (t *symbolTable) countsOf(r *result, counts []int32) map[string]int {
	byStatus := make(map[string]int, len(counts))
	for i, n := range counts {
		if n > 0 {
			byStatus[t.texts[r.statuses[i]]] = int(n)
		}
	}
	return byStatus
}
