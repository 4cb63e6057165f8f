package infra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/batchctl/batchctl/pkg/rpc"
)

// MissingParameterError is a template parameter without a value.
type MissingParameterError struct{ Stack, Parameter string }

// Error names the stack and the parameter.
func (e *MissingParameterError) Error() string {
	return fmt.Sprintf("stack %s: parameter %s has no value", e.Stack, e.Parameter)
}

// Deploy creates or updates the stack of a template. It follows an operation that
// is already running, creates a change set, asks with Approve, and follows the
// execution until it finishes. given are the parameters from the command line: it
// ignores those that the template does not have; others keep their value. The
// proposal is not nil once a change set was created, also together with an error.
func (s *Stacks) Deploy(ctx context.Context, t Template, given map[string]string) (*Proposal, error) {
	stack, err := s.settled(ctx, s.Name(t))
	if err != nil {
		return nil, err
	}
	p, err := s.propose(ctx, t, given, stack)
	if err != nil || p.Action == None {
		return p, err
	}
	if err := s.checkOrphans(ctx, p); err != nil {
		return p, errors.Join(err, s.discard(ctx, p))
	}
	yes, err := s.Approve(p)
	if err == nil && !yes {
		err = ErrDeclined
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return p, errors.Join(err, s.discard(ctx, p))
	}
	return p, s.execute(ctx, p)
}

// Diff returns what Deploy would do. It creates a change set and deletes it;
// nothing else changes. For a stack that does not exist, it returns only the
// types of the resources.
func (s *Stacks) Diff(ctx context.Context, t Template, given map[string]string) (*Proposal, error) {
	name := s.Name(t)
	stack, err := s.find(ctx, name)
	if err != nil {
		return nil, err
	}
	if stack == nil || broken(stack.StackStatus) || stack.StackStatus == review {
		return s.fresh(ctx, t, given, stack)
	}
	if inProgress(stack.StackStatus) {
		return nil, &StillRunningError{Stack: name, Err: fmt.Errorf("it is in %s", stack.StackStatus)}
	}
	p, err := s.propose(ctx, t, given, stack)
	if err != nil || p.Action == None {
		return p, err
	}
	return p, s.discard(ctx, p)
}

// fresh returns the proposal for a stack that does not exist or must be created
// again.
func (s *Stacks) fresh(ctx context.Context, t Template, given map[string]string, old *types.Stack) (*Proposal, error) {
	summary, r, err := s.request(ctx, t, given, nil)
	if err != nil {
		return nil, err
	}
	p := &Proposal{Stack: s.Name(t), Action: Create, Changes: []Change{}}
	if old != nil && old.StackStatus != review {
		p.Replaced = string(old.StackStatus)
	}
	for _, kind := range summary.ResourceTypes {
		p.Changes = append(p.Changes, Change{Action: "Add", Type: kind})
	}
	return p, s.price(ctx, t, given, r, nil, p)
}

// settled waits until no operation runs in a stack, and deletes a broken one. It
// returns nil if the stack must be created.
func (s *Stacks) settled(ctx context.Context, name string) (*types.Stack, error) {
	stack, err := s.find(ctx, name)
	if err == nil {
		stack, err = s.resume(ctx, stack)
	}
	switch {
	case err != nil || stack == nil:
		return nil, err
	case stack.StackStatus == review:
		s.Notify("stack %s is empty, from a change set that was never executed: deleting it", name)
		return nil, s.remove(ctx, stack, nil)
	case stack.StackStatus == types.StackStatusUpdateRollbackFailed:
		return nil, &StuckError{name, string(stack.StackStatus), aws.ToString(stack.StackStatusReason),
			"fix the cause in the reason, then: aws cloudformation continue-update-rollback --stack-name " + name +
				"; then deploy again"}
	case broken(stack.StackStatus):
		return nil, s.clear(ctx, stack)
	}
	return stack, nil
}

// clear deletes a stack whose creation failed, after a confirmation.
func (s *Stacks) clear(ctx context.Context, stack *types.Stack) error {
	left, err := s.left(ctx, *stack.StackId)
	if err != nil {
		return err
	}
	question := fmt.Sprintf("stack %s is in %s and can only be deleted and created again", *stack.StackName,
		stack.StackStatus)
	if len(left) > 0 {
		var names []string
		for _, r := range left {
			names = append(names, r.Name+" ("+r.ID+")")
		}
		question += "; it still contains " + strings.Join(names, ", ")
	}
	yes, err := s.Confirm(question + ". Delete it?")
	switch {
	case err != nil:
		return err
	case !yes:
		return ErrDeclined
	}
	return s.remove(ctx, stack, nil)
}

