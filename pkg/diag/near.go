package diag

import (
	"iter"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// Near returns the candidate that the name most likely means, or "" if none is close
// enough. It prefers, in this order, a candidate that differs only in case and separators
// (job_name, JobName: jobName), one within a few typing errors (about one for three
// letters, at most three), and the only one that begins with the name (env: environment).
// Of equal candidates, it returns the first in alphabetical order, so their order does not
// matter.
func Near(name string, candidates iter.Seq[string]) string {
	bare := fold(nil, name)
	if len(bare) == 0 || len(bare) > maxNear {
		return ""
	}
	var same, typo, longer string
	var b []rune
	least, longs := maxTypos(len(bare))+1, 0
	for c := range candidates {
		b = fold(b[:0], c)
		if len(b) > maxNear {
			continue
		}
		if slices.Equal(b, bare) {
			same = first(same, c)
		}
		n := max(len(b)-len(bare), len(bare)-len(b)) // at least so many
		if n < least || n == least && typo != "" {
			n = typos(bare, b)
		}
		switch {
		case n >= least && (n > least || typo == ""):
		case n < least:
			least, typo = n, c
		default:
			typo = first(typo, c)
		}
		if len(bare) >= 3 && len(b) >= len(bare) && slices.Equal(b[:len(bare)], bare) && c != longer {
			longer = c
			longs++
		}
	}
	switch {
	case same != "":
		return same
	case typo != "":
		return typo
	case longs == 1:
		return longer
	}
	return ""
}

// maxNear bounds the work on hostile names. No member name is that long.
const maxNear = 100

// maxTypos is the number of typing errors that a name of this length may have.
func maxTypos(letters int) int {
	if letters < 3 {
		return 0
	}
	return min(max(letters/3, 1), 3)
}

// first returns the first in alphabetical order; "" is not a candidate.
func first(a, b string) string {
	if a == "" {
		return b
	}
	return min(a, b)
}

// fold appends the letters of s to out, in lower case without separators.
func fold(out []rune, s string) []rune {
	out = slices.Grow(out, len(s))
	for _, r := range s {
		switch r {
		case '-', '_', '.', ' ', ':':
		default:
			out = append(out, unicode.ToLower(r))
		}
	}
	return out
}

// Typos returns the number of typing errors between two names: letters added, dropped or
// replaced, and neighbours swapped.
func Typos(a, b string) int { return typos([]rune(a), []rune(b)) }

// typos counts the letters to insert, drop, replace or swap with a neighbour to turn a
// into b (the optimal string alignment distance).
func typos(a, b []rune) int {
	var short [3 * (maxNear + 1)]int
	rows, n := short[:], len(b)+1
	if len(b) > maxNear {
		rows = make([]int, 3*n)
	}
	before, last, row := rows[:n], rows[n:2*n], rows[2*n:3*n]
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// Quote returns a text as messages show it: in double quotes, shortened to 60 characters.
func Quote(text string) string {
	if utf8.RuneCountInString(text) > 60 {
		text = string([]rune(text)[:57]) + "..."
	}
	return strconv.Quote(text)
}
