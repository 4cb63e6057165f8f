package forecast

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	simulate "github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/batchctl/batchctl/pkg/ui/chart"
)

// heading says what a forecast is about.
func heading(o Options, d OutlookDocument) string {
	name := "all queues"
	if d.Queue != "" {
		name = "queue " + d.Queue
	}
	return diag.Printable(fmt.Sprintf("%s at %s, the next %s", name, d.Target, text.ExactDuration(o.Span)))
}

// writeOutlook draws the chart of a forecast, and prints the forecast in the format of the options.
func writeOutlook(con *term.Console, o Options, d OutlookDocument) error {
	printNoEffect(con, d.NoEffect)
	if o.SVG != "" {
		if err := newfile.Write(o.SVG, newfile.ForAll, newfile.Bytes([]byte(picture(o, d)))); err != nil {
			return err
		}
	}
	if o.Format == "json" {
		return con.MaskedJSON(d)
	}
	return printOutlook(con, o, d)
}

// printNoEffect prints which proposals change nothing.
func printNoEffect(con *term.Console, texts []string) {
	for _, text := range texts {
		fmt.Fprintf(con.Err, "note: %s\n", diag.Printable(text))
	}
}

// printOutlook prints a forecast as text.
func printOutlook(con *term.Console, o Options, d OutlookDocument) error {
	fmt.Fprintf(con.Out, "%s\n\n", heading(o, d))
	if err := printGroups(con, "SHARE", d.Outlook.Groups, d.Proposed,
		func(v *simulate.Outlook) []simulate.Group { return v.Groups }); err != nil {
		return err
	}
	if len(d.Outlook.Teams) > 0 {
		fmt.Fprintln(con.Out)
		if err := printGroups(con, "TEAM", d.Outlook.Teams, d.Proposed,
			func(v *simulate.Outlook) []simulate.Group { return v.Teams }); err != nil {
			return err
		}
	}
	fmt.Fprintln(con.Out)
	for _, figure := range simulate.Figures {
		line := fmt.Sprintf("%-24s %s", figure.Name, figure.Text(d.Outlook))
		if d.Proposed != nil {
			line += "  ->  " + figure.Text(*d.Proposed)
		}
		fmt.Fprintln(con.Out, line)
	}
	last := d.Outlook
	if d.Proposed != nil {
		last = *d.Proposed
	}
	for _, text := range last.NeverTexts() {
		fmt.Fprintf(con.Out, "\n%s\n", diag.Printable(text))
	}
	for _, c := range d.Costs {
		fmt.Fprintf(con.Out, "\n%s\n", diag.Printable(c.Text()))
	}
	if len(d.Patch) > 0 {
		if err := printPatch(con, d.Patch, d.PlatformPatch); err != nil {
			return err
		}
	}
	if len(d.Unknown) > 0 {
		fmt.Fprintln(con.Out)
	}
	for _, u := range d.Unknown {
		fmt.Fprintf(con.Out, "unknown: %s\n", diag.Printable(u))
	}
	return nil
}

// printPatch prints a change for the files of apply, and for the platform file.
func printPatch(con *term.Console, patch, platform map[string]any) error {
	text, err := json.MarshalIndent(patch, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(con.Out, "\nchange these members in the files of your queues, then run batchctl apply\n%s\n",
		diag.PrintableJSON(text))
	if len(platform) == 0 {
		return nil
	}
	if text, err = json.MarshalIndent(platform, "", "  "); err != nil {
		return err
	}
	fmt.Fprintf(con.Out, "\nif your platform file describes the queue, change it there too\n%s\n",
		diag.PrintableJSON(text))
	return nil
}

// printGroups prints a table of shares or teams, with the figures after a proposed change beside those before.
func printGroups(con *term.Console, head string, before []simulate.Group, after *simulate.Outlook,
	of func(*simulate.Outlook) []simulate.Group) error {
	t := con.Table(head, "JOBS", "WAIT P50", "WAIT P95", "VCPU HOURS", "COST")
	var names []string
	pick := func(list []simulate.Group, name string) (simulate.Group, bool) {
		for _, g := range list {
			if g.Name == name {
				return g, true
			}
		}
		return simulate.Group{}, false
	}
	for _, g := range before {
		names = append(names, g.Name)
	}
	if after != nil {
		for _, g := range of(after) {
			if _, ok := pick(before, g.Name); !ok {
				names = append(names, g.Name)
			}
		}
	}
	for _, name := range names {
		cells := []string{diag.Printable(name)}
		now, _ := pick(before, name)
		var next simulate.Group
		if after != nil {
			next, _ = pick(of(after), name)
		}
		for i, cell := range now.Cells() {
			if then := next.Cells()[i]; after != nil && then != cell {
				cell += " -> " + then
			}
			cells = append(cells, cell)
		}
		t.Row(cells...)
	}
	return t.Flush()
}

// picture returns an SVG with a chart for each share: what it uses at least, in the median and at most.
func picture(o Options, d OutlookDocument) string {
	var areas []chart.Area
	add := func(suffix string, of simulate.Outlook) {
		for _, g := range of.Groups {
			name := "vCPUs of share " + g.Name + suffix
			areas = append(areas, chart.Area{ID: fmt.Sprintf("use-%d", len(areas)), Title: name, Unit: name, Width: 900,
				Height: 260, Times: steps(of.Times), Series: chart.BandSeries(simulate.Limits(g.Used))})
		}
	}
	if d.Proposed == nil {
		add("", d.Outlook)
	} else {
		add(" now", d.Outlook)
		add(" after the change", *d.Proposed)
	}
	return chart.File(heading(o, d), areas)
}

// steps returns the times of a forecast.
func steps(times []int64) (all []time.Time) {
	for _, at := range times {
		all = append(all, time.UnixMilli(at))
	}
	return all
}
