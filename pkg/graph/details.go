package graph

import (
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/draw"
)

// piece is a text with its role.
type piece struct{ role, text string }

// pieces are the texts after a node's columns, with the queue last if it has no column.
func (r row) pieces(also string, queue bool) []piece {
	var all []piece
	join := func(separator string, p piece) {
		if len(all) > 0 {
			all = append(all, piece{NoteRole, separator})
		}
		all = append(all, p)
	}
	for _, c := range r.counts {
		join(", ", piece{draw.OneLine(c.status), draw.OneLine(c.String())})
	}
	for i, note := range r.notes {
		separator := ", "
		if i == 0 {
			separator = "; "
		}
		join(separator, piece{NoteRole, note})
	}
	if also != "" {
		join("; ", piece{NoteRole, also})
	}
	if queue && r.queue != "" {
		join("; ", piece{NoteRole, r.queue})
	}
	return all
}

const alsoAfter = "also after: "

// details is all of it as a text.
func (r row) details(queue bool) string {
	also := ""
	if len(r.also) > 0 {
		also = alsoAfter + strings.Join(r.also, ", ")
	}
	text := ""
	for _, p := range r.pieces(also, queue) {
		text += p.text
	}
	return text
}

// details is the text after a node's columns, at most that many columns wide.
func (t *texter) details(r row, queue bool, width int) string {
	also := ""
	if len(r.also) > 0 {
		before := 0
		for _, p := range r.pieces("-", false) {
			before += columns(p.text)
		}
		also = t.others(r.also, width-before+1)
	}
	return t.piecesIn(r.pieces(also, queue), width)
}

// piecesIn is the pieces, cut to so many columns.
func (t *texter) piecesIn(all []piece, width int) string {
	line, total := "", 0
	for _, p := range all {
		total += columns(p.text)
	}
	if t.Width == 0 || total <= width {
		for _, p := range all {
			line += t.styled(p.role, p.text)
		}
		return line
	}
	mark := head(t.cut, max(width, 0))
	left := width - columns(mark)
	for _, p := range all {
		text := head(p.text, left)
		if text != p.text {
			text = strings.TrimRight(text, " ")
		}
		line += t.styled(p.role, text)
		if left -= columns(text); text != p.text {
			break
		}
	}
	return line + t.styled(NoteRole, mark)
}

// others names as many of the other nodes as fit, and the number of the rest.
func (t *texter) others(names []string, width int) string {
	all := alsoAfter + strings.Join(names, ", ")
	if t.Width == 0 || columns(all) <= width {
		return all
	}
	if len(names) == 1 {
		return all
	}
	text := fmt.Sprintf("also after %d others", len(names))
	if columns(text) > width {
		text = fmt.Sprintf("+%d others", len(names))
	}
	listed := alsoAfter
	for i, name := range names[:len(names)-1] {
		if i > 0 {
			listed += ", "
		}
		listed += name
		more := fmt.Sprintf("%s and %d more", listed, len(names)-i-1)
		if columns(more) > width {
			break
		}
		text = more
	}
	return text
}