// request returns the change set request of a template. stack is nil if it must
// be created. Parameters come from given, from the outputs of earlier templates,
// or from the existing stack, in this order.
func (s *Stacks) request(ctx context.Context, t Template, given map[string]string,
	stack *types.Stack) (summary *cloudformation.GetTemplateSummaryOutput, r *cloudformation.CreateChangeSetInput,
	err error) {
	name := s.Name(t)
	summary, text, err := s.read(ctx, t)
	if err != nil {
		return summary, r, err
	}
	once := token()
	r = &cloudformation.CreateChangeSetInput{StackName: &name, ChangeSetName: &once, ClientToken: &once,
		ChangeSetType: types.ChangeSetTypeUpdate, TemplateBody: text.body, TemplateURL: text.url}
	if stack == nil {
		r.ChangeSetType = types.ChangeSetTypeCreate
	}
	for _, c := range t.Capabilities {
		r.Capabilities = append(r.Capabilities, types.Capability(c))
	}
	r.Capabilities = slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.Capabilities, summary.Capabilities))))
	handed, coming, err := s.handed(ctx, t)
	if err != nil {
		return summary, r, err
	}
	project := ""
	for _, p := range summary.Parameters {
		key := aws.ToString(p.ParameterKey)
		value, ok := given[key]
		if !ok {
			value, ok = handed[key]
		}
		old := stack != nil && slices.ContainsFunc(stack.Parameters,
			func(old types.Parameter) bool { return aws.ToString(old.ParameterKey) == key })
		if !ok && !old && key == prefixParameter {
			value, ok = s.Prefix, true
		}
		switch {
		case ok:
			r.Parameters = append(r.Parameters, types.Parameter{ParameterKey: &key, ParameterValue: &value})
		case old:
			r.Parameters = append(r.Parameters, types.Parameter{ParameterKey: &key, UsePreviousValue: aws.Bool(true)})
		case p.DefaultValue == nil && !coming:
			return summary, r, &MissingParameterError{name, key}
		}
		if key == prefixParameter {
			project = value
		}
	}
	r.Tags = tags(t, project, stack)
	return summary, r, nil
}

// tags returns the tags of a stack, which its resources inherit. An existing
// stack keeps its tags, because CloudFormation replaces compute environments and
// queues whose tags change.
func tags(t Template, project string, stack *types.Stack) (list []types.Tag) {
	if stack == nil {
		list = []types.Tag{{Key: aws.String(Mark), Value: &t.Name}}
		if project != "" { // the template budget filters by this tag
			list = append(list, types.Tag{Key: aws.String(prefixParameter), Value: &project})
		}
		return list
	}
	for _, tag := range stack.Tags {
		if !strings.HasPrefix(aws.ToString(tag.Key), "aws:") { // CloudFormation's own
			list = append(list, tag)
		}
	}
	return list
}

// propose creates a change set and waits until it is ready.
func (s *Stacks) propose(ctx context.Context, t Template, given map[string]string,
	stack *types.Stack) (*Proposal, error) {
	_, r, err := s.request(ctx, t, given, stack)
	if err != nil {
		return nil, err
	}
	name := *r.StackName
	p := &Proposal{Stack: name, Action: Update, Changes: []Change{}}
	if stack == nil {
		p.Action = Create
	}
	err = s.patiently(ctx, func() error {
		out, err := rpc.Again(ctx, s.Cloud.api.CreateChangeSet, r)
		if err == nil {
			p.set, p.stackID = aws.ToString(out.Id), aws.ToString(out.StackId)
		}
		return err
	})
	if e, ok := errors.AsType[*rpc.Error](err); ok && noChange(e.Message) {
		return &Proposal{Stack: name, Action: None, Changes: []Change{}}, nil
	}
	if err != nil {
		if ctx.Err() != nil || transient(err) { // the change set may exist
			p.set, p.stackID = *r.ChangeSetName, name
			return nil, errors.Join(err, s.discard(ctx, p))
		}
		return nil, err
	}
	set, err := s.ready(ctx, p)
	switch {
	case err != nil:
		return nil, errors.Join(err, s.discard(ctx, p))
	case set.Status == types.ChangeSetStatusFailed && noChange(aws.ToString(set.StatusReason)):
		return &Proposal{Stack: name, Action: None, Changes: []Change{}}, s.discard(ctx, p)
	case set.Status != types.ChangeSetStatusCreateComplete:
		return nil, errors.Join(&FailedError{Stack: name, Status: fmt.Sprintf("change set %s: %s", set.Status,
			aws.ToString(set.StatusReason))}, s.discard(ctx, p))
	}
	for _, c := range set.Changes {
		if c.ResourceChange != nil {
			p.Changes = append(p.Changes, change(c.ResourceChange))
		}
	}
	if err := s.price(ctx, t, given, r, stack, p); err != nil {
		return nil, errors.Join(err, s.discard(ctx, p))
	}
	return p, nil
}

