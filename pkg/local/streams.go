package local

import (
	"strconv"
	"strings"
)

// stream finds the log stream of a name, which is definition/container/UUID. file is the name of its files,
// stopped when its attempt ended, in epoch milliseconds; 0: it still writes.
func (m *model) stream(name string) (file string, stopped int64, exists bool) {
	id := name[strings.LastIndexByte(name, '/')+1:]
	t := m.streams[id]
	if t == nil {
		return "", 0, false
	}
	for k := range t.attempts {
		a := &t.attempts[k]
		for i := range t.job.parts {
			if t.partLogStream(a, i) == name {
				return partStream(a.stream, i), a.stoppedAt, true
			}
		}
		if a.stream == id {
			return id, a.stoppedAt, len(t.job.parts) == 0 && t.logStream(a) == name
		}
	}
	return "", 0, false
}

// partStream is the name of the log files of container i of an attempt, and its id
// for an executor.
func partStream(stream string, i int) string { return stream + "-" + strconv.Itoa(i) }

// streams is the log streams of the task's newest attempt: one for each container.
func (t *task) streams() []logRef {
	a, at := t.last(), len(t.attempts)-1
	if len(t.job.parts) == 0 {
		return []logRef{{name: t.logStream(a), file: a.stream, task: t, attempt: at}}
	}
	var all []logRef
	for i := range t.job.parts {
		all = append(all, logRef{name: t.partLogStream(a, i), file: partStream(a.stream, i), task: t, attempt: at})
	}
	return all
}

// partLogStream is the name of the stream of container i in CloudWatch Logs.
func (t *task) partLogStream(a *attempt, i int) string {
	if t.job.parts[i].node {
		return t.job.definition.name() + "/default/" + partStream(a.stream, i)
	}
	return t.job.definition.name() + "/" + t.job.parts[i].name() + "/" + a.stream
}

// logRef is an attempt that has a log stream.
type logRef struct {
	name    string
	file    string // see logFile
	task    *task
	attempt int
}

// logStream is the name of an attempt's stream in CloudWatch Logs.
func (t *task) logStream(a *attempt) string {
	return t.job.definition.name() + "/default/" + a.stream
}
