package top

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/jobqueue"
	"github.com/batchctl/batchctl/pkg/text"
)

// The screen has a head, the queues, the jobs and a footer. The queues take the lines that
// the jobs do not need, and at least half of all.

// frame returns the screen: height lines of at most width columns.
func (m *topModel) frame(now time.Time) []string {
	lines := []term.Line{m.head(now)}
	switch {
	case m.help:
		lines = append(lines, helpLines()...)
	case m.snapshot == nil:
		lines = append(lines, nil, term.Text("waiting for the first answer", term.StyleFaint))
	default:
		lines = append(lines, m.body(now)...)
	}
	footer := m.footer(now)
	above := max(0, m.height-len(footer))
	lines = append(lines[:min(len(lines), above)], make([]term.Line, max(0, above-len(lines)))...)
	lines = append(lines, footer[max(0, len(footer)-m.height):]...)
	frame := make([]string, len(lines))
	for i, l := range lines {
		frame[i] = l.Cut(m.width).Render(m.color)
	}
	return frame
}

// plain returns the view for a pipe, with all jobs and nothing cut.
func (s *Snapshot) plain() string {
	m := &topModel{snapshot: s}
	lines := append([]term.Line{m.head(s.Time)}, m.body(s.Time)...)
	if s.MoreJobs {
		lines = append(lines, term.Text(m.position(), ""))
	}
	if s.Note != "" {
		lines = append(lines, term.Text("note: "+s.Note, ""))
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Render(false) + "\n")
	}
	return b.String()
}

// head names the target and the time of the snapshot.
func (m *topModel) head(now time.Time) term.Line {
	if m.snapshot == nil {
		return term.Text("batchctl top", term.StyleTitle)
	}
	left := term.Line{{Text: "batchctl top", Style: term.StyleTitle}, {Text: "  "}}
	left = append(left, term.Text(m.snapshot.Target, "")...)
	for _, line := range m.snapshot.MachinesInUse() {
		left = append(left, term.Text("  "+line, term.StyleFaint)...)
	}
	at := term.Text(m.snapshot.Time.Format(time.TimeOnly), "")
	if m.failure != "" || now.Sub(m.snapshot.Time) > m.fresh {
		at = term.Text(m.snapshot.Time.Format(time.TimeOnly)+", "+text.Duration(now.Sub(m.snapshot.Time).
			Truncate(time.Second))+" ago", term.StyleFailure)
	}
	if m.width == 0 {
		return append(append(left, term.Segment{Text: "  "}), term.Text(m.snapshot.Time.Format(time.RFC3339), "")...)
	}
	if space := m.width - at.Width() - 2; space > len("batchctl top") {
		left = append(left.Cut(space).Pad(space+2, false), at...)
	}
	return left
}

// body returns the lines of the queues and the jobs.
func (m *topModel) body(now time.Time) []term.Line {
	all, shown := m.window()
	first := min(m.top, len(all))
	if m.height == 0 {
		first, shown = 0, all
	}
	lines := append([]term.Line{nil}, m.queueLines(m.queueSpace(len(all)), now)...)
	lines = append(lines, nil)
	switch {
	case len(all) > 0:
		lines = append(lines, jobGrid(all, now).Lines(m.width, first, first+len(shown))...)
	case m.filter != "":
		lines = append(lines, term.Text(fmt.Sprintf("no running or waiting job has %q in its name; Esc shows all jobs",
			m.filter), term.StyleFaint))
	default:
		lines = append(lines, term.Text("no job is running or waiting", term.StyleFaint))
	}
	return lines
}

// chrome returns the number of lines that show neither a queue nor a job: the
// head, the footer, and a blank line and a heading each for queues and jobs.
func (m *topModel) chrome() int {
	if m.failure != "" || m.snapshot.Note != "" {
		return 7
	}
	return 6
}

// queueSpace returns how many lines the queues may take if there are n jobs; 0 sets no limit.
func (m *topModel) queueSpace(n int) int {
	if m.height == 0 {
		return 0
	}
	space := m.height - m.chrome()
	return max(1, space/2, space-max(n, 1))
}

