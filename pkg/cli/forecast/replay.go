package forecast

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	simulate "github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/batchctl/batchctl/pkg/ui/chart"
)

// sizingDocument is the JSON of --replay.
type sizingDocument struct {
	Target string `json:"target"`
	Trace  string `json:"trace"`
	Jobs   int    `json:"jobs"`
	// Skipped counts the rows of the trace without what a replay needs, by reason.
	Skipped map[string]int `json:"skipped,omitempty"`
	// Waited has the 50th and 95th percentile of the waits in the trace, in milliseconds; absent if it has none.
	Waited []int64 `json:"waitedMs,omitempty"`
	// MaxWaitMs is the limit for 95 % of the jobs.
	MaxWaitMs int64 `json:"maxWaitMs"`
	// Tried is how many sets of queues the search tried, and Sets are the best of them: the cheapest within the limit
	// first.
	Tried int               `json:"tried"`
	Sets  []simulate.Sizing `json:"sets"`
	// Patch changes the present queues to the first set, if it keeps the limit.
	Patch map[string]any `json:"patch,omitempty"`
	// PlatformPatch is the change in the form of the platform file.
	PlatformPatch map[string]any `json:"platformPatch,omitempty"`
	// NoEffect names the proposals that change nothing, with the reason.
	NoEffect []string `json:"noEffect,omitempty"`
}

// mostSets is how many sets a sizing report has.
const mostSets = 20

// recorded is the value of --replay for the recorded attempts.
const recorded = "history"

// mostTrace limits the size of a trace, in bytes.
const mostTrace = 512 << 20

// readTrace reads a trace file of --replay.
func readTrace(path string) (*simulate.Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, exit.Usage("--replay: %v", err).Try("use %s, or a .swf or .csv file", recorded)
	}
	defer f.Close()
	in := &io.LimitedReader{R: f, N: mostTrace + 1}
	var trace *simulate.Trace
	switch strings.ToLower(filepath.Ext(path)) {
	case ".swf":
		trace, err = simulate.ReadSWF(in)
	case ".csv":
		trace, err = simulate.ReadCSV(in)
	default:
		return nil, exit.Usage("--replay %s: want %s, or a .swf or .csv file", path, recorded)
	}
	if in.N == 0 {
		err = fmt.Errorf("longer than %d MiB", mostTrace>>20)
	}
	if err != nil {
		return nil, exit.Fail(exit.Problem, "read %s: %v", path, exit.Cause(err))
	}
	return trace, nil
}

// recordedTrace is the trace of the recorded attempts, and of the jobs that the target still lists.
func recordedTrace(w *world) *simulate.Trace {
	var attempts []history.Attempt
	for a, err := range w.call.Client.Ledger.History().All() {
		if err == nil && w.call.Client.Ledger.Covers(a.Target) { // history reports damaged rows
			attempts = append(attempts, a)
		}
	}
	return w.seen.Replay(attempts)
}

// replay is forecast --replay.
func replay(ctx context.Context, con *term.Console, o options, w *world) error {
	trace := o.read.trace
	if trace == nil {
		trace = recordedTrace(w)
	}
	if len(trace.Jobs) == 0 {
		return exit.Fail(exit.Problem, "%s contains no job that can be replayed", o.replay)
	}
	assign := func(j simulate.Job) int { return j.Queue } // history has the jobs of all queues
	if o.replay != recorded {
		queue, err := onlyQueue(o, w, "a replay sends all jobs of a trace file to one queue")
		if err != nil {
			return err
		}
		assign = func(simulate.Job) int { return queue }
	}
	state := trace.Replay(w.seen.State, assign)
	next, noEffect, err := o.replayed(w, state)
	if err != nil {
		return err
	}
	sets, err := simulate.Sizings(next, o.mostWait.Milliseconds(), w.offers(next), w.expand, runtime.GOMAXPROCS(0))
	if err != nil {
		return exit.Usage("%v", err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	d := sizingDocument{Target: w.call.Submissions.Target, Trace: o.replay, Jobs: len(trace.Jobs),
		Skipped: trace.Skipped, MaxWaitMs: o.mostWait.Milliseconds(), Tried: len(sets),
		Sets: sets[:min(len(sets), mostSets)], NoEffect: noEffect}
	for _, text := range noEffect {
		fmt.Fprintf(con.Err, "note: %s\n", diag.Printable(text))
	}
	if waits := slices.DeleteFunc(slices.Clone(trace.Waits), func(v int64) bool { return v < 0 }); len(waits) > 0 {
		slices.Sort(waits)
		d.Waited = []int64{simulate.Quantile(waits, 0.5), simulate.Quantile(waits, 0.95)}
	}
	if sets[0].Keeps {
		d.Patch, d.PlatformPatch = state.Patch(sets[0].State()), w.platformPatch(state, sets[0].State())
	}
	if o.html != "" {
		if err := newfile.Write(o.html, newfile.ForAll, func(w io.Writer) error { return report(w, d) }); err != nil {
			return err
		}
	}
	if o.Format == "json" {
		return con.MaskedJSON(d)
	}
	return printSizing(con, d)
}

// onlyQueue returns the index of the queue that is named, or the only one. why says what needs one queue.
func onlyQueue(o options, w *world, why string) (int, error) {
	if len(o.Args) == 1 {
		if at := w.seen.Queue(o.Args[0]); at >= 0 {
			return at, nil
		}
	}
	if len(w.seen.State.Queues) == 1 {
		return 0, nil
	}
	var names []string
	for _, q := range w.seen.State.Queues {
		names = append(names, diag.Printable(q.Name))
	}
	return 0, exit.Usage("%s, and the target has %d: %s", why, len(names), strings.Join(names, " ")).
		Try("name it: batchctl forecast QUEUE")
}

// printSizing prints a sizing report as text.
func printSizing(con *term.Console, d sizingDocument) error {
	fmt.Fprintf(con.Out, "%s of %s against the queues at %s\n", text.Count(d.Jobs, "job"), diag.Printable(d.Trace),
		diag.Printable(d.Target))
	for why, n := range d.Skipped {
		fmt.Fprintf(con.Err, "note: %s skipped: %s\n", text.Count(n, "row"), why)
	}
	if d.Waited != nil {
		fmt.Fprintf(con.Out, "in the trace, the jobs waited %s (median); 95 %% waited at most %s\n",
			simulate.WaitText(float64(d.Waited[0])), simulate.WaitText(float64(d.Waited[1])))
	}
	fmt.Fprintln(con.Out)
	t := con.Table("SET", "MAXVCPUS", "WAIT P95", "COST", "IDLE VCPU HOURS", "FAIRNESS", "KEEPS LIMIT")
	for _, s := range d.Sets {
		t.Row(s.Cells()...)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(con.Out, "\n%s\n%s\n", simulate.Verdict(d.Sets, d.MaxWaitMs), simulate.Searched(d.Tried))
	if len(d.Patch) > 0 {
		return printPatch(con, d.Patch, d.PlatformPatch)
	}
	return nil
}

// page returns the template of the sizing report.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("sizing").
		Parse(sizingReport))
})

