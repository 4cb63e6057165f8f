package api

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/wire"
)

// checkTags refuses what Batch refuses as tags of a resource.
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

// missing is Batch's answer for an unknown name.
func missing(what string, name *string) *wire.Fault {
	if aws.ToString(name) == "" {
		return wire.ClientException("%s is required.", what)
	}
	return wire.ClientException("%s %s does not exist.", what, *name)
}

// noLongerThere is Batch's answer when an unknown object is to be deleted.
func noLongerThere(what string, name *string) error {
	if aws.ToString(name) == "" {
		return missing(what, name)
	}
	return &refusal{strict: missing(what, name)}
}

func already(what, name string) error {
	return unlikeMoto(wire.ClientException("Object already exists: %s %s.", strings.ToLower(what), name),
		wire.ClientException("%s %s already exists", what, name))
}