// visibleRows returns how many of n jobs fit on the screen.
func (m *topModel) visibleRows(n int) int {
	if m.snapshot == nil || m.height == 0 {
		return n
	}
	queues := 0
	for _, q := range m.snapshot.Queues {
		queues += len(q.more()) + 1
	}
	return max(1, m.height-m.chrome()-min(max(queues, 1), m.queueSpace(n)))
}

// queueLines returns at most space lines of queues. If not all fit, those with
// jobs come first.
func (m *topModel) queueLines(space int, now time.Time) []term.Line {
	queues := m.snapshot.Queues
	if len(queues) == 0 {
		return []term.Line{term.Text("no queues", term.StyleFaint)}
	}
	rows := queueGrid(queues).Lines(m.width, 0, len(queues))
	blocks := make([][]term.Line, len(queues))
	total := 0
	for i, q := range queues {
		blocks[i] = append([]term.Line{rows[i+1]}, q.notes(now)...)
		total += len(blocks[i])
	}
	if space > 0 && total > space {
		return append(rows[:1:1], fitBlocks(queues, blocks, space)...)
	}
	return append(rows[:1:1], slices.Concat(blocks...)...)
}

// fitBlocks keeps complete queues, those with jobs first, and counts the others
// in the last line.
func fitBlocks(queues []Queue, blocks [][]term.Line, space int) []term.Line {
	order := make([]int, len(queues))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(min(1, queues[b].busy()), min(1, queues[a].busy()))
	})
	var kept []term.Line
	for n, i := range order {
		last := 0
		if n < len(order)-1 {
			last = 1 // for the line below
		}
		if len(kept)+len(blocks[i])+last > space {
			return append(kept, term.Text(fmt.Sprintf("and %d more queues; to show one: batchctl top QUEUE",
				len(order)-n), term.StyleFaint))
		}
		kept = append(kept, blocks[i]...)
	}
	return kept
}

// busy returns the number of unfinished jobs of a queue.
func (q Queue) busy() int {
	n := 0
	for _, jobs := range q.Jobs {
		n += jobs
	}
	return n
}

// queueGrid returns the table of queues. The ranks decide which columns a narrow
// screen keeps.
func queueGrid(queues []Queue) *term.Grid {
	g := &term.Grid{Columns: []term.Column{
		{Head: "QUEUE", Most: 32, Least: 8, Rank: 9}, {Head: "STATE", Rank: 5},
		{Head: "SUBMITTED", Right: true, Rank: 2}, {Head: "PENDING", Right: true, Rank: 4},
		{Head: "RUNNABLE", Right: true, Rank: 7},
		{Head: "STARTING", Right: true, Rank: 3}, {Head: "RUNNING", Right: true, Rank: 8}, {Head: "IN USE", Rank: 6},
		{Head: "", Rank: 1},
	}}
	for _, q := range queues {
		state := ""
		if q.State != types.JQStateEnabled {
			state = term.StyleWait
		}
		row := []term.Line{term.Text(q.Name, ""), term.Text(string(q.State), state)}
		for _, status := range lifeOrder {
			row = append(row, q.count(status))
		}
		g.Rows = append(g.Rows, append(row, term.Text(q.load(), ""), q.gauge()))
	}
	return g
}

// count formats the number of a queue's jobs in a status; "+" marks a lower
// bound.
func (q Queue) count(status types.JobStatus) term.Line {
	n := strconv.Itoa(q.Jobs[status])
	if slices.Contains(q.AtLeast, status) {
		n += "+"
	}
	style := jobs.StyleOf(status)
	if q.Jobs[status] == 0 {
		style = term.StyleFaint
	}
	return term.Text(n, style)
}

// load formats the capacity in use and the total.
func (q Queue) load() string {
	used, ok := q.usedvCPUs()
	switch {
	case ok && q.MaxvCpus > 0:
		return fmt.Sprintf("%s of %d vCPUs", strconv.FormatFloat(used, 'f', -1, 64), q.MaxvCpus)
	case q.InUse() == "" && q.MaxvCpus > 0:
		return fmt.Sprintf("? of %d vCPUs", q.MaxvCpus)
	}
	return q.InUse()
}

