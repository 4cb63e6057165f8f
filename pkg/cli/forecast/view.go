package forecast

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	simulate "github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/batchctl/batchctl/pkg/ui/chart"
)

// printOutlook prints a forecast as text.
func printOutlook(con *term.Console, o options, d outlookDocument) error {
	name := "all queues"
	if d.Queue != "" {
		name = "queue " + d.Queue
	}
	fmt.Fprintf(con.Out, "%s at %s, the next %s\n\n", diag.Printable(name), diag.Printable(d.Target),
		text.ExactDuration(o.span))
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

// chartStyle colours the charts of a file that stands alone.
const chartStyle = `.chart{font-family:sans-serif}.label,.inside{fill:#333}.heading{font-weight:bold}.grid{stroke:#ddd}.axis{stroke:#888}.limit{stroke:#b00}` +
	`.hatch{stroke:#fff;stroke-opacity:.4}.area.s-low{fill:#2166ac}.area.s-median{fill:#67a9cf}.area.s-high{fill:#d1e5f0}.bar{fill:#2166ac}.error{stroke:#333}`

// chartWidth and chartHeight are the size of one chart.
const chartWidth, chartHeight = 900, 260

// picture returns an SVG with a chart for each share: what it uses at least, in the median and at most.
func picture(d outlookDocument) string {
	type titled struct {
		title string
		of    simulate.Outlook
	}
	all := []titled{{"", d.Outlook}}
	if d.Proposed != nil {
		all = []titled{{" now", d.Outlook}, {" after the change", *d.Proposed}}
	}
	var body strings.Builder
	y := 0
	for n, one := range all {
		for i, g := range one.of.Groups {
			a := chart.Area{ID: fmt.Sprintf("use-%d-%d", n, i), Title: "vCPUs of share " + g.Name + one.title,
				Unit: "vCPUs of share " + g.Name + one.title, Width: chartWidth, Height: chartHeight}
			a.Times, a.Series = steps(one.of.Times), chart.BandSeries(simulate.Limits(g.Used))
			place := fmt.Sprintf(`<svg x="0" y="%d" width="%d" height="%d" `, y, chartWidth, chartHeight)
			body.WriteString(strings.Replace(a.SVG(), "<svg ", place, 1))
			y += chartHeight + 20
		}
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d"><style>%s</style><rect width="100%%" height="100%%" fill="#fff"/>%s</svg>`+"\n",
		chartWidth, max(y, chartHeight), chartStyle, body.String())
}

// steps returns the times of a forecast.
func steps(times []int64) (all []time.Time) {
	for _, at := range times {
		all = append(all, time.UnixMilli(at))
	}
	return all
}
