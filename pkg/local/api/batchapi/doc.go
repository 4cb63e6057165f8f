// Package batchapi answers the requests of AWS Batch.
//
// operations.go has the table of operations. There is a small struct for each resource, in a file with its operations:
// queues.go, environments.go and so on. Jobs have several: submit.go, stop.go, describe.go and list.go.
//
// Each operation checks its request, reads the model and proposes events. Several operations use these files:
//
//   - service.go: what the struct of each resource has
//   - names.go, faults.go, checks.go: names, errors and checks of AWS Batch
//   - nodes.go, parts.go, pods.go, work.go: checks of the containers of jobs and their definitions
//   - notice.go, unknown.go: what an answer reports besides, and the status of jobs without an engine
//   - jobdetail.go, containerdetail.go, taskdetail.go, poddetail.go, summary.go: jobs as an answer shows them
//   - jobfilter.go: which jobs an answer lists
package batchapi
