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
func (s *Stacks) Status(ctx context.Context, templates []Template) ([]State, error) {
	states := []State{}
	for _, t := range templates {
		state, err := s.state(ctx, t)
		if err != nil {
			return nil, err
		}
		states = append(states, state)
	}
	return states, nil
}

// state returns the state of one template's stack. Of a failed stack, Reason is
// the first failed resource of its last operation.
func (s *Stacks) state(ctx context.Context, t Template) (state State, err error) {
	state = State{Template: t.Name, Title: t.Title, Stack: s.Name(t), Status: Absent}
	err = s.patiently(ctx, func() error {
		state.stack, err = s.Cloud.stack(ctx, state.Stack)
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
	err = s.patiently(ctx, func() error {
		events, err = s.Cloud.events(ctx, *state.stack.StackId, sinceItBegan())
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
func (s *Stacks) Wanted(ctx context.Context, templates []Template, with []string) (wanted []Template, err error) {
	for _, t := range templates {
		if t.Optional && !slices.Contains(with, t.Name) {
			state, err := s.state(ctx, t)
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

// Outputs returns the outputs of the templates' stacks, in the order of the templates.
func (s *Stacks) Outputs(ctx context.Context, templates []Template) ([]StackOutput, error) {
	outputs := []StackOutput{}
	for _, t := range templates {
		stack, err := s.find(ctx, s.Name(t))
		if err != nil {
			return nil, err
		}
		if stack == nil {
			continue
		}
		for _, o := range stack.Outputs {
			outputs = append(outputs, StackOutput{*stack.StackName, aws.ToString(o.OutputKey), aws.ToString(o.OutputValue), aws.ToString(o.ExportName)})
		}
	}
	return outputs, nil
}

// StackOutput is an output of a stack, and the name under which others import it, as
// batchctl prints it.
type StackOutput struct {
	Stack  string `json:"stack"`
	Name   string `json:"output"`
	Value  string `json:"value"`
	Export string `json:"export,omitempty"`
}

// Left returns the existing stacks that batchctl created for the prefix. It lists the account's
// stacks, so it also finds stacks of templates that no longer exist. The stacks of the prefix
// team-2 are not those of team, although their names begin with it.
func (s *Stacks) Left(ctx context.Context) (names []string, err error) {
	var all []types.Stack
	err = s.patiently(ctx, func() error {
		all, err = s.Cloud.stacks(ctx)
		return err
	})
	for _, stack := range all {
		template := templateOf(&stack)
		if template != "" && *stack.StackName == s.Prefix+"-"+template && stack.StackStatus != types.StackStatusDeleteComplete {
			names = append(names, *stack.StackName)
		}
	}
	return names, err
}

// Staging returns the staging location in the outputs, in the form of a platform file:
// s3://bucket/prefix; "" if no output has it.
func Staging(outputs []StackOutput) string {
	for _, o := range outputs {
		if strings.HasPrefix(o.Value, "s3://") && o.Name == "StagingUrl" {
			return o.Value
		}
	}
	return ""
}
