package infra

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// course is what the events of an operation have told.
type course struct {
	events []types.StackEvent
	done   map[string]bool // resources that are complete
	end    string          // the stack's status at the end; "" before it
}

// newest returns the id of the newest event of a stack; "" for none.
func (s *Stacks) newest(ctx context.Context, stack string) (id string, err error) {
	err = s.patiently(ctx, func() error {
		_, err := s.Cloud.events(ctx, stack, func(e types.StackEvent) bool {
			id = aws.ToString(e.EventId)
			return true
		})
		return err
	})
	return id, err
}

// after is true of one event, whose successors are wanted.
func after(id string) func(types.StackEvent) bool {
	return func(e types.StackEvent) bool { return aws.ToString(e.EventId) == id }
}

// sinceItBegan is true of the event before the one that opened the stack's last
// operation. It is good for one reading.
func sinceItBegan() func(types.StackEvent) bool {
	begun := false
	return func(e types.StackEvent) bool {
		if begun {
			return true
		}
		begun = ofStack(e) && slices.Contains([]types.ResourceStatus{"CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "DELETE_IN_PROGRESS", "IMPORT_IN_PROGRESS"}, e.ResourceStatus)
		return false
	}
}

// follow tells the events of a stack's operation until its end. since makes a
// function that is true of the last event before those that are wanted. total is how
// many resources it is about, 0 where that is unknown.
func (s *Stacks) follow(ctx context.Context, name, id string, since func() func(types.StackEvent) bool, total int) (*course, error) {
	c := &course{done: map[string]bool{}}
	pace := pace{stacks: s}
	for {
		events, err := s.Cloud.events(ctx, id, since())
		if ctx.Err() != nil {
			return c, &StillRunningError{Stack: name, Err: context.Cause(ctx)}
		}
		pause, err := pace.next(err, len(events) > 0)
		if err != nil {
			return c, &StillRunningError{Stack: name, Err: err}
		}
		for _, e := range events {
			c.take(e)
			s.Progress(Progress{name, e, len(c.done), total})
		}
		if c.end != "" {
			return c, nil
		}
		if n := len(c.events); n > 0 {
			last := aws.ToString(c.events[n-1].EventId)
			since = func() func(types.StackEvent) bool { return after(last) }
		}
		if err := sleep(ctx, pause); err != nil {
			return c, &StillRunningError{Stack: name, Err: err}
		}
	}
}

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

// reasons are the events of what failed, without those that only failed because
// something else did.
func (c *course) reasons() []types.StackEvent {
	var failed []types.StackEvent
	for _, e := range c.events {
		if strings.HasSuffix(string(e.ResourceStatus), "_FAILED") && !strings.HasSuffix(aws.ToString(e.ResourceStatusReason), " cancelled") {
			failed = append(failed, e)
		}
	}
	return failed
}

// failure is what an operation came to that did not end as it should.
func (s *Stacks) failure(ctx context.Context, name, id string, c *course) error {
	f := &FailedError{Stack: name, Status: c.end, Reasons: c.reasons()}
	if broken(c.end) {
		var err error
		if f.Left, err = s.left(ctx, id); err != nil {
			s.Notify("not looked up: what stack %s left behind: %v", name, err)
		}
	}
	return f
}

// left are the resources of a stack that are still there.
func (s *Stacks) left(ctx context.Context, id string) (left []Resource, err error) {
	var all []types.StackResourceSummary
	err = s.patiently(ctx, func() error {
		all, err = s.Cloud.resources(ctx, id)
		return err
	})
	for _, r := range all {
		if id := aws.ToString(r.PhysicalResourceId); r.ResourceStatus != types.ResourceStatusDeleteComplete && id != "" {
			left = append(left, Resource{aws.ToString(r.LogicalResourceId), id, aws.ToString(r.ResourceType), string(r.ResourceStatus), aws.ToString(r.ResourceStatusReason)})
		}
	}
	return left, err
}

// resume follows a stack that is in the middle of something until it finishes, and returns
// it as it is then; nil if it is gone.
func (s *Stacks) resume(ctx context.Context, stack *types.Stack) (*types.Stack, error) {
	for stack != nil && inProgress(stack.StackStatus) && stack.StackStatus != review {
		s.Notify("stack %s is in %s: following it to its end", *stack.StackName, stack.StackStatus)
		name := *stack.StackName
		if _, err := s.follow(ctx, name, *stack.StackId, sinceItBegan, 0); err != nil {
			return nil, err
		}
		err := s.until(ctx, func() (bool, error) { // its status may lag behind its events
			var err error
			stack, err = s.find(ctx, name)
			return stack == nil || !inProgress(stack.StackStatus), err
		})
		if err != nil {
			return nil, err
		}
	}
	return stack, nil
}
