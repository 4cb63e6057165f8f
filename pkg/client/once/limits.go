package once

import (
	"fmt"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/wire"
)

// TooLargeError reports a request that the service would reject, or accept and then fail.
type TooLargeError struct {
	// What is the request or the member; Name is the job or definition.
	What, Name  string
	Size, Limit int // bytes
}

// Error names the request, its size and the limit.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s of %s has %d bytes of JSON, including the submission id that batchctl adds; AWS accepts at most %d: move long values to a file or an S3 object",
		e.What, e.Name, e.Size, e.Limit)
}

// sizeOf returns the size of a message on the wire, in bytes.
func sizeOf(message any) (int, error) {
	text, err := wire.Marshal(message)
	return len(text), err
}

// checkSubmitSize compares a complete request with the limits.
func checkSubmitSize(name string, in *awsbatch.SubmitJobInput) error {
	if in.ContainerOverrides != nil {
		if err := atMost("containerOverrides", name, *in.ContainerOverrides, plan.MaxOverrides); err != nil {
			return err
		}
	}
	return atMost("SubmitJob", name, *in, plan.MaxSubmit-1)
}

// atMost returns a *TooLargeError if a message is larger than the limit on the wire.
func atMost(what, name string, message any, limit int) error {
	size, err := sizeOf(message)
	if err != nil {
		return fmt.Errorf("%s of %s: %w", what, name, err)
	}
	if size > limit {
		return &TooLargeError{what, name, size, limit}
	}
	return nil
}
