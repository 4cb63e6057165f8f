// Package api answers the requests of AWS SDKs for an engine: AWS Batch, the part of CloudWatch
// Logs that reads what jobs print and stores other events, and the part of ECS that shows clusters.
//
// http.go reads a request and finds its operation, auth.go checks its signature, page.go cuts answers into pages. The other
// files have the operations of one resource each, with the checks of their requests. They read the model and propose
// events. A Backend is the engine that keeps both.
package api
