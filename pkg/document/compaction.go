package document

import (
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// compaction moves members of the requests into a compact job. What is not
// taken in the end is the rest.
type compaction struct {
	register, submit, job *jsontree.Node
	// main is the request that the members are from which both have.
	main  *jsontree.Node
	taken map[*jsontree.Node]bool
}

// move gives the job a member in place of one of a request, in the short form
// if there is one that says the same.
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
