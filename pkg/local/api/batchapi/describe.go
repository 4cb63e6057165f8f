package batchapi

import (
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// describeJobs returns the jobs, children and nodes of the request, at most 100. As in Batch,
// unknown ids are left out of the answer, which is no error.
func (js jobs) describeJobs(_ *call.Call, in *awsbatch.DescribeJobsInput) (*awsbatch.DescribeJobsOutput, error) {
	switch {
	case len(in.Jobs) == 0:
		return nil, wire.ClientException("jobs is required.")
	case len(in.Jobs) > 100:
		return nil, wire.ClientException("Maximum number of jobs supported is 100")
	}
	m, done := js.backend.View()
	defer done()
	out := &awsbatch.DescribeJobsOutput{Jobs: []types.JobDetail{}}
	for _, id := range in.Jobs {
		id = jobID(&id)
		if t, i := m.Node(id); t != nil {
			d := describeNode(t, i)
			js.addTo(m, &d, t)
			out.Jobs = append(out.Jobs, d)
		} else if t := taskOf(m, id); t != nil {
			d := describeJob(t)
			js.addTo(m, &d, t)
			out.Jobs = append(out.Jobs, d)
		}
	}
	return out, nil
}

// addTo adds what the task alone does not have: tags, moto's extra variable, and the status
// UNKNOWN.
func (js jobs) addTo(m *model.Model, d *types.JobDetail, t *model.Task) {
	d.Tags = tagsOf(m, t)
	var counts map[string]int32
	if d.ArrayProperties != nil {
		counts = d.ArrayProperties.StatusSummary
	}
	js.admit(&d.Status, &d.StatusReason, counts)
}
