package model

// verdict is the decision about a task.
type verdict uint8

const (
	starts     verdict = iota
	waits              // others of its class may start
	classWaits         // no task of its class can start now
	queueWaits         // no task of its queue can start now
)
