package infra

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/batchctl/batchctl/pkg/rpc"
)

// Mark is the key of the tag of batchctl's stacks. Its value is the name of the template. A
// stack without the tag is never changed or deleted.
const Mark = "batchctl:infra"

// MaxTemplateBody is the longest template that a request can contain, in bytes, and
// MaxTemplate the longest that CloudFormation accepts at all, from S3 (CloudFormation User
// Guide, "Quotas").
const (
	MaxTemplateBody = 51200
	MaxTemplate     = 1 << 20
)

// Cloud calls CloudFormation, and other services through its Client.
type Cloud struct {
	*rpc.Client
	api    *cloudformation.Client
	region string
}

// NewCloud returns a Cloud for the account and Region of cfg.
func NewCloud(cfg aws.Config) *Cloud {
	return &Cloud{Client: rpc.New(cfg), api: cloudformation.NewFromConfig(rpc.SDK(cfg)), region: cfg.Region}
}

// Resource is a resource of a stack, as batchctl prints it.
type Resource struct {
	Name string `json:"resource"`
	// ID is the physical id: a name or an ARN; "" before the resource exists.
	ID     string `json:"id,omitempty"`
	Type   string `json:"type"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// Change is what a change set would do to one resource, as batchctl prints it.
type Change struct {
	// Action is Add, Modify, Remove, Import or Dynamic.
	Action string `json:"action"`
	Name   string `json:"resource"`
	ID     string `json:"id,omitempty"`
	Type   string `json:"type"`
	// Replacement is True, False or Conditional of a Modify; "" of others.
	Replacement string `json:"replacement,omitempty"`
	// Properties are the names of the properties that would change, as far as the change
	// set names them.
	Properties []string `json:"properties,omitempty"`
}

// change returns a change of the SDK as batchctl prints it.
func change(c *types.ResourceChange) Change {
	out := Change{Action: string(c.Action), Name: aws.ToString(c.LogicalResourceId),
		ID:   aws.ToString(c.PhysicalResourceId),
		Type: aws.ToString(c.ResourceType), Replacement: string(c.Replacement)}
	for _, d := range c.Details {
		if d.Target != nil && d.Target.Name != nil {
			out.Properties = append(out.Properties, *d.Target.Name)
		}
	}
	return out
}

// marked reports whether a stack has batchctl's tag.
func marked(stack *types.Stack) bool { return templateOf(stack) != "" }

// templateOf returns the name of the template of a stack that batchctl created; "" for other stacks.
func templateOf(stack *types.Stack) string {
	for _, t := range stack.Tags {
		if aws.ToString(t.Key) == Mark {
			return aws.ToString(t.Value)
		}
	}
	return ""
}

// ofStack reports whether an event is about the stack as a whole.
func ofStack(e types.StackEvent) bool {
	return aws.ToString(e.PhysicalResourceId) == aws.ToString(e.StackId)
}

// noStack reports whether err means that a stack does not exist.
func noStack(err error) bool {
	e, ok := errors.AsType[*rpc.Error](err)
	return ok && e.Code == "ValidationError" && strings.Contains(e.Message, "does not exist")
}

// stack returns the stack with a name or an id; nil if it does not exist. A
// deleted stack is found by its id for 90 days.
func (c *Cloud) stack(ctx context.Context, name string) (*types.Stack, error) {
	out, err := rpc.Again(ctx, c.api.DescribeStacks, &cloudformation.DescribeStacksInput{StackName: &name})
	if noStack(err) || err == nil && len(out.Stacks) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &out.Stacks[0], nil
}

// stacks returns all stacks of the account and Region that are not deleted.
func (c *Cloud) stacks(ctx context.Context) (all []types.Stack, err error) {
	err = rpc.Pages(func(token *string) (*string, error) {
		out, err := rpc.Again(ctx, c.api.DescribeStacks, &cloudformation.DescribeStacksInput{NextToken: token})
		if err != nil {
			return nil, err
		}
		all = append(all, out.Stacks...)
		return out.NextToken, nil
	})
	return all, err
}

// resources returns the resources of a stack; of a deleted stack by its id.
func (c *Cloud) resources(ctx context.Context, stack string) (all []types.StackResourceSummary, err error) {
	err = rpc.Pages(func(token *string) (*string, error) {
		out, err := rpc.Again(ctx, c.api.ListStackResources, &cloudformation.ListStackResourcesInput{StackName: &stack,
			NextToken: token})
		if err != nil {
			return nil, err
		}
		all = append(all, out.StackResourceSummaries...)
		return out.NextToken, nil
	})
	return all, err
}

// events returns the events of a stack, the oldest first. It stops before the
// event for which until returns true; if there is no such event, it returns all
// that AWS keeps.
func (c *Cloud) events(ctx context.Context, stack string,
	until func(types.StackEvent) bool) (events []types.StackEvent, err error) {
	err = rpc.Pages(func(token *string) (*string, error) {
		out, err := rpc.Again(ctx, c.api.DescribeStackEvents,
			&cloudformation.DescribeStackEventsInput{StackName: &stack, NextToken: token})
		if err != nil {
			return nil, err
		}
		if end := slices.IndexFunc(out.StackEvents, until); end >= 0 {
			out.StackEvents, out.NextToken = out.StackEvents[:end], nil
		}
		events = append(events, out.StackEvents...)
		return out.NextToken, nil
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(events)
	return events, nil
}

// changeSet describes a change set with all its changes.
func (c *Cloud) changeSet(ctx context.Context, id,
	stack string) (set *cloudformation.DescribeChangeSetOutput, err error) {
	var changes []types.Change
	err = rpc.Pages(func(token *string) (*string, error) {
		out, err := rpc.Again(ctx, c.api.DescribeChangeSet, &cloudformation.DescribeChangeSetInput{ChangeSetName: &id,
			StackName: &stack, NextToken: token})
		if err != nil {
			return nil, err
		}
		set, changes = out, append(changes, out.Changes...)
		return out.NextToken, nil
	})
	if err != nil {
		return nil, err
	}
	set.Changes = changes
	return set, nil
}

// deleteChangeSet deletes a change set. A change set that does not exist is not
// an error.
func (c *Cloud) deleteChangeSet(ctx context.Context, id, stack string) error {
	_, err := rpc.Again(ctx, c.api.DeleteChangeSet, &cloudformation.DeleteChangeSetInput{ChangeSetName: &id,
		StackName: &stack})
	if rpc.Missing(err) || noStack(err) {
		return nil
	}
	return err
}

// deleteStack begins to delete a stack. CloudFormation does not delete the
// resources of retain; it accepts that list only for a stack in DELETE_FAILED.
func (c *Cloud) deleteStack(ctx context.Context, stack *types.Stack, token string, retain []string) error {
	_, err := rpc.Again(ctx, c.api.DeleteStack, &cloudformation.DeleteStackInput{StackName: stack.StackId,
		ClientRequestToken: &token, RetainResources: retain})
	return err
}

// token returns a new client request token. CloudFormation ignores a second
// request with the same token.
func token() string { return "batchctl-" + rand.Text() }

func inProgress[Status ~string](s Status) bool { return strings.HasSuffix(string(s), "_IN_PROGRESS") }

// review is the status of a stack that has only a change set.
const review = "REVIEW_IN_PROGRESS"

// broken reports whether a stack can only be deleted: its first creation, or a
// deletion, has failed (CloudFormation User Guide, "Stack status codes").
func broken[Status ~string](s Status) bool {
	return slices.Contains([]string{"ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED", "DELETE_FAILED"},
		string(s))
}
