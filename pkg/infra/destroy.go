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

// Destruction is what destroying would delete, and what it leaves.
type Destruction struct {
	// Stacks are those that are deleted, in the order in which they are.
	Stacks []string `json:"stacks"`
	// Queues are disabled and drained before.
	Queues []string `json:"jobQueues"`
	// Keeps is what stays: repositories that hold images, and what its template retains.
	Keeps []Kept `json:"keeps"`

	stacks []*cfn.Stack
}

// Kept is a resource that stays when its stack is deleted.
type Kept struct {
	Stack  string `json:"stack"`
	Type   string `json:"type"`
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// PlanDestruction finds out what Destroy would do. It first follows what is under way.
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

// inspect notes what of a stack needs care before it is deleted.
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
				d.Keeps = append(d.Keeps, Kept{*stack.StackName, r.Type, r.ID, "it holds images"})
			}
		}
	}
	return nil
}

// retained is why CloudFormation keeps a resource.
const retained = "its template retains it"

// retains are the resources that a stack's template has CloudFormation keep. Of a
// template in YAML they are only known when they have been skipped.
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

// Destroy disables the queues, waits until they are empty, and deletes the stacks.
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

// DrainError is a wait for jobs that ended before they did.
type DrainError struct {
	Queues []string
	Err    error
}

func (e *DrainError) Error() string {
	return fmt.Sprintf("job queues %s are disabled and not yet empty: %v", strings.Join(e.Queues, ", "), e.Err)
}

func (e *DrainError) Unwrap() error { return e.Err }

// drain disables queues and waits until nothing is in them.
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

// living are those of the queues that are still there.
func (s *Stacks) living(ctx context.Context, queues []string) (living []string, err error) {
	if len(queues) == 0 {
		return nil, nil
	}
	all, err := s.Batch.Queues(ctx)
	for _, name := range queues {
		if slices.ContainsFunc(all, func(q types.JobQueueDetail) bool {
			return aws.ToString(q.JobQueueName) == name && q.Status != types.JQStatusDeleting && q.Status != types.JQStatusDeleted
		}) {
			living = append(living, name)
		}
	}
	return living, err
}

// remove deletes a stack and follows that to the end. What d keeps is retained when
// CloudFormation cannot delete it, and what CloudFormation kept is noted there.
func (s *Stacks) remove(ctx context.Context, stack *cfn.Stack, d *Destruction) error {
	if stack.StackStatus == review {
		return s.removeEmpty(ctx, stack)
	}
	c, err := s.deleted(ctx, stack, nil)
	if err != nil {
		return err
	}
	if keep := keptOf(c, d); c.end == "DELETE_FAILED" && len(keep) > 0 {
		s.Notify("keeping %s", strings.Join(keep, ", "))
		if c, err = s.deleted(ctx, stack, keep); err != nil {
			return err
		}
	}
	if c.end != "DELETE_COMPLETE" {
		return s.failure(ctx, *stack.StackName, *stack.StackId, c)
	}
	if d != nil {
		for _, e := range c.events {
			id := aws.ToString(e.PhysicalResourceId)
			if e.ResourceStatus == cfn.ResourceStatusDeleteSkipped && !slices.ContainsFunc(d.Keeps, func(k Kept) bool { return k.ID == id }) {
				d.Keeps = append(d.Keeps, Kept{*stack.StackName, aws.ToString(e.ResourceType), id, retained})
			}
		}
	}
	return nil
}

// removeEmpty deletes a stack that never had a resource, and so tells no events.
func (s *Stacks) removeEmpty(ctx context.Context, stack *cfn.Stack) error {
	once := token()
	if err := s.patiently(ctx, func() error { return s.Cloud.deleteStack(ctx, stack, once, nil) }); err != nil {
		return err
	}
	return s.until(ctx, func() (bool, error) {
		now, err := s.Cloud.stack(ctx, *stack.StackId)
		return now == nil || now.StackStatus == cfn.StackStatusDeleteComplete, err
	})
}

// keptOf are the resources whose deletion failed, if all of them are to be kept.
func keptOf(c *course, d *Destruction) (keep []string) {
	if d == nil {
		return nil
	}
	for _, e := range c.reasons() {
		if ofStack(e) {
			continue
		}
		if !slices.ContainsFunc(d.Keeps, func(k Kept) bool {
			return k.ID == aws.ToString(e.PhysicalResourceId) && k.Type == aws.ToString(e.ResourceType)
		}) {
			return nil
		}
		keep = append(keep, aws.ToString(e.LogicalResourceId))
	}
	return keep
}

// deleted begins to delete a stack and follows it to the end.
func (s *Stacks) deleted(ctx context.Context, stack *cfn.Stack, retain []string) (*course, error) {
	since, err := s.newest(ctx, *stack.StackId)
	if err != nil {
		return nil, err
	}
	once := token()
	err = s.patiently(ctx, func() error { return s.Cloud.deleteStack(ctx, stack, once, retain) })
	if err != nil && (ctx.Err() != nil || transient(err)) {
		return nil, &StillRunningError{Stack: *stack.StackName, Maybe: true, Err: err}
	}
	if err != nil {
		return nil, err
	}
	return s.follow(ctx, *stack.StackName, *stack.StackId, func() func(cfn.StackEvent) bool { return after(since) }, 0)
}
