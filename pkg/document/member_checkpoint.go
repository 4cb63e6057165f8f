package document

import (
	"time"

	"github.com/batchctl/batchctl/pkg/checkpoint"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/stage"
)

// readCheckpoint reads the checkpoint of a job.
func readCheckpoint(p *problems, m *jsontree.Node, job *Job) {
	if !m.Is(jsontree.Object) || m.Get("path") == nil {
		return // reported with the schema
	}
	c := &Checkpoint{Node: m, Path: m.Get("path"), To: m.Get("to")}
	job.Checkpoint = c
	every := m.Get("every")
	if every == nil {
		return
	}
	n := readDuration(p, every)
	if n < 0 {
		return
	}
	if d := time.Duration(n) * time.Second; d < checkpoint.MinEvery || d > checkpoint.MaxEvery {
		p.report(RuleBadValue, every, every.Span, `write a time from "10s" to "24h"; the default is "10m"`,
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
