package infra

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// ErrDeclined is the error of a command whose question was answered with no. Nothing has
// changed since its last message.
var ErrDeclined = errors.New("not confirmed")

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
	return fmt.Sprintf("stack %s lacks the tag %s, so batchctl did not create it and does not change it", e.Stack, Mark)
}