// ready waits until a change set is created or has failed.
func (s *Stacks) ready(ctx context.Context, p *Proposal) (set *cloudformation.DescribeChangeSetOutput, err error) {
	err = s.until(ctx, func() (bool, error) {
		set, err = s.Cloud.changeSet(ctx, p.set, p.stackID)
		return err == nil && set.Status != types.ChangeSetStatusCreatePending &&
			set.Status != types.ChangeSetStatusCreateInProgress, err
	})
	return set, err
}

// noChange reports whether a reason means that a change set would change nothing.
// CloudFormation says this in several ways, as the reason of a failed change set or as an error.
func noChange(reason string) bool {
	reason = strings.ReplaceAll(strings.ToLower(reason), "’", "'")
	for _, phrase := range []string{"no updates are to be performed", "didn't contain changes",
		"did not contain changes"} {
		if strings.Contains(reason, phrase) {
			return true
		}
	}
	return false
}

// discardTime limits the attempts to delete a change set that is not executed. It
// also applies after Ctrl-C.
const discardTime = 10 * time.Second

// discard deletes the change set of a proposal that is not executed, and the
// empty stack that CloudFormation created for it. It reports failures with
// Notify, because an unused change set does no harm.
func (s *Stacks) discard(ctx context.Context, p *Proposal) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTime)
	defer cancel()
	err := s.Cloud.deleteChangeSet(ctx, p.set, p.stackID)
	if err == nil && p.Action == Create {
		var stack *types.Stack
		if stack, err = s.Cloud.stack(ctx, p.stackID); err == nil && stack != nil && stack.StackStatus == review &&
			marked(stack) {
			err = s.Cloud.deleteStack(ctx, stack, token(), nil)
		}
	}
	if err != nil {
		s.Notify("not deleted: change set %s of stack %s, which changes nothing: %v", p.set, p.Stack, err)
	}
	return nil
}

// execute executes a change set and follows it until it finishes.
func (s *Stacks) execute(ctx context.Context, p *Proposal) error {
	since, err := s.newest(ctx, p.stackID)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return errors.Join(err, s.discard(ctx, p))
	}
	asked, once := false, token()
	err = s.patiently(ctx, func() error {
		_, err := rpc.Again(ctx, s.Cloud.api.ExecuteChangeSet,
			&cloudformation.ExecuteChangeSetInput{ChangeSetName: &p.set, StackName: &p.stackID,
				ClientRequestToken: &once})
		if e, ok := errors.AsType[*rpc.Error](err); ok && asked && strings.HasPrefix(e.Code, "InvalidChangeSetStatus") {
			return nil // an earlier request whose answer was lost has started it
		}
		asked = true
		return err
	})
	switch {
	case err != nil && (ctx.Err() != nil || transient(err)):
		return &StillRunningError{Stack: p.Stack, Maybe: true, Err: err}
	case err != nil:
		return errors.Join(err, s.discard(ctx, p))
	}
	c, err := s.follow(ctx, p.Stack, p.stackID, func() func(types.StackEvent) bool { return after(since) },
		len(p.Changes))
	if err != nil {
		return err
	}
	if c.end != "CREATE_COMPLETE" && c.end != "UPDATE_COMPLETE" {
		return s.failure(ctx, p.Stack, p.stackID, c)
	}
	return nil
}
