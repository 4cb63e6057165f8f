package term

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/batchctl/batchctl/pkg/secret"
)

// Redacted returns a text without the credentials of the files that the command has read, and
// without what has the format of a credential. An error of a service may repeat parts of a
// request.
func (con *Console) Redacted(text string) string {
	for _, src := range con.Sources {
		text = src.Redact(text)
	}
	return secret.Mask("", text)
}

// MaskedWriter masks credentials in messages. A credential must be in one write, or it is not
// recognized.
type MaskedWriter struct{ io.Writer }

// Write writes a text without credentials.
func (w MaskedWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, secret.Mask("", string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Unmasked returns the stream behind a masked one, for its properties and for the output of
// jobs.
func Unmasked(w io.Writer) io.Writer {
	if m, ok := w.(MaskedWriter); ok {
		return m.Writer
	}
	return w
}

// Masked returns a document without credentials, for a page or for whatever else shows parts of it. Names in the
// document identify credentials as well, such as that of a variable beside its value. A document must convert back from
// its JSON.
func Masked[T any](document T) (T, error) {
	var clean T
	text, err := JSONText(document)
	if err != nil {
		return clean, err
	}
	masked := secret.Mask("", string(text))
	if masked == string(text) {
		return document, nil
	}
	if err := json.Unmarshal([]byte(masked), &clean); err != nil {
		return clean, fmt.Errorf("mask the credentials of a document: %w", err)
	}
	return clean, nil
}
