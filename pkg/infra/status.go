package infra

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// Absent is the status of a template without a stack.
const Absent = "NOT_DEPLOYED"

// State is the state of a template's stack at AWS.
type State struct {
	Template string `json:"template"`
	Title    string `json:"title,omitempty"`
	Stack    string `json:"stack"`
	// Status is CloudFormation's, or Absent.
	Status string `json:"status"`
	// Changed is when it was created or last updated (RFC 3339); "" without a stack.
	Changed string `json:"changed,omitempty"`
	// Reason is why its last operation failed; "" if it did not.
	Reason string `json:"reason,omitempty"`
	// Foreign reports that batchctl did not create the stack with that name.
	Foreign bool `json:"foreign,omitempty"`

	stack *types.Stack
}

// InProgress reports whether an operation is running in the stack.
func (s State) InProgress() bool { return inProgress(s.Status) && s.Status != review }

// Failed reports whether the stack's last operation failed or was rolled back.
func (s State) Failed() bool {
	return strings.HasSuffix(s.Status, "_FAILED") || strings.Contains(s.Status, "ROLLBACK")
}

// Status returns the states of the templates' stacks, in the order of the templates.
func (p *Project) Status(ctx context.Context, templates []Template) ([]State, error) {
	states := []State{}
	for _, t := range templates {
		state, err := p.state(ctx, t)
		if err != nil {
			return nil, err
		}
		states = append(states, state)
	}
	return states, nil
}

// state returns the state of one template's stack. Of a failed stack, Reason is
// the first failed resource of its last operation.
func (p *Project) state(ctx context.Context, t Template) (state State, err error) {
	state = State{Template: t.Name, Title: t.Title, Stack: p.Name(t), Status: Absent}
	err = p.patiently(ctx, func() error {
		state.stack, err = p.Cloud.stack(ctx, state.Stack)
		return err
	})
	if err != nil || state.stack == nil {
		return state, err
	}
	state.Status, state.Reason = string(state.stack.StackStatus), aws.ToString(state.stack.StackStatusReason)
	if changed := cmp.Or(state.stack.LastUpdatedTime, state.stack.CreationTime); changed != nil {
		state.Changed = changed.Format(time.RFC3339Nano)
	}
	state.Foreign = !marked(state.stack)
	if !state.Failed() {
		return state, nil
	}
	var events []types.StackEvent
	err = p.patiently(ctx, func() error {
		events, err = p.Cloud.events(ctx, *state.stack.StackId, sinceItBegan())
		return err
	})
	c := course{events: events}
	if failed := c.reasons(); len(failed) > 0 {
		state.Reason = aws.ToString(failed[0].LogicalResourceId) + ": " + aws.ToString(failed[0].ResourceStatusReason)
	}
	return state, err
}

// Wanted returns the templates that are deployed by default: all except optional
// ones that batchctl has not deployed and that with does not name.
func (p *Project) Wanted(ctx context.Context, templates []Template, with []string) (wanted []Template, err error) {
	for _, t := range templates {
		if t.Optional && !slices.Contains(with, t.Name) {
			state, err := p.state(ctx, t)
			if err != nil {
				return nil, err
			}
			if state.Status == Absent || state.Foreign {
				continue
			}
		}
		wanted = append(wanted, t)
	}
	return wanted, nil
}

// Left returns the existing stacks that batchctl created for the prefix. It lists the account's
// stacks, so it also finds stacks of templates that no longer exist. The stacks of the prefix
// team-2 are not those of team, although their names begin with it.
func (p *Project) Left(ctx context.Context) (names []string, err error) {
	var all []types.Stack
	err = p.patiently(ctx, func() error {
		all, err = p.Cloud.stacks(ctx)
		return err
	})
	for _, stack := range all {
		template := templateOf(&stack)
		if template != "" && *stack.StackName == p.Prefix+"-"+template &&
			stack.StackStatus != types.StackStatusDeleteComplete {
			names = append(names, *stack.StackName)
		}
	}
	return names, err
}
