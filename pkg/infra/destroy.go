package infra

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// PlanDestruction returns what Destroy would do. It first follows operations that
// are running.
func (s *Stacks) PlanDestruction(ctx context.Context, templates []Template) (*Destruction, error) {
	d := &Destruction{Stacks: []string{}, Queues: []string{}, Keeps: []Kept{}}
	for _, t := range slices.Backward(templates) {
		stack, err := s.find(ctx, s.Name(t))
		if foreign, ok := errors.AsType[*NotOursError](err); ok {
			s.Notify("%v", foreign)
			continue
		}
		if err == nil {
			stack, err = s.resume(ctx, stack)
		}
		if err != nil {
			return nil, err
		}
		if stack == nil {
			continue
		}
		d.stacks, d.Stacks = append(d.stacks, stack), append(d.Stacks, *stack.StackName)
		if err := s.inspect(ctx, stack, d); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// inspect adds the queues and the kept resources of a stack to d.
func (s *Stacks) inspect(ctx context.Context, stack *cfn.Stack, d *Destruction) error {
	left, err := s.left(ctx, *stack.StackId)
	if err != nil || len(left) == 0 {
		return err
	}
	retains, err := s.retains(ctx, stack)
	if err != nil {
		return err
	}
	for _, r := range left {
		switch {
		case retains[r.Name]:
			d.Keeps = append(d.Keeps, Kept{*stack.StackName, r.Type, r.ID, retained})
		case r.Type == queueType:
			d.Queues = append(d.Queues, batch.Name(r.ID))
		case r.Type == repositoryType:
			var images bool
			err := s.patiently(ctx, func() error {
				images, err = s.Cloud.HasImages(ctx, r.ID)
				return err
			})
			if err != nil {
				return err
			}
			if images {
				d.Keeps = append(d.Keeps, Kept{*stack.StackName, r.Type, r.ID, "it contains images"})
			}
		}
	}
	return nil
}

// retains returns the resources that a stack's template retains. For a template in YAML it
// returns nil; they are then known only after CloudFormation has skipped them.
func (s *Stacks) retains(ctx context.Context, stack *cfn.Stack) (map[string]bool, error) {
	var out *cloudformation.GetTemplateOutput
	err := s.patiently(ctx, func() (err error) {
		out, err = rpc.Again(ctx, s.Cloud.api.GetTemplate, &cloudformation.GetTemplateInput{StackName: stack.StackId})
		return err
	})
	if err != nil {
		return nil, err
	}
	var template struct {
		Resources map[string]struct{ DeletionPolicy string }
	}
	if json.Unmarshal([]byte(aws.ToString(out.TemplateBody)), &template) != nil {
		return nil, nil
	}
	keep := map[string]bool{}
	for name, r := range template.Resources {
		keep[name] = r.DeletionPolicy == "Retain" || r.DeletionPolicy == "RetainExceptOnCreate"
	}
	return keep, nil
}

// Destroy disables the queues, waits until they are empty, and deletes the
// stacks. It adds resources to d.Keeps that CloudFormation kept.
func (s *Stacks) Destroy(ctx context.Context, d *Destruction) error {
	if err := s.drain(ctx, d.Queues); err != nil {
		return err
	}
	for _, stack := range d.stacks {
		if err := s.remove(ctx, stack, d); err != nil {
			return err
		}
	}
	return nil
}

// DrainError means that the wait for empty queues ended early.
type DrainError struct {
	Queues []string
	Err    error
}

// Error names the queues.
func (e *DrainError) Error() string {
	return fmt.Sprintf("job queues %s are disabled and not yet empty: %v", strings.Join(e.Queues, ", "), e.Err)
}

// Unwrap returns the cause.
func (e *DrainError) Unwrap() error { return e.Err }

// drain disables queues and waits until they have no jobs.
func (s *Stacks) drain(ctx context.Context, queues []string) error {
	queues, err := s.living(ctx, queues)
	if err != nil || len(queues) == 0 {
		return err
	}
	for _, q := range queues {
		s.Notify("disabling job queue %s", q)
		if err := s.Batch.DisableQueue(ctx, q); err != nil {
			return err
		}
	}
	waiting := -1
	err = s.until(ctx, func() (bool, error) {
		n := 0
		for _, q := range queues {
			depth, err := s.Batch.Depth(ctx, q)
			if err != nil {
				return false, err
			}
			for _, jobs := range depth {
				n += jobs
			}
		}
		if n > 0 && n != waiting {
			s.Notify("waiting for %d jobs in %s to end", n, strings.Join(queues, ", "))
		}
		waiting = n
		return n == 0, nil
	})
	if err != nil {
		return &DrainError{queues, err}
	}
	return nil
}

// living returns those of the queues that exist and are not being deleted.
func (s *Stacks) living(ctx context.Context, queues []string) (living []string, err error) {
	if len(queues) == 0 {
		return nil, nil
	}
	all, err := s.Batch.Queues(ctx)
	for _, name := range queues {
		if slices.ContainsFunc(all, func(q types.JobQueueDetail) bool {
			return aws.ToString(q.JobQueueName) == name && q.Status != types.JQStatusDeleting &&
				q.Status != types.JQStatusDeleted
		}) {
			living = append(living, name)
		}
	}
	return living, err
}
