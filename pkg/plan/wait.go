package plan

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/document"
)

// maxWaits is the maximum number of dependencies of a job (API reference of SubmitJob,
// dependsOn).
const maxWaits = catalog.MaxDependencies

// wait is one thing that a job waits for: a job of the plan, one that was submitted
// before, or one whose id the file gives.
type wait struct {
	// Dependency names the job, or gives its id; with neither it is the job itself
	// (SEQUENTIAL).
	document.Dependency
	// on is the job of the plan; nil for any other.
	on   *Job
	isID bool
	// isOwn is for what only this one of a group's jobs waits for.
	isOwn bool
}

// isCommon reports whether another job can wait in this one's place: it is waited for
// as a whole, and by all jobs of the group.
func (w wait) isCommon() bool { return w.Type == "" && !w.isOwn }

// isSame reports whether both are on the same job.
func (w wait) isSame(o wait) bool { return w.on == o.on && w.isID == o.isID && w.Job == o.Job }

// isItself is a job's SEQUENTIAL dependency on itself, which names no job.
func (w wait) isItself() bool { return w.isID && w.Job == "" }

const (
	nToN       = string(types.ArrayJobDependencyNToN)
	sequential = string(types.ArrayJobDependencySequential)
)

// key identifies a job that others wait for.
type key struct {
	on   *Job
	isID bool
	job  string
}

// key returns the key of the job.
func (w wait) key() key { return key{w.on, w.isID, w.Job} }

// impliesAll reports whether the success of j implies that the whole job it waits for succeeded.
func (w wait) impliesAll(j *Job) bool {
	return w.Type == "" || w.Type == nToN && w.on != nil && w.on.size() == j.size()
}

// wait writes down what the job waits for. A job that the client holds back has no
// ids in its request: AWS Batch would end it as soon as one of those jobs fails.
func (j *Job) wait(list []wait) {
	var ids []types.JobDependency
	for _, w := range list {
		switch {
		case w.on != nil:
			j.After = append(j.After, w.Dependency)
		case w.isID && (j.When == "" || w.isItself()):
			id := types.JobDependency{Type: types.ArrayJobDependency(w.Type)}
			if w.Job != "" {
				id.JobId = aws.String(w.Job)
			}
			ids = append(ids, id)
		default:
			j.Earlier = append(j.Earlier, w.Dependency)
		}
	}
	if !slices.EqualFunc(ids, j.Submit.DependsOn, isSameDependency) {
		j.Submit.DependsOn = ids
	}
}

func isSameDependency(a, b types.JobDependency) bool {
	return aws.ToString(a.JobId) == aws.ToString(b.JobId) && a.Type == b.Type
}
