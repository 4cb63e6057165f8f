package cli

import (
	"fmt"
	"io"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/secret"
)

// redacted is a text for people without the credentials of the files that were
// read for the command, and without what looks like one by its format. A service
// may repeat in an error what a request held.
func (con *program) redacted(text string) string {
	for _, src := range con.sources {
		text = src.Redact(text)
	}
	return secret.Mask("", text)
}

// maskedWriter is the stream of the story: errors, notes and progress, whoever wrote
// their texts. Each write is a text of its own.
type maskedWriter struct{ io.Writer }

// Write writes a text without credentials.
func (w maskedWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, secret.Mask("", string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// unmasked returns the stream behind a masked one: for its properties, and for what a
// job writes.
func unmasked(w io.Writer) io.Writer {
	if m, ok := w.(maskedWriter); ok {
		return m.Writer
	}
	return w
}

// printDiff shows how a text would change. Credentials are shown as asterisks; a
// diff with such a line is no patch any more, and the story says so.
func (con *program) printDiff(src *diag.Source, text, instead string) error {
	diff := diag.UnifiedDiff(src.Name, secret.Mask("", src.Text), secret.Mask("", text))
	if diff != diag.UnifiedDiff(src.Name, src.Text, text) {
		fmt.Fprintf(con.Err, "note: %s: credentials are shown as asterisks, so the diff is no patch; %s makes the change\n", diag.Printable(src.Name), instead)
	}
	if isTerminal(con.Out) {
		diff = diag.PrintableLines(diff)
	}
	return con.printText(diff)
}
