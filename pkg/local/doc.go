// Package local is AWS Batch in one process: states, scheduler, journal,
// executors and the HTTP API.
//
// The order of the room, from the inside out: the model (state.go, events.go,
// model.go, array.go, schedule.go, retry.go) is pure, it knows no clock, no file
// and no goroutine; journal.go keeps its events; engine.go drives it and
// attempt.go runs what it starts through an Executor; http.go and the files
// named after operations only translate.
package local
