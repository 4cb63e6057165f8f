package results

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

// WriteJSON writes an array with an object for each row, one in a line. Values have
// the types that the child gave them, numbers the digits; a key that is absent is left
// out.
func (t *Table) WriteJSON(w io.Writer) error {
	var names [][]byte
	for _, name := range t.Columns() {
		names = append(names, append(quoted(name), ": "...))
	}
	out := bufio.NewWriter(w)
	open := "[\n  {"
	for line := range t.Rows() {
		for i, v := range line {
			if v.Kind == Absent {
				continue
			}
			_, _ = out.WriteString(open)
			_, _ = out.Write(names[i])
			_, _ = out.Write(v.json())
			open = ", "
		}
		open = "},\n  {"
	}
	end := "}\n]\n"
	if t.Len() == 0 {
		end = "[]\n"
	}
	_, _ = out.WriteString(end)
	return out.Flush() // keeps the first error
}

func (v Value) json() []byte {
	switch v.Kind {
	case String:
		return quoted(v.Text)
	case Null:
		return []byte("null")
	}
	return []byte(v.Text)
}

// quoted is text as a JSON string, with < and & unescaped.
func quoted(text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string has an encoding
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
