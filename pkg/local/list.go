package local

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/wire"
)

func (a *API) listJobs(c *call, in *awsbatch.ListJobsInput) (*awsbatch.ListJobsOutput, error) {
	status := running
	switch {
	case in.JobStatus == "" && len(in.Filters) == 0:
		status = a.listedStatus(c)
	case in.JobStatus != "":
		var err error
		if status, err = listableStatus(string(in.JobStatus)); err != nil {
			return nil, err
		}
	}
	size := 1000
	if len(in.Filters) > 0 {
		size = 100
	}
	if in.MaxResults != nil {
		if *in.MaxResults < 1 {
			return nil, wire.ClientException("maxResults must be at least 1.")
		}
		size = min(size, int(*in.MaxResults))
	}
	after, err := listToken(in.NextToken)
	if err != nil {
		return nil, err
	}
	m, done := a.backend.View()
	defer done()
	if in.MultiNodeJobId != nil {
		out, err := m.listNodes(in, status, after, size)
		if err == nil {
			for i := range out.JobSummaryList {
				s := &out.JobSummaryList[i]
				a.admit(&s.Status, &s.StatusReason, nil)
			}
		}
		return out, err
	}
	tasks, err := a.listed(m, in, status, after)
	if err != nil {
		return nil, err
	}
	out := &awsbatch.ListJobsOutput{JobSummaryList: []types.JobSummary{}}
	last, looked := int64(0), 0
	for t, wanted := range tasks {
		if len(out.JobSummaryList) == size || looked == maxLooked {
			out.NextToken = aws.String(newToken(strconv.FormatInt(last, 10)))
			break
		}
		looked++
		if last = t.job.seq; t.isChild() {
			last = int64(t.index)
		}
		if wanted {
			s := t.summarize()
			var counts map[string]int32
			if s.ArrayProperties != nil {
				counts = s.ArrayProperties.StatusSummary
			}
			a.admit(&s.Status, &s.StatusReason, counts)
			out.JobSummaryList = append(out.JobSummaryList, s)
		}
	}
	return out, nil
}

// listableStatus is the status of a name that a request gives.
func listableStatus(name string) (state, error) {
	s, ok := parseState(types.JobStatus(name))
	if !ok {
		return none, wire.ClientException("Job status %s is not valid. Valid statuses: %v", name, types.JobStatus("").Values())
	}
	return s, nil
}

// maxLooked is how many jobs are looked at for one page, so that none takes long
// however many jobs are kept. What is left comes with the next token; a page may
// hold few jobs or none.
const maxLooked = 10000

// listToken is the place of the last element that was given: the job's number in
// order of submission, or the child's index; -1: none yet.
func listToken(token *string) (int64, error) {
	if token == nil {
		return -1, nil
	}
	text, err := readToken(*token)
	if err != nil {
		return 0, err
	}
	place, err := strconv.ParseInt(text, 10, 64)
	if err != nil || place < 0 {
		return 0, errToken
	}
	return place, nil
}

// listed yields the tasks that a ListJobs may mean, behind the place of its token,
// and whether it does: jobs newest first, children by index. The status none means
// all.
func (a *API) listed(m *model, in *awsbatch.ListJobsInput, status state, after int64) (iter.Seq2[*task, bool], error) {
	switch {
	case in.ArrayJobId != nil && in.JobQueue != nil:
		return nil, wire.ClientException("Only one of jobQueue, arrayJobId and multiNodeJobId can be given.")
	case in.ArrayJobId != nil:
		t := m.task(*in.ArrayJobId)
		if t == nil || !t.isParent() {
			return nil, wire.ClientException("Array job %s does not exist.", *in.ArrayJobId)
		}
		return childrenIn(t.job, status, after), nil
	case in.JobQueue == nil:
		return nil, wire.ClientException("One of jobQueue, arrayJobId and multiNodeJobId is required.")
	}
	name := resourceName(*in.JobQueue, "job-queue")
	l := m.queues[name]
	if _, ok := m.queue(name); !ok && l == nil {
		return nil, wire.ClientException("Job Queue %s does not exist.", *in.JobQueue)
	}
	if l == nil {
		l = newLine()
	}
	switch {
	case len(in.Filters) > 0:
		return l.filtered(in, status, after)
	case status == none:
		return newestJobs(l.all, after, func(*job) bool { return true }), nil
	}
	return newest(l.jobs[status], after), nil
}

// newest yields the tasks of a list from the newest one before seq (-1: the end).
func newest(list ordered, seq int64) iter.Seq2[*task, bool] {
	if seq >= 0 {
		at, _ := slices.BinarySearchFunc(list, seq, func(t *task, seq int64) int { return int(t.job.seq - seq) })
		list = list[:at]
	}
	return func(yield func(*task, bool) bool) {
		for _, t := range slices.Backward(list) {
			if !yield(t, true) {
				return
			}
		}
	}
}

