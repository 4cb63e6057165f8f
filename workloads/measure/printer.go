package measure

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
)

// Format is how results are printed.
type Format string

// Text is lines for readers and for tools that read "name: seconds". JSON is one Result object on
// each line.
const (
	Text Format = "text"
	JSON Format = "json"
)

// Formats lists every format, the default first.
func Formats() []Format { return []Format{Text, JSON} }

// Printer writes results one by one, and their total.
type Printer struct {
	w      io.Writer
	format Format
	total  float64
	// rows and busy count the results, and those that are not a measurement.
	rows, busy int
	// environment is that of all rows.
	environment map[string]string
}

// NewPrinter returns a printer. In the text format it writes the line with the device, the kernel
// and the versions.
func NewPrinter(w io.Writer, format Format, device Device, kernel string) (*Printer, error) {
	p := &Printer{w: w, format: format, environment: Environment()}
	if format == JSON {
		return p, nil
	}
	v := BuildVersions()
	parts := []string{device.String(), "kernel " + kernel, fmt.Sprintf("%s %s/%s", v.Go, runtime.GOOS, runtime.GOARCH),
		"gonum " + v.Gonum, "batchctl " + v.Batchctl}
	for _, name := range slices.Sorted(maps.Keys(p.environment)) {
		parts = append(parts, name+" "+p.environment[name])
	}
	_, err := fmt.Fprintf(w, "Device %s\n", strings.Join(parts, ", "))
	return p, err
}

// Print writes one result. A result that was not verified is an error, because its time means
// nothing.
func (p *Printer) Print(r Result) error {
	if !r.Verified {
		return fmt.Errorf("print %s %s: the result was not verified", r.Operation, r.Size)
	}
	r.Environment, r.NotMeasured = p.environment, r.Doubt()
	p.total += r.Median
	p.rows++
	if r.NotMeasured != "" {
		p.busy++
	}
	if p.format == JSON {
		return json.NewEncoder(p.w).Encode(r)
	}
	_, err := fmt.Fprintln(p.w, r.Line())
	return err
}

// Total writes the last line of the text: the sum of the medians, marked if it includes rows that are
// not a measurement. JSON has no such line.
func (p *Printer) Total() error {
	if p.format == JSON {
		return nil
	}
	line := fmt.Sprintf("Total: %s seconds", digits(p.total))
	if p.busy > 0 {
		line += fmt.Sprintf(" (%d of %d rows): %s", p.busy, p.rows, notMeasurement)
	}
	_, err := fmt.Fprintln(p.w, line)
	return err
}
