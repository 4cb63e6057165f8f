package advise

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
)

// Change is one figure of a proposal in the user's text.
type Change struct {
	// Member is "memory" or "vcpus", and Value what to write, with quotes as in the text.
	Member string `json:"member"`
	Value  string `json:"value"`
	// File, Line and Column are where the present value is written; an empty File is nowhere.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Manual says why --fix does not make the change; "" if it does.
	Manual string `json:"manual,omitempty"`

	edit diag.Edit
}

// RequestOf returns what a job of a file requests, as far as its text has figures.
func RequestOf(job *document.Job) (r history.Resources) {
	container, over := containersOf(job)
	figure := func(kind string) float64 {
		v, err := strconv.ParseFloat(textOf(plan.Requirement(container, over, kind)), 64)
		if err != nil {
			return 0
		}
		return v
	}
	return history.Resources{VCPUs: figure("VCPU"), MemoryMiB: int64(figure("MEMORY")), GPUs: int(figure("GPU"))}
}

// IsFargate reports whether a job of a file runs on Fargate.
func IsFargate(job *document.Job) bool { return plan.IsFargate(job.Register) }

// containersOf returns the container of a job's definition and the overrides of its submission.
func containersOf(job *document.Job) (container, over *jsontree.Node) {
	return job.Register.Get("containerProperties"), job.Submit.Get("containerOverrides")
}

// textOf returns the text of a scalar.
func textOf(n *jsontree.Node) string {
	if n.Is(jsontree.String) || n.Is(jsontree.Number) {
		return n.Text
	}
	return ""
}

// Changes returns what a proposal changes in the text of a job. A change is manual if its edit could lose something
// that the user wrote, or would apply to other jobs, too.
func Changes(file *document.File, job *document.Job, p Proposal) (changes []Change) {
	now := RequestOf(job)
	container, over := containersOf(job)
	if p.MemoryMiB != now.MemoryMiB {
		changes = append(changes, changeOf(file, job, "memory", plan.Requirement(container, over, "MEMORY"),
			strconv.FormatInt(p.MemoryMiB, 10)))
	}
	if p.VCPUs > 0 && p.VCPUs != now.VCPUs {
		changes = append(changes, changeOf(file, job, "vcpus", plan.Requirement(container, over, "VCPU"),
			number(p.VCPUs)))
	}
	return changes
}

// changeOf returns the change of one figure.
func changeOf(file *document.File, job *document.Job, member string, n *jsontree.Node, value string) Change {
	c := Change{Member: member, Value: value}
	if n == nil { // a value that is no figure is not in the request
		n = job.Node.Get("resources").Get(member)
	}
	src, span := n.Location()
	if src == nil || span.Start >= span.End || span.End > len(src.Text) {
		c.Manual = "the file does not have it"
		return c
	}
	c.File = src.Name
	c.Line, c.Column = src.Position(span.Start)
	written := src.Text[span.Start:span.End]
	if member == "memory" {
		value = sizeLike(written, value)
	}
	if strings.HasPrefix(written, `"`) {
		value = strconv.Quote(value)
	}
	c.Value = value
	switch {
	case src != file.Source:
		c.Manual = "the value comes from " + src.Name
	case document.IsYAML(src):
		c.Manual = "edits apply to JSON only"
	case strings.Contains(written, "$") || strings.Contains(written, "{{") || strings.Contains(written, "<"):
		c.Manual = "the value is a placeholder"
	case !isWithin(span, job.Node):
		c.Manual = "the value is a default of several jobs"
	case !isFigure(written, n):
		c.Manual = "the text is not a number"
	}
	c.edit = diag.Edit{Span: span, Text: value}
	return c
}

// isWithin reports whether a span is part of a node's text.
func isWithin(span diag.Span, n *jsontree.Node) bool {
	_, outer := n.Location()
	return outer.Start <= span.Start && span.End <= outer.End
}

// isFigure reports whether a text is a JSON number, or a string of a number with or without a unit.
func isFigure(written string, n *jsontree.Node) bool {
	text := strings.TrimSpace(strings.Trim(written, `"`))
	number := strings.TrimRight(text, "MGTiB \t")
	_, err := strconv.ParseFloat(number, 64)
	return err == nil && n.Len() == 0
}

// sizeLike writes a size in MiB with a unit if the present text has one: in GiB if that is short.
func sizeLike(written, mib string) string {
	if !strings.Contains(written, "iB") {
		return mib
	}
	n, err := strconv.ParseInt(mib, 10, 64)
	if err != nil {
		return mib
	}
	if n >= 1024 && n%256 == 0 {
		return strconv.FormatFloat(float64(n)/1024, 'f', -1, 64) + " GiB"
	}
	return fmt.Sprintf("%d MiB", n)
}

// Fixed returns the text of a file with all changes that are not manual, and how many those are.
func Fixed(src *diag.Source, changes []Change) (text string, n int) {
	fix := &diag.Fix{}
	for _, c := range changes {
		if c.Manual == "" {
			fix.Edits = append(fix.Edits, c.edit)
		}
	}
	text, applied := diag.Apply(src, diag.List{{Source: src, Fix: fix}})
	return text, applied * len(fix.Edits)
}
