package client

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Jobs describes, lists, watches and stops jobs.
type Jobs struct {
	// Memory is asked first for ids and names, and for jobs that the service has forgotten. It may
	// be nil.
	Memory Memory

	api     *awsbatch.Client
	queues  *JobQueues
	polling *Polling
}

// Memory has local records of jobs, besides the service: a ledger.
type Memory interface {
	// Jobs returns the jobs that were submitted to the client's target, oldest first.
	Jobs() ([]Known, error)
	// Children returns the size of an array job; 0 if the memory does not have it.
	Children(id string) (int, error)
}

// Known is a job in a Memory, or one that the service lists.
type Known struct {
	ID, Name  string
	Submitted time.Time
	// Submission is the job's submission id. Run is the id of the submission that the job belongs
	// to, and Workflow its name; it is "" for a single job. They are "" if they are unknown.
	Submission, Run, Workflow string
	// Queue is a name or an ARN, Status that in a listing; "" if they are unknown.
	Queue  string
	Status types.JobStatus
	// Again is the id of the job that this one runs again, wholly or in part; "" for a job of a plan. Cells are the
	// cells that it runs, as sweep.CellsVariable has them; "" for those of its indexes. Size is 0 unless it is an array.
	Again, Cells string
	Size         int
	// File is the absolute path of the job's file; "" if it is unknown.
	File string
	// At is the account and Region of a job that a rung moved to another target; "" for one of this target.
	At string
}

// describeLimit is how many ids DescribeJobs accepts.
const describeLimit = 100

// Describe returns the jobs in the order of the ids. A *MissingError names the ids that the service
// does not have; it comes together with the other jobs.
func (j *Jobs) Describe(ctx context.Context, ids ...string) ([]types.JobDetail, error) {
	jobs, err := j.ByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	var found []types.JobDetail
	var missing []string
	for _, id := range ids {
		if job, ok := jobs[id]; ok {
			found = append(found, job)
		} else {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		return found, &MissingError{missing}
	}
	return found, nil
}

// ByID returns the jobs that the service has, by id, with the names that users gave them.
func (j *Jobs) ByID(ctx context.Context, ids []string) (map[string]types.JobDetail, error) {
	jobs := make(map[string]types.JobDetail, len(ids))
	for some := range slices.Chunk(ids, describeLimit) {
		out, err := j.api.DescribeJobs(ctx, &awsbatch.DescribeJobsInput{Jobs: some})
		if err != nil {
			return nil, Failed("describe jobs", err)
		}
		for _, job := range out.Jobs {
			job.JobName = displayed(job.JobName)
			jobs[aws.ToString(job.JobId)] = job
		}
	}
	return jobs, nil
}
