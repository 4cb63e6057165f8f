package infra

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// Destruction is what Destroy deletes and keeps.
type Destruction struct {
	// Stacks are the stacks that are deleted, in the order of deletion.
	Stacks []string `json:"stacks"`
	// Queues are the job queues that are disabled and drained before that.
	Queues []string `json:"jobQueues"`
	// Keeps are the resources that are kept: repositories with images, and resources that
	// their template retains.
	Keeps []Kept `json:"keeps"`

	stacks []*types.Stack
}

// Kept is a resource that is kept when its stack is deleted.
type Kept struct {
	Stack  string `json:"stack"`
	Type   string `json:"type"`
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// retained is the reason for a resource that CloudFormation keeps.
const retained = "its template retains it"

// remove deletes a stack and follows the deletion until it finishes. Resources in d.Keeps that
// CloudFormation cannot delete are retained. Resources that CloudFormation kept are added there.
func (o *Operations) remove(ctx context.Context, stack *types.Stack, d *Destruction) error {
	if stack.StackStatus == review {
		return o.removeEmpty(ctx, stack)
	}
	c, err := o.deleted(ctx, stack, nil)
	if err != nil {
		return err
	}
	if keep := keptOf(c, d); c.end == "DELETE_FAILED" && len(keep) > 0 {
		o.Notify("keeping %s", strings.Join(keep, ", "))
		if c, err = o.deleted(ctx, stack, keep); err != nil {
			return err
		}
	}
	if c.end != "DELETE_COMPLETE" {
		return o.failure(ctx, *stack.StackName, *stack.StackId, c)
	}
	if d != nil {
		for _, e := range c.events {
			id := aws.ToString(e.PhysicalResourceId)
			if e.ResourceStatus == types.ResourceStatusDeleteSkipped &&
				!slices.ContainsFunc(d.Keeps, func(k Kept) bool { return k.ID == id }) {
				d.Keeps = append(d.Keeps, Kept{*stack.StackName, aws.ToString(e.ResourceType), id, retained})
			}
		}
	}
	return nil
}

// removeEmpty deletes a stack that never had a resource. Such a stack has no
// events to follow.
func (o *Operations) removeEmpty(ctx context.Context, stack *types.Stack) error {
	once := token()
	if err := o.patiently(ctx, func() error { return o.Cloud.deleteStack(ctx, stack, once, nil) }); err != nil {
		return err
	}
	return o.until(ctx, func() (bool, error) {
		now, err := o.Cloud.stack(ctx, *stack.StackId)
		return now == nil || now.StackStatus == types.StackStatusDeleteComplete, err
	})
}

// keptOf returns the resources whose deletion failed, if d keeps all of them; or
// else nil.
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

// deleted begins to delete a stack and follows the deletion until it finishes.
func (o *Operations) deleted(ctx context.Context, stack *types.Stack, retain []string) (*course, error) {
	since, err := o.newest(ctx, *stack.StackId)
	if err != nil {
		return nil, err
	}
	once := token()
	err = o.patiently(ctx, func() error { return o.Cloud.deleteStack(ctx, stack, once, retain) })
	if err != nil && (ctx.Err() != nil || transient(err)) {
		return nil, &StillRunningError{Stack: *stack.StackName, Maybe: true, Err: err}
	}
	if err != nil {
		return nil, err
	}
	return o.follow(ctx, *stack.StackName, *stack.StackId, func() func(types.StackEvent) bool { return after(since) },
		0)
}
