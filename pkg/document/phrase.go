package document

import (
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// numberText returns a number as written; "0" for anything else.
func numberText(n *jsontree.Node) string {
	if !n.Is(jsontree.Number) {
		return "0"
	}
	return n.Text
}

func quoted(list []string) string { return and(quoteAll(list)) }

// quoteAll quotes each text of a list.
func quoteAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strconv.Quote(s)
	}
	return out
}

func either(list []string) string { return series(list, " or ") }

func and(list []string) string { return series(list, " and ") }

// series joins a list with commas, and its last element with another separator.
func series(list []string, last string) string {
	n := len(list) - 1
	if n < 1 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:n], ", ") + last + list[n]
}
