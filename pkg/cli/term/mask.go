package term

import (
	"io"

	"github.com/batchctl/batchctl/pkg/secret"
)

// Redacted is a text for people without the credentials of the files that were
// read for the command, and without what looks like one by its format. A service
// may repeat in an error what a request held.
func (con *Console) Redacted(text string) string {
	for _, src := range con.Sources {
		text = src.Redact(text)
	}
	return secret.Mask("", text)
}

// MaskedWriter is the stream of the story: errors, notes and progress, anyone who wrote
// their texts. Each write is a text of its own.
type MaskedWriter struct{ io.Writer }

// Write writes a text without credentials.
func (w MaskedWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, secret.Mask("", string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Unmasked returns the stream behind a masked one: for its properties, and for what a
// job writes.
func Unmasked(w io.Writer) io.Writer {
	if m, ok := w.(MaskedWriter); ok {
		return m.Writer
	}
	return w
}
