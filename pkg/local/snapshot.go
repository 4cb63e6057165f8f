package local

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

func (a *API) getJobQueueSnapshot(_ *call, in *awsbatch.GetJobQueueSnapshotInput) (*awsbatch.GetJobQueueSnapshotOutput, error) {
	m, done := a.backend.View()
	defer done()
	name := resourceName(aws.ToString(in.JobQueue), kindQueue)
	if _, ok := m.queue(name); !ok {
		return nil, missing("Job Queue", in.JobQueue)
	}
	now := time.Now().UnixMilli()
	l := m.queues[name]
	if l == nil {
		l = newLine()
	}
	return &awsbatch.GetJobQueueSnapshotOutput{
		FrontOfQueue:     &types.FrontOfQueueDetail{Jobs: m.front(name, now, a.Capacity), LastUpdatedAt: &now},
		QueueUtilization: l.utilization(now, m.policyOf(name), m.decay(name)),
	}, nil
}
