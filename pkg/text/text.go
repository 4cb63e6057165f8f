// Package text writes numbers, lists and untrusted texts for people, so that every command and page uses one spelling.
package text

import (
	"strconv"
	"strings"
)

// Count returns a number with its noun: "1 job", "2 jobs", "0 entries". An irregular
// plural is an argument: "2 children".
func Count[N int | int32 | int64](n N, noun string, plural ...string) string {
	if n != 1 {
		if len(plural) > 0 {
			noun = plural[0]
		} else {
			noun = Plural(noun)
		}
	}
	return strconv.FormatInt(int64(n), 10) + " " + noun
}

// Plural returns the regular plural of a noun: "jobs", "scheduling policies", "processes".
func Plural(noun string) string {
	if stem, ok := strings.CutSuffix(noun, "y"); ok && !strings.HasSuffix(stem, "a") && !strings.HasSuffix(stem, "e") {
		return stem + "ies"
	}
	for _, hiss := range []string{"s", "x", "ch", "sh"} {
		if strings.HasSuffix(noun, hiss) {
			return noun + "es"
		}
	}
	return noun + "s"
}

// And lists names: "a", "a and b", "a, b and c". It returns "" for none.
func And(names []string) string { return list(names, " and ") }

// Or lists alternatives: "a", "a or b", "a, b or c". It returns "" for none.
func Or(names []string) string { return list(names, " or ") }

// list joins names with commas, and the last with another separator.
func list(names []string, separator string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + separator + names[last]
}
