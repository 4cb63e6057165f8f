package userdata

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/batchctl/batchctl/pkg/diag"
)

// Request is a JSON text in a script: the request of a command such as aws batch submit-job --cli-input-json '{ ... }',
// another argument of the AWS CLI, or a here-document.
type Request struct {
	*Text
	// Operation is the subcommand of aws batch that sends the text, such as submit-job; "" for any other text.
	Operation string
	// At is the place of a request without a Text: an argument that only the shell knows, or a command with other options.
	At diag.Span
	// Given reports whether the command has the option --cli-input-json.
	Given bool
}

// String returns the JSON text. Variables and commands of the shell are placeholders, such as ${NAME}.
func (r Request) String() string { return r.text }

// maxScript bounds a script that is read, in bytes.
const maxScript = 1 << 20

// Requests returns the JSON texts in a script, in their order, and the commands of aws batch without one. For a script
// that it cannot read, it returns the reason.
func Requests(src *diag.Source) (found []Request, why string) {
	if len(src.Text) > maxScript {
		return nil, "the script is longer than 1 MiB"
	}
	parse := func(text string) (*syntax.File, error) {
		return syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	}
	file, err := parse(src.Text)
	if err != nil {
		file, err = parse(fill(src.Text))
	}
	if err != nil {
		return nil, "the shell cannot read the script"
	}
	w := writer{src: src}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			found = append(found, w.arguments(n)...)
		case *syntax.Redirect:
			if n.Hdoc != nil {
				escapes := escapesHere
				if isQuoted(n.Word) {
					escapes = ""
				}
				w.delimiter, _ = static(n.Word)
				if r := w.text(n.Hdoc.Parts, escapes, n.Op == syntax.DashHdoc); r != nil {
					found = append(found, Request{Text: r})
				}
			}
		}
		return true
	})
	return found, ""
}

// isQuoted reports whether a delimiter is in quotes, so that the shell expands nothing in the here-document.
func isQuoted(delimiter *syntax.Word) bool {
	return slices.ContainsFunc(delimiter.Parts, func(p syntax.WordPart) bool {
		lit, ok := p.(*syntax.Lit)
		return !ok || strings.Contains(lit.Value, `\`)
	})
}

// inputJSON is the option of the AWS CLI that takes a whole request.
const inputJSON = "--cli-input-json"

// writer composes the texts of words.
type writer struct {
	src *diag.Source
	// delimiter ends the here-document that is composed.
	delimiter string
}

// arguments returns the JSON texts in the arguments of the AWS CLI.
func (w writer) arguments(call *syntax.CallExpr) (found []Request) {
	w.delimiter = ""
	c := commandOf(call)
	if c.name != "aws" {
		return nil
	}
	operation := ""
	if i := slices.Index(c.args, "batch"); i >= 0 && i+1 < len(c.args) {
		operation = c.args[i+1]
	}
	hasRequest := false
	for i, word := range c.at {
		parts, whole := word.Parts, operation != "" && i > 0 && c.args[i-1] == inputJSON
		if lit, ok := parts[0].(*syntax.Lit); ok && operation != "" && strings.HasPrefix(lit.Value, inputJSON+"=") {
			parts, whole = withoutPrefix(parts, len(inputJSON)+1), true
		}
		hasRequest = hasRequest || whole
		switch text := w.text(parts, escapesHere, false); {
		case text != nil && whole:
			found = append(found, Request{Text: text, Operation: operation})
		case text != nil:
			found = append(found, Request{Text: text})
		case whole && !strings.Contains(c.args[i], "file:"): // which is a file of its own
			found = append(found, Request{Operation: operation, At: between(word), Given: true})
		}
	}
	if operation != "" && !hasRequest {
		found = append(found, Request{Operation: operation, At: between(call)})
	}
	return found
}

// between returns the place of a node in its script.
func between(n syntax.Node) diag.Span {
	return diag.Span{Start: int(n.Pos().Offset()), End: int(n.End().Offset())}
}

// withoutPrefix returns the parts of a word without bytes at its start, which are literal.
func withoutPrefix(parts []syntax.WordPart, n int) []syntax.WordPart {
	lit, ok := parts[0].(*syntax.Lit)
	if !ok || len(lit.Value) < n {
		return nil
	}
	if len(lit.Value) == n {
		return parts[1:]
	}
	rest := *lit
	rest.Value = lit.Value[n:]
	rest.ValuePos = syntax.NewPos(lit.ValuePos.Offset()+uint(n), lit.ValuePos.Line(), lit.ValuePos.Col()+uint(n))
	return append([]syntax.WordPart{&rest}, parts[1:]...)
}

// The bytes before which a shell removes a backslash: in a here-document, and between double quotes.
const (
	escapesHere   = "$`\\\n"
	escapesQuoted = escapesHere + `"`
)

// text composes the JSON text of a word or here-document; nil if it does not begin as an object or a list. The shell
// removes a backslash before the escapes, and in a here-document after <<-, with dash, the tabs at the start of a line.
func (w writer) text(parts []syntax.WordPart, escapes string, dash bool) *Text {
	t := &Text{Source: w.src}
	var b strings.Builder
	put := func(text string, start, end int) {
		b.WriteString(text)
		t.add(text, diag.Span{Start: start, End: end})
	}
	var add func(parts []syntax.WordPart, escapes string)
	add = func(parts []syntax.WordPart, escapes string) {
		for _, p := range parts {
			switch p := p.(type) {
			case *syntax.Lit:
				w.literal(int(p.Pos().Offset()), w.end(p), escapes, dash, put)
			case *syntax.SglQuoted:
				w.literal(int(p.Left.Offset())+1, int(p.Right.Offset()), "", false, put)
			case *syntax.DblQuoted:
				add(p.Parts, escapesQuoted)
			default:
				name := "VALUE"
				if v, ok := p.(*syntax.ParamExp); ok && v.Param != nil && v.Param.Value != "" {
					name = v.Param.Value
				}
				put("${"+name+"}", int(p.Pos().Offset()), int(p.End().Offset()))
			}
		}
	}
	add(parts, escapes)
	if text := strings.TrimLeft(b.String(), " \t\r\n"); text == "" || text[0] != '{' && text[0] != '[' {
		return nil
	}
	t.seal(b.String())
	return t
}

// end returns where a literal ends. The parser counts the last line of a here-document to its text.
func (w writer) end(p *syntax.Lit) int {
	start, end := int(p.Pos().Offset()), min(int(p.End().Offset()), len(w.src.Text))
	if w.delimiter == "" {
		return end
	}
	if before, last := strings.CutSuffix(w.src.Text[start:end], w.delimiter); last {
		if before = strings.TrimRight(before, "\t"); before == "" || strings.HasSuffix(before, "\n") {
			return start + len(before)
		}
	}
	return end
}

// literal adds the bytes between two offsets of the script.
func (w writer) literal(start, end int, escapes string, dash bool, put func(text string, start, end int)) {
	text := w.src.Text
	for i := start; i < min(end, len(text)); i++ {
		first := i
		switch {
		case dash && text[i] == '\t' && strings.Trim(text[strings.LastIndexByte(text[:i], '\n')+1:i], "\t") == "":
			continue
		case text[i] == '\\' && i+1 < end && strings.IndexByte(escapes, text[i+1]) >= 0:
			if i++; text[i] == '\n' { // the line continues
				continue
			}
		}
		put(text[i:i+1], first, i+1)
	}
}