const sizingReport = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Sizing report</title>
<style>
body{font-family:sans-serif;max-width:960px;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3em .6em;border-bottom:1px solid #ddd}
.verdict{font-weight:bold}pre{background:#f4f4f4;padding:1em;overflow:auto}
{{.Style}}
</style>
</head>
<body>
<h1>Sizing report</h1>
<p>{{.Jobs}} jobs of {{.Trace}} against the queues at {{.Target}}, on {{.Day}}.</p>
<p class="verdict">{{.Verdict}}</p>
<p>{{.Searched}}</p>
<table>
<thead><tr><th>Set</th><th>maxvCpus</th><th>Wait p95</th><th>Cost</th><th>Idle vCPU hours</th><th>Fairness</th><th>Keeps the limit</th></tr></thead>
<tbody>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody>
</table>
<h2>Cost</h2>
{{.CostChart}}
<h2>Waiting, 95th percentile in minutes</h2>
{{.WaitChart}}
{{if .Patch}}<h2>The change</h2>
<p>Change these members in the files that <code>apply</code> creates your queues from.</p>
<pre>{{.Patch}}</pre>
{{if .PlatformPatch}}<p>If your platform file describes the queue, change it there too.</p>
<pre>{{.PlatformPatch}}</pre>{{end}}{{end}}
</body>
</html>
`

// report writes the sizing report as a page that needs no other file.
func report(w io.Writer, d sizingDocument) error {
	bars := func(id, title, unit string, of func(simulate.Sizing) chart.Bar) template.HTML {
		g := chart.BarGroup{}
		for _, s := range d.Sets {
			b := of(s)
			b.Name = s.Name
			g.Bars = append(g.Bars, b)
		}
		// The chart escapes every text.
		return template.HTML(chart.Bars{ID: id, Title: title, Unit: unit, Groups: []chart.BarGroup{g},
			Width: chartWidth}.SVG())
	}
	var rows [][]string
	for _, s := range d.Sets {
		rows = append(rows, s.Cells())
	}
	patch, err := patchText(d.Patch)
	if err != nil {
		return err
	}
	platform, err := patchText(d.PlatformPatch)
	if err != nil {
		return err
	}
	err = page().Execute(w, map[string]any{"Style": template.CSS(chartStyle), "Jobs": d.Jobs, "Trace": d.Trace,
		"Target": d.Target, "Day": time.Now().Format(time.DateOnly),
		"Verdict": simulate.Verdict(d.Sets, d.MaxWaitMs), "Searched": simulate.Searched(d.Tried), "Rows": rows,
		"Patch": patch, "PlatformPatch": platform,
		"CostChart": bars("cost", "Cost of each set", "USD", func(s simulate.Sizing) chart.Bar {
			c := s.Outlook.CostUSD
			return chart.Bar{Value: c.Median, Low: c.Low, High: c.High}
		}),
		"WaitChart": bars("wait", "Waiting of each set", "min",
			func(s simulate.Sizing) chart.Bar { return chart.Bar{Value: minutes(s), Text: s.WaitText()} })})
	if err != nil {
		return errors.Join(errors.New("write the sizing report"), err)
	}
	return nil
}

// minutes is the 95th percentile of the waits of a set; 0 for a job that never starts, which has no bar.
func minutes(s simulate.Sizing) float64 {
	if s.P95Ms == nil {
		return 0
	}
	return *s.P95Ms / 60_000
}

// patchText returns a change as it goes into a file; "" without one.
func patchText(patch map[string]any) (string, error) {
	if len(patch) == 0 {
		return "", nil
	}
	text, err := term.JSONText(patch)
	return string(text), err
}
