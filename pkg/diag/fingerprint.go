package diag

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
)

// fingerprint identifies a problem after other lines of its file were added, moved or
// reformatted.
type fingerprint struct {
	file string // as in a baseline: forward slashes, printable
	rule string
	// hash is of the rule and the text of the line without white space.
	hash string
	// n numbers the problems of the file with the same hash, from 1.
	n int
}

// fingerprints returns the fingerprint of every problem. They do not depend on
// the order of the list.
func fingerprints(l List) []fingerprint {
	order := make([]int, len(l))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(compare(l[i], l[j]), strings.Compare(l[i].Message, l[j].Message))
	})
	prints := make([]fingerprint, len(l))
	seen := map[fingerprint]int{}
	for _, i := range order {
		p := fingerprint{file: Printable(l[i].file()), rule: Printable(l[i].ruleID())}
		p.hash = digest(p.rule, l[i].trait())
		seen[p]++
		p.n = seen[p]
		prints[i] = p
	}
	return prints
}

// maxTrait is the length, in bytes, up to which a line identifies a problem as a whole.
const maxTrait = 200

// trait returns the text that identifies the problem: its line without white space, and
// without the comma that depends on the next member. In a longer line, such as a whole
// file in one line, it is the text of the span, because the line changes with every edit.
// Credentials are left out: a fingerprint is public, and a short password could be guessed
// from it. A problem without a source is identified by its message.
func (d Diagnostic) trait() string {
	if d.Source == nil {
		return d.Message
	}
	n, _ := d.Source.Position(d.Span.Start)
	l := d.Source.line(n)
	start, end := 0, len(l.text)
	if end > maxTrait {
		start = max(0, min(d.Span.Start-l.start, end))
		end = min(max(start, min(d.Span.End-l.start, end)), start+maxTrait)
	}
	return strings.TrimSuffix(withoutSpace(l.shown(start, end)), ",")
}

func withoutSpace(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// digest returns 128 bits of a hash over the parts, in hex.
func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}
