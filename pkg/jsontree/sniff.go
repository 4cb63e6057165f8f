package jsontree

import (
	"strings"
	"unicode/utf8"
)

// bom is the byte order mark in UTF-8.
const bom = "\ufeff"

// plausible reports whether the text can be JSON with slips. Any other kind of text gets
// one message that names it.
func (s *scanner) plausible() bool {
	message, hint := "", "save it as UTF-8"
	switch t := s.text; {
	case len(t) > maxBytes:
		message, hint = "the file is larger than 16 MiB", "split it"
	case strings.HasPrefix(t, "\xff\xfe"), strings.HasPrefix(t, "\xfe\xff"), strings.HasPrefix(t, "\x00\x00\xfe\xff"):
		message = "the text is UTF-16 or UTF-32"
	case len(t) > 1 && (t[0] == 0) != (t[1] == 0):
		message = "the text is UTF-16"
	default:
		s.pos = len(t) - len(strings.TrimPrefix(t, bom))
		message, hint = foreign(t[s.pos:])
	}
	if message == "" {
		return true
	}
	start := s.pos
	for start < len(s.text) && isBlank(s.text[start]) {
		start++
	}
	_, size := utf8.DecodeRuneInString(s.text[start:])
	s.report(start, start+size, hint, "%s", message)
	return false
}

// foreign returns the message about a text that is evidently of another kind; "" for
// others.
func foreign(s string) (message, hint string) {
	if strings.Trim(s, " \t\r\n") == "" {
		return "the file is empty", `write a job: { "name": …, "image": …, "command": […] }`
	}
	if strings.HasPrefix(s, "#!") {
		return "this is a script, not JSON", "name a JSON file"
	}
	s = pastComments(s)
	if s == "" {
		return "", ""
	}
	line, _, _ := strings.Cut(s, "\n")
	line = strings.TrimRight(line, " \t\r")
	switch c := s[0]; {
	case strings.HasPrefix(line, "<<<<<<<"):
		return "the marker of a merge conflict", "remove it"
	case c == '<':
		return "this is XML or HTML, not JSON", "name a JSON file"
	case strings.HasPrefix(s, "---"), strings.HasPrefix(s, "%YAML"), strings.HasPrefix(s, "- "):
		return notYAML()
	case c == '[' && isSection(line, s[len(line):]):
		return "this is TOML or INI, not JSON", `write it as JSON: { "name": "value" }`
	case c == '"' && isMember(line):
		return "a member outside an object", "write { before it and } at the end"
	case strings.IndexByte("{[(\"'`-+.}],:;=0123456789", c) >= 0 || c >= utf8.RuneSelf:
		return "", ""
	case len(strings.TrimRight(s, " \t\r\n")) == wordLen(s):
		return "", ""
	case isYAML(s):
		return notYAML()
	}
	return "this is not JSON", "begin with { or name another file"
}

func notYAML() (message, hint string) {
	return "this is YAML, not JSON", `write it as JSON: { "name": "value" }`
}

// pastComments returns s from its first byte that is neither white space nor a comment.
func pastComments(s string) string {
	for {
		s = strings.TrimLeft(s, " \t\r\n")
		n := commentLen(s)
		if n <= 0 {
			return s
		}
		s = s[n:]
	}
}

// isYAML reports whether one of the first lines is a mapping or a list item.
func isYAML(s string) bool {
	n := 0
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		w := wordLen(line)
		rest, ok := strings.CutPrefix(line[w:], ":")
		if strings.HasPrefix(line, "- ") || w > 0 && ok && (rest == "" || rest[0] == ' ') {
			return true
		}
		if n++; n == 20 {
			break
		}
	}
	return false
}

// isSection reports whether a line is a [section] and a setting follows it.
func isSection(line, rest string) bool {
	name := strings.Trim(line, "[]")
	if name == "" || line == name || !strings.HasSuffix(line, "]") || wordLen(name) != len(name) || isConstant(name) {
		return false
	}
	next, _, _ := strings.Cut(pastComments(rest), "\n")
	w := wordLen(next)
	return w > 0 && nameEnds(next, w)
}

// isMember reports whether a line begins with a string and a colon.
func isMember(line string) bool {
	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			return strings.HasPrefix(strings.TrimLeft(line[i+1:], " \t"), ":")
		}
	}
	return false
}
