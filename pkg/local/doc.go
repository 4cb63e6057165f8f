// Package local runs AWS Batch in one process.
//
// An Engine glues the packages below it. Package model decides: which states jobs are in, which job starts next, what
// follows from an event. Package journal keeps the events on disk. Package api answers the requests of AWS SDKs. When
// the model starts a job, package attempt carries out the attempt through an executor, which is that of package process
// or of package container; package logs keeps what it prints. Package hardware says what the machine has.
package local
