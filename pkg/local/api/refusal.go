package api

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/wire"
)

// checkTags rejects tags that Batch rejects: at most 50, with valid keys and values.
func checkTags(tags map[string]string) error {
	if len(tags) > 50 {
		return &wire.Fault{Type: "ValidationError", Message: "1 validation error detected: Value at 'tags' failed to satisfy constraint: " +
			"Member must have length less than or equal to 50"}
	}
	if problem := call.TagProblem(tags); problem != "" {
		return faulty("%s", problem)
	}
	return nil
}

// missing returns Batch's error for an unknown or missing name. what is the kind of resource, as
// Batch's messages write it.
func missing(what string, name *string) *wire.Fault {
	if aws.ToString(name) == "" {
		return wire.ClientException("%s is required.", what)
	}
	return wire.ClientException("%s %s does not exist.", what, *name)
}

// noLongerThere returns Batch's error for the deletion of an unknown object. moto accepts it.
func noLongerThere(what string, name *string) error {
	if aws.ToString(name) == "" {
		return missing(what, name)
	}
	return &refusal{strict: missing(what, name)}
}

// already returns Batch's error for a name that exists, or moto's on a lenient engine.
func already(what, name string) error {
	return unlikeMoto(wire.ClientException("Object already exists: %s %s.", strings.ToLower(what), name),
		wire.ClientException("%s %s already exists", what, name))
}
