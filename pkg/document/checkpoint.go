package document

import (
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/checkpoint"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// Checkpoint is the directory from which a later attempt of a job continues.
type Checkpoint struct {
	// Node is the member of the file.
	Node *jsontree.Node
	// Path is the directory in the container.
	Path *jsontree.Node
	// To is the location; nil for the target's staging location.
	To *jsontree.Node
	// Every is the time between two checkpoints in seconds; 0 is the default.
	Every int
}

// IsStaged reports whether the checkpoint is in the target's staging location. An absolute path is not: it is a path
// in the container, or on this machine for the target local.
func (c *Checkpoint) IsStaged() bool {
	return c.To == nil || IsLocal(c.To.Text) && !strings.HasPrefix(c.To.Text, "/")
}

// Document returns the checkpoint for batchctl stage in the container. If it is staged, To is empty.
func (c *Checkpoint) Document() *stage.Checkpoint {
	d := &stage.Checkpoint{Path: c.Path.Text, Every: c.Every}
	if !c.IsStaged() {
		d.To = c.To.Text
	}
	return d
}

// readCheckpoint reads the checkpoint of a job.
func (l *lowering) readCheckpoint(job *Job) {
	m := l.job.Get("checkpoint")
	if !m.Is(jsontree.Object) || m.Get("path") == nil || l.means == byFragment {
		return // reported with the schema or with the conflicts
	}
	c := &Checkpoint{Node: m, Path: m.Get("path"), To: m.Get("to")}
	job.Checkpoint = c
	every := m.Get("every")
	if every == nil {
		return
	}
	n := l.duration(every)
	if n < 0 {
		return
	}
	if d := time.Duration(n) * time.Second; d < checkpoint.MinEvery || d > checkpoint.MaxEvery {
		l.report(RuleBadValue, every, every.Span, `write a time from "10s" to "24h"; the default is "10m"`,
			"every is %s: the time between two checkpoints is at least %.0f seconds and at most %.0f hours", every.Text, checkpoint.MinEvery.Seconds(), checkpoint.MaxEvery.Hours())
		return
	}
	if c.Every = int(n); n == int64(checkpoint.DefaultEvery.Seconds()) {
		c.Every = 0
	}
}

// rewriteCheckpoint visits the references in a checkpoint. It reports whether its location has some.
func (r *referring) rewriteCheckpoint(c *Checkpoint) bool {
	r.misplaced(c.Path, "use the same path for all children: each has its own file system")
	n := c.To
	switch {
	case n == nil || !strings.Contains(n.Text, referenceMark):
		return false
	case c.IsStaged():
		for _, ref := range sweep.References(n.Text) {
			r.blame(n, ref, "remove it: each child has its own checkpoint", "%s is not allowed in a local path", clip(n.Text[ref.From:ref.To]))
		}
		return false
	case !r.replaced(n):
		return false
	}
	r.fits(n)
	return true
}

// checkpointOf returns the member of a job for the checkpoint of a document; nil if it cannot be one.
func checkpointOf(c *stage.Checkpoint, from *jsontree.Node) *jsontree.Node {
	m := jsontree.NewObject(from)
	m.Set("path", jsontree.NewString(c.Path, from))
	m.Set("to", jsontree.NewString(c.To, from))
	if c.Every != 0 {
		timeout := jsontree.NewObject(from)
		timeout.Set("attemptDurationSeconds", jsontree.NewInt(int64(c.Every), from))
		m.Set("every", duration(timeout))
	}
	return m
}