// usedvCPUs returns the vCPUs in use. It returns false if they are unknown, or if
// the queue has another unit.
func (q Queue) usedvCPUs() (float64, bool) {
	if u := q.Utilization.Shape; u != nil && len(u.TotalCapacityUsage) == 1 &&
		aws.ToString(u.TotalCapacityUsage[0].CapacityUnit) == jobqueue.VCPUUnit {
		return aws.ToFloat64(u.TotalCapacityUsage[0].Quantity), true
	}
	return 0, false
}

// gauge draws the used part of the capacity; nil if either is unknown.
func (q Queue) gauge() term.Line {
	used, ok := q.usedvCPUs()
	if !ok || q.MaxvCpus == 0 {
		return nil
	}
	const fine = 1000 // vCPUs come in fractions
	n := min(int(used*fine), int(q.MaxvCpus)*fine)
	return term.Bar(20, term.Of(n, "#", term.StyleRun), term.Of(int(q.MaxvCpus)*fine-n, ".", term.StyleFaint))
}

// more returns the lines below a queue, without a time in them. visibleRows only
// counts them.
func (q Queue) more() []term.Line { return q.notes(time.Time{}) }

// notes returns the lines below a queue: the next job and why it waits, and the capacity that
// each fair share uses.
func (q Queue) notes(now time.Time) (notes []term.Line) {
	if h := q.Head; h != nil {
		job := strings.TrimSpace(h.JobName + " " + batch.ShortID(h.JobID))
		note := append(term.Text("  next: ", term.StyleFaint), term.Text(job, "")...)
		if h.Since != nil {
			note = append(note, term.Text(", first for "+since(h.Since, now), term.StyleFaint)...)
		}
		if h.StatusReason != "" {
			note = append(note, term.Text(": "+h.StatusReason, term.StyleWait)...)
		}
		notes = append(notes, note)
	}
	if shares := q.Shares(); shares != "" {
		notes = append(notes, append(term.Text("  shares: ", term.StyleFaint), term.Text(shares, "")...))
	}
	return notes
}

// since formats the time since a moment in whole seconds, so that the columns do not move.
func since(millis *int64, now time.Time) string {
	if aws.ToInt64(millis) == 0 {
		return ""
	}
	return text.Duration(max(0, now.Sub(time.UnixMilli(*millis)).Truncate(time.Second)))
}

// jobGrid returns the table of jobs. The column of queues is empty if all jobs
// are in the same one.
func jobGrid(list []Job, now time.Time) *term.Grid {
	g := &term.Grid{Columns: []term.Column{
		{Head: "STATUS", Rank: 8}, {Head: "NAME", Most: 40, Least: 10, Rank: 9}, {Head: "ID", Rank: 6},
		{Head: "QUEUE", Most: 24, Least: 8, Rank: 2},
		{Head: "FOR", Right: true, Floor: 6, Rank: 7}, {Head: "ATTEMPTS", Right: true, Rank: 1},
		{Head: "ARRAY", Rank: 3}, {Head: "", Right: true, Rank: 4},
		{Head: "REASON", Least: 20, Rank: 5},
	}}
	severalQueues := slices.ContainsFunc(list, func(j Job) bool { return j.Queue != list[0].Queue })
	for _, j := range list {
		var queue term.Line
		if severalQueues {
			queue = term.Text(j.Queue, "")
		}
		chart, count := j.progressBar()
		g.Rows = append(g.Rows, []term.Line{term.Text(string(j.status()), jobs.StyleOf(j.status())),
			term.Text(j.name(), ""), term.Text(batch.ShortID(j.id()), ""), queue,
			term.Text(since(j.since(), now), ""), term.Text(j.attempts(), ""), chart, count,
			term.Text(aws.ToString(j.Job.Shape.StatusReason), term.StyleWait)})
	}
	return g
}

