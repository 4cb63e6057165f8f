package plan

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// group is the jobs of the plan that one job of a file became.
type group struct {
	*document.Job
	// parts are several for an array of more children than AWS Batch takes in one.
	parts []*Job
	// known is the definition that they run; nil where it is registered already.
	known *jsontree.Node
}

// isOneCell reports whether an array has a single child, and so became a plain job.
func (g *group) isOneCell() bool { return g.Sweep != nil && g.Sweep.Len() == 1 }

// isSplitLike reports whether child i of the one is child i of the other.
func (g *group) isSplitLike(o *group) bool {
	if len(g.parts) != len(o.parts) {
		return false
	}
	for i, p := range g.parts {
		if p.size() != o.parts[i].size() {
			return false
		}
	}
	return true
}

// size is the number of an array's children; 0 for a job that is no array.
func (j *Job) size() int {
	if j.Submit == nil || j.Submit.ArrayProperties == nil {
		return 0
	}
	return int(aws.ToInt32(j.Submit.ArrayProperties.Size))
}

// split returns the jobs that run the cells of a sweep: one array, several of them
// that share its definition, or a plain job for a single cell.
func (b *builder) split(g *group, job *Job) []*Job {
	s := g.Sweep
	b.addMetrics(g, job)
	b.addLadder(g, job)
	b.addTopics(g, job)
	// A list's lines run inside of what moves files, once for all of them; everything else
	// has the child's values in the places.
	if s == nil || s.Kind != sweep.Commands {
		b.addStaging(g, job)
	}
	if s == nil {
		b.addMeasure(g, job)
		return []*Job{job}
	}
	job.MaxParallel = s.MaxParallel
	b.launch(g, job)
	if s.Kind == sweep.Commands {
		b.addStaging(g, job)
	}
	b.addMeasure(g, job)
	switch n := s.Len(); {
	case n == 0:
		b.fail(g.Array, ruleArrayEmpty, "the array has no cells", "add cells, or remove the array")
		fallthrough
	case n == 1:
		job.Submit.ArrayProperties = nil
		return []*Job{job}
	case n <= catalog.MaxArraySize:
		job.Submit.ArrayProperties = &types.ArrayProperties{Size: aws.Int32(int32(n))}
		return []*Job{job}
	default:
		return b.parts(job, n)
	}
}

// parts are the arrays that share the cells of one too long for AWS Batch. The first
// registers the definition of all.
func (b *builder) parts(job *Job, cells int) []*Job {
	list := make([]*Job, (cells+catalog.MaxArraySize-1)/catalog.MaxArraySize)
	for i := range list {
		name := b.names.free(job.Name, fmt.Sprintf("-%dof%d", i+1, len(list)))
		from := i * catalog.MaxArraySize
		list[i] = job.part(name, from, min(from+catalog.MaxArraySize, cells))
		if i > 0 {
			list[i].Register = nil
		}
	}
	return list
}

// part is the array that runs the cells from one up to, not including, another.
func (j *Job) part(name string, from, to int) *Job {
	p, in := *j, *j.Submit
	p.Name, p.Submit = name, &in
	p.Cells = strconv.Itoa(from)
	if to-from > 1 {
		p.Cells = fmt.Sprintf("%d-%d", from, to-1)
	}
	in.JobName = aws.String(name)
	in.ArrayProperties = nil
	if to-from > 1 {
		in.ArrayProperties = &types.ArrayProperties{Size: aws.Int32(int32(to - from))}
	}
	in.ContainerOverrides = withVariables(in.ContainerOverrides, variable(sweep.CellsVariable, p.Cells))
	return &p
}
