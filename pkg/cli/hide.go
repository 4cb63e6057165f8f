package cli

import (
	"fmt"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/secret"
)

// redacted is a text for people without the credentials of the files that were
// read for the command, and without what looks like one by its format. A service
// may repeat in an error what a request held.
func (p *program) redacted(text string) string {
	for _, src := range p.sources {
		text = src.Redact(text)
	}
	return secret.Mask("", text)
}

// printDiff shows how a text would change. Credentials are shown as asterisks; a
// diff with such a line is no patch any more, and the story says so.
func (p *program) printDiff(src *diag.Source, text, instead string) error {
	diff := diag.UnifiedDiff(src.Name, secret.Mask("", src.Text), secret.Mask("", text))
	if diff != diag.UnifiedDiff(src.Name, src.Text, text) {
		fmt.Fprintf(p.Err, "note: %s: credentials are shown as asterisks, so the diff is no patch; %s makes the change\n", diag.Printable(src.Name), instead)
	}
	if isTerminal(p.Out) {
		diff = diag.PrintableLines(diff)
	}
	return p.printText(diff)
}
