package plan

import (
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
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

// children is the number of an array's children; 1 for any other job.
func (g *group) children() (sum int) {
	for _, p := range g.parts {
		sum += max(1, p.size())
	}
	return sum
}

// ownQueue returns the queue of the group's jobs, for a step before them.
func (g *group) ownQueue() Choice {
	return Choice{Queue: g.parts[0].Queue.Queue, Reason: "the queue of " + g.Name + ", which comes after it"}
}

// size is the number of an array's children; 0 for a job that is no array.
func (j *Job) size() int {
	if j.Submit == nil || j.Submit.ArrayProperties == nil {
		return 0
	}
	return int(aws.ToInt32(j.Submit.ArrayProperties.Size))
}
