package secret

import (
	"cmp"
	"slices"
)

// forms finds many texts in another in one pass (Aho and Corasick, 1975). Its zero value has none.
type forms struct {
	// next maps a state and the byte after it to the state of both; state 0 is the empty text.
	next map[edge]int
	// begins has the first bytes of the texts.
	begins [256]bool
	states []state // without state 0
}

// edge is a state with a byte after it.
type edge struct {
	from int
	c    byte
}

// state is a beginning of a text.
type state struct {
	at    edge
	depth int
	// form is the length of the longest text that ends here; 0 for none.
	form int
	// back is the longest state that is an end of this one.
	back int
}

// add records a text. It returns false if the text was there or is too long for the rest of maxForms.
func (f *forms) add(text string) bool {
	if len(f.states)+len(text) > maxForms {
		return false
	}
	if f.next == nil {
		f.next = map[edge]int{}
	}
	now := 0
	for i := range len(text) {
		e := edge{now, text[i]}
		if f.next[e] == 0 {
			f.states = append(f.states, state{at: e, depth: i + 1})
			f.next[e] = len(f.states)
		}
		now = f.next[e]
	}
	f.begins[text[0]] = true
	s := &f.states[now-1]
	added := s.form == 0
	s.form = len(text)
	return added
}

// link completes the states once all texts are there.
func (f *forms) link() {
	order := make([]int, len(f.states))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(f.states[a].depth, f.states[b].depth) })
	for _, i := range order {
		s := &f.states[i]
		if s.depth == 1 {
			continue
		}
		s.back = f.after(f.states[s.at.from-1].back, s.at.c)
		if s.back > 0 {
			s.form = max(s.form, f.states[s.back-1].form)
		}
	}
}

// after returns the state that follows another and a byte.
func (f *forms) after(now int, c byte) int {
	for {
		if to := f.next[edge{now, c}]; to > 0 || now == 0 {
			return to
		}
		now = f.states[now-1].back
	}
}

// each calls mark for the occurrences of the texts; of those with the same end only for the longest.
func (f *forms) each(text string, mark func(start, end int)) {
	if len(f.states) == 0 {
		return
	}
	now := 0
	for i := range len(text) {
		if now == 0 && !f.begins[text[i]] {
			continue
		}
		if now = f.after(now, text[i]); now > 0 && f.states[now-1].form > 0 {
			mark(i+1-f.states[now-1].form, i+1)
		}
	}
}
