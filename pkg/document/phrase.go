package document

import (
	"strconv"
	"strings"
)

// clip shortens a name from the file for a message.
func clip(name string) string {
	const most = 60
	if r := []rune(name); len(r) > most {
		return string(r[:most]) + "…"
	}
	return name
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

// counted formats a number with its noun.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
