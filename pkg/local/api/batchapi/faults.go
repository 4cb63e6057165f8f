package batchapi

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/wire"
)

// missing returns Batch's error for an unknown or missing name. what is the kind of resource, as
// Batch's messages write it.
func missing(what string, name *string) *wire.Fault {
	if aws.ToString(name) == "" {
		return wire.ClientException("%s is required.", what)
	}
	return wire.ClientException("%s %s does not exist.", what, *name)
}

// already returns Batch's error for a name that exists.
func already(what, name string) error {
	return wire.ClientException("Object already exists: %s %s.", strings.ToLower(what), name)
}

// badState returns Batch's error for a state of a queue or environment that does not exist.
func badState(state string) error {
	return wire.ClientException("state %s must be one of ENABLED | DISABLED", state)
}

// configured rejects changes to a resource that comes from the engine's options.
func configured(what, name string) error {
	return wire.ClientException("%s %s comes from the options of the local engine: restart the engine to change it.",
		what, name)
}

// required returns Batch's error for an environment without a required member, word for word.
func required(member string) error { return failed(member + " is required.") }

// failed returns an error in the form that Batch gives to some of its messages.
func failed(message string) *wire.Fault {
	return wire.ClientException("Error executing request, Exception : %s, RequestId: %s", message, call.NewID())
}
