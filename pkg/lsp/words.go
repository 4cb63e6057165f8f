package lsp

import (
	"fmt"
	"slices"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// declaredName is a name that another part of the files declares, such as a queue.
type declaredName struct{ text, detail string }

// vocabularies lists the schemas of values that are such names.
var vocabularies = []struct {
	schema string
	names  func(*completer) []declaredName
}{
	{"job.schema.json#/$defs/members/properties/queue", (*completer).queues},
	{"native.schema.json#/$defs/SubmitJob/properties/jobQueue", (*completer).queueNames},
	{"native.schema.json#/$defs/SubmitJob.fragment/properties/jobQueue", (*completer).queueNames},
	{"job.schema.json#/$defs/members/properties/dependsOn/items", (*completer).jobs},
	{"job.schema.json#/$defs/dependency/properties/job", (*completer).jobs},
	{"native.schema.json#/$defs/JobDependency/properties/jobId", (*completer).references},
	{"platform.schema.json#/properties/defaultTarget", (*completer).targets},
}

// declaredNames returns the declared names that a value can have.
func (c *completer) declaredNames(p applicable) []declaredName {
	for _, v := range vocabularies {
		if n := lookup(v.schema); n != nil && slices.Contains(p, n) {
			return v.names(c)
		}
	}
	return nil
}

// queues returns the names and aliases of the platform's queues.
func (c *completer) queues() []declaredName {
	if c.platform == nil {
		return nil
	}
	var out []declaredName
	for _, q := range c.platform.Queues {
		if q.Alias != "" && q.Alias != q.Name {
			out = append(out, declaredName{q.Alias, "alias of " + q.Name})
		}
	}
	return append(out, c.queueNames()...)
}

// queueNames returns the names of the platform's queues, for requests, which cannot use an
// alias.
func (c *completer) queueNames() []declaredName {
	if c.platform == nil {
		return nil
	}
	var out []declaredName
	for _, q := range c.platform.Queues {
		if q.Name != "" {
			out = append(out, declaredName{q.Name, "job queue"})
		}
	}
	return out
}

// jobs returns the jobs of the workflow, without the job at the cursor and the jobs that
// it waits for already.
func (c *completer) jobs() []declaredName { return c.others("name", "%s") }

// references returns the jobs of a job list in the form of its references.
func (c *completer) references() []declaredName {
	if c.file.Kind != document.KindJobList {
		return nil
	}
	return c.others("jobName", "${%s}")
}

// others returns the jobs of the file, with their names in this format.
func (c *completer) others(member, format string) []declaredName {
	taken := map[string]bool{}
	for n := range c.dependencies().Children() {
		if apart := n.Span.End < c.cursor.token.Start || n.Span.Start > c.cursor.token.End; apart {
			taken[n.Str()+n.Get("job").Str()+n.Get("jobId").Str()] = true
		}
	}
	var out []declaredName
	for job := range c.file.Root.Get("jobs").Children() {
		jobName := job.Get(member).Str()
		text := fmt.Sprintf(format, jobName)
		if own := job.Span.Start == c.ownJob(); jobName != "" && !own && !taken[text] {
			out = append(out, declaredName{text, "job of this file"})
		}
	}
	return out
}

// dependencies returns the innermost list around the cursor.
func (c *completer) dependencies() *jsontree.Node {
	for _, b := range slices.Backward(c.cursor.open) {
		if b.array {
			return startingAt(c.file.Root, b.start)
		}
	}
	return nil
}

// ownJob returns the offset of the job around the cursor, or -1: the third bracket, in {
// "jobs": [ {.
func (c *completer) ownJob() int {
	if len(c.cursor.open) < 3 {
		return -1
	}
	return c.cursor.open[2].start
}

// targets returns the targets of a platform file, and the local engine.
func (c *completer) targets() []declaredName {
	out := []declaredName{{document.LocalTarget, "the engine on this machine"}}
	for t := range c.file.Root.Get("targets").Children() {
		if t.Name != "" && t.Name != document.LocalTarget && t.Name[0] != '$' {
			out = append(out, declaredName{t.Name, t.Get("region").Str()})
		}
	}
	return out
}
