package lint

import (
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Edge is a dependency: by the name of a job of the same file, by job id, or by the
// name of a job that was submitted before.
type Edge struct {
	Job Job
	// To is the job of that name, if it is in the file; Name is empty for any other
	// dependency.
	To   *document.Job
	Name string
	// ID is a job id; Earlier the name of a job that was submitted before. At most one of
	// Name, ID and Earlier is set.
	ID, Earlier string
	Type        string
	// Node is the whole dependency, TypeNode its type.
	Node, TypeNode *jsontree.Node
}

// edgeList holds the dependencies of all jobs.
var edgeList = newFact(func(p *Pass, old []Edge) []Edge {
	edges := old[:0]
	var jobs map[string]*document.Job // of the current file, the first of each name
	var file *document.File
	for _, j := range p.submits {
		for _, d := range j.DependsOn {
			if file != j.File {
				file, jobs = j.File, firstOfEach(j.File.Jobs)
			}
			e := Edge{Job: j, To: jobs[d.Job], Name: d.Job, Type: d.Type, Node: d.Node, TypeNode: d.Node}
			if n := d.Node.Get("type"); n != nil {
				e.TypeNode = n
			}
			edges = append(edges, e)
		}
		for _, d := range j.Earlier {
			edges = append(edges, Edge{Job: j, Earlier: d.Job, Type: d.Type, Node: d.Node,
				TypeNode: d.Node.Get("type")})
		}
		for n := range j.Submit.Get("dependsOn").Children() {
			edges = append(edges, Edge{Job: j, ID: n.Get("jobId").Str(), Type: n.Get("type").
				Str(), Node: n, TypeNode: n.Get("type")})
		}
	}
	return edges
})

// arraySize returns the size of a job's array as AWS Batch gets it; nil if the job is not
// an array, or if the size follows from a table that was not read.
func arraySize(j *document.Job) *jsontree.Node { return j.Submit.Get("arrayProperties").Get("size") }

// isArray reports whether a job is an array. An array of a single cell, or of a table
// that was not read, has no size.
func isArray(j *document.Job) bool {
	return arraySize(j) != nil || document.ArraySource(j.Array) != nil
}

// children returns the number of children of an array; ok is false if it is unknown.
func children(j *document.Job) (n int64, ok bool) {
	switch {
	case j.Sweep != nil:
		return int64(j.Sweep.Len()), true
	case document.ArraySource(j.Array) != nil:
		return 0, false
	}
	return arraySize(j).Int()
}

// firstOfEach maps each name to the first job that has it. Another rule reports
// duplicates.
func firstOfEach(jobs []*document.Job) map[string]*document.Job {
	out := map[string]*document.Job{}
	for _, j := range jobs {
		if out[j.Name] == nil {
			out[j.Name] = j
		}
	}
	return out
}

// edgeTo returns the dependency with which one job names another; nil if it does not.
func edgeTo(from, to *document.Job) *jsontree.Node {
	for _, d := range from.DependsOn {
		if d.Job == to.Name {
			return d.Node
		}
	}
	return nil
}

// nameHint suggests a job for a dependency on a name that is not in the file: a similar
// name, the names of the file, or the form for a job that was submitted before.
func (e Edge) nameHint() string {
	var names []string
	for _, j := range e.Job.File.Jobs {
		if j != e.Job.Job {
			names = append(names, j.Name)
		}
	}
	if near := near(e.Name, names); near != "" {
		return "did you mean " + quote(near) + "?"
	}
	if len(names) == 0 {
		return fmt.Sprintf(`write { "jobName": %q } for a job that was submitted before`, e.Name)
	}
	return "the other jobs are " + strings.Join(names[:min(len(names), 10)], ", ")
}

// describeWhen describes, for messages, when batchctl submits a job with this value of
// "when".
func describeWhen(when string) string {
	if when == document.WhenFailure {
		return "once one of the others has failed"
	}
	return "once the others have ended"
}

// waits reports whether the job waits for another one.
func (j Job) waits() bool {
	for d := range j.Submit.Get("dependsOn").Children() {
		if d.Get("jobId") != nil {
			return true
		}
	}
	return len(j.DependsOn)+len(j.Earlier) > 0
}

// sizes returns the number of children of both ends of an N_TO_N dependency; known is
// false for another dependency, and if a number is unknown.
func (e Edge) sizes() (own, other int64, known bool) {
	if e.Type != "N_TO_N" || e.To == nil {
		return 0, 0, false
	}
	own, okHere := children(e.Job.Job)
	other, okThere := children(e.To)
	return own, other, okHere && okThere
}

// isPlain reports whether the children of both ends differ only in their index.
func (e Edge) isPlain() bool {
	return document.ArraySource(e.Job.Array) == nil && document.ArraySource(e.To.Array) == nil
}

// neverRuns reports whether this job needs every job to succeed whose failure could
// start the other one.
func (e Edge) neverRuns() bool {
	if len(e.To.DependsOn) == 0 || (Job{Job: e.To}).waitsElsewhere() {
		return false
	}
	jobs := firstOfEach(e.Job.File.Jobs)
	// succeed holds the jobs that must succeed before this one can run, directly or
	// through other jobs. A job with "when" runs without the success of the jobs before
	// it.
	succeed := map[string]bool{}
	var need func(j *document.Job)
	need = func(j *document.Job) {
		for _, d := range j.DependsOn {
			if to := jobs[d.Job]; to != nil && !succeed[d.Job] {
				succeed[d.Job] = true
				if to.When == "" {
					need(to)
				}
			}
		}
	}
	need(e.Job.Job)
	for _, d := range e.To.DependsOn {
		if !succeed[d.Job] {
			return false
		}
	}
	return true
}

// waitsElsewhere reports whether the job waits for a job that is not in the file.
func (j Job) waitsElsewhere() bool {
	return len(j.Earlier) > 0 || j.Submit.Get("dependsOn").Len() > 0
}
