package batchapi

import (
	"iter"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// listJobs returns a page of jobs in a queue, children of an array or nodes of a job. As in
// Batch, a page has up to 1000 jobs, or up to 100 with a filter. Without a status and filters it
// lists RUNNING jobs only.
func (js jobs) listJobs(c *call.Call, in *awsbatch.ListJobsInput) (*awsbatch.ListJobsOutput, error) {
	status := model.Running
	switch {
	case in.JobStatus == "" && len(in.Filters) == 0:
		status = model.Running
	case in.JobStatus != "":
		var err error
		if status, err = listableStatus(string(in.JobStatus)); err != nil {
			return nil, err
		}
	}
	// The page sizes are those of the API reference of ListJobs.
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
	after, err := call.ReadNumber(in.NextToken)
	if err != nil {
		return nil, err
	}
	m, done := js.backend.View()
	defer done()
	if in.MultiNodeJobId != nil {
		out, err := listNodes(m, in, status, after, size)
		if err == nil {
			for i := range out.JobSummaryList {
				s := &out.JobSummaryList[i]
				js.admit(&s.Status, &s.StatusReason, nil)
			}
		}
		return out, err
	}
	tasks, err := js.listed(m, in, status, after)
	if err != nil {
		return nil, err
	}
	out := &awsbatch.ListJobsOutput{JobSummaryList: []types.JobSummary{}}
	last, examined := int64(0), 0
	for t, wanted := range tasks {
		if len(out.JobSummaryList) == size || examined == call.MaxExamined {
			out.NextToken = aws.String(call.NewToken(strconv.FormatInt(last, 10)))
			break
		}
		examined++
		// The token has the position of the last examined task, even if it did not match.
		if last = t.Job.Seq; t.IsChild() {
			last = int64(t.Index)
		}
		if wanted {
			s := summarize(t)
			var counts map[string]int32
			if s.ArrayProperties != nil {
				counts = s.ArrayProperties.StatusSummary
			}
			js.admit(&s.Status, &s.StatusReason, counts)
			out.JobSummaryList = append(out.JobSummaryList, s)
		}
	}
	return out, nil
}

// listed yields the tasks that a ListJobs may return, after its token, and whether each matches:
// jobs newest first, children by index. Without a status it returns all.
func (js jobs) listed(m *model.Model, in *awsbatch.ListJobsInput, status model.State,
	after int64) (iter.Seq2[*model.Task, bool], error) {
	switch {
	case in.ArrayJobId != nil && in.JobQueue != nil:
		return nil, wire.ClientException("Only one of jobQueue, arrayJobId and multiNodeJobId can be given.")
	case in.ArrayJobId != nil:
		t := taskOf(m, jobID(in.ArrayJobId))
		if t == nil || !t.IsParent() {
			return nil, wire.ClientException("Array job %s does not exist.", *in.ArrayJobId)
		}
		return childrenIn(t.Job, status, after), nil
	case in.JobQueue == nil:
		return nil, wire.ClientException("One of jobQueue, arrayJobId and multiNodeJobId is required.")
	}
	name := model.ResourceName(*in.JobQueue, "job-queue")
	l := m.Lines[name]
	// A deleted queue still lists its jobs.
	if _, ok := m.Queue(name); !ok && l == nil {
		return nil, missing("Job Queue", in.JobQueue)
	}
	if l == nil {
		l = model.NewLine()
	}
	switch {
	case len(in.Filters) > 0:
		return filteredJobs(l, in, status, after)
	case status == model.NoState:
		return ordinaryJobs(l.All, after, func(*model.Job) bool { return true }), nil
	}
	return newest(l.Jobs[status], after), nil
}

// listNodes returns a page of the nodes that are in a state; NoState means all. The token is the
// index of the last node of the page before.
func listNodes(m *model.Model, in *awsbatch.ListJobsInput, status model.State, after int64,
	size int) (*awsbatch.ListJobsOutput, error) {
	j := m.Jobs[jobID(in.MultiNodeJobId)]
	switch {
	case in.JobQueue != nil || in.ArrayJobId != nil:
		return nil, wire.ClientException("Only one of jobQueue, arrayJobId and multiNodeJobId can be given.")
	case j == nil || !j.IsMultiNode():
		return nil, wire.ClientException("Multi-node job %s does not exist.", *in.MultiNodeJobId)
	}
	out := &awsbatch.ListJobsOutput{JobSummaryList: []types.JobSummary{}}
	for i := int(after + 1); i < j.Nodes(); i++ {
		if status != model.NoState && j.NodeState(i) != status {
			continue
		}
		if len(out.JobSummaryList) == size {
			out.NextToken = aws.String(call.NewToken(strconv.Itoa(i - 1)))
			break
		}
		out.JobSummaryList = append(out.JobSummaryList, summarizeNode(&j.Task, i))
	}
	return out, nil
}
