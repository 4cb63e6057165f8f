package infra

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/rpc"
)

// The actions of a proposal.
const (
	Create = "create"
	Update = "update"
	None   = "none"
)

// Proposal is what deploying a template would do.
type Proposal struct {
	Stack string `json:"stack"`
	// Action is Create, Update or None.
	Action  string       `json:"action"`
	Changes []rpc.Change `json:"changes"`
	// Replaced are the stack's state before it is deleted and made again; "" if it is not.
	Replaced string `json:"replaces,omitempty"`

	set, stackID string
}

// MissingParameterError is a parameter without a value.
type MissingParameterError struct{ Stack, Parameter string }

func (e *MissingParameterError) Error() string {
	return fmt.Sprintf("stack %s: parameter %s has no value", e.Stack, e.Parameter)
}

// Deploy makes or changes the stack of a template: it goes on with what is under way,
// proposes, asks, and follows to the end. given are the parameters that the user
// gives; those that the template lacks are passed over, others keep their value. What
// it returns says what was done; it is nil where nothing was found out.
func (s *Stacks) Deploy(ctx context.Context, t Template, given map[string]string) (*Proposal, error) {
	stack, err := s.settled(ctx, s.Name(t))
	if err != nil {
		return nil, err
	}
	p, err := s.propose(ctx, t, given, stack)
	if err != nil || p.Action == None {
		return p, err
	}
	if err := s.stranded(ctx, p); err != nil {
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

// Diff is what Deploy would do. It changes nothing, but for a change set that is
// deleted again; of a stack that is not there it names the resources' types only.
func (s *Stacks) Diff(ctx context.Context, t Template, given map[string]string) (*Proposal, error) {
	name := s.Name(t)
	stack, err := s.find(ctx, name)
	if err != nil {
		return nil, err
	}
	if stack == nil || broken(stack.Status) || stack.Status == review {
		return s.fresh(ctx, t, given, stack)
	}
	if inProgress(stack.Status) {
		return nil, &GoesOnError{Stack: name, Err: errors.New("it is in " + stack.Status)}
	}
	p, err := s.propose(ctx, t, given, stack)
	if err != nil || p.Action == None {
		return p, err
	}
	return p, s.discard(ctx, p)
}

// fresh is the proposal for a stack that is to be made anew.
func (s *Stacks) fresh(ctx context.Context, t Template, given map[string]string, old *rpc.Stack) (*Proposal, error) {
	summary, _, err := s.request(ctx, t, given, nil)
	if err != nil {
		return nil, err
	}
	p := &Proposal{Stack: s.Name(t), Action: Create}
	if old != nil && old.Status != review {
		p.Replaced = old.Status
	}
	for _, kind := range summary.ResourceTypes {
		p.Changes = append(p.Changes, rpc.Change{Action: "Add", Type: kind})
	}
	return p, nil
}

// settled is the stack once nothing goes on in it and a change set can be made for it;
// nil where one has to be created.
func (s *Stacks) settled(ctx context.Context, name string) (*rpc.Stack, error) {
	stack, err := s.find(ctx, name)
	if err == nil {
		stack, err = s.resume(ctx, stack)
	}
	switch {
	case err != nil || stack == nil:
		return nil, err
	case stack.Status == review:
		s.Tell("stack %s is what a change set that was never executed left: deleting it", name)
		return nil, s.remove(ctx, stack, nil)
	case stack.Status == "UPDATE_ROLLBACK_FAILED":
		return nil, &StuckError{name, stack.Status, stack.Reason,
			"mend what the reason names, then: aws cloudformation continue-update-rollback --stack-name " + name + "; then deploy again"}
	case broken(stack.Status):
		return nil, s.clear(ctx, stack)
	}
	return stack, nil
}

// clear deletes a stack whose creation failed, if that is confirmed.
func (s *Stacks) clear(ctx context.Context, stack *rpc.Stack) error {
	left, err := s.left(ctx, stack.ID)
	if err != nil {
		return err
	}
	question := fmt.Sprintf("stack %s is in %s and can only be deleted and made again", stack.Name, stack.Status)
	if len(left) > 0 {
		var names []string
		for _, r := range left {
			names = append(names, r.Name+" ("+r.ID+")")
		}
		question += "; it still holds " + strings.Join(names, ", ")
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

// request is what a change set of a template asks for. stack is nil to create.
func (s *Stacks) request(ctx context.Context, t Template, given map[string]string, stack *rpc.Stack) (summary rpc.TemplateSummary, r rpc.ChangeSetRequest, err error) {
	name := s.Name(t)
	summary, text, err := s.read(ctx, t)
	if err != nil {
		return summary, r, err
	}
	r = rpc.ChangeSetRequest{Stack: name, Create: stack == nil, Template: text, Parameters: map[string]string{}, Token: token()}
	r.Name = r.Token
	r.Capabilities = slices.Compact(slices.Sorted(slices.Values(slices.Concat(t.Capabilities, summary.Capabilities))))
	handed, coming, err := s.handed(ctx, t)
	if err != nil {
		return summary, r, err
	}
	for _, p := range summary.Parameters {
		value, ok := given[p.Name]
		if !ok {
			value, ok = handed[p.Name]
		}
		switch {
		case ok:
			r.Parameters[p.Name] = value
		case stack != nil && slices.ContainsFunc(stack.Parameters, func(old rpc.Parameter) bool { return old.Name == p.Name }):
			r.Previous = append(r.Previous, p.Name)
		case p.Name == prefixParameter:
			r.Parameters[p.Name] = s.Prefix
		case p.Default == nil && !coming:
			return summary, r, &MissingParameterError{name, p.Name}
		}
	}
	r.Tags = tags(t, r.Parameters, stack)
	return summary, r, nil
}

// tags are those of a stack, which pass to what it makes. A stack that is there keeps its
// own, whoever gave them: CloudFormation replaces compute environments and queues whose
// tags change.
func tags(t Template, parameters map[string]string, stack *rpc.Stack) (list []rpc.Tag) {
	if stack == nil {
		list = []rpc.Tag{{Key: Mark, Value: t.Name}}
		if project := parameters[prefixParameter]; project != "" { // by which the template budget counts
			list = append(list, rpc.Tag{Key: prefixParameter, Value: project})
		}
		return list
	}
	for _, tag := range stack.Tags {
		if !strings.HasPrefix(tag.Key, "aws:") { // CloudFormation's own
			list = append(list, tag)
		}
	}
	return list
}

// handed is what the templates before t hand on: their outputs that are no exports.
// coming says that not all of them have a stack yet.
func (s *Stacks) handed(ctx context.Context, t Template) (values map[string]string, coming bool, err error) {
	values = map[string]string{}
	for _, earlier := range s.Templates {
		if earlier.Name == t.Name {
			break
		}
		stack, err := s.find(ctx, s.Name(earlier))
		if err != nil {
			return nil, false, err
		}
		if stack == nil {
			coming = coming || !earlier.Optional
			continue
		}
		for _, o := range stack.Outputs {
			if o.Export == "" {
				values[o.Name] = o.Value
			}
		}
	}
	return values, coming, nil
}

// propose has AWS make a change set and waits until it is ready.
func (s *Stacks) propose(ctx context.Context, t Template, given map[string]string, stack *rpc.Stack) (*Proposal, error) {
	_, r, err := s.request(ctx, t, given, stack)
	if err != nil {
		return nil, err
	}
	p := &Proposal{Stack: r.Stack, Action: Update}
	if stack == nil {
		p.Action = Create
	}
	err = s.patiently(ctx, func() error {
		p.set, p.stackID, err = s.Cloud.CreateChangeSet(ctx, r)
		return err
	})
	if e, ok := errors.AsType[*rpc.Error](err); ok && noChange(e.Message) {
		return &Proposal{Stack: r.Stack, Action: None}, nil
	}
	if err != nil {
		if ctx.Err() != nil || transient(err) { // it may have been made all the same
			p.set, p.stackID = r.Name, r.Stack
			return nil, errors.Join(err, s.discard(ctx, p))
		}
		return nil, err
	}
	set, err := s.ready(ctx, p)
	switch {
	case err != nil:
		return nil, errors.Join(err, s.discard(ctx, p))
	case set.Status == "FAILED" && noChange(set.Reason):
		return &Proposal{Stack: r.Stack, Action: None}, s.discard(ctx, p)
	case set.Status != "CREATE_COMPLETE":
		return nil, errors.Join(&FailedError{Stack: r.Stack, Status: "change set " + set.Status + ": " + set.Reason}, s.discard(ctx, p))
	}
	p.Changes = set.Changes
	return p, nil
}

// ready waits until a change set is made, or has failed.
func (s *Stacks) ready(ctx context.Context, p *Proposal) (set *rpc.ChangeSet, err error) {
	err = s.until(ctx, func() (bool, error) {
		set, err = s.Cloud.ChangeSet(ctx, p.set, p.stackID)
		return err == nil && set.Status != "CREATE_PENDING" && set.Status != "CREATE_IN_PROGRESS", err
	})
	return set, err
}

// noChange knows the ways in which CloudFormation says that a change set would do
// nothing (they come as a failed change set's reason, and as a refusal).
func noChange(reason string) bool {
	reason = strings.ReplaceAll(strings.ToLower(reason), "’", "'")
	for _, words := range []string{"no updates are to be performed", "didn't contain changes", "did not contain changes"} {
		if strings.Contains(reason, words) {
			return true
		}
	}
	return false
}

// discardTime is how long it is tried to delete a change set that nobody wants any
// more, also after Ctrl-C.
const discardTime = 10 * time.Second

// discard deletes the change set of a proposal that is not executed, and the empty
// stack that it was made with.
func (s *Stacks) discard(ctx context.Context, p *Proposal) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTime)
	defer cancel()
	err := s.Cloud.DeleteChangeSet(ctx, p.set, p.stackID)
	if err == nil && p.Action == Create {
		var stack *rpc.Stack
		if stack, err = s.Cloud.FindStack(ctx, p.stackID); err == nil && stack != nil && stack.Status == review && stack.Tag(Mark) != "" {
			err = s.Cloud.DeleteStack(ctx, stack.ID, token(), nil)
		}
	}
	if err != nil {
		s.Tell("left there: change set %s of stack %s, which changes nothing: %v", p.set, p.Stack, err)
	}
	return nil
}

// execute has AWS do what was proposed, and follows it to the end.
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
		err := s.Cloud.ExecuteChangeSet(ctx, p.set, p.stackID, once)
		if e, ok := errors.AsType[*rpc.Error](err); ok && asked && strings.HasPrefix(e.Code, "InvalidChangeSetStatus") {
			return nil // an earlier request, whose answer was lost, has begun it
		}
		asked = true
		return err
	})
	switch {
	case err != nil && (ctx.Err() != nil || transient(err)):
		return &GoesOnError{Stack: p.Stack, Maybe: true, Err: err}
	case err != nil:
		return errors.Join(err, s.discard(ctx, p))
	}
	c, err := s.follow(ctx, p.Stack, p.stackID, func() func(rpc.StackEvent) bool { return after(since) }, len(p.Changes))
	if err != nil {
		return err
	}
	if c.end != "CREATE_COMPLETE" && c.end != "UPDATE_COMPLETE" {
		return s.failure(ctx, p.Stack, p.stackID, c)
	}
	return nil
}

// Unknown returns the names of given that no template has as a parameter, sorted, and
// all that there are.
func (s *Stacks) Unknown(ctx context.Context, given map[string]string) (unknown, all []string, err error) {
	if len(given) == 0 {
		return nil, nil, nil
	}
	known := map[string]bool{}
	for _, t := range s.Templates {
		summary, _, err := s.read(ctx, t)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range summary.Parameters {
			known[p.Name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !known[name] {
			unknown = append(unknown, name)
		}
	}
	return unknown, slices.Sorted(maps.Keys(known)), nil
}
