// Package local runs AWS Batch in one process.
//
// An Engine connects the packages below it. Package model decides: which states jobs are in, which
// job starts next, what follows from an event. Package journal keeps the events on disk. Package
// api answers the requests of AWS SDKs. When the model starts a job, package attempt carries it out
// through an executor, from package process or package container. Package logs keeps its output.
// Package hardware measures the machine.
//
// An Engine opens and closes the state directory, and decides when the model changes (engine.go, attempt.go). It is
// composed of parts. Each has its own state, and no pointer to the engine:
//
//   - stateDirectory: the files of an engine (directory.go). One engine at a time locks them (lock.go). It finds out
//     whether the journal was lost (damage.go), or its engine killed (absence.go)
//   - endpoint: the address and key of an engine, and the file that has both (endpoint.go). A client finds them as a
//     Connection (connection.go), also after the engine has ended (afterend.go, handover.go)
//   - durableModel: the model with its journal (durable.go), from which it removes old jobs (forget.go)
//   - runningAttempts: the attempts in progress and their goroutines (running.go)
//   - jobSecrets: the values that came with jobs (secrets.go)
//   - waiters and subscribers, which wait for changes (waiters.go), and clientConnections (clients.go)
//   - faultDrill: failures on purpose (drill.go)
//
// These goroutines use an engine: its callers, one for each request, one for each attempt or several in succession,
// and timers. One lock, Engine.mu, guards everything that changes after Open. Open runs before the other goroutines,
// so the fields of stateDirectory and endpoint need no lock. The Journal, the Store of logs and the Delivery of events
// have their own.
//
// Only Engine.write changes the model: it appends to the journal, applies the events, then wakes subscribers, the
// delivery and waiters. A request is answered when its record is on disk (Engine.change). An attempt begins when its
// record is in the file (Engine.run).
package local
