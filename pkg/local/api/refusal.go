package api

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/wire"
)

// checkTags rejects tags that Batch rejects: at most 50, keys of 1 to 128 and values of up to 256
// characters, none with the prefix that AWS reserves for itself.
func checkTags(tags map[string]string) error {
	if len(tags) > 50 {
		return &wire.Fault{Type: "ValidationError", Message: "1 validation error detected: Value at 'tags' failed to satisfy constraint: " +
			"Member must have length less than or equal to 50"}
	}
	var refused error
	for _, key := range sortedKeys(tags) {
		switch {
		case key == "" || len([]rune(key)) > 128:
			refused = gravest(refused, faulty("Tag keys have 1 to 128 characters."))
		case len([]rune(tags[key])) > 256:
			refused = gravest(refused, faulty("Tag %s: values have at most 256 characters.", key))
		case strings.HasPrefix(strings.ToLower(key), "aws:"):
			refused = gravest(refused, faulty("Tag %s: keys must not start with aws:.", key))
		case strings.HasPrefix(strings.ToLower(tags[key]), "aws:"):
			refused = gravest(refused, faulty("Tag %s: values must not start with aws:.", key))
		}
	}
	return refused
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
