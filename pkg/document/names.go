package document

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// namesSeen is the names of axes or columns by the variables that hold their values.
type namesSeen map[string]string

const nameAdvice = "letters, digits, hyphens and underscores, starting with a letter or an underscore"

// add takes the next name of that kind ("axis", "column"), and says what is wrong
// with it and what to do; "" for one that is good.
func (s namesSeen) add(name, what string) (wrong, hint string) {
	if !sweep.ValidName(name) {
		return fmt.Sprintf("invalid %s name %s", what, strconv.Quote(clip(name))), nameHint(name)
	}
	variable := sweep.Variable(name)
	other, twice := s[variable]
	switch {
	case !twice:
		s[variable] = name
		return "", ""
	case other == name:
		return fmt.Sprintf("%s %s appears twice", what, strconv.Quote(name)), "give each its own name"
	}
	return fmt.Sprintf("%s and %s both become the variable %s", strconv.Quote(other), strconv.Quote(name), variable), "give one of them another name"
}

// nameHint writes a name with underscores in the place of what no name has.
func nameHint(name string) string {
	fixed := strings.Trim(strings.Map(func(r rune) rune {
		if r < 0x80 && sweep.ValidName("a"+string(r)) {
			return r
		}
		return '_'
	}, strings.TrimSpace(name)), "_")
	if len(fixed) > 0 && fixed[0] >= '0' && fixed[0] <= '9' {
		fixed = "_" + fixed
	}
	if len(fixed) > 60 || !sweep.ValidName(fixed) {
		return "use " + nameAdvice
	}
	return "write " + strconv.Quote(fixed)
}

// namesHint says which of the names was meant, or which there are.
func namesHint(name string, names []string) string {
	const most = 10
	if near := diag.Near(name, slices.Values(names)); near != "" {
		return "write " + strconv.Quote(near)
	}
	if len(names) == 1 {
		return "there is only " + strconv.Quote(names[0])
	}
	return "there are " + and(quoteAll(names[:min(len(names), most)]))
}

// badCell says what is wrong with a value, which a child finds in a variable and on
// a line of a text; "" if nothing is.
func badCell(text string) (wrong, hint string) {
	switch {
	case sweep.ValidValue(text):
		return "", ""
	case strings.ContainsAny(text, "\n\r"):
		return "the value contains a line break", "write it on one line, or put it into a file and name the file"
	case strings.ContainsRune(text, 0):
		return "the value contains a NUL byte", "remove it: no environment variable can contain one"
	}
	return "the value is not UTF-8 text", "save the file as UTF-8"
}
