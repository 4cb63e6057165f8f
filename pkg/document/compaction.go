package document

import (
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// compaction moves members of the requests into a compact job. Members that are not moved
// stay in jobDefinition and submitJob.
type compaction struct {
	register, submit, job *jsontree.Node
	// main is the request from which members come that both requests have.
	main  *jsontree.Node
	taken map[*jsontree.Node]bool
}

// move moves a member of a request to the job, in its short form if there is one with the
// same meaning.
func (c *compaction) move(name string, from *jsontree.Node, short ...func(*jsontree.Node) *jsontree.Node) {
	if from == nil {
		return
	}
	value := from
	for _, f := range short {
		if s := f(from); s != nil {
			value = s
		}
	}
	c.job.Set(name, value.Clone())
	c.taken[from] = true
}
