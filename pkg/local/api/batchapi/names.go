package batchapi

import (
	"regexp"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// jobID returns the id of a job, child or node that a request names by its id or ARN; "" for nil.
func jobID(text *string) string { return model.ResourceName(aws.ToString(text), model.KindJob) }

// lazy returns a function that compiles a regular expression when it is first called. Commands
// that start no engine do not pay for it.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// These are the names that Batch accepts for definitions, queues and environments, and for jobs (API reference:
// jobDefinitionName, jobName).
var (
	definitionName = lazy(`^[A-Za-z0-9_-]{1,128}$`)
	jobName        = lazy(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)
)

// shareIdentifier matches the name of a share, which may be followed by an asterisk in a policy and in a job (API
// reference: ShareAttributes, SubmitJob).
var shareIdentifier = lazy(`^[A-Za-z0-9_-]{1,255}\*?$`)

// taskOf returns the task with an id, as m.Task does, but no service job: those have their own
// operations.
func taskOf(m *model.Model, id string) *model.Task {
	if t := m.Task(id); t != nil && t.Job.Service == nil {
		return t
	}
	return nil
}

// named returns the elements whose name or ARN a request lists. An empty request means all of
// them.
func named[T any](all []T, asked []string, kind string, name func(T) string) []T {
	if len(asked) == 0 {
		return all
	}
	var out []T
	for _, v := range all {
		if slices.ContainsFunc(asked, func(text string) bool { return model.ResourceName(text, kind) == name(v) }) {
			out = append(out, v)
		}
	}
	return out
}
