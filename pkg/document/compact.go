package document

import (
	"reflect"
	"slices"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Compact returns the compact job that lowers to the same two requests. Members without
// a short form go into its jobDefinition and submitJob. Either request may be nil; both
// must be free of comments, as Load returns them. A dependency on "${name}" becomes one by
// name. The job has the name of the submission, or of the definition if there is no
// submission.
//
// It returns nil if the compact form cannot express the requests: a definition in which
// nothing runs, or a submission to a definition other than the given one.
func Compact(register, submit *jsontree.Node) *jsontree.Node {
	c := &compaction{register: register, submit: submit, found: map[string]*jsontree.Node{},
		taken: map[*jsontree.Node]bool{}}
	for _, m := range slices.Backward(members[:]) { // the reverse of Native
		if m.find != nil && fragmentName(register) == "" {
			m.find(c)
		}
	}
	if !c.possible() {
		return nil
	}
	c.job = jsontree.NewObject(c.main())
	c.identity()
	for _, m := range members {
		c.raise(m)
	}
	c.job.Set("jobDefinition", c.rest(c.register))
	c.job.Set("submitJob", c.rest(c.submit))
	return c.job
}

// NoCompact reports texts of a request that a job file cannot contain: AWS Batch takes ${{
// matrix.lr }} literally, but in a job file it is a reference. The request may be nil.
func NoCompact(request *jsontree.Node) diag.List {
	var r referring
	r.literal(request)
	return r.diags
}

// possible reports whether the requests have the parts of a compact job: a definition with
// an image, or several containers, or a submission that names a definition.
func (c *compaction) possible() bool {
	switch {
	case c.main() == nil:
		return false
	case c.register == nil:
		return c.submit.Get("jobDefinition") != nil
	case c.submit != nil && c.submit.Get("jobDefinition").Str() != c.register.Get("jobDefinitionName").Str():
		return false
	}
	return fragmentName(c.register) != "" || c.register.Get("containerProperties").Get("image") != nil
}

// drop removes a member that lowering adds automatically.
func (c *compaction) drop(from *jsontree.Node, implied string) {
	if from != nil && from.Str() == implied {
		c.taken[from] = true
	}
}

// identity moves the names of the job and of its definition, and what runs.
func (c *compaction) identity() {
	if c.register == nil {
		c.move("name", c.submit.Get("jobName"), nil)
		c.move("definition", c.submit.Get("jobDefinition"), nil)
		return
	}
	definition := c.register.Get("jobDefinitionName")
	name := definition
	if job := c.submit.Get("jobName"); job != nil {
		name = job
	}
	c.move("name", name, nil)
	c.drop(definition, name.Str())
	c.drop(c.submit.Get("jobDefinition"), definition.Str())
	implied := "container"
	if c.register.Get("nodeProperties") != nil {
		implied = "multinode"
	}
	c.drop(c.register.Get("type"), implied)
}

// both moves a member that the job gives to both requests.
func (c *compaction) both(name string) {
	m, other := c.main().Get(name), c.submit.Get(name)
	if c.submit != nil && !reflect.DeepEqual(m.Value(), other.Value()) {
		return
	}
	c.move(name, m, nil)
	c.taken[other] = true
}

// rest returns a copy of the members that were not moved; nil if there are no such
// members.
func (c *compaction) rest(n *jsontree.Node) *jsontree.Node {
	if n == nil || c.taken[n] {
		return nil
	}
	if !n.Is(jsontree.Object) || n.Len() == 0 {
		return n.Clone()
	}
	out := jsontree.NewObject(n)
	for m := range n.Children() {
		out.Set(m.Name, c.rest(m))
	}
	if out.Len() == 0 {
		return nil
	}
	return out
}
