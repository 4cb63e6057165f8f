// Package infra deploys, describes and destroys the CloudFormation stacks of the job queues. It
// shows change sets and what they cost a month, follows events, and reports what a failure left and
// how to continue. Every request has a token, and stacks are found by name. So a command can be
// interrupted at any point, and the next one continues from the state at AWS.
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

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// Mark is the key of the tag of batchctl's stacks. Its value is the name of the template. A
// stack without the tag is never changed or deleted.
const Mark = "batchctl:infra"

// prefixParameter is the template parameter for the prefix of the stacks' names and exports.
const prefixParameter = "Project"

// ValidPrefix reports whether batchctl's own templates accept a prefix as their Project: 2 to 26
// lower-case letters, digits and hyphens, starting with a letter.
func ValidPrefix(prefix string) bool {
	plain := !strings.ContainsFunc(prefix, func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", r) })
	return plain && len(prefix) >= 2 && len(prefix) <= 26 && prefix[0] >= 'a' && !strings.HasSuffix(prefix, "-")
}

// Template is a CloudFormation template. Its name is part of the name of its stack.
type Template struct {
	Name, Title string
	Body        []byte
	// Capabilities are those that a request must acknowledge, such as CAPABILITY_IAM.
	Capabilities []string
	// Optional reports that no other template needs it.
	Optional bool
}

// Stacks are the stacks of one prefix in one account and Region.
type Stacks struct {
	Cloud *Cloud
	Batch *client.Client
	// Templates are all templates, in the order of deployment. A parameter with the name of
	// an output of an earlier template gets its value, unless the output is an export or the
	// command line gives a value.
	Templates []Template
	// Prefix begins the names of the stacks: PREFIX-TEMPLATE.
	Prefix string
	// Bucket is the S3 bucket for templates that are too long for a request; "" for the
	// output DataBucket of a stack.
	Bucket string
	// Prices are those of the proposals; nil for batchctl's own.
	Prices *catalog.Prices
	// Upload stores a text in a bucket and returns the URL for CloudFormation.
	Upload func(ctx context.Context, bucket, key string, text []byte) (url string, err error)
	// Notify is called with one clause about what happens.
	Notify func(format string, args ...any)
	// Progress is called once for each event of a stack, in order.
	Progress func(Progress)
	// Approve shows a proposal and returns whether to execute it.
	Approve func(*Proposal) (bool, error)
	// Confirm asks a yes-or-no question.
	Confirm func(question string) (bool, error)

	served   bool              // the service has answered, so that failures count as temporary
	uploaded map[string]string // the URLs of the long templates in the bucket, by name
}

// ErrDeclined is the error of a command whose question was answered with no. Nothing has
// changed since its last message.
var ErrDeclined = errors.New("not confirmed")

// Progress is an event with the progress of its operation: Done of Total
// resources. Total is 0 if it is unknown.
type Progress struct {
	Stack       string
	Event       types.StackEvent
	Done, Total int
}

// FailedError is an operation that ended in another status than the requested one.
type FailedError struct {
	Stack, Status string
	// Reasons are the events of the resources that failed, the oldest first.
	Reasons []types.StackEvent
	// Left are the resources that still exist after a failed creation or deletion.
	Left []Resource
}

// Error names the stack and its status.
func (e *FailedError) Error() string { return fmt.Sprintf("stack %s: %s", e.Stack, e.Status) }

// StillRunningError means that this process stopped watching while AWS continues.
type StillRunningError struct {
	Stack string
	// Maybe reports that AWS may not have started the operation.
	Maybe bool
	Err   error
}

// Error names the stack and why watching ended.
func (e *StillRunningError) Error() string {
	does := "continues"
	if e.Maybe {
		does = "may have begun"
	}
	return fmt.Sprintf("stack %s: AWS %s without this command: %v", e.Stack, does, e.Err)
}

// Unwrap returns why watching ended.
func (e *StillRunningError) Unwrap() error { return e.Err }

// StuckError is a stack in a status that a deployment cannot change. Way is what to do.
type StuckError struct{ Stack, Status, Reason, Way string }

// Error names the stack, its status and the reason.
func (e *StuckError) Error() string {
	text := fmt.Sprintf("stack %s is in %s", e.Stack, e.Status)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// NotOursError is a stack with the expected name that batchctl did not create.
type NotOursError struct{ Stack string }

// Error names the stack and the missing tag.
func (e *NotOursError) Error() string {
	return fmt.Sprintf("stack %s exists without the tag %s: batchctl did not create it and does not change it", e.Stack, Mark)
}

// Name returns the name of a template's stack.
func (s *Stacks) Name(t Template) string { return s.Prefix + "-" + t.Name }

// find returns the stack with a name; nil if it does not exist. A stack without
// batchctl's tag is a *NotOursError.
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

// token returns a new client request token. CloudFormation ignores a second
// request with the same token.
func token() string { return "batchctl-" + rand.Text() }

func inProgress[Status ~string](s Status) bool { return strings.HasSuffix(string(s), "_IN_PROGRESS") }

// review is the status of a stack that has only a change set.
const review = "REVIEW_IN_PROGRESS"

// broken reports whether a stack can only be deleted: its first creation, or a
// deletion, has failed (CloudFormation User Guide, "Stack status codes").
func broken[Status ~string](s Status) bool {
	return slices.Contains([]string{"ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED", "DELETE_FAILED"}, string(s))
}

// transient reports whether the same call may succeed later.
func transient(err error) bool {
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		return e.Status/100 == 5 || rpc.Throttled(err)
	}
	_, network := errors.AsType[net.Error](err)
	return network || cutOff(err) || client.Throttled(err)
}
