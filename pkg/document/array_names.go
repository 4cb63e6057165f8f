package document

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/text"
)

// namesSeen maps the variables of axes or columns to their names.
type namesSeen map[string]string

const nameAdvice = "letters, digits, hyphens and underscores, starting with a letter or an underscore"

// add adds the next name of that kind ("axis", "column"). It returns what is wrong with
// the name and a hint; "" for a valid name.
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
	return fmt.Sprintf("%s and %s both become the variable %s", strconv.Quote(other), strconv.Quote(name), variable),
		"give one of them another name"
}

// nameHint suggests the name with underscores for characters that no name can have.
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
	return "did you mean " + strconv.Quote(fixed) + "?"
}

// namesHint suggests a similar name, or lists the names.
func namesHint(name string, names []string) string {
	const most = 10
	if near := diag.Near(name, slices.Values(names)); near != "" {
		return "did you mean " + strconv.Quote(near) + "?"
	}
	if len(names) == 1 {
		return "there is only " + strconv.Quote(names[0])
	}
	return "there are " + text.And(quoteAll(names[:min(len(names), most)]))
}

// badCell returns what is wrong with a value, and a hint; "" for a valid value. A child
// finds its value in a variable, and in one line of a text.
func badCell(text string) (wrong, hint string) {
	switch {
	case sweep.ValidValue(text):
		return "", ""
	case strings.ContainsAny(text, "\n\r"):
		return "the value contains a line break", "write it on one line, or put it into a file and name the file"
	case strings.ContainsRune(text, 0):
		return "the value contains a NUL byte", "use a text without it: no environment variable can contain one"
	}
	return "the value is not UTF-8 text", "save the file as UTF-8"
}
