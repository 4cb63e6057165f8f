// Package api answers the requests of AWS SDKs for an engine: AWS Batch, the part of CloudWatch
// Logs that reads what jobs print and stores other events, and the part of ECS that shows clusters.
//
// It is the entrance. http.go reads a request and finds its operation, auth.go checks its signature, foreign.go rejects
// requests for other services. changes.go and handover.go serve batchctl's own two paths. The operations are in a
// package for each service, batchapi, logsapi and ecsapi, each with a table in operations.go. They take a call.Call,
// check it, read the model and propose events. A Backend is the engine that keeps both.
package api
