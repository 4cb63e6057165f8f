package infra

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/batchctl/batchctl/pkg/rpc"
)

// course is the progress of an operation, from its events.
type course struct {
	events []types.StackEvent
	done   map[string]bool // names of the resources that are complete
	end    string          // the stack's final status; "" before it
}

// newest returns the id of the newest event of a stack; "" if it has no events.
func (o *Operations) newest(ctx context.Context, stack string) (id string, err error) {
	err = o.patiently(ctx, func() error {
		_, err := o.Cloud.events(ctx, stack, func(e types.StackEvent) bool {
			id = aws.ToString(e.EventId)
			return true
		})
		return err
	})
	return id, err
}

// after returns a function that is true for the event with this id.
func after(id string) func(types.StackEvent) bool {
	return func(e types.StackEvent) bool { return aws.ToString(e.EventId) == id }
}

// sinceItBegan returns a function that is true for the event before the stack's
// last operation began. It gets the events from the newest to the oldest, and
// works for one reading.
func sinceItBegan() func(types.StackEvent) bool {
	begun := false
	return func(e types.StackEvent) bool {
		if begun {
			return true
		}
		begun = ofStack(e) && slices.Contains([]types.ResourceStatus{"CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS",
			"DELETE_IN_PROGRESS", "IMPORT_IN_PROGRESS"}, e.ResourceStatus)
		return false
	}
}

// follow reports the events of a stack's operation until it finishes. since
// returns a function that is true for the last event before the wanted ones.
// total is the number of resources in the operation; 0 if it is unknown.
func (o *Operations) follow(ctx context.Context, name, id string, since func() func(types.StackEvent) bool,
	total int) (*course, error) {
	c := &course{done: map[string]bool{}}
	pace := pace{operations: o}
	for {
		events, err := o.Cloud.events(ctx, id, since())
		if ctx.Err() != nil {
			return c, &StillRunningError{Stack: name, Err: context.Cause(ctx)}
		}
		pause, err := pace.next(err, len(events) > 0)
		if err != nil {
			return c, &StillRunningError{Stack: name, Err: err}
		}
		for _, e := range events {
			c.take(e)
			o.Progress(Progress{name, e, len(c.done), total})
		}
		if c.end != "" {
			return c, nil
		}
		if n := len(c.events); n > 0 {
			last := aws.ToString(c.events[n-1].EventId)
			since = func() func(types.StackEvent) bool { return after(last) }
		}
		if err := rpc.Sleep(ctx, pause); err != nil {
			return c, &StillRunningError{Stack: name, Err: err}
		}
	}
}

// take adds an event.
func (c *course) take(e types.StackEvent) {
	c.events = append(c.events, e)
	name, status := aws.ToString(e.LogicalResourceId), string(e.ResourceStatus)
	switch {
	case ofStack(e) && !inProgress(status):
		c.end = status
	case ofStack(e):
	case strings.HasSuffix(status, "_COMPLETE") || status == "DELETE_SKIPPED":
		c.done[name] = true
	default:
		delete(c.done, name)
	}
}

// reasons returns the events of failed resources, without those that
// CloudFormation cancelled because of another failure.
func (c *course) reasons() []types.StackEvent {
	var failed []types.StackEvent
	for _, e := range c.events {
		if strings.HasSuffix(string(e.ResourceStatus), "_FAILED") &&
			!strings.HasSuffix(aws.ToString(e.ResourceStatusReason), " cancelled") {
			failed = append(failed, e)
		}
	}
	return failed
}

// failure returns the *FailedError of an operation, with the resources that a
// broken stack still has.
func (o *Operations) failure(ctx context.Context, name, id string, c *course) error {
	f := &FailedError{Stack: name, Status: c.end, Reasons: c.reasons()}
	if broken(c.end) {
		var err error
		if f.Left, err = o.left(ctx, id); err != nil {
			o.Notify("not checked: remaining resources of stack %s: %v", name, err)
		}
	}
	return f
}

// left returns the resources of a stack that still exist.
func (o *Operations) left(ctx context.Context, id string) (left []Resource, err error) {
	var all []types.StackResourceSummary
	err = o.patiently(ctx, func() error {
		all, err = o.Cloud.resources(ctx, id)
		return err
	})
	for _, r := range all {
		if id := aws.ToString(r.PhysicalResourceId); r.ResourceStatus != types.ResourceStatusDeleteComplete &&
			id != "" {
			left = append(left, Resource{aws.ToString(r.LogicalResourceId), id, aws.ToString(r.ResourceType),
				string(r.ResourceStatus), aws.ToString(r.ResourceStatusReason)})
		}
	}
	return left, err
}

// resume follows the running operation of a stack until it finishes, and returns
// the stack afterwards. It returns nil if the stack no longer exists.
func (o *Operations) resume(ctx context.Context, stack *types.Stack) (*types.Stack, error) {
	for stack != nil && inProgress(stack.StackStatus) && stack.StackStatus != review {
		o.Notify("stack %s is in %s: waiting until it finishes", *stack.StackName, stack.StackStatus)
		name := *stack.StackName
		if _, err := o.follow(ctx, name, *stack.StackId, sinceItBegan, 0); err != nil {
			return nil, err
		}
		err := o.until(ctx, func() (bool, error) { // its status may lag behind its events
			var err error
			stack, err = o.find(ctx, name)
			return stack == nil || !inProgress(stack.StackStatus), err
		})
		if err != nil {
			return nil, err
		}
	}
	return stack, nil
}

// find returns the stack with a name; nil if it does not exist. A stack without
// batchctl's tag is a *NotOursError.
func (o *Operations) find(ctx context.Context, name string) (stack *types.Stack, err error) {
	err = o.patiently(ctx, func() error {
		stack, err = o.Cloud.stack(ctx, name)
		return err
	})
	if err == nil && stack != nil && !marked(stack) {
		return nil, &NotOursError{name}
	}
	return stack, err
}
