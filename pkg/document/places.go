package document

import (
	"path"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// at returns an empty node at span in the text of n, as the base for others.
func at(n *jsontree.Node, span diag.Span) *jsontree.Node {
	return &jsontree.Node{Source: n.Source, Span: span, Key: n.Key}
}

// brace returns the location for the problem that an object lacks something.
func brace(n *jsontree.Node) diag.Span { return Opening(n) }

// Opening returns the location for a problem that an object or array lacks something: its
// opening bracket. In YAML without brackets, it is the name of the member, or else the
// name of its first member.
func Opening(n *jsontree.Node) diag.Span {
	src, span := n.Location()
	bracket := diag.Span{Start: span.Start, End: min(span.Start+1, span.End)}
	if src == nil || span.End <= span.Start || span.End > len(src.Text) ||
		strings.IndexByte("{[", src.Text[span.Start]) >= 0 || !IsYAML(src) {
		return bracket
	}
	if n.Key.End > n.Key.Start {
		return n.Key
	}
	if child := first(n); child != nil && child.Source == src && child.Key.End > child.Key.Start {
		return child.Key
	}
	return bracket
}

// placeIn returns the place of a part of a string, from one byte of its value to another. It is the whole string if the
// source does not contain the value, which happens after a correction of the text.
func placeIn(n *jsontree.Node, from, to int) diag.Span {
	if n.Source == nil || n.Span.End-n.Span.Start < 2 || n.Span.End > len(n.Source.Text) {
		return n.Span
	}
	raw := n.Source.Text[n.Span.Start+1 : n.Span.End-1]
	if len(raw) == len(n.Text) {
		return diag.Span{Start: n.Span.Start + 1 + from, End: n.Span.Start + 1 + max(to, from)}
	}
	start, end, value := -1, -1, 0
	for at := 0; ; {
		if value >= from && start < 0 {
			start = at
		}
		if value >= to && end < 0 {
			end = at
		}
		if at >= len(raw) {
			break
		}
		size, bytes := characterAt(raw[at:])
		at, value = at+size, value+bytes
	}
	if value != len(n.Text) || start < 0 || end < 0 {
		return n.Span
	}
	return diag.Span{Start: n.Span.Start + 1 + start, End: n.Span.Start + 1 + end}
}

// characterAt returns the length of the first character of a JSON string as written, and of its value in UTF-8.
func characterAt(raw string) (size, bytes int) {
	unit := func(s string) (rune, bool) {
		if len(s) < 6 || s[:2] != `\u` {
			return 0, false
		}
		v, err := strconv.ParseUint(s[2:6], 16, 16)
		return rune(v), err == nil
	}
	if raw[0] != '\\' {
		return 1, 1
	}
	first, ok := unit(raw)
	if !ok {
		return min(2, len(raw)), 1
	}
	if second, ok := unit(raw[6:]); ok && first >= 0xd800 && first < 0xdc00 && second >= 0xdc00 && second < 0xe000 {
		return 12, 4
	}
	return 6, len(string(first)) // a lone half becomes the replacement character
}

// IsYAML reports whether a text is read as YAML. The extension decides. Without one, as
// for standard input, members of a template at the start of lines decide. A text that
// begins with a brace is always JSON.
func IsYAML(src *diag.Source) bool {
	text := src.Text[:min(len(src.Text), 1<<16)]
	start := strings.TrimLeft(strings.TrimPrefix(text, "\ufeff"), " \t\r\n")
	if strings.HasPrefix(start, "{") || strings.HasPrefix(start, "[") && !isYAMLName(src.Name) {
		return false
	}
	switch {
	case isYAMLName(src.Name):
		return true
	case strings.HasSuffix(strings.ToLower(src.Name), ".json"):
		return false
	}
	for line := range strings.Lines(text) {
		for _, member := range [...]string{"AWSTemplateFormatVersion", "Resources", "Transform"} {
			if rest, ok := strings.CutPrefix(strings.TrimPrefix(line, "\ufeff"), member); ok &&
				strings.HasPrefix(rest, ":") {
				return true
			}
		}
	}
	return false
}

// isYAMLName reports whether a file is YAML by its extension.
func isYAMLName(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}
