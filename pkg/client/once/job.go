package once

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/ladder"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// Submitted is a job that the service accepted. With an empty ID it is a job definition that was
// registered without a job, or with Skipped a job that is not needed.
type Submitted struct {
	Name, ID, Queue string
	// Definition is the ARN with revision that the job runs.
	Definition string
	// ArraySize is 0 for a job that is not an array.
	ArraySize int
	// Skipped is why a job was not and will not be submitted: its condition did not hold, or a job
	// before it FAILED. It is "" for all others.
	Skipped string
	// Again is the id of the failed job that this one runs again. Healed means that the job FAILED, and that the jobs
	// that run it again SUCCEEDED.
	Again  string
	Healed bool
	// At is the name of the target that a rung moved the job to; "" for the target of the submission.
	At string
}

// intent is what a run means to send for a job. It is fixed before the job is sent, and is what the intent's line in the
// log has (jobline.go).
type intent struct {
	name       string
	submission string
	register   *awsbatch.RegisterJobDefinitionInput
	// submit is the whole request, except for the ids of other jobs of this run and the revision of
	// a definition of this run. It is nil for a definition alone.
	submit  *awsbatch.SubmitJobInput
	after   []edge
	earlier []earlier
	// definer is the index of the job that registers the definition; -1 if none of this run does.
	definer int
	staged  []staged
	// when is the plan's condition; such a job waits in the client.
	when string
	// rungs are what the client does if the job fails. again is the failed job of the run that this
	// one runs again, and step is what it changes.
	rungs ladder.Ladder
	again *plannedJob
	step  *ladder.Step
	// at is the name of the target that a rung moved the job to, and target its account and Region,
	// as in the ledger; "" for the target of the run.
	at, target string
	// retryOf is the id of the job that this one of a plan by Retry runs again. file is the absolute path of the job's
	// file; "" if it has none.
	retryOf, file string
	// notify are the receivers of a message about the end of the job.
	notify []string
	// resource is shared by maxParallel concurrent children; "" means no limit.
	resource    string
	maxParallel int
}

// plannedJob is one job of a run. While it is sent, only one goroutine uses its fields.
type plannedJob struct {
	intent
	state
	duplicates
	climb
	patience
}

// submitted returns the task's job with its id.
func (t *plannedJob) submitted(id, definition string) Submitted {
	s := Submitted{Name: t.name, ID: id, Queue: aws.ToString(t.submit.JobQueue), Definition: definition,
		ArraySize: arraySize(t.submit), At: t.at}
	s.Again = t.runsAgain()
	return s
}

// needs returns the jobs that come before this one, which is number i.
func (t *plannedJob) needs(i int) (before []int) {
	for _, e := range t.after {
		before = append(before, e.Job)
	}
	if t.definer >= 0 && t.definer != i {
		before = append(before, t.definer)
	}
	return before
}

// dependsOn returns the dependencies to send to Batch. Jobs with a When have none: the jobs that
// they wait for have ended. id returns nil for a job that has ended, too.
func (t *plannedJob) dependsOn(id func(edge) *string) (all []types.JobDependency) {
	if t.when != "" {
		return nil
	}
	for _, e := range t.earlier {
		all = append(all, types.JobDependency{JobId: aws.String(cmp.Or(e.ID, t.submission)),
			Type: types.ArrayJobDependency(e.Type)})
	}
	for _, e := range t.after {
		if id := id(e); id != nil {
			all = append(all, types.JobDependency{JobId: id, Type: types.ArrayJobDependency(e.Type)})
		}
	}
	return all
}

// laddered reports whether the job has rungs that this client executes.
func (t *plannedJob) laddered() bool { return len(t.rungs) > 0 }

// taken returns the steps that led to a job, oldest first.
func (t *plannedJob) taken() (steps []ladder.Step) {
	for ; t.again != nil; t = t.again {
		steps = append(steps, *t.step)
	}
	slices.Reverse(steps)
	return steps
}

// runsAgain returns the id of the job that this one runs again; "" for a job of a file.
func (t *plannedJob) runsAgain() string {
	if t.again != nil {
		return t.again.result.ID
	}
	return t.retryOf
}

// cells returns the cells that a job runs, as sweep.CellsVariable has them; "" for those of its indexes.
func (t *intent) cells() string {
	if t.submit == nil || t.submit.ContainerOverrides == nil {
		return ""
	}
	for _, v := range t.submit.ContainerOverrides.Environment {
		if aws.ToString(v.Name) == sweep.CellsVariable {
			return aws.ToString(v.Value)
		}
	}
	return ""
}

// root returns the job of the plan that a job runs again; a job of the plan itself.
func (t *plannedJob) root() *plannedJob {
	for t.again != nil {
		t = t.again
	}
	return t
}

// need returns what a job requests, as its rungs change it.
func (t *plannedJob) need(job *types.JobDetail) ladder.Need {
	n := ladder.NeedOf(job)
	n.Target = t.at
	return n
}

// describe names a job that runs another again, with what it requests.
func (t *plannedJob) describe() string {
	text := t.name
	if t.step.MemoryMiB > 0 {
		text += fmt.Sprintf(", %d MiB", t.step.MemoryMiB)
	}
	text += ", queue " + t.step.Queue
	if t.at != "" {
		text += ", target " + t.at
	}
	return text
}
