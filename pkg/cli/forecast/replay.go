package forecast

import (
	"context"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	simulate "github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/report"
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/batchctl/batchctl/pkg/ui/chart"
)

// SizingDocument is the JSON of --replay.
type SizingDocument struct {
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

// Sizing simulates a trace with the present queues and with others, and reports the cheapest within the limit.
func Sizing(ctx context.Context, con *term.Console, o Options) (d SizingDocument, err error) {
	w, err := begin(ctx, con, &o)
	if err != nil {
		return d, err
	}
	defer w.call.Close()
	trace := o.read.trace
	if trace == nil {
		trace = recordedTrace(w)
	}
	if len(trace.Jobs) == 0 {
		return d, exit.Fail(exit.Problem, "%s contains no job that can be replayed", o.Replay)
	}
	assign := func(j simulate.Job) int { return j.Queue } // history has the jobs of all queues
	if o.Replay != recorded {
		queue, err := onlyQueue(o, w, "a replay sends all jobs of a trace file to one queue")
		if err != nil {
			return d, err
		}
		assign = func(simulate.Job) int { return queue }
	}
	state := trace.Replay(w.seen.State, assign)
	next, noEffect, err := o.replayed(w, state)
	if err != nil {
		return d, err
	}
	sets, err := simulate.Sizings(next, o.MaxWait.Milliseconds(), w.offers(next), w.expand, runtime.GOMAXPROCS(0))
	if err != nil {
		return d, exit.Usage("%v", err)
	}
	if ctx.Err() != nil {
		return d, ctx.Err()
	}
	d = SizingDocument{Target: w.call.Submissions.Target, Trace: o.Replay, Jobs: len(trace.Jobs),
		Skipped: trace.Skipped, MaxWaitMs: o.MaxWait.Milliseconds(), Tried: len(sets),
		Sets: sets[:min(len(sets), mostSets)], NoEffect: noEffect}
	if waits := slices.DeleteFunc(slices.Clone(trace.Waits), func(v int64) bool { return v < 0 }); len(waits) > 0 {
		slices.Sort(waits)
		d.Waited = []int64{simulate.Quantile(waits, 0.5), simulate.Quantile(waits, 0.95)}
	}
	if sets[0].Keeps {
		d.Patch, d.PlatformPatch = state.Patch(sets[0].State()), w.platformPatch(state, sets[0].State())
	}
	return d, nil
}

// writeSizing writes the sizing report, and prints it in the format of the options.
func writeSizing(con *term.Console, o Options, d SizingDocument) error {
	printNoEffect(con, d.NoEffect)
	if o.HTML != "" {
		page, err := sizingReport(d)
		if err != nil {
			return err
		}
		if err := newfile.Write(o.HTML, newfile.ForAll, newfile.Bytes(page)); err != nil {
			return err
		}
	}
	if o.Format == "json" {
		return con.MaskedJSON(d)
	}
	return printSizing(con, d)
}

// onlyQueue returns the index of the queue that is named, or the only one. why says what needs one queue.
func onlyQueue(o Options, w *world, why string) (int, error) {
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
func printSizing(con *term.Console, d SizingDocument) error {
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

// sizingReport returns the sizing report as a page of HTML.
func sizingReport(d SizingDocument) ([]byte, error) {
	page := report.Page{Title: "Sizing report", Style: chart.Rules, Lead: simulate.Verdict(d.Sets, d.MaxWaitMs)}
	sets := report.Section{Table: &report.Table{Left: map[int]bool{6: true},
		Head: []string{"Set", "maxvCpus", "Wait p95",
			"Cost", "Idle vCPU hours", "Fairness", "Keeps the limit"}}, Sentences: []string{
		fmt.Sprintf("%s of %s against the queues at %s, on %s.", text.Count(d.Jobs, "job"), d.Trace, d.Target,
			time.Now().Format(time.DateOnly)), simulate.Searched(d.Tried)}}
	for _, s := range d.Sets {
		sets.Table.Add(s.Cells()...)
	}
	page.Sections = append(page.Sections, sets, report.Section{Heading: "Charts", Figures: slices.Concat(
		bars(d, "cost", "Cost of each set", "USD", func(s simulate.Sizing) chart.Bar {
			c := s.Outlook.CostUSD
			return chart.Bar{Value: c.Median, Low: c.Low, High: c.High}
		}),
		bars(d, "wait", "Waiting of each set, 95th percentile", "min",
			func(s simulate.Sizing) chart.Bar { return chart.Bar{Value: minutes(s), Text: s.WaitText()} }))})
	for _, change := range []struct {
		heading, text string
		patch         map[string]any
	}{
		{"The change", "Change these members in the files that apply creates your queues from.", d.Patch},
		{"", "If your platform file describes the queue, change it there too.", d.PlatformPatch},
	} {
		if len(change.patch) == 0 {
			continue
		}
		code, err := term.JSONText(change.patch)
		if err != nil {
			return nil, err
		}
		page.Sections = append(page.Sections, report.Section{Heading: change.heading, Sentences: []string{change.text},
			Code: string(code)})
	}
	page.Drop()
	return page.HTML()
}

// bars draws a bar for each set; no figure if nothing has a length.
func bars(d SizingDocument, id, title, unit string, of func(simulate.Sizing) chart.Bar) []report.Figure {
	g, largest := chart.BarGroup{}, 0.0
	for _, s := range d.Sets {
		b := of(s)
		b.Name, largest = s.Name, max(largest, b.Value)
		g.Bars = append(g.Bars, b)
	}
	if largest == 0 {
		return nil
	}
	picture := chart.Bars{ID: id, Title: title, Unit: unit, Groups: []chart.BarGroup{g}, Width: 440}.SVG()
	return []report.Figure{{Caption: title, Picture: template.HTML(picture)}} // the chart escapes every text
}

// minutes is the 95th percentile of the waits of a set; 0 for a job that never starts, which has no bar.
func minutes(s simulate.Sizing) float64 {
	if s.P95Ms == nil {
		return 0
	}
	return *s.P95Ms / 60_000
}
