package infra

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
)

// Resource types with special rules.
const (
	environmentType = "AWS::Batch::ComputeEnvironment"
	queueType       = "AWS::Batch::JobQueue"
	repositoryType  = "AWS::ECR::Repository"
)

// OrphanedQueueError is a change that would replace or remove a compute environment which a
// queue uses.
type OrphanedQueueError struct{ Queue, Environment, Action string }

// Error names the environment and the queue.
func (e *OrphanedQueueError) Error() string {
	return fmt.Sprintf("compute environment %s would be %s while job queue %s still uses it", e.Environment, e.Action,
		e.Queue)
}

// checkOrphans refuses a change set that replaces or removes a compute environment which a
// queue names, unless the same change set moves that queue's order or removes the
// queue: then CloudFormation makes the new environment first, moves the order, and
// deletes the old one last (CloudFormation User Guide, "Update behaviors of stack
// resources": replacement).
func (s *Stacks) checkOrphans(ctx context.Context, p *Proposal) error {
	var leaving []Change
	for _, c := range p.Changes {
		if c.Type == environmentType && leaves(c) && c.ID != "" {
			leaving = append(leaving, c)
		}
	}
	if len(leaving) == 0 {
		return nil
	}
	queues, err := s.Batch.Queues(ctx)
	if err != nil {
		return err
	}
	for _, c := range leaving {
		for _, q := range queues {
			if names(q, c.ID) && !slices.ContainsFunc(p.Changes, func(other Change) bool { return moves(other, q) }) {
				return &OrphanedQueueError{aws.ToString(q.JobQueueName), batch.Name(c.ID), action(c)}
			}
		}
	}
	return nil
}

// leaves reports whether a change removes or may replace a resource.
func leaves(c Change) bool {
	return c.Action == "Remove" || c.Replacement == "True" || c.Replacement == "Conditional"
}

// action returns what a change does to a compute environment.
func action(c Change) string {
	if c.Action == "Remove" {
		return "removed"
	}
	return "replaced"
}

// names reports whether a compute environment is in a queue's order.
func names(q types.JobQueueDetail, environment string) bool {
	return slices.ContainsFunc(q.ComputeEnvironmentOrder, func(o types.ComputeEnvironmentOrder) bool {
		return batch.Name(aws.ToString(o.ComputeEnvironment)) == batch.Name(environment)
	})
}

// moves reports whether a change updates the queue's order, or removes the queue.
func moves(c Change, q types.JobQueueDetail) bool {
	if c.Type != queueType || batch.Name(c.ID) != aws.ToString(q.JobQueueName) {
		return false
	}
	return c.Action == "Remove" || slices.Contains(c.Properties, "ComputeEnvironmentOrder")
}
