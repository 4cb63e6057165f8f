package batchapi

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// summarize returns a job, an array's parent or a child as ListJobs shows it.
func summarize(t *model.Task) types.JobSummary {
	j, id := t.Job, t.ID()
	s := types.JobSummary{
		JobId:           &id,
		JobArn:          aws.String(model.ARN("job", id)),
		JobName:         j.Request.JobName,
		JobDefinition:   aws.String(model.ARN("job-definition", j.Definition.ID())),
		Status:          t.State.Status(),
		StatusReason:    call.Optional(t.Reason),
		CreatedAt:       aws.Int64(j.CreatedAt),
		StartedAt:       call.Moment(t.StartedAt),
		StoppedAt:       call.Moment(t.StoppedAt),
		ShareIdentifier: j.Request.ShareIdentifier,
	}
	if a := t.Last(); a != nil && !j.IsPod() {
		s.Container = &types.ContainerSummary{ExitCode: a.Exit, Reason: call.Optional(a.Reason)}
	}
	switch {
	case j.IsMultiNode():
		s.NodeProperties = &types.NodePropertiesSummary{NumNodes: aws.Int32(int32(j.Nodes()))}
	case t.IsParent():
		s.ArrayProperties = &types.ArrayPropertiesSummary{Size: aws.Int32(int32(len(j.Children))),
			StatusSummary:              statusSummary(j),
			StatusSummaryLastUpdatedAt: aws.Int64(j.TallyAt)}
	case t.IsChild():
		s.ArrayProperties = &types.ArrayPropertiesSummary{Index: &t.Index}
	}
	return s
}

// summarizeNode returns node i as ListJobs shows it. A node has no attempts of its own, so most
// members are the job's.
func summarizeNode(t *model.Task, i int) types.JobSummary {
	s := summarize(t)
	id := model.NodeID(t.Job.ID, i)
	s.JobId, s.JobArn, s.Status = &id, aws.String(model.ARN(model.KindJob, id)), t.NodeState(i).Status()
	s.NodeProperties = &types.NodePropertiesSummary{NodeIndex: aws.Int32(int32(i)),
		IsMainNode: aws.Bool(i == t.Job.MainNode()),
		NumNodes:   aws.Int32(int32(t.Job.Nodes()))}
	if a := t.Last(); a != nil && s.Container != nil {
		s.Container = &types.ContainerSummary{}
		if end := t.NodeEnd(a, i); end != nil {
			s.Container.ExitCode, s.Container.Reason = end.Exit, call.Optional(end.Reason)
		}
	}
	return s
}
