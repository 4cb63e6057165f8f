// Package yamltree reads YAML of CloudFormation templates into the same nodes as JSON,
// each with its location in the YAML text.
package yamltree

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// The names of the rules under which Parse reports.
const (
	RuleSyntax       = "yaml-syntax"
	RuleDuplicateKey = "yaml-duplicate-key"
	RuleTag          = "yaml-tag"
)

// The limits of Parse. CloudFormation accepts templates of 1 MB. Aliases count in expanded
// form.
const (
	// maxBytes leaves space for comments and indentation beyond 1 MB. maxDepth also bounds
	// the recursion.
	maxBytes  = 4 << 20
	maxDepth  = 100
	maxValues = 1 << 18
	maxErrors = 50
)

// Parse reads one YAML document. It expands short forms of functions: !GetAtt a.b becomes
// {"Fn::GetAtt": ["a", "b"]}. It also expands aliases and merge keys; their values keep
// their locations. If the text cannot be read, the node is nil and the list has the
// reason. Of members with the same name, the last one stays. Parse skips a byte order mark at
// the start.
func Parse(src *diag.Source) (*jsontree.Node, diag.List) {
	p := &parser{src: src, anchors: map[*yaml.Node]bool{}, stops: map[int][]int{}}
	p.text, p.list = diag.Conflicts(src, RuleSyntax)
	p.start = len(p.text) - len(strings.TrimPrefix(p.text, "\ufeff"))
	if !p.readable() {
		return nil, p.list
	}
	root := p.document()
	if root == nil {
		return nil, p.list
	}
	p.findLines()
	// Conversion may stop at a limit. The tree is then incomplete and is dropped.
	n := p.node(root, 0)
	switch {
	case p.gaveUp:
		n = nil
	case p.twice:
		n.KeepLast()
	}
	p.list.Sort()
	return n, p.list
}

// parser converts the nodes of the YAML library, which have only lines and columns. It
// finds the exact spans in the text.
type parser struct {
	src   *diag.Source
	text  string
	start int   // after a byte order mark
	lines []int // where they begin
	// stops holds the known locations of long lines, by their number from 1.
	stops map[int][]int
	// slab holds nodes that take has allocated together.
	slab []jsontree.Node

	// values counts the nodes, with those of expanded aliases.
	values  int
	anchors map[*yaml.Node]bool // being expanded
	// gaveUp is true once a problem ends the conversion, and twice if an object has two members with the same name.
	gaveUp, twice bool
	list          diag.List
}

// report adds a problem. After maxErrors of them, the parser stops.
func (p *parser) report(rule string, start, end int, hint, format string, args ...any) {
	if len(p.list) == maxErrors {
		p.gaveUp = true
	}
	if p.gaveUp {
		return
	}
	p.list = append(p.list, diag.Diagnostic{Rule: rule, Source: p.src,
		Span: diag.Span{Start: start, End: min(max(start, end), len(p.text))}, Message: fmt.Sprintf(format, args...),
		Hint: hint})
}

// giveUp reports a problem after which the parser stops.
func (p *parser) giveUp(start, end int, hint, format string, args ...any) {
	p.report(RuleSyntax, start, end, hint, format, args...)
	p.gaveUp = true
}

// readable rejects texts that the library must not see.
func (p *parser) readable() bool {
	switch i := strings.IndexByte(p.text, 0); {
	case len(p.text) > maxBytes:
		p.giveUp(0, 0, "split the template into nested stacks: CloudFormation accepts 1 MB",
			"the text is longer than %d MiB", maxBytes>>20)
	case i >= 0:
		p.giveUp(i, i+1, "save the file as UTF-8", "the file contains a NUL byte: it is not UTF-8 text")
	case !utf8.ValidString(p.text):
		at := 0
		// The message names the first invalid byte.
		for at < len(p.text) {
			r, size := utf8.DecodeRuneInString(p.text[at:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			at += size
		}
		p.giveUp(at, at+1, "save the file as UTF-8", "the text is not UTF-8: byte 0x%02x", p.text[at])
	default:
		return p.shallow()
	}
	return false
}

// shallow rejects more open brackets than any template has, because the library's time
// grows with their square.
func (p *parser) shallow() bool {
	open := 0
	for i := p.start; i < len(p.text); i++ {
		switch p.text[i] {
		case '[', '{':
			open++
		case '\n':
			open = 0 // brackets in a block may belong to a program, so they count line by line
		case ']', '}':
			open = max(0, open-1)
		}
		if open > 10*maxDepth {
			p.giveUp(i, i+1, "flatten the document", "nested deeper than %d levels", maxDepth)
			return false
		}
	}
	return true
}

// document reads the text with the library. The text has to be one document.
func (p *parser) document() *yaml.Node {
	loader, err := yaml.NewLoader(strings.NewReader(p.text[p.start:]))
	if err != nil {
		p.giveUp(0, 0, "", "%v", err)
		return nil
	}
	var root, next yaml.Node
	if err := load(loader, &root); err != nil {
		p.refused(err)
		return nil
	}
	// A text of comments only is not a document.
	if len(root.Content) == 0 {
		return nil
	}
	// A stream can have several documents (---), but a template is one.
	if err := load(loader, &next); err == nil {
		p.findLines()
		at := p.offset(&next)
		p.giveUp(at, at+1, "put each template into a file of its own", "a second document begins here")
		return nil
	} else if !errors.Is(err, io.EOF) {
		p.refused(err)
		return nil
	}
	return root.Content[0]
}

// load is Load with a panic of the library as an error, because the input is untrusted.
func load(l *yaml.Loader, into *yaml.Node) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("cannot read the text: %v", v)
		}
	}()
	return l.Load(into)
}

