package sweep

import (
	"strings"
	"unicode/utf8"
)

// ValidName reports whether a name is allowed for an axis or a column: a letter or "_", then letters,
// digits, "_" and "-", all of ASCII.
func ValidName(name string) bool {
	for i, c := range []byte(name) {
		if !isLetter(c) && (i == 0 || c != '-' && !isDigit(c)) {
			return false
		}
	}
	return name != ""
}

// ValidVariable reports whether an environment variable of that name can hold references: the
// shell must be able to set it, so it consists of letters, digits and "_" and does not start
// with a digit. It must not be a variable of the program itself: "_" and one letter.
func ValidVariable(name string) bool {
	if len(name) == 2 && name[0] == '_' && isLetter(name[1]) {
		return false
	}
	return ValidName(name) && !strings.Contains(name, "-")
}

// ValidValue reports whether a cell can have that value: UTF-8 without line breaks (LF, CR) and NUL. An
// environment variable cannot contain NUL, and a Document has each value on one line.
func ValidValue(value string) bool {
	return utf8.ValidString(value) && !strings.ContainsAny(value, "\n\r\x00")
}

// Clash finds two names with the same environment variable, such as "lr" and "LR": the names at i and j,
// i < j. ok is false if all variables differ.
func Clash(names []string) (i, j int, ok bool) {
	first := map[string]int{}
	for j, name := range names {
		variable := Variable(name)
		if i, ok := first[variable]; ok {
			return i, j, true
		}
		first[variable] = j
	}
	return 0, 0, false
}

// SplitLines returns the lines of a command list. A line ends with LF or CRLF; the last one may end
// without either. Blank lines count.
func SplitLines(list string) []string {
	var lines []string
	for line := range strings.Lines(list) {
		lines = append(lines, strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
	}
	return lines
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
