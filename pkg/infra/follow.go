package infra

import (
	"context"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/rpc"
)

// course is what the events of an operation have told.
type course struct {
	events []rpc.StackEvent
	done   map[string]bool // resources that are complete
	end    string          // the stack's status at the end; "" before it
}

// newest returns the id of the newest event of a stack; "" where there is none.
func (s *Stacks) newest(ctx context.Context, stack string) (id string, err error) {
	err = s.patiently(ctx, func() error {
		_, err := s.Cloud.StackEvents(ctx, stack, func(e rpc.StackEvent) bool {
			id = e.ID
			return true
		})
		return err
	})
	return id, err
}

// after is true of one event, whose successors are wanted.
func after(id string) func(rpc.StackEvent) bool {
	return func(e rpc.StackEvent) bool { return e.ID == id }
}

// sinceItBegan is true of the event before the one that opened the stack's last
// operation. It is good for one reading.
func sinceItBegan() func(rpc.StackEvent) bool {
	begun := false
	return func(e rpc.StackEvent) bool {
		if begun {
			return true
		}
		begun = e.OfStack() && slices.Contains([]string{"CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "DELETE_IN_PROGRESS", "IMPORT_IN_PROGRESS"}, e.Status)
		return false
	}
}

// follow tells the events of a stack's operation until its end. since makes a
// function that is true of the last event before those that are wanted. total is how
// many resources it is about, 0 where that is not known.
func (s *Stacks) follow(ctx context.Context, name, id string, since func() func(rpc.StackEvent) bool, total int) (*course, error) {
	c := &course{done: map[string]bool{}}
	pace := pace{stacks: s}
	for {
		events, err := s.Cloud.StackEvents(ctx, id, since())
		if ctx.Err() != nil {
			return c, &GoesOnError{Stack: name, Err: context.Cause(ctx)}
		}
		pause, err := pace.next(err, len(events) > 0)
		if err != nil {
			return c, &GoesOnError{Stack: name, Err: err}
		}
		for _, e := range events {
			c.take(e)
			s.Progress(Progress{name, e, len(c.done), total})
		}
		if c.end != "" {
			return c, nil
		}
		if n := len(c.events); n > 0 {
			last := c.events[n-1].ID
			since = func() func(rpc.StackEvent) bool { return after(last) }
		}
		if err := sleep(ctx, pause); err != nil {
			return c, &GoesOnError{Stack: name, Err: err}
		}
	}
}

func (c *course) take(e rpc.StackEvent) {
	c.events = append(c.events, e)
	switch {
	case e.OfStack() && !inProgress(e.Status):
		c.end = e.Status
	case e.OfStack():
	case strings.HasSuffix(e.Status, "_COMPLETE") || e.Status == "DELETE_SKIPPED":
		c.done[e.Name] = true
	default:
		delete(c.done, e.Name)
	}
}

// reasons are the events of what failed, without those that only failed because
// something else did.
func (c *course) reasons() []rpc.StackEvent {
	var failed []rpc.StackEvent
	for _, e := range c.events {
		if strings.HasSuffix(e.Status, "_FAILED") && !strings.HasSuffix(e.Reason, " cancelled") {
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
			s.Tell("not looked up: what stack %s left behind: %v", name, err)
		}
	}
	return f
}

// left are the resources of a stack that are still there.
func (s *Stacks) left(ctx context.Context, id string) (left []rpc.StackResource, err error) {
	var all []rpc.StackResource
	err = s.patiently(ctx, func() error {
		all, err = s.Cloud.StackResources(ctx, id)
		return err
	})
	for _, r := range all {
		if r.Status != "DELETE_COMPLETE" && r.ID != "" {
			left = append(left, r)
		}
	}
	return left, err
}

// resume follows a stack that is in the middle of something to its end, and returns
// it as it is then; nil if it is gone.
func (s *Stacks) resume(ctx context.Context, stack *rpc.Stack) (*rpc.Stack, error) {
	for stack != nil && inProgress(stack.Status) && stack.Status != review {
		s.Tell("stack %s is in %s: following it to its end", stack.Name, stack.Status)
		name := stack.Name
		if _, err := s.follow(ctx, name, stack.ID, sinceItBegan, 0); err != nil {
			return nil, err
		}
		err := s.until(ctx, func() (bool, error) { // its status may lag behind its events
			var err error
			stack, err = s.find(ctx, name)
			return stack == nil || !inProgress(stack.Status), err
		})
		if err != nil {
			return nil, err
		}
	}
	return stack, nil
}
