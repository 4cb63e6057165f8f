package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/secret"
)

func outputFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "text", Usage: "text or json"},
		&cli.BoolFlag{Name: "json", Usage: "the same as --output json"},
	}
}

// formatsOf are the formats of the commands that have others than text and json.
var formatsOf = map[string][]string{
	"compare": {"text", "json", "markdown"},
	"graph":   {"text", "dot", "svg"},
	"results": {"text", "csv", "json", "markdown"},
}

// idsFile is the file that --output names in place of a format, for the ids of what is
// submitted: ids.json.
func idsFile(c *cli.Context) string {
	if word := c.String("output"); strings.HasSuffix(word, ".json") && slices.Contains([]string{"submit", "retry"}, c.Command.Name) {
		return word
	}
	return ""
}

func outputFormat(c *cli.Context) (string, error) {
	if c.Bool("json") {
		return "json", nil
	}
	formats := formatsOf[c.Command.Name]
	if formats == nil {
		formats = []string{"text", "json"}
	}
	format := c.String("output")
	takes := slices.ContainsFunc(c.Command.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), "output") })
	if !takes || idsFile(c) != "" {
		return "text", nil
	}
	if !slices.Contains(formats, format) {
		return "", usage("--output %s is not known", format).try("the formats are: %s", strings.Join(formats, " "))
	}
	return format, nil
}

// writeJSON prints data for machines: indented, and with < > & as they are.
func (con *program) writeJSON(v any) error {
	text, err := jsonText(v)
	if err != nil {
		return err
	}
	_, err = con.Out.Write(text)
	return err
}

// writeMaskedJSON is writeJSON without what looks like a credential, in the name of a
// job or of a queue, say.
func (con *program) writeMaskedJSON(v any) error {
	text, err := jsonText(v)
	if err != nil {
		return err
	}
	return con.printText(string(text))
}

func jsonText(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return diag.PrintableJSON(b.Bytes()), err
}

// table prints rows in columns. On a terminal the widest columns are cut to fit; in
// a pipe nothing is.
type table struct {
	w     io.Writer
	width int
	rows  [][]string
}

func (con *program) table(head ...string) *table {
	return &table{w: con.Out, width: width(con.Out), rows: [][]string{head}}
}

func (t *table) row(cells ...string) {
	for i, cell := range cells {
		cells[i] = diag.Printable(secret.Mask("", cell))
	}
	t.rows = append(t.rows, cells)
}

func (t *table) flush() error {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], runewidth.StringWidth(cell))
		}
	}
	t.shrink(widths)
	var b strings.Builder
	for _, row := range t.rows {
		line := ""
		for i, cell := range row {
			cell = runewidth.Truncate(cell, widths[i], "…")
			if i < len(row)-1 {
				cell = runewidth.FillRight(cell, widths[i]+2)
			}
			line += cell
		}
		line = strings.TrimRight(line, " ")
		if t.width > 0 {
			line = runewidth.Truncate(line, t.width, "…")
		}
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(t.w, b.String())
	return err
}

// leastCut is the width below which no column is cut, so that short ids stay whole.
const leastCut = 8

// shrink takes from the widest columns what is too much for the terminal.
func (t *table) shrink(widths []int) {
	all := 2 * (len(widths) - 1) // the blanks between them
	for _, w := range widths {
		all += w
	}
	for t.width > 0 && all > t.width {
		widest := slices.Max(widths)
		if widest <= leastCut {
			return
		}
		widths[slices.Index(widths, widest)]--
		all--
	}
}

// short prints a duration as people read it: 0.4s, 12s, 3m20s, 2h05m.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	default:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
}

// ago prints the time since an epoch-millisecond stamp, as Batch gives them.
func ago(millis *int64, now time.Time) string {
	if millis == nil {
		return "-"
	}
	return short(now.Sub(time.UnixMilli(*millis))) + " ago"
}

// took prints how long something ran, or has run so far.
func took(from, to *int64, now time.Time) string {
	if from == nil || *from == 0 {
		return "-"
	}
	end := now
	if to != nil && *to > 0 {
		end = time.UnixMilli(*to)
	}
	return short(end.Sub(time.UnixMilli(*from)))
}
