package results

import (
	"fmt"
	"iter"
	"strings"

	"github.com/batchctl/batchctl/pkg/usage"
)

const (
	// maxObject is how long an object may be to count as a result, in bytes, and how
	// far before the end of a log one that takes several lines is looked for.
	maxObject = 1 << 20
	// lineCost is about what a line takes beside its text, in bytes.
	lineCost = 16
	// maxMisses bounds how often something of several lines that looks like an object
	// is read in vain. Only a log made for that has more.
	maxMisses = 100
)

// Output finds the object that a child printed in its log. It reads the log line by line and
// keeps at most a megabyte, however long the log is.
//
// The object that ends last counts: a line that is a JSON object, apart from blanks around it,
// or several lines that form one, such as json.dumps(result, indent=2) writes. Later output,
// such as a warning, does not matter. With NewOutput(true), every line that is an object
// counts separately, and objects of several lines do not. An array is not an object, nor is a
// line with other text before or after the object. NaN, Infinity and -Infinity, which JSON
// does not have and Python prints, become strings. The zero value is NewOutput(false).
//
// With Metrics, it also finds the numbers that these match: the last match of each in the log. They are members
// of the object, or an object of their own without one. A member that the child printed itself counts more. With
// NewOutput(true), every line with a match is an object.
type Output struct {
	// Metrics are set before the first line, or never.
	Metrics *Metrics

	all     bool
	found   reading
	objects []string // of all
	held    int
	tooMuch bool

	last   string // the last line that is an object, the number'th line
	lastAt int
	tail   []string // the last lines, as far as they fit
	first  int      // the number of tail[0]
	size   int      // of the tail
}

// NewOutput returns an Output that finds the last object, or all lines that are one.
func NewOutput(all bool) *Output { return &Output{all: all} }

// Line takes the next line of the log. Line feeds inside part it into several.
func (o *Output) Line(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		o.line(line)
	}
}

func (o *Output) line(line string) {
	line, _ = usage.Cut(line) // batchctl's own line, which a metric could match
	if len(line) > maxObject {
		line = "" // not a result, and not a part of one
	}
	if o.all {
		o.found.values, o.found.some = nil, false // of this line alone
	}
	o.Metrics.read(strings.TrimSuffix(line, "\r"), &o.found)
	line = strings.Trim(line, " \t\r")
	object, whole := asObject(line)
	if o.all && o.found.some {
		if !whole {
			object = ""
		}
		object, whole = o.Metrics.object(&o.found, object), true
	}
	switch {
	case o.all && whole:
		if o.held += len(object) + lineCost; o.held > maxHeld {
			o.tooMuch = true
			return
		}
		o.objects = append(o.objects, object)
	case !o.all:
		if whole {
			o.last, o.lastAt = object, o.first+len(o.tail)
		}
		o.keep(line)
	}
}

// keep puts a line into the tail, and lets go of what does not fit with it.
func (o *Output) keep(line string) {
	o.tail = append(o.tail, line)
	for o.size += len(line) + lineCost; o.size > maxObject+lineCost; {
		o.size -= len(o.tail[0]) + lineCost
		o.tail = o.tail[1:]
		o.first++
	}
}

// asObject returns text, which has no blanks around it, if it is a JSON object.
func asObject(text string) (string, bool) {
	if !strings.HasPrefix(text, "{") || !strings.HasSuffix(text, "}") {
		return "", false
	}
	if valid(text) {
		return text, true
	}
	text = quoteNoNumbers(text)
	return text, valid(text)
}

// noNumbers are the values that JSON lacks and that Python's json module writes all the
// same: what a run that diverged prints must not make its whole result vanish.
var noNumbers = []string{"NaN", "-Infinity", "Infinity"}

// quoteNoNumbers makes strings of the noNumbers that are not in strings.
func quoteNoNumbers(text string) string {
	if !strings.Contains(text, "NaN") && !strings.Contains(text, "Infinity") {
		return text
	}
	var b strings.Builder
	quoted := false
	for at := 0; at < len(text); {
		size := 1
		switch c := text[at]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			size = min(2, len(text)-at)
		case !quoted:
			if word := noNumber(text[at:]); word != "" {
				b.WriteString(`"` + word + `"`)
				at += len(word)
				continue
			}
		}
		b.WriteString(text[at : at+size])
		at += size
	}
	return b.String()
}

func noNumber(text string) string {
	for _, word := range noNumbers {
		if strings.HasPrefix(text, word) {
			return word
		}
	}
	return ""
}

// Objects are what was found: at most one, or those of all lines. A nil Output has
// none.
func (o *Output) Objects() ([]string, error) {
	switch {
	case o == nil:
		return nil, nil
	case o.tooMuch:
		return nil, fmt.Errorf("it printed more than %d MiB of objects: use only the last object of each child",
			maxHeld>>20)
	case o.all:
		return o.objects, nil
	}
	text, ok := o.spread()
	if !ok {
		text = o.last
	}
	if text = o.Metrics.object(&o.found, text); text != "" {
		return []string{text}, nil
	}
	return nil, nil
}

// Numbers yields the metrics that were found, by their names. A value that is no number, such as NaN, is a string.
func (o *Output) Numbers() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for i, text := range o.found.values {
			v := Value{Number, text}
			if strings.HasPrefix(text, `"`) {
				v = Value{String, strings.Trim(text, `"`)}
			}
			if text != "" && !yield(o.Metrics.list[i].Name, v) {
				return
			}
		}
	}
}

// NoNumber returns the last text that a metric matched although it is not a number, such as 1,297; ok is false if
// there was none.
func (o *Output) NoNumber() (metric, text string, ok bool) {
	if o == nil || o.found.odd == "" {
		return "", "", false
	}
	return o.Metrics.list[o.found.oddOf].Name, o.found.odd, true
}

// lineRange is several lines, from the number'th of the tail to another.
type lineRange struct{ from, to int }

// spread finds an object of several lines that ends after the last single-line object. A JSON
// string cannot contain a line break, so braces can be distinguished from those in strings
// without knowing where an object begins. Nesting is then a matter of counting.
func (o *Output) spread() (string, bool) {
	var found []lineRange
	var open []int // the lines of the braces that are open; -1-line for one that does not begin its line
	for i, line := range o.tail {
		from, ok := count(line, i, &open)
		if ok && from < i && o.first+i > o.lastAt {
			found = append(found, lineRange{from, i})
		}
	}
	for misses := 0; len(found) > 0 && misses < maxMisses; misses++ {
		last := found[len(found)-1]
		found = found[:len(found)-1]
		if text, ok := asObject(strings.Join(o.tail[last.from:last.to+1], "\n")); ok {
			return text, true
		}
	}
	return "", false
}

// count brings the open braces behind the i'th line. ok says that the line's last
// character closes a brace that begins a line, the from'th.
func count(line string, i int, open *[]int) (from int, ok bool) {
	quoted := false
	for at := 0; at < len(line); at++ {
		switch c := line[at]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			at++
		case quoted:
		case c == '{' && at == 0:
			*open = append(*open, i)
		case c == '{':
			*open = append(*open, -1-i)
		case c == '}' && len(*open) > 0:
			from = (*open)[len(*open)-1]
			*open = (*open)[:len(*open)-1]
			ok = from >= 0 && at == len(line)-1
		}
	}
	if quoted { // no object of several lines has such a line
		*open = (*open)[:0]
		return 0, false
	}
	return from, ok
}
