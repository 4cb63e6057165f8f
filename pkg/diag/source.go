package diag

import (
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/secret"
)

// Source is one text with a name: a file, standard input ("-"), or a flag of
// the command line ("--parameters").
type Source struct {
	Name string
	Text string

	once  sync.Once
	lines []int // byte offset of the first byte of every line
	stops []stop

	searched sync.Once
	secrets  *secret.Secrets
}

// stop is an offset inside a long line whose column is known. Without stops, a thousand
// problems in one line of megabytes would count its characters a thousand times.
type stop struct{ offset, col int }

// stopEvery is the number of bytes from one stop to the next.
const stopEvery = 4096

// NewSource returns a source for text under name.
func NewSource(name, text string) *Source { return &Source{Name: name, Text: text} }

// index returns the offsets of the lines. It is safe for concurrent use.
func (s *Source) index() []int {
	s.once.Do(func() {
		start := len(s.Text) - len(strings.TrimPrefix(s.Text, "\ufeff"))
		for i := 0; ; {
			s.lines = append(s.lines, start)
			n := strings.IndexByte(s.Text[i:], '\n')
			if n < 0 {
				s.stopsIn(start, len(s.Text))
				break
			}
			i += n + 1
			s.stopsIn(start, i)
			start = i
		}
	})
	return s.lines
}

// stopsIn adds the stops of the line from start to end.
func (s *Source) stopsIn(start, end int) {
	col := 1
	for end-start > stopEvery {
		next := runeStart(s.Text, start+stopEvery)
		col += utf8.RuneCountInString(s.Text[start:next])
		s.stops = append(s.stops, stop{next, col})
		start = next
	}
}

// Position returns the line and the column of a byte offset, both from 1. A
// column counts Unicode code points, as editors do; a byte order mark at the
// start takes none. An offset outside the text is moved to its nearest end.
func (s *Source) Position(offset int) (line, col int) {
	lines := s.index()
	offset = max(lines[0], min(offset, len(s.Text)))
	line = sort.Search(len(lines), func(i int) bool { return lines[i] > offset })
	from := stop{lines[line-1], 1}
	if i := sort.Search(len(s.stops), func(i int) bool { return s.stops[i].offset > offset }); i > 0 &&
		s.stops[i-1].offset > from.offset {
		from = s.stops[i-1]
	}
	return line, from.col + utf8.RuneCountInString(s.Text[from.offset:offset])
}

// Line returns the text of line n (from 1) without its line ending, and the byte offset at
// which it starts. It returns "" for a line that does not exist.
func (s *Source) Line(n int) (text string, start int) {
	lines := s.index()
	if n < 1 || n > len(lines) {
		return "", len(s.Text)
	}
	start, end := lines[n-1], len(s.Text)
	if n < len(lines) {
		end = lines[n] - 1
	}
	return strings.TrimSuffix(s.Text[start:end], "\r"), start
}

// hidden returns the credentials of the text. They are searched on first use, when
// something is printed about the text.
func (s *Source) hidden() *secret.Secrets {
	s.searched.Do(func() { s.secrets = secret.In(s.Text) })
	return s.secrets
}

// Redact returns a sentence about the text, from any author, with an asterisk for every
// character of a credential in the text. It does not recognize passwords that are plain words
// or shorter than 6 bytes.
func (s *Source) Redact(sentence string) string {
	return s.hidden().Redact(sentence, secret.Span{Start: -1, End: -1})
}
