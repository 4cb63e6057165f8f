package model

import (
	"cmp"
	"fmt"
	"slices"
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

// LogGroup is a log group in CloudWatch Logs.
type LogGroup struct {
	CreatedAt int64 // epoch milliseconds; 0: it has always been there
	// RetentionDays is the group's retention; 0: events do not expire. It is only described, and
	// determines which old events PutLogEvents rejects. It deletes nothing: you decide what is removed
	// from your machine, for example with DeleteLogGroup.
	RetentionDays int32
	Class         string // "": STANDARD
	Tags          map[string]string
	// Attempts counts the streams of attempts in the group.
	Attempts int
	// created are the streams of CreateLogStream, by name.
	created map[string]*LogStream
}

// CreatedFiles returns the names of the files of the streams of CreateLogStream in the group.
func (g *LogGroup) CreatedFiles() []string {
	var files []string
	for _, s := range g.created {
		files = append(files, s.File)
	}
	return files
}

// logGroup returns a log group, and creates it if it does not exist. Events about a group need not
// follow its creation: a job can have created it, and the journal can have forgotten the job.
func (m *Model) logGroup(at int64, name string) *LogGroup {
	g := m.LogGroups[name]
	if g == nil {
		g = &LogGroup{CreatedAt: at}
		m.LogGroups[name] = g
	}
	return g
}

// createLogGroup adds a log group.
func (m *Model) createLogGroup(at int64, c *LogGroupCreation) error {
	if c.Group == "" || m.LogGroups[c.Group] != nil {
		return fmt.Errorf("create log group %q: no name, or the group exists", c.Group)
	}
	g := m.logGroup(at, c.Group)
	g.Class, g.Tags = c.Class, c.Tags
	return nil
}

// createLogStream adds a log stream without an attempt.
func (m *Model) createLogStream(at int64, c *LogStreamCreation) error {
	if s, _ := m.FindStream(c.Group, c.Stream); s != nil || c.Group == "" || c.File == "" {
		return fmt.Errorf("create log stream %q: no group or file, or the stream exists", c.Stream)
	}
	g, s := m.logGroup(at, c.Group), LogStream{Group: c.Group, Name: c.Stream, File: c.File, CreatedAt: at}
	if g.created == nil {
		g.created = map[string]*LogStream{}
	}
	g.created[c.Stream] = &s
	m.LogStreams = append(m.LogStreams, s)
	return nil
}

// deleteLogGroup removes a log group with its created streams. It must have no streams of attempts.
func (m *Model) deleteLogGroup(name string) error {
	if g := m.LogGroups[name]; g == nil || g.Attempts > 0 || name == DefaultLogGroup {
		return fmt.Errorf("delete log group %q: it does not exist, or has logs of jobs", name)
	}
	delete(m.LogGroups, name)
	m.deleteStreams(func(s *LogStream) bool { return s.Group == name })
	return nil
}

// deleteLogStream removes a stream of CreateLogStream.
func (m *Model) deleteLogStream(d *LogStreamDeletion) error {
	g := m.LogGroups[d.Group]
	if g == nil || g.created[d.Stream] == nil {
		return fmt.Errorf("delete log stream %q: it does not exist, or has the log of a job", d.Stream)
	}
	delete(g.created, d.Stream)
	m.deleteStreams(func(s *LogStream) bool { return s.Group == d.Group && s.Name == d.Stream && s.Task == nil })
	return nil
}

// deleteStreams removes streams from the list, which keeps empty entries in their places.
func (m *Model) deleteStreams(deleted func(*LogStream) bool) {
	m.LogStreams = slices.Clone(m.LogStreams) // readers may still use the list
	for i := range m.LogStreams {
		if deleted(&m.LogStreams[i]) {
			m.LogStreams[i] = LogStream{}
		}
	}
	m.LogDeletions++
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

// FindStream finds the stream with a name in a log group; nil if it does not exist. stopped is when
// its attempt ended, in epoch milliseconds; 0 if it still runs or has no attempt.
func (m *Model) FindStream(group, name string) (s *LogStream, stopped int64) {
	if g := m.LogGroups[group]; g != nil && g.created[name] != nil {
		return g.created[name], 0
	}
	t := m.streams[streamID(name)]
	if t == nil {
		return nil, 0
	}
	for k := range t.Attempts {
		for _, s := range t.streams(k) {
			if s.Group == group && s.Name == name {
				return &s, t.Attempts[k].StoppedAt
			}
		}
	}
	return nil, 0
}

// streamID returns the last part of a stream's name, which is unique in all groups.
func streamID(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// PartStream returns the name of the log files of container i of an attempt, which is also its id
// for an executor.
func PartStream(stream string, i int) string { return stream + "-" + strconv.Itoa(i) }

// streams returns the log streams of an attempt: one for each container.
func (t *Task) streams(attempt int) []LogStream {
	a := &t.Attempts[attempt]
	if t.Job.Service != nil {
		return []LogStream{{Group: TrainingLogGroup, Name: t.Job.trainingStream(a), File: a.Stream, Task: t, Attempt: attempt}}
	}
	if len(t.Job.Parts) == 0 {
		group, _ := t.logDestination(t.Job.Container.LogConfiguration)
		return []LogStream{{Group: group, Name: t.LogStream(a), File: a.Stream, Task: t, Attempt: attempt}}
	}
	all := make([]LogStream, len(t.Job.Parts))
	for i := range all {
		group, _ := t.logDestination(t.Job.Parts[i].Container.LogConfiguration)
		all[i] = LogStream{Group: group, Name: t.PartLogStream(a, i), File: PartStream(a.Stream, i), Task: t, Attempt: attempt}
	}
	return all
}

// PartLogStream returns the name of the stream of container i in CloudWatch Logs.
func (t *Task) PartLogStream(a *Attempt, i int) string {
	p := &t.Job.Parts[i]
	_, prefix := t.logDestination(p.Container.LogConfiguration)
	if p.Node {
		return prefix + "/default/" + PartStream(a.Stream, i)
	}
	return prefix + "/" + p.Name() + "/" + a.Stream
}

// LogStream returns the name of an attempt's stream in CloudWatch Logs.
func (t *Task) LogStream(a *Attempt) string {
	_, prefix := t.logDestination(t.Job.Container.LogConfiguration)
	return prefix + "/default/" + a.Stream
}
