// Package local runs AWS Batch in one process.
//
// An Engine connects the packages below it. Package model decides: which states jobs are in, which
// job starts next, what follows from an event. Package journal keeps the events on disk. Package
// api answers the requests of AWS SDKs. When the model starts a job, package attempt carries it out
// through an executor, from package process or package container. Package logs keeps its output.
// Package hardware measures the machine.
package local