// attempts formats the number of attempts, with the allowed number if that is not
// 1.
func (j Job) attempts() string {
	switch {
	case j.Attempts == nil:
		return ""
	case j.Allowed > 1:
		return fmt.Sprintf("%d of %d", *j.Attempts, j.Allowed)
	}
	return strconv.Itoa(*j.Attempts)
}

// progressBar draws how many of an array's children have succeeded, failed or
// run, and counts the ended ones.
func (j Job) progressBar() (chart, count term.Line) {
	a := j.Job.Shape.ArrayProperties
	if a == nil || a.Index != nil || aws.ToInt32(a.Size) == 0 {
		return nil, nil
	}
	size, n := int(aws.ToInt32(a.Size)), j.children()
	good, bad := int(n["SUCCEEDED"]), int(n["FAILED"])
	runs := int(n["RUNNING"] + n["STARTING"])
	chart = term.Bar(10, term.Of(good, "#", term.StyleGood), term.Of(bad, "x", term.StyleFailure),
		term.Of(runs, ">", term.StyleRun), term.Of(max(0, size-good-bad-runs), ".", term.StyleFaint))
	return chart, term.Text(fmt.Sprintf("%d/%d", good+bad, size), "")
}

// footer returns the last lines: a failure or a note, and the position in the
// list.
func (m *topModel) footer(now time.Time) []term.Line {
	var lines []term.Line
	switch {
	case m.failure != "":
		again := "; trying again"
		if wait := m.retry.Sub(now).Round(time.Second); wait > 0 {
			again = "; next try in " + wait.String()
		}
		// Cut the failure on a narrow screen, not the time of the next try.
		message := term.Text(m.failure, term.StyleFailure)
		if m.width > 0 {
			message = message.Cut(max(m.width/2, m.width-len(again)))
		}
		lines = append(lines, append(slices.Clip(message), term.Segment{Text: again, Style: term.StyleFailure}))
	case m.snapshot != nil && m.snapshot.Note != "":
		lines = append(lines, term.Text(m.snapshot.Note, term.StyleWait))
	}
	if m.typing {
		return append(lines, append(term.Text("name: ", term.StyleTitle),
			append(term.Text(m.filter, ""), term.Segment{Text: "_"})...))
	}
	left := term.Text(m.position(), "")
	keys := term.Text("q quit  s sort  / filter  ? help", term.StyleFaint)
	if gap := m.width - left.Width() - keys.Width(); gap >= 2 {
		left = append(left.Pad(left.Width()+gap, false), keys...)
	}
	return append(lines, left)
}

// position says which jobs are on the screen, and how they are chosen and
// ordered.
func (m *topModel) position() string {
	if m.snapshot == nil {
		return ""
	}
	all, shown := m.window()
	if len(all) == 0 {
		return "no jobs"
	}
	text := fmt.Sprintf("jobs %d-%d of %d", m.top+1, m.top+len(shown), len(all))
	if m.snapshot.MoreJobs {
		text += " (the queues contain more)"
	}
	named := ""
	if m.filter != "" {
		named = fmt.Sprintf("named %q", m.filter)
	}
	return term.JoinClauses(text, named, m.order.String())
}

// helpLines are the keys and the marks of the view.
func helpLines() []term.Line {
	lines := []term.Line{nil}
	for _, row := range [...][2]string{
		{"q, Ctrl-C", "quit; the jobs continue"},
		{"j, k, arrows", "scroll by a job"},
		{"PageDown, PageUp", "scroll by a screen; also space and b"},
		{"Home, End", "the first job, the last one; also g and G"},
		{"s", "sort: running first, oldest first, by name, by queue"},
		{"/", "show only jobs with this text in their name; Enter keeps the filter, Esc removes it"},
		{"", ""},
		{"ARRAY", "[#x>.] children that succeeded, failed, are running, are waiting"},
		{"FOR", "how long a job has been running, or waiting since its submission"},
		{"1000+", "at least this many: top reads one page of each status"},
		{"", ""},
		{"any key", "back"},
	} {
		lines = append(lines, append(term.Text(row[0], term.StyleTitle).Pad(18, false), term.Segment{Text: row[1]}))
	}
	return lines
}
