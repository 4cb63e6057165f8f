package client

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// JobQueues reads, creates and disables job queues, and reads their compute environments.
type JobQueues struct {
	api      *awsbatch.Client
	polling  *Polling
	services *rpc.Client
}

// Queues returns all job queues.
func (q *JobQueues) Queues(ctx context.Context) ([]types.JobQueueDetail, error) {
	var queues []types.JobQueueDetail
	pages := awsbatch.NewDescribeJobQueuesPaginator(q.api, &awsbatch.DescribeJobQueuesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, Failed("describe job queues", err)
		}
		queues = append(queues, page.JobQueues...)
	}
	return queues, nil
}

// names returns the names of all queues but those of service jobs, which ListJobs does not return.
func (q *JobQueues) names(ctx context.Context) ([]string, error) {
	queues, err := q.Queues(ctx)
	var all []string
	for _, queue := range queues {
		if queue.JobQueueType == types.JobQueueTypeSagemakerTraining {
			continue
		}
		all = append(all, aws.ToString(queue.JobQueueName))
	}
	return all, err
}

// CreateQueue creates a FIFO job queue of priority 1 on one compute environment.
func (q *JobQueues) CreateQueue(ctx context.Context, name, environment string) error {
	_, err := q.api.CreateJobQueue(ctx, &awsbatch.CreateJobQueueInput{
		JobQueueName: &name,
		Priority:     aws.Int32(1),
		ComputeEnvironmentOrder: []types.ComputeEnvironmentOrder{
			{Order: aws.Int32(1), ComputeEnvironment: &environment},
		},
	})
	if err != nil {
		return Failed("create job queue "+name, err)
	}
	return nil
}

// DisableQueue makes a job queue, by name or ARN, reject new jobs. Its current jobs continue.
func (q *JobQueues) DisableQueue(ctx context.Context, queue string) error {
	err := q.polling.patiently(ctx, func() error {
		_, err := q.api.UpdateJobQueue(ctx, &awsbatch.UpdateJobQueueInput{JobQueue: &queue,
			State: types.JQStateDisabled})
		return err
	})
	if err != nil {
		return Failed("disable job queue "+queue, err)
	}
	return nil
}

// QueueSnapshot returns the use of a queue's capacity by its jobs, and the jobs at its front.
func (q *JobQueues) QueueSnapshot(ctx context.Context, queue string) (*awsbatch.GetJobQueueSnapshotOutput, error) {
	out, err := q.api.GetJobQueueSnapshot(ctx, &awsbatch.GetJobQueueSnapshotInput{JobQueue: &queue})
	if err != nil {
		return nil, Failed("get the snapshot of job queue "+queue, err)
	}
	return out, nil
}

// Environments returns the compute environments with the given names or ARNs, or all if none are
// given.
func (q *JobQueues) Environments(ctx context.Context, names ...string) ([]types.ComputeEnvironmentDetail, error) {
	var all []types.ComputeEnvironmentDetail
	pages := awsbatch.NewDescribeComputeEnvironmentsPaginator(q.api,
		&awsbatch.DescribeComputeEnvironmentsInput{ComputeEnvironments: names})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, Failed("describe compute environments", err)
		}
		all = append(all, page.ComputeEnvironments...)
	}
	return all, nil
}

// FixedMachines returns the machines of those environments that AWS Batch does not scale, by the environment's name.
// An environment without machines is absent.
func (q *JobQueues) FixedMachines(ctx context.Context,
	environments []types.ComputeEnvironmentDetail) (map[string][]batch.Machine, error) {
	all := map[string][]batch.Machine{}
	for _, e := range environments {
		if !batch.HasFixedMachines(e) {
			continue
		}
		isLocal := batch.IsLocal(aws.ToString(e.ComputeEnvironmentArn))
		var found []rpc.ContainerInstance
		for _, cluster := range []string{aws.ToString(e.EcsClusterArn), batch.LocalCluster} {
			if cluster == "" || cluster == batch.LocalCluster && !isLocal {
				continue
			}
			var err error
			if found, err = q.services.ContainerInstances(ctx, cluster); err != nil {
				return nil, Failed("describe container instances", err)
			}
			if len(found) > 0 {
				break
			}
			// Fargate and EKS have no container instances, but on the local engine they use its machine, too.
		}
		for i, instance := range found {
			if i == 0 || !isLocal { // each executor of the engine is an instance, but all are one machine
				name := aws.ToString(e.ComputeEnvironmentName)
				all[name] = append(all[name], instance.Machine)
			}
		}
	}
	return all, nil
}