// refused reports an error of the library.
func (p *parser) refused(err error) {
	if errors.Is(err, io.EOF) {
		p.giveUp(0, 0, "", "the document is empty")
		return
	}
	p.findLines()
	var bad *yaml.LoadError
	if !errors.As(err, &bad) {
		p.giveUp(0, 0, "", "%v", err)
		return
	}
	at := p.at(bad.Mark.Line, bad.Mark.Column)
	end := at
	for end < len(p.text) && end-at < 40 && p.text[end] != '\n' && p.text[end] != '\r' {
		end++
	}
	// The library names the construct in which the error is, and where it began.
	message := bad.Message
	if bad.ContextMsg != "" && bad.ContextMark.Line > 0 && bad.ContextMark.Line < bad.Mark.Line {
		message += fmt.Sprintf(" %s that began on line %d", bad.ContextMsg, bad.ContextMark.Line)
	} else if bad.ContextMsg != "" {
		message += " " + bad.ContextMsg
	}
	hint := p.advice(at, bad.Message)
	// At the end of the text, the location of the open quote or bracket helps more.
	if open := strings.TrimSpace(p.text[at:]) == "" && bad.ContextMark.Line > 0; open &&
		(strings.Contains(bad.ContextMsg, "quoted") || strings.Contains(bad.ContextMsg, "flow")) {
		at = p.at(bad.ContextMark.Line, bad.ContextMark.Column)
		end, message, hint = at+1, "the quote or bracket here is not closed", "add the closing quote or bracket"
	}
	if hint == noTabs {
		message = "a tab indents this line"
	}
	p.giveUp(at, end, hint, "%s", strings.Join(strings.Fields(message), " "))
}

// noTabs is the hint about a tab in the indentation.
const noTabs = "indent with spaces: YAML does not allow tabs there"

// advice returns a hint for common mistakes.
func (p *parser) advice(at int, message string) string {
	line := p.text[p.lines[p.line(at)]:]
	line, _, _ = strings.Cut(line, "\n")
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	switch {
	case strings.Contains(indent, "\t"):
		return noTabs
	case strings.Contains(line, "{{"):
		return "put the value into quotes"
	case strings.Contains(message, "mapping values are not allowed"):
		return "put a value with a colon into quotes, and indent members of one object alike"
	case strings.Contains(message, "cannot start any token"):
		return "put the value into quotes"
	case strings.Contains(message, "did not find expected"):
		return "check the indentation of this line and the previous one, and look for an unclosed bracket or quote"
	}
	return ""
}

// findLines records the start of each line. The library counts the same lines.
func (p *parser) findLines() {
	if p.lines != nil {
		return
	}
	p.lines = append(make([]int, 0, 64+len(p.text)/32), p.start)
	for i := p.start; i < len(p.text); {
		// The first bytes of the other line breaks in UTF-8: 0xc2 of U+0085, and 0xe2 of
		// U+2028 and U+2029.
		if c := p.text[i]; c != '\n' && c != '\r' && c != 0xc2 && c != 0xe2 {
			i++
			continue
		}
		_, size := lineBreak(p.text, i)
		if size > 0 {
			p.lines = append(p.lines, i+size)
		}
		i += max(size, 1)
	}
}

// line returns the number, from 0, of the line that contains an offset.
func (p *parser) line(offset int) int {
	i, found := slices.BinarySearch(p.lines, offset)
	if !found {
		i--
	}
	return max(i, 0)
}

// at returns the offset of a line and a column, both from 1.
func (p *parser) at(line, column int) int {
	if line < 1 {
		return p.start
	}
	if line > len(p.lines) {
		return len(p.text)
	}
	i := p.lines[line-1]
	// Counting continues from the closest known location.
	if column > stopEvery {
		stops := p.stopsOf(line)
		n := min((column-1)/stopEvery, len(stops)-1)
		i, column = stops[n], column-n*stopEvery
	}
	for ; column > 1 && i < len(p.text); column-- {
		_, size := utf8.DecodeRuneInString(p.text[i:])
		i += size
	}
	return i
}

// stopEvery is the number of columns between known locations in a long line. Without them,
// each of thousands of values in one line would count all characters before it.
const stopEvery = 256

// stopsOf returns the known locations in a line.
func (p *parser) stopsOf(line int) []int {
	if stops, ok := p.stops[line]; ok {
		return stops
	}
	end := len(p.text)
	if line < len(p.lines) {
		end = p.lines[line]
	}
	var stops []int
	for i, column := p.lines[line-1], 0; i < end; column++ {
		if column%stopEvery == 0 {
			stops = append(stops, i)
		}
		_, size := utf8.DecodeRuneInString(p.text[i:])
		i += size
	}
	if stops == nil {
		stops = []int{end}
	}
	p.stops[line] = stops
	return stops
}

func (p *parser) offset(n *yaml.Node) int { return p.at(n.Line, n.Column) }
