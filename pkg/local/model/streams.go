package model

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// DefaultLogGroup is the log group of containers that name no other. It always exists.
const DefaultLogGroup = "/aws/batch/job"

// logDestination returns where a container logs to: the log group, and the beginning of the stream's
// name. Batch's default prefix is the name of the job definition. Other log drivers have no group in
// CloudWatch Logs; here their output is in the default one, so that it can be read at all.
//
// A group exists from the start of the first container that logs to it. AWS needs
// awslogs-create-group "true" for that, and without it a container whose group does not exist fails
// to start (user guide, "Use the awslogs log driver"). The engine creates the group in any case:
// groups come from a stack or a script that was run against AWS and not here, so a job that is
// correct would fail.
func (t *Task) logDestination(c *types.LogConfiguration) (group, prefix string) {
	var options map[string]string
	if c != nil && c.LogDriver == types.LogDriverAwslogs {
		options = c.Options
	}
	return cmp.Or(options[optionGroup], DefaultLogGroup), cmp.Or(options[optionPrefix], t.Job.Definition.Name())
}

// The options of the awslogs driver that have an effect here.
const (
	optionGroup  = "awslogs-group"
	optionPrefix = "awslogs-stream-prefix"
	optionCreate = "awslogs-create-group"
)

// HonoursLogOption reports whether an option of the awslogs log driver has an effect here.
func HonoursLogOption(name string) bool {
	return name == optionGroup || name == optionPrefix || name == optionCreate
}

// LogStream is the log stream of an attempt, or of one of its containers, or a stream of
// CreateLogStream.
type LogStream struct {
	Group   string // in CloudWatch Logs
	Name    string // in the group
	File    string // name of its files, see package logs
	Task    *Task  // nil for a stream of CreateLogStream
	Attempt int    // index of the attempt
	// CreatedAt is when CreateLogStream created it, in epoch milliseconds; 0 for an attempt.
	CreatedAt int64
}

// LogStream returns the name of an attempt's stream in CloudWatch Logs.
func (t *Task) LogStream(a *Attempt) string {
	_, prefix := t.logDestination(t.Job.Container.LogConfiguration)
	return prefix + "/default/" + a.Stream
}

// PartLogStream returns the name of the stream of container i in CloudWatch Logs. It ends with the id of the
// container's task.
func (t *Task) PartLogStream(a *Attempt, i int) string {
	p := &t.Job.Parts[i]
	_, prefix := t.logDestination(p.Container.LogConfiguration)
	name := p.Name()
	if p.Task == nil && p.Pod == nil {
		name = "default"
	}
	return prefix + "/" + name + "/" + t.ecsID(a, p.Node)
}

// PartStream returns the name of the log files of container i of an attempt, which is also its id
// for an executor.
func PartStream(stream string, i int) string { return stream + "-" + strconv.Itoa(i) }

// streamID returns the last part of a stream's name, which is unique in all groups.
func streamID(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// streams returns the log streams of an attempt: one for each container.
func (t *Task) streams(attempt int) []LogStream {
	a := &t.Attempts[attempt]
	if t.Job.Service != nil {
		return []LogStream{{Group: TrainingLogGroup, Name: t.Job.trainingStream(a), File: a.Stream, Task: t,
			Attempt: attempt}}
	}
	if len(t.Job.Parts) == 0 {
		group, _ := t.logDestination(t.Job.Container.LogConfiguration)
		return []LogStream{{Group: group, Name: t.LogStream(a), File: a.Stream, Task: t, Attempt: attempt}}
	}
	all := make([]LogStream, len(t.Job.Parts))
	for i := range all {
		group, _ := t.logDestination(t.Job.Parts[i].Container.LogConfiguration)
		all[i] = LogStream{Group: group, Name: t.PartLogStream(a, i), File: PartStream(a.Stream, i), Task: t,
			Attempt: attempt}
	}
	return all
}
