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

// Filter selects jobs to list. The zero value selects all jobs of all queues. All fields that are
// set must match.
type Filter struct {
	// Queues are names or ARNs; none means every queue.
	Queues []string
	// Statuses are the statuses to list; none means all seven.
	Statuses []types.JobStatus
	// Name is the name that the user gave the jobs, or their name in the service. Case does not
	// matter. With a * at the end it is a prefix.
	Name string
	// Definition is the name of a job definition, its name:revision or its ARN;
	// a name with a * at its end is a prefix.
	Definition string
	// Share is the fair-share identifier of the jobs.
	Share string
	// CreatedAfter (inclusive) and CreatedBefore (exclusive) limit the time of creation. Zero means
	// no limit.
	CreatedAfter, CreatedBefore time.Time
	// ArrayOf is the id of an array job whose children to list; Queues do not apply to them.
	ArrayOf string
}

// query returns the one filter that ListJobs accepts, the most selective that is set; nil for none.
// matches applies the rest.
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
		// AWS does not document whether its limit is inclusive, so ask for one millisecond earlier.
		name, value = "AFTER_CREATED_AT", strconv.FormatInt(f.CreatedAfter.UnixMilli()-1, 10)
	case !f.CreatedBefore.IsZero():
		name, value = "BEFORE_CREATED_AT", strconv.FormatInt(f.CreatedBefore.UnixMilli(), 10)
	default:
		return nil
	}
	return []types.KeyValuesPair{{Name: &name, Values: []string{value}}}
}

// nameQuery returns a prefix: the submission's id may follow the user's name.
func (f Filter) nameQuery() string { return CutName(strings.TrimSuffix(f.Name, "*")) + "*" }

// fitsName reports whether a jobName matches the filter.
func (f Filter) fitsName(jobName string) bool {
	pattern, name := strings.ToLower(f.Name), strings.ToLower(jobName)
	own := DisplayName(name)
	return fits(pattern, name) || fits(pattern, own) || CutName(pattern) == own
}

// definitionQuery returns what the service accepts: an ARN, or a name without revision.
func (f Filter) definitionQuery() string {
	if batch.IsARN(f.Definition) {
		return f.Definition
	}
	name, _ := batch.SplitRevision(f.Definition)
	return name
}

// inputs returns the calls for one queue that together cover the filter. With a filter the
// service ignores the status, except with a share's filter, where it may show only RUNNING jobs
// without a status.
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

// statuses returns the statuses to list.
func (f Filter) statuses() []types.JobStatus {
	if len(f.Statuses) > 0 {
		return f.Statuses
	}
	return types.JobStatus("").Values()
}

// matches reports whether a job matches the filter, apart from its queue.
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

// fitsDefinition reports whether the ARN of a job's definition, or its name:revision, matches the
// filter.
func (f Filter) fitsDefinition(definition string) bool {
	if batch.IsARN(f.Definition) {
		return definition == f.Definition
	}
	nameRevision := batch.Name(definition)
	name, _ := batch.SplitRevision(definition)
	return fits(f.Definition, nameRevision) || fits(f.Definition, name)
}

// fits reports whether a text equals the pattern, or has the prefix before a final *.
func fits(pattern, text string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(text, prefix)
	}
	return text == pattern
}

// Matches reports whether a job matches the filter, apart from its queue and array.
func (f Filter) Matches(job types.JobSummary) bool { return f.matches(job) }
