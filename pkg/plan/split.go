package plan

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// splitter completes the requests of a job, and splits an array that is too long for AWS Batch.
type splitter struct {
	*converter
	ladders  *ladders
	measures *measures
	staging  *staging
	arrays   *arrays
	// names are those that generated jobs of the current file must not have.
	names taken
}

// newSplitter returns a splitter for jobs on queues.
func newSplitter(qs *queues, o Options) *splitter {
	in := &variables{qs.converter}
	return &splitter{converter: qs.converter, ladders: &ladders{in, qs}, measures: &measures{in, qs.platform},
		staging: &staging{in, o}, arrays: &arrays{in, &cells{in, o.Staging}}}
}

// split returns the jobs that run the cells of a sweep: one array, several of them
// that share its definition, or a plain job for a single cell.
func (s *splitter) split(g *group, job *Job) []*Job {
	array := g.Sweep
	s.measures.addMetrics(g, job)
	s.ladders.addLadder(g, job)
	s.ladders.addTopics(g, job)
	// A list's lines run inside of what moves files, once for all of them; everything else
	// has the child's values in the places.
	if array == nil || array.Kind != sweep.Commands {
		s.staging.addStaging(g, job)
	}
	if array == nil {
		s.measures.addMeasure(g, job)
		return []*Job{job}
	}
	job.MaxParallel = array.MaxParallel
	s.arrays.launch(g, job)
	if array.Kind == sweep.Commands {
		s.staging.addStaging(g, job)
	}
	s.measures.addMeasure(g, job)
	switch n := array.Len(); {
	case n == 0:
		s.fail(g.Array, ruleArrayEmpty, "the array has no cells", "add cells, or remove the array")
		fallthrough
	case n == 1:
		job.Submit.ArrayProperties = nil
		return []*Job{job}
	case n <= catalog.MaxArraySize:
		job.Submit.ArrayProperties = &types.ArrayProperties{Size: aws.Int32(int32(n))}
		return []*Job{job}
	default:
		return s.parts(job, n)
	}
}

// parts are the arrays that share the cells of one too long for AWS Batch. The first
// registers the definition of all.
func (s *splitter) parts(job *Job, cells int) []*Job {
	list := make([]*Job, (cells+catalog.MaxArraySize-1)/catalog.MaxArraySize)
	for i := range list {
		name := s.names.free(job.Name, fmt.Sprintf("-%dof%d", i+1, len(list)))
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