// newestJobs is the same for jobs, of which matches says which are meant.
func newestJobs(list []*job, seq int64, matches func(*job) bool) iter.Seq2[*task, bool] {
	if seq >= 0 {
		at, _ := slices.BinarySearchFunc(list, seq, func(j *job, seq int64) int { return int(j.seq - seq) })
		list = list[:at]
	}
	return func(yield func(*task, bool) bool) {
		for _, j := range slices.Backward(list) {
			if !yield(&j.task, matches(j)) {
				return
			}
		}
	}
}

func childrenIn(j *job, status state, after int64) iter.Seq2[*task, bool] {
	return func(yield func(*task, bool) bool) {
		for i := int(after + 1); i < len(j.children); i++ {
			if t := &j.children[i]; !yield(t, status == none || t.state == status) {
				return
			}
		}
	}
}

// filtered yields the jobs that a ListJobs filter may mean. As in Batch there may
// be one, it applies to jobs in any status, or with SHARE_IDENTIFIER to those in the one
// that the request names, and not to the children of arrays.
func (l *line) filtered(in *awsbatch.ListJobsInput, status state, after int64) (iter.Seq2[*task, bool], error) {
	filters := in.Filters
	if len(filters) != 1 || len(filters[0].Values) != 1 {
		return nil, wire.ClientException("Only one filter with one value can be used at a time.")
	}
	value := filters[0].Values[0]
	all := func(*job) bool { return true }
	switch name := aws.ToString(filters[0].Name); name {
	case "JOB_NAME":
		pattern := strings.ToLower(value)
		if !strings.HasSuffix(pattern, "*") {
			return newestJobs(l.byName[pattern], after, all), nil
		}
		return newestJobs(l.all, after, func(j *job) bool { return glob(&pattern, strings.ToLower(*j.request.JobName)) }), nil
	case "JOB_STATUS":
		s, err := listableStatus(value)
		if err != nil {
			return nil, err
		}
		return newest(l.jobs[s], after), nil
	case "JOB_DEFINITION":
		if id := resourceName(value, kindDefinition); id != value {
			name, _, _ := strings.Cut(id, ":")
			return newestJobs(l.byDefinition[name], after, func(j *job) bool { return j.definition.id() == id }), nil
		}
		if !strings.HasSuffix(value, "*") {
			return newestJobs(l.byDefinition[value], after, all), nil
		}
		return newestJobs(l.all, after, func(j *job) bool { return glob(&value, j.definition.name()) }), nil
	case "BEFORE_CREATED_AT", "AFTER_CREATED_AT":
		at, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return nil, wire.ClientException("%s: %q is not a number of milliseconds.", name, value)
		}
		return newestJobs(l.created(at, name == "BEFORE_CREATED_AT"), after, all), nil
	case "SHARE_IDENTIFIER":
		return newestJobs(l.all, after, func(j *job) bool {
			return glob(&value, aws.ToString(j.request.ShareIdentifier)) && (in.JobStatus == "" || j.state == status)
		}), nil
	default:
		return nil, wire.ClientException("Filter %s is not valid. Valid filters: [JOB_NAME, JOB_STATUS, JOB_DEFINITION, "+
			"BEFORE_CREATED_AT, AFTER_CREATED_AT, SHARE_IDENTIFIER]", name)
	}
}

// created is the jobs of the queue from before or after a moment.
func (l *line) created(at int64, before bool) []*job {
	n, _ := slices.BinarySearchFunc(l.all, at, func(j *job, at int64) int {
		if j.createdAt < at || !before && j.createdAt == at {
			return -1
		}
		return 1
	})
	if before {
		return l.all[:n]
	}
	return l.all[n:]
}

// summarize is the task as ListJobs shows it.
func (t *task) summarize() types.JobSummary {
	j, id := t.job, t.id()
	s := types.JobSummary{
		JobId:           &id,
		JobArn:          aws.String(arn("job", id)),
		JobName:         j.request.JobName,
		JobDefinition:   aws.String(arn("job-definition", j.definition.id())),
		Status:          t.state.status(),
		StatusReason:    optional(t.reason),
		CreatedAt:       aws.Int64(j.createdAt),
		StartedAt:       moment(t.startedAt),
		StoppedAt:       moment(t.stoppedAt),
		ShareIdentifier: j.request.ShareIdentifier,
	}
	if a := t.last(); a != nil {
		s.Container = &types.ContainerSummary{ExitCode: a.exit, Reason: optional(a.reason)}
	}
	switch {
	case j.isMultiNode():
		s.NodeProperties = &types.NodePropertiesSummary{NumNodes: aws.Int32(int32(len(j.parts)))}
	case t.isParent():
		s.ArrayProperties = &types.ArrayPropertiesSummary{Size: aws.Int32(int32(len(j.children))), StatusSummary: j.summary(),
			StatusSummaryLastUpdatedAt: aws.Int64(j.tallyAt)}
	case t.isChild():
		s.ArrayProperties = &types.ArrayPropertiesSummary{Index: &t.index}
	}
	return s
}
