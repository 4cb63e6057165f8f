// Package local is AWS Batch in one process: states, scheduler, journal,
// executors and the HTTP API.
//
// The order of the room, from the inside out: the model (state.go, events.go,
// model.go, lines.go, array.go, retry.go, the scheduler in schedule.go, picker.go,
// placement.go, share.go and limits.go, and the first half of the files named after
// resources) is pure, it knows no clock, no file and no goroutine; the package
// journal keeps its events; engine.go drives it, and attempt.go and taskrun.go run
// what it starts through an Executor; http.go and the files named after operations
// only translate.
package local
