package model

import (
	"strconv"
	"strings"
)

// FindStream finds a log stream by its name, which is definition/container/UUID. file is the name
// of its files. stopped is when its attempt ended, in epoch milliseconds; 0 if it still runs.
func (m *Model) FindStream(name string) (file string, stopped int64, exists bool) {
	id := name[strings.LastIndexByte(name, '/')+1:]
	t := m.streams[id]
	if t == nil {
		return "", 0, false
	}
	for k := range t.Attempts {
		a := &t.Attempts[k]
		for i := range t.Job.Parts {
			if t.PartLogStream(a, i) == name {
				return PartStream(a.Stream, i), a.StoppedAt, true
			}
		}
		if a.Stream == id {
			return id, a.StoppedAt, len(t.Job.Parts) == 0 && t.LogStream(a) == name
		}
	}
	return "", 0, false
}

// PartStream returns the name of the log files of container i of an attempt, which is also its id
// for an executor.
func PartStream(stream string, i int) string { return stream + "-" + strconv.Itoa(i) }

// streams returns the log streams of the task's newest attempt: one for each container.
func (t *Task) streams() []LogStream {
	a, at := t.Last(), len(t.Attempts)-1
	if len(t.Job.Parts) == 0 {
		return []LogStream{{Name: t.LogStream(a), File: a.Stream, Task: t, Attempt: at}}
	}
	var all []LogStream
	for i := range t.Job.Parts {
		all = append(all, LogStream{Name: t.PartLogStream(a, i), File: PartStream(a.Stream, i), Task: t, Attempt: at})
	}
	return all
}

// PartLogStream returns the name of the stream of container i in CloudWatch Logs.
func (t *Task) PartLogStream(a *Attempt, i int) string {
	if t.Job.Parts[i].Node {
		return t.Job.Definition.Name() + "/default/" + PartStream(a.Stream, i)
	}
	return t.Job.Definition.Name() + "/" + t.Job.Parts[i].Name() + "/" + a.Stream
}

// LogStream is the log stream of an attempt, or of one of its containers.
type LogStream struct {
	Name    string // in CloudWatch Logs
	File    string // name of its files, see package logs
	Task    *Task
	Attempt int // index of the attempt
}

// LogStream returns the name of an attempt's stream in CloudWatch Logs.
func (t *Task) LogStream(a *Attempt) string {
	return t.Job.Definition.Name() + "/default/" + a.Stream
}
