package model

import (
	"iter"
	"slices"
)

// FindECSTask returns the ECS task with an id; ok is false if it does not exist.
func (l *Logs) FindECSTask(id string) (e ECSTask, ok bool) {
	t := l.streams[id]
	if t == nil || !t.Job.hasECSTask() {
		return ECSTask{}, false
	}
	for k := range t.Attempts {
		for node := range max(t.Job.Nodes(), 1) {
			if e := (ECSTask{t, k, node}); e.ID() == id {
				return e, true
			}
		}
	}
	return ECSTask{}, false
}

// ActiveECSTasks yields the ECS tasks of attempts that have not ended, in no particular order.
func (s *JobTable) ActiveECSTasks() iter.Seq[ECSTask] {
	return func(yield func(ECSTask) bool) {
		for t := range s.active {
			if !t.Job.hasECSTask() {
				continue
			}
			for node := range max(t.Job.Nodes(), 1) {
				if !yield(ECSTask{t, len(t.Attempts) - 1, node}) {
					return
				}
			}
		}
	}
}

// ECSTasksBefore yields a position in the log streams and the ECS task there, from the newest one
// before a position; a negative position is the end. A stream that begins no task has a nil Task.
func (l *Logs) ECSTasksBefore(position int) iter.Seq2[int, ECSTask] {
	if position < 0 || position > len(l.LogStreams) {
		position = len(l.LogStreams)
	}
	return func(yield func(int, ECSTask) bool) {
		for i, s := range slices.Backward(l.LogStreams[:position]) {
			if !yield(i, s.ecsTask()) {
				return
			}
		}
	}
}
