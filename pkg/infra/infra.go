// Package infra deploys, describes and destroys the CloudFormation stacks under the
// job queues: a change set that is shown first, the events until they finish, what a
// failure left behind and the way on. Everything that it does is begun by a request
// with a token and found again by the name of its stack, so that any command can be
// cut off at any point and the next one continues from what AWS says.
package infra

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// Mark is the key of the tag that the stacks of batchctl carry; its value is the
// template's name. A stack without it is never changed nor deleted.
const Mark = "batchctl:infra"

// prefixParameter is the parameter of a template that is given the prefix of the
// stacks' names, which is that of its exports too.
const prefixParameter = "Project"

// Template is a template, and what its stack is called after.
type Template struct {
	Name, Title string
	Body        []byte
	// Capabilities are those that CloudFormation wants named, such as CAPABILITY_IAM.
	Capabilities []string
	// Optional says that no other template needs it.
	Optional bool
}

// Stacks are the stacks of one prefix in one account and Region.
type Stacks struct {
	Cloud *Cloud
	Batch *client.Client
	// Templates are all templates, in the order in which they are deployed. A parameter
	// of one that is called as an output without export of an earlier one takes that
	// output's value, unless the user gives one.
	Templates []Template
	// Prefix begins the names of the stacks: PREFIX-TEMPLATE.
	Prefix string
	// Bucket is where templates are put that are too long for a request; "" stands for
	// the output DataBucket of a stack.
	Bucket string
	// Upload puts a text into a bucket and returns the URL at which CloudFormation reads it.
	Upload func(ctx context.Context, bucket, key string, text []byte) (url string, err error)
	// Notify is told what continues, in one clause a call.
	Notify func(format string, args ...any)
	// Progress is told each event of a stack once, in order.
	Progress func(Progress)
	// Approve shows a proposal, and reports whether it is to be executed.
	Approve func(*Proposal) (bool, error)
	// Confirm asks a question that can be answered yes or no.
	Confirm func(question string) (bool, error)

	served   bool              // an answer has come: the service is there
	uploaded map[string]string // the URLs of the long templates in the bucket, by name
}

// ErrDeclined is what ends a command whose question was answered no. Nothing was
// changed since the last thing that was told.
var ErrDeclined = errors.New("not confirmed")

// Progress is an event, and how far its operation is: Done of Total resources. Total
// is 0 where it is unknown.
type Progress struct {
	Stack       string
	Event       types.StackEvent
	Done, Total int
}

// FailedError is an operation that AWS ended otherwise than was asked for.
type FailedError struct {
	Stack, Status string
	// Reasons are the events of the resources that failed, the first first.
	Reasons []types.StackEvent
	// Left are the resources that are still there after a failed create or delete.
	Left []Resource
}

func (e *FailedError) Error() string { return fmt.Sprintf("stack %s: %s", e.Stack, e.Status) }

// StillRunningError says that this process stopped watching while AWS continues.
type StillRunningError struct {
	Stack string
	// Maybe says that it is unknown whether AWS has begun.
	Maybe bool
	Err   error
}

func (e *StillRunningError) Error() string {
	does := "continues"
	if e.Maybe {
		does = "may have begun"
	}
	return fmt.Sprintf("stack %s: AWS %s without this command: %v", e.Stack, does, e.Err)
}

func (e *StillRunningError) Unwrap() error { return e.Err }

// StuckError is a stack in a state that no deployment can leave.
type StuckError struct{ Stack, Status, Reason, Way string }

func (e *StuckError) Error() string {
	text := fmt.Sprintf("stack %s is in %s", e.Stack, e.Status)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// NotOursError is a stack of the name that batchctl did not make.
type NotOursError struct{ Stack string }

func (e *NotOursError) Error() string {
	return fmt.Sprintf("stack %s is there and does not carry the tag %s: batchctl did not make it and leaves it alone", e.Stack, Mark)
}

// Name is the name of a template's stack.
func (s *Stacks) Name(t Template) string { return s.Prefix + "-" + t.Name }

// find returns the stack of a name if it is there, and an error if it is not ours.
func (s *Stacks) find(ctx context.Context, name string) (stack *types.Stack, err error) {
	err = s.patiently(ctx, func() error {
		stack, err = s.Cloud.stack(ctx, name)
		return err
	})
	if err == nil && stack != nil && !marked(stack) {
		return nil, &NotOursError{name}
	}
	return stack, err
}

// token names a request, so that CloudFormation knows it again.
func token() string { return "batchctl-" + rand.Text() }

func inProgress[Status ~string](s Status) bool { return strings.HasSuffix(string(s), "_IN_PROGRESS") }

// review is the state of a stack that only a change set has been made for.
const review = "REVIEW_IN_PROGRESS"

// broken reports whether a stack can only be deleted: its first creation, or a
// deletion, has failed (CloudFormation User Guide, "Stack status codes").
func broken[Status ~string](s Status) bool {
	return slices.Contains([]string{"ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED", "DELETE_FAILED"}, string(s))
}

// transient reports whether the same call may succeed a little later.
func transient(err error) bool {
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		return e.Status/100 == 5 || rpc.Throttled(err)
	}
	_, network := errors.AsType[net.Error](err)
	return network || cutOff(err) || client.Throttled(err)
}
