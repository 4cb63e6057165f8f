package logsapi

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// maxName is the maximum number of characters in the name of a group or stream.
const maxName = 512

// groupPattern matches the name of a log group, whose length is checked separately. Commands that start no engine do
// not compile it.
var groupPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[._/#A-Za-z0-9-]+$`) })

// checkGroupName rejects a text that cannot be the name of a log group.
func checkGroupName(name *string) error {
	switch {
	case name == nil:
		return call.Invalid("logGroupName is required.")
	case len(*name) > maxName || !groupPattern().MatchString(*name):
		return call.Invalid("logGroupName %q is not valid: it must have 1 to %d letters, digits, and characters of . - _ / #.", *name, maxName)
	}
	return nil
}

// checkStreamName rejects a text that cannot be the name of a log stream.
func checkStreamName(name *string) error {
	switch {
	case name == nil:
		return call.Invalid("logStreamName is required.")
	case utf8.RuneCountInString(*name) > maxName || strings.ContainsAny(*name, ":*"):
		return call.Invalid("logStreamName %q is not valid: it must have 1 to %d characters other than : and *.", *name,
			maxName)
	}
	return nil
}

// groupName returns the log group that a request names, by name or by ARN.
func groupName(name, identifier *string) string {
	if aws.ToString(name) != "" {
		return *name
	}
	if _, group, ok := strings.Cut(aws.ToString(identifier), ":log-group:"); ok {
		return strings.TrimSuffix(group, ":*")
	}
	return aws.ToString(identifier)
}

// groupOf returns the log group that an ARN names. CloudWatch accepts no names here.
func groupOf(arn *string) (string, error) {
	prefix, group, ok := strings.Cut(aws.ToString(arn), ":log-group:")
	if !ok || !strings.HasPrefix(prefix, "arn:") || group == "" || strings.Contains(group, ":") {
		return "", call.Invalid("%q is not the ARN of a log group, such as %s.", aws.ToString(arn), groupARN("NAME"))
	}
	return group, nil
}

// groupARN returns the ARN of a log group.
func groupARN(name string) string {
	return "arn:aws:logs:" + model.Region + ":" + model.Account + ":log-group:" + name
}
