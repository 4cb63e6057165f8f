// Package term prints for people and machines: colours, widths, tables, live lines, and JSON. It
// knows neither commands nor AWS.
package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/term"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/secret"
)

// Streams are the streams of a program. Data goes to Out; messages and progress go to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Console is one run of the command line.
type Console struct {
	Streams
	// Sources are the files whose credentials messages must not repeat.
	Sources []*diag.Source
	// RawLog is --raw: the output of jobs is printed unchanged.
	RawLog bool
}

// Explain prints what went wrong and what to do next. A failure without a message
// prints nothing.
func (con *Console) Explain(f *exit.Failure) {
	if f.Message != "" {
		fmt.Fprintf(con.Err, "batchctl: %s\n", diag.Printable(con.Redacted(f.Message)))
	}
	if f.Hint != "" {
		fmt.Fprintf(con.Err, "  %s\n", diag.Printable(con.Redacted(f.Hint)))
	}
}

// Indent indents every line except the first.
func Indent(s string) string {
	body, end := strings.TrimSuffix(s, "\n"), ""
	if body != s {
		end = "\n"
	}
	return strings.ReplaceAll(body, "\n", "\n   ") + end
}

// IsTerminal reports whether w is a terminal that can take live output.
func IsTerminal(w any) bool {
	if m, ok := w.(MaskedWriter); ok {
		w = m.Writer
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// Color reports whether w takes colour: a terminal, and NO_COLOR not set.
func Color(w io.Writer) bool { return IsTerminal(w) && os.Getenv("NO_COLOR") == "" }

// Width returns the columns of the terminal behind w, and 0 for a pipe.
func Width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			return columns
		}
	}
	return 0
}

// Diff prints how a text would change. Credentials are shown as asterisks. Such a
// diff is not a valid patch, so a note names the flag that makes the change.
func (con *Console) Diff(src *diag.Source, text, instead string) error {
	diff := diag.UnifiedDiff(src.Name, secret.Mask("", src.Text), secret.Mask("", text))
	if diff != diag.UnifiedDiff(src.Name, src.Text, text) {
		fmt.Fprintf(con.Err, "note: %s: the diff shows credentials as asterisks, so it is not a patch; %s makes the change\n", diag.Printable(src.Name), instead)
	}
	if IsTerminal(con.Out) {
		diff = diag.PrintableLines(diff)
	}
	return con.Print(diff)
}

// TextOptions returns how problems are printed to w.
func TextOptions(con *Console, w io.Writer) diag.TextOptions {
	return diag.TextOptions{Color: Color(w), Width: Width(w)}
}

// Print prints a text, and masks what looks like a credential.
func (con *Console) Print(s string) error { return con.PrintUnmasked(secret.Mask("", s)) }

// PrintUnmasked prints a text unchanged: a document, or a text that contains a
// credential on purpose. docs/security.md lists those of jobs.
func (con *Console) PrintUnmasked(s string) error {
	_, err := io.WriteString(con.Out, s)
	return err
}

// JSON prints indented JSON. It does not escape < > &.
func (con *Console) JSON(v any) error {
	text, err := JSONText(v)
	if err != nil {
		return err
	}
	_, err = con.Out.Write(text)
	return err
}

// MaskedJSON is JSON without what looks like a credential, for example in the
// name of a job or a queue.
func (con *Console) MaskedJSON(v any) error {
	text, err := JSONText(v)
	if err != nil {
		return err
	}
	return con.Print(string(text))
}

// JSONText returns indented JSON. It does not escape < > &.
func JSONText(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return diag.PrintableJSON(b.Bytes()), err
}

// Quoted returns an argument quoted for a POSIX shell; on Windows, for PowerShell and, as far as possible, cmd.
func Quoted(arg string) string { return quotedFor(runtime.GOOS, arg) }

func quotedFor(system, arg string) string {
	if system == "windows" {
		switch {
		case !strings.ContainsAny(arg, " \t\n'\"$`{}()<>|&;#!,@%^"):
			return arg
		case !strings.ContainsAny(arg, "\"$`"):
			return `"` + arg + `"` // both know it
		}
		return "'" + strings.ReplaceAll(arg, "'", "''") + "'"
	}
	if !strings.ContainsAny(arg, " \t\n'\"$`\\*?[]{}()<>|&;#!") {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
