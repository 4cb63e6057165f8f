package batchapi

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// getJobQueueSnapshot returns the first jobs of a queue and the usage of its shares, computed for
// this request.
func (qs queues) getJobQueueSnapshot(_ *call.Call,
	in *awsbatch.GetJobQueueSnapshotInput) (*awsbatch.GetJobQueueSnapshotOutput, error) {
	m, done := qs.backend.View()
	defer done()
	name := model.ResourceName(aws.ToString(in.JobQueue), model.KindQueue)
	q, ok := m.Queue(name)
	if !ok {
		return nil, missing("Job Queue", in.JobQueue)
	}
	now := time.Now().UnixMilli()
	l := m.Lines[name]
	if l == nil {
		l = model.NewLine()
	}
	out := &awsbatch.GetJobQueueSnapshotOutput{
		FrontOfQueue:     &types.FrontOfQueueDetail{Jobs: m.Front(name, now, qs.Capacity()), LastUpdatedAt: &now},
		QueueUtilization: l.Utilization(now, m.PolicyOf(name), m.Decay(name), q.Service != ""),
	}
	if p := m.PolicyOf(name); p != nil && p.Quota != nil {
		out.FrontOfQuotaShares = &types.FrontOfQuotaSharesDetail{LastUpdatedAt: &now,
			QuotaShares: m.FrontOfShares(name, now)}
	}
	return out, nil
}
