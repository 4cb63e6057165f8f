package client

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
)

// Filter says which jobs to list. The zero value lists all jobs of all queues;
// what is set must hold together.
type Filter struct {
	// Queues are names or ARNs; none stands for every queue.
	Queues []string
	// Statuses are those wanted; none stands for all seven.
	Statuses []types.JobStatus
	// Name is the jobs' name as their users wrote it, or as the service has it; case
	// does not matter, and with a * at its end it is a prefix.
	Name string
	// Definition is the name of a job definition, its name:revision or its ARN;
	// a name with a * at its end is a prefix.
	Definition string
	// Share is the fair-share identifier of the jobs.
	Share string
	// CreatedAfter and CreatedBefore bound the time of creation: the first is in,
	// the second out. Zero is no bound.
	CreatedAfter, CreatedBefore time.Time
	// ArrayOf is the id of an array job whose children are wanted; Queues do not
	// apply to them.
	ArrayOf string
}

// query is the one filter that ListJobs takes, the most selective that is set;
// nil for none. The rest is held against the answers.
func (f Filter) query() []types.KeyValuesPair {
	name, value := "", ""
	switch {
	case f.Name != "":
		name, value = "JOB_NAME", f.nameQuery()
	case f.Definition != "":
		name, value = "JOB_DEFINITION", f.definitionQuery()
	case f.Share != "":
		name, value = "SHARE_IDENTIFIER", f.Share
	case !f.CreatedAfter.IsZero():
		// The service's bound is not known to be in; a millisecond earlier it is.
		name, value = "AFTER_CREATED_AT", strconv.FormatInt(f.CreatedAfter.UnixMilli()-1, 10)
	case !f.CreatedBefore.IsZero():
		name, value = "BEFORE_CREATED_AT", strconv.FormatInt(f.CreatedBefore.UnixMilli(), 10)
	default:
		return nil
	}
	return []types.KeyValuesPair{{Name: &name, Values: []string{value}}}
}

// nameQuery is a prefix: behind the user's name may stand the submission's id.
func (f Filter) nameQuery() string { return CutName(strings.TrimSuffix(f.Name, "*")) + "*" }

// fitsName holds a jobName against the filter.
func (f Filter) fitsName(jobName string) bool {
	pattern, name := strings.ToLower(f.Name), strings.ToLower(jobName)
	own := DisplayName(name)
	return fits(pattern, name) || fits(pattern, own) || CutName(pattern) == own
}

// definitionQuery is what the service takes: an ARN, or a name without revision.
func (f Filter) definitionQuery() string {
	if batch.IsARN(f.Definition) {
		return f.Definition
	}
	name, _ := batch.SplitRevision(f.Definition)
	return name
}

// inputs are the calls for one queue whose union holds what the filter asks for.
// The service ignores the status beside a filter, except the share's, where it
// may show RUNNING jobs alone without one.
func (f Filter) inputs(queue string) (inputs []awsbatch.ListJobsInput) {
	query := f.query()
	if query != nil && *query[0].Name != "SHARE_IDENTIFIER" {
		return []awsbatch.ListJobsInput{{JobQueue: &queue, Filters: query}}
	}
	for _, s := range f.statuses() {
		inputs = append(inputs, awsbatch.ListJobsInput{JobQueue: &queue, JobStatus: s, Filters: query})
	}
	return inputs
}

func (f Filter) statuses() []types.JobStatus {
	if len(f.Statuses) > 0 {
		return f.Statuses
	}
	return types.JobStatus("").Values()
}

// matches holds a job against all that is asked for but its queue.
func (f Filter) matches(job types.JobSummary) bool {
	created := time.UnixMilli(aws.ToInt64(job.CreatedAt))
	switch {
	case len(f.Statuses) > 0 && !slices.Contains(f.Statuses, job.Status),
		f.Name != "" && !f.fitsName(aws.ToString(job.JobName)),
		f.Definition != "" && !f.fitsDefinition(aws.ToString(job.JobDefinition)),
		f.Share != "" && f.Share != aws.ToString(job.ShareIdentifier),
		!f.CreatedAfter.IsZero() && created.Before(f.CreatedAfter),
		!f.CreatedBefore.IsZero() && !created.Before(f.CreatedBefore):
		return false
	}
	return true
}

// fitsDefinition holds the ARN of a job's definition, or its name:revision,
// against the filter.
func (f Filter) fitsDefinition(definition string) bool {
	if batch.IsARN(f.Definition) {
		return definition == f.Definition
	}
	nameRevision := batch.Name(definition)
	name, _ := batch.SplitRevision(definition)
	return fits(f.Definition, nameRevision) || fits(f.Definition, name)
}

// fits reports whether a text is the pattern, or begins as a pattern that ends in *.
func fits(pattern, text string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(text, prefix)
	}
	return text == pattern
}

// Matches reports whether a job is one of those that the filter asks for, its queue
// and array apart.
func (f Filter) Matches(job types.JobSummary) bool { return f.matches(job) }
