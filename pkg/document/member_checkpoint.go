package document

import (
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/checkpoint"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/stage"
)

// checkpointMember is the directory from which a later attempt of a job continues. Inputs find it in requests.
var checkpointMember = member{name: "checkpoint", oneContainer: true, subject: "a checkpoint", read: readCheckpoint,
	references: checkpointReferences, noNative: noNativeCheckpoint}

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

// readCheckpoint reads the checkpoint of a job.
func readCheckpoint(l *lowering, m *jsontree.Node, job *Job) {
	if !m.Is(jsontree.Object) || m.Get("path") == nil {
		return // reported with the schema
	}
	c := &Checkpoint{Node: m, Path: m.Get("path"), To: m.Get("to")}
	job.Checkpoint = c
	every := m.Get("every")
	if every == nil {
		return
	}
	n := readDuration(&l.problems, every)
	if n < 0 {
		return
	}
	if d := time.Duration(n) * time.Second; d < checkpoint.MinEvery || d > checkpoint.MaxEvery {
		l.report(RuleBadValue, every, every.Span, `write a time from "10s" to "24h"; the default is "10m"`,
			"every is %s: the time between two checkpoints is at least %.0f seconds and at most %.0f hours", every.Text,
			checkpoint.MinEvery.Seconds(), checkpoint.MaxEvery.Hours())
		return
	}
	if c.Every = int(n); n == int64(checkpoint.DefaultEvery.Seconds()) {
		c.Every = 0
	}
}

// checkpointOf returns the member of a job for the checkpoint of a document.
func checkpointOf(c *stage.Checkpoint, from *jsontree.Node) *jsontree.Node {
	m := jsontree.NewObject(from)
	m.Set("path", jsontree.NewString(c.Path, from))
	m.Set("to", jsontree.NewString(c.To, from))
	if c.Every != 0 {
		m.Set("every", durationNode(int64(c.Every), from))
	}
	return m
}

// checkpointReferences visits the references in a checkpoint.
func checkpointReferences(r *referring, job *Job) {
	c := job.Checkpoint
	if c == nil {
		return
	}
	r.misplaced(c.Path, samePath)
	if c.IsStaged() && c.To != nil {
		r.misplacedLocal(c.To, "use a path without it: each child has its own checkpoint", "")
	} else if c.To != nil {
		r.replaceLocation(c.To)
	}
}

// noNativeCheckpoint returns why a request cannot have the checkpoint of a job.
func noNativeCheckpoint(job *Job) (why, hint string) {
	if job.Checkpoint == nil || !job.Checkpoint.IsStaged() {
		return "", ""
	}
	return "the checkpoint is in the target's staging location, which a request cannot name, so it has no native form",
		`write "to": "s3://bucket/prefix/"`
}

// Document returns the checkpoint for batchctl stage in the container. If it is staged, To is empty.
func (c *Checkpoint) Document() *stage.Checkpoint {
	d := &stage.Checkpoint{Path: c.Path.Text, Every: c.Every}
	if !c.IsStaged() {
		d.To = c.To.Text
	}
	return d
}
