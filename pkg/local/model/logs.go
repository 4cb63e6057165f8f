package model

import (
	"fmt"
	"slices"
)

// LogGroup is a log group in CloudWatch Logs.
type LogGroup struct {
	CreatedAt int64 // epoch milliseconds; 0: the default group, which nothing has used yet
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

// Logs is the index of the log groups and streams. Their events are in the log store.
type Logs struct {
	LogGroups map[string]*LogGroup
	// LogStreams are all streams, by their starts or creations. The list only grows: a deleted stream
	// leaves an empty entry, so that positions in the list stay valid.
	LogStreams []LogStream
	// LogDeletions counts the deletions of log groups and streams.
	LogDeletions int
	streams      map[string]*Task // by the UUID of a log stream
}

// newLogs returns an index that has only the default log group.
func newLogs() Logs {
	return Logs{LogGroups: map[string]*LogGroup{DefaultLogGroup: {}}, streams: map[string]*Task{}}
}

// apply applies the events about log groups and streams; ok is false for others.
func (l *Logs) apply(at int64, e *Event) (ok bool, err error) {
	switch {
	case e.LogGroupCreated != nil:
		err = l.createLogGroup(at, e.LogGroupCreated)
	case e.LogStreamCreated != nil:
		err = l.createLogStream(at, e.LogStreamCreated)
	case e.RetentionSet != nil:
		l.logGroup(at, e.RetentionSet.Group).RetentionDays = e.RetentionSet.Days
	case e.LogGroupDeleted != nil:
		err = l.deleteLogGroup(e.LogGroupDeleted.Group)
	case e.LogGroupTagged != nil:
		l.logGroup(at, e.LogGroupTagged.Group).Tags = e.LogGroupTagged.Tags
	case e.LogStreamDeleted != nil:
		err = l.deleteLogStream(e.LogStreamDeleted)
	default:
		return false, nil
	}
	return true, err
}

// addAttempt adds the streams of a task's newest attempt.
func (l *Logs) addAttempt(at int64, t *Task) {
	for _, r := range t.streams(len(t.Attempts) - 1) {
		l.streams[streamID(r.Name)] = t
		l.LogStreams = append(l.LogStreams, r)
		l.logGroup(at, r.Group).Attempts++
	}
}

// FindStream finds the stream with a name in a log group; nil if it does not exist. stopped is when
// its attempt ended, in epoch milliseconds; 0 if it still runs or has no attempt.
func (l *Logs) FindStream(group, name string) (s *LogStream, stopped int64) {
	if g := l.LogGroups[group]; g != nil && g.created[name] != nil {
		return g.created[name], 0
	}
	t := l.streams[streamID(name)]
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
func (l *Logs) logGroup(at int64, name string) *LogGroup {
	g := l.LogGroups[name]
	if g == nil {
		g = &LogGroup{}
		l.LogGroups[name] = g
	}
	if g.CreatedAt == 0 {
		g.CreatedAt = at
	}
	return g
}

// createLogGroup adds a log group.
func (l *Logs) createLogGroup(at int64, c *LogGroupCreation) error {
	if c.Group == "" || l.LogGroups[c.Group] != nil {
		return fmt.Errorf("create log group %q: no name, or the group exists", c.Group)
	}
	g := l.logGroup(at, c.Group)
	g.Class, g.Tags = c.Class, c.Tags
	return nil
}

// createLogStream adds a log stream without an attempt.
func (l *Logs) createLogStream(at int64, c *LogStreamCreation) error {
	if s, _ := l.FindStream(c.Group, c.Stream); s != nil || c.Group == "" || c.File == "" {
		return fmt.Errorf("create log stream %q: no group or file, or the stream exists", c.Stream)
	}
	g, s := l.logGroup(at, c.Group), LogStream{Group: c.Group, Name: c.Stream, File: c.File, CreatedAt: at}
	if g.created == nil {
		g.created = map[string]*LogStream{}
	}
	g.created[c.Stream] = &s
	l.LogStreams = append(l.LogStreams, s)
	return nil
}

// deleteLogGroup removes a log group with its created streams. It must have no streams of attempts.
func (l *Logs) deleteLogGroup(name string) error {
	if g := l.LogGroups[name]; g == nil || g.Attempts > 0 || name == DefaultLogGroup {
		return fmt.Errorf("delete log group %q: it does not exist, or has logs of jobs", name)
	}
	delete(l.LogGroups, name)
	l.deleteStreams(func(s *LogStream) bool { return s.Group == name })
	return nil
}

// deleteLogStream removes a stream of CreateLogStream.
func (l *Logs) deleteLogStream(d *LogStreamDeletion) error {
	g := l.LogGroups[d.Group]
	if g == nil || g.created[d.Stream] == nil {
		return fmt.Errorf("delete log stream %q: it does not exist, or has the log of a job", d.Stream)
	}
	delete(g.created, d.Stream)
	l.deleteStreams(func(s *LogStream) bool { return s.Group == d.Group && s.Name == d.Stream && s.Task == nil })
	return nil
}

// deleteStreams removes streams from the list, which keeps empty entries in their places.
func (l *Logs) deleteStreams(deleted func(*LogStream) bool) {
	l.LogStreams = slices.Clone(l.LogStreams) // readers may still use the list
	for i := range l.LogStreams {
		if deleted(&l.LogStreams[i]) {
			l.LogStreams[i] = LogStream{}
		}
	}
	l.LogDeletions++
}
