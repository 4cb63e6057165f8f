package model

import (
	"fmt"
	"slices"
)

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
