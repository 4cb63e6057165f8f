package jobs

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/secret"
)

// treeRow is a job in a tree of jobs.
type treeRow struct {
	id, name string
	status   types.JobStatus
	// after are the ids of the jobs that it depends on. Ids that are not in the tree are
	// ignored.
	after []string
	// when is the condition on the result of those jobs: document.WhenAlways or document.WhenFailure; "" for success.
	when string
	// unsubmitted reports that the job has no id at its service.
	unsubmitted bool
	// chart follows the status, and note follows the chart.
	chart term.Line
	note  string
}

// treeNode is a row with its position in the tree.
type treeNode struct {
	treeRow
	children []*treeNode
	depth    int
	// also names the further jobs that it depends on. A node has one parent.
	also []string
}

// treeRows returns the rows of jobs and of steps that are not submitted yet.
// charts adds progress bars, which need a terminal.
func treeRows(jobs []types.JobDetail, asked session.Asked, note func(types.JobDetail) string, charts bool) []treeRow {
	rows := make([]treeRow, len(jobs))
	for i, job := range jobs {
		rows[i] = treeRow{id: aws.ToString(job.JobId), name: secret.Mask("", session.NameOf(job)), status: job.Status,
			note: secret.Mask("", note(job))}
		if charts {
			rows[i].chart = arrayChart(job)
		}
		for _, d := range job.DependsOn {
			rows[i].after = append(rows[i].after, aws.ToString(d.JobId))
		}
		if step, ok := asked.Steps[rows[i].id]; ok {
			rows[i].after, rows[i].when = append(rows[i].after, step.WaitsFor...), step.When
		}
	}
	for _, step := range asked.Unsubmitted {
		rows = append(rows, treeRow{id: step.Key, name: secret.Mask("", step.Name), status: step.Status(),
			after: step.WaitsFor, when: step.When, unsubmitted: true, note: secret.Mask("", step.Note())})
	}
	return rows
}

// plant puts each row below a job that it depends on. Of several it takes the one
// with the longest chain of dependencies, so that everything above a row ends
// before it.
func plant(rows []treeRow) (roots []*treeNode) {
	nodes := map[string]*treeNode{}
	for _, r := range rows {
		nodes[r.id] = &treeNode{treeRow: r, depth: -1}
	}
	for _, r := range rows {
		nodes[r.id].sink(nodes, len(rows))
	}
	for _, r := range rows {
		n := nodes[r.id]
		parent := n.parent(nodes)
		if parent == nil {
			roots = append(roots, n)
			continue
		}
		parent.children = append(parent.children, n)
		for _, id := range r.after {
			if other := nodes[id]; other != nil && other != parent {
				n.also = append(n.also, other.name)
			}
		}
	}
	return roots
}

// sink returns the length of the longest chain of dependencies above a node.
// steps limits the recursion, in case a broken answer contains a cycle.
func (n *treeNode) sink(nodes map[string]*treeNode, steps int) int {
	if n.depth >= 0 || steps < 0 {
		return n.depth
	}
	deepest := -1
	n.depth = 0 // for a circle
	for _, id := range n.after {
		if other := nodes[id]; other != nil && other != n {
			deepest = max(deepest, other.sink(nodes, steps-1))
		}
	}
	n.depth = deepest + 1
	return n.depth
}

// parent returns the deepest node that n depends on; nil for a root.
func (n *treeNode) parent(nodes map[string]*treeNode) (parent *treeNode) {
	for _, id := range n.after {
		other := nodes[id]
		if other != nil && other.depth < n.depth && (parent == nil || other.depth > parent.depth) {
			parent = other
		}
	}
	return parent
}

// limb is a node with the line art before its name.
type limb struct {
	*treeNode
	stem string
}

// limbs returns the nodes from top to bottom. If the line art takes more than
// most columns, the depth replaces it. 0 sets no limit.
func limbs(nodes []*treeNode, most int) (all []limb) {
	var grow func(n *treeNode, stem, below string, depth int)
	grow = func(n *treeNode, stem, below string, depth int) {
		if most > 0 && len([]rune(stem)) > most {
			stem = fmt.Sprintf("(%d) ", depth)
		}
		all = append(all, limb{n, stem})
		for i, child := range n.children {
			if i == len(n.children)-1 {
				grow(child, below+"└─ ", below+"   ", depth+1)
			} else {
				grow(child, below+"├─ ", below+"│  ", depth+1)
			}
		}
	}
	for _, n := range nodes {
		grow(n, "", "", 0)
	}
	return all
}

// Below these widths, in columns, a tree leaves out the ids or the charts.
const (
	idsWidth    = 60
	chartsWidth = 90
)

// treeLines draws the tree for a width in columns. 0 sets no limit.
func treeLines(rows []treeRow, width int) []term.Line {
	all := limbs(plant(rows), width/3)
	names, ids, statuses := 0, 0, len("SUCCEEDED")
	heads := make([]term.Line, len(all))
	for i, l := range all {
		heads[i] = append(term.Text(l.stem, term.StyleFaint), term.Text(l.name, "")...)
		names, statuses = max(names, heads[i].Width()), max(statuses, len(l.status))
		if !l.unsubmitted {
			ids = max(ids, len(batch.ShortID(l.id)))
		}
	}
	if width > 0 {
		names = min(names, max(width*2/5, 12))
	}
	lines := make([]term.Line, len(all))
	for i, l := range all {
		row := append(heads[i].Cut(names).Pad(names, false), term.Segment{Text: "  "})
		if width == 0 || width >= idsWidth {
			id := batch.ShortID(l.id)
			if l.unsubmitted {
				id = "-"
			}
			row = append(row, term.Text(id, "").Pad(ids, false)...)
			row = append(row, term.Segment{Text: "  "})
		}
		row = append(row, term.Text(string(l.status), endStyle(l.status)).Pad(statuses, false)...)
		if l.chart != nil && (width == 0 || width >= chartsWidth) {
			row = append(append(row, term.Segment{Text: "  "}), l.chart...)
		}
		note := l.note
		if l.when != "" {
			note = term.JoinClauses("when: "+l.when, note)
		}
		if len(l.also) > 0 {
			note = term.JoinClauses(note, "also after "+strings.Join(l.also, ", "))
		}
		if note != "" {
			row = append(append(row, term.Segment{Text: "  "}), term.Text(note, "")...)
		}
		if width > 0 {
			row = row.Cut(width)
		}
		lines[i] = row
	}
	return lines
}

// chartWidth is the width of an array's progress bar between its brackets, in
// columns.
const chartWidth = 20

// arrayChart draws the progress of an array; nil for any other job.
func arrayChart(job types.JobDetail) term.Line {
	size := batch.ArraySize(job)
	if size == 0 {
		return nil
	}
	n := job.ArrayProperties.StatusSummary
	good, bad, runs := int(n["SUCCEEDED"]), int(n["FAILED"]), int(n["RUNNING"]+n["STARTING"])
	return term.Bar(chartWidth, term.Of(good, "#", term.StyleGood), term.Of(bad, "x", term.StyleFailure),
		term.Of(runs, ">", term.StyleRun),
		term.Of(max(0, size-good-bad-runs), ".", term.StyleFaint))
}
