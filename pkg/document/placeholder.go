package document

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// context is where a string is in a document, as far as it decides which brackets are placeholders there.
type context uint8

const (
	anywhere context = iota
	// inShell is text for a shell or a program: ${x} is a variable, and < a redirection.
	inShell
	// inLocation is a location of an input or an output, and the jobId of a list of jobs: batchctl replaces ${x}.
	inLocation
	// inOwnText is a text for the program of the job, where $NAME can have any meaning.
	inOwnText
	// inOptions is a map of log options, where Docker replaces {{.Name}} and Fluent Bit ${record}.
	inOptions
	// ignored is text that batchctl does not send, or that other rules read.
	ignored
)

// contexts lists the members whose values have a context, as plain returns their names.
var contexts = map[string]context{
	"command": inShell, "args": inShell, "entrypoint": inShell, "commands": inShell, "script": inShell,
	"inputs": inLocation, "outputs": inLocation, "checkpoint": inLocation, "jobid": inLocation, "staging": inLocation,
	"options":     inOptions,
	"environment": inOwnText, "env": inOwnText, "parameters": inOwnText, "tags": inOwnText, "labels": inOwnText,
	"annotations": inOwnText,
	"userdata":    ignored, "waivers": ignored, "when": ignored,
}

// longestContext is more than the length of every name in contexts, with separators.
const longestContext = 16

// marksOfPlaceholders are texts of which every placeholder contains one, unless it contains the word replace or
// change in any case, is in square brackets, or leaves a part of a value out.
var marksOfPlaceholders = [...]string{"${", "$(", "{{", "<", "@", "%", "__", "#{", "((", "TODO", "FIXME", "TBD", "YOUR",
	"Your", "your", "PLACEHOLDER"}

// mayHavePlaceholder reports whether a document may contain a placeholder. Most do not, and the walk
// through their strings costs more than this.
func mayHavePlaceholder(text string) bool {
	return slices.ContainsFunc(marksOfPlaceholders[:],
		func(mark string) bool { return strings.Contains(text, mark) }) ||
		mentionsVariable(text) || asksForValue(text, 'c') || asksForValue(text, 'C') || quotesBracket(text) ||
		jsontree.MayLeaveOut(text)
}

// mentionsVariable reports whether a text has a $ before a name, except the members $schema and $comment and the
// versions of a launch template.
func mentionsVariable(text string) bool {
	for {
		at := strings.IndexByte(text, '$')
		if at < 0 || at == len(text)-1 {
			return false
		}
		text = text[at+1:]
		if c := text[0]; (c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z') &&
			!slices.ContainsFunc(ownDollars[:], func(own string) bool { return strings.HasPrefix(text, own) }) {
			return true
		}
	}
}

// ownDollars are texts after a $ that are no variables.
var ownDollars = [...]string{`schema"`, `comment"`, `Latest"`, `Default"`}

// variableIn returns the first $NAME in a text, as people write who expect a shell; "" without one. $$ is an escape.
func variableIn(text string) string {
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '$' {
			continue
		}
		if text[i+1] == '$' {
			i++
			continue
		}
		end := i + 1
		for end < len(text) && (text[end] == '_' || 'a' <= text[end]|0x20 && text[end]|0x20 <= 'z' || end > i+1 &&
			'0' <= text[end] && text[end] <= '9') {
			end++
		}
		if name := text[i+1 : end]; name != "" && !strings.EqualFold(name, "Latest") &&
			!strings.EqualFold(name, "Default") {
			return text[i:end]
		}
	}
	return ""
}

// quotesBracket reports whether a string in quotes begins with [. A document has fewer brackets than quotes.
func quotesBracket(text string) bool {
	for at := 0; ; at++ {
		n := strings.IndexByte(text[at:], '[')
		if n < 0 {
			return false
		}
		if at += n; at > 0 && (text[at-1] == '"' || text[at-1] == '\'') {
			return true
		}
	}
}

// asksForValue reports whether a text contains the word replace or change, in any case, with this c. Few texts have
// that letter often.
func asksForValue(text string, c byte) bool {
	is := func(from int, word string) bool {
		return from >= 0 && from+len(word) <= len(text) && strings.EqualFold(text[from:from+len(word)], word)
	}
	for at := 0; at < len(text); at++ {
		n := strings.IndexByte(text[at:], c)
		if n < 0 {
			return false
		}
		if at += n; is(at, "change") || is(at-len("repla"), "replace") {
			return true
		}
	}
	return false
}

// placeholderIn returns the first placeholder of a string; "" without one. References to the values of a child are
// batchctl's own.
func placeholderIn(text string, in context) string {
	for at := 0; at < len(text); {
		start, end := jsontree.FindPlaceholder(text[at:])
		if start < 0 {
			break
		}
		found, whole := text[at+start:at+end], at == 0 && end-start == len(text)
		at += end
		dollar := found[0] == '$' && !strings.HasPrefix(found, "${{")
		switch {
		case len(sweep.References(found)) > 0, strings.HasPrefix(found, "{{resolve:"):
		case dollar && in != anywhere && in != inOwnText:
		case in == inShell && strings.IndexByte("%(#[", found[0]) >= 0: // variables of cmd.exe, arithmetic, Ruby, lists
		case in == inShell && whole && strings.Trim(found, "xX") == "": // no id
		case in == inShell && !whole &&
			(found[0] == '<' || strings.ContainsAny(text[:at-len(found)]+text[at:], " \t\n")):
		case in == inOptions && strings.HasPrefix(strings.TrimLeft(found, "{ "), "."):
		default:
			return found
		}
	}
	if in == anywhere {
		return variableIn(text)
	}
	return ""
}

// isPlaceholder reports whether a value is a string with a placeholder, of which no type is known.
func isPlaceholder(n *jsontree.Node) bool {
	return n.Is(jsontree.String) && placeholderIn(n.Text, anywhere) != ""
}

// Placeholder returns the first placeholder of a text that is the value of a member, or of an element of its list; ""
// without one. A shell's variable in a command does not count.
func Placeholder(member, text string) string { return placeholderIn(text, contexts[plain(member)]) }
