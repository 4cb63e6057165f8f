// Package batchapi answers the requests of AWS Batch.
//
// operations.go has the table of operations. There is a small struct for each resource, in a file with its operations:
// queues.go, environments.go and so on. Jobs have several: submit.go, stop.go, describe.go and list.go.
//
// Each operation checks its request, reads the model and proposes events. Files that several operations use:
//
//   - service.go: what each resource's struct has
//   - lenient.go: the differences between a strict and a lenient engine
//   - names.go, faults.go, checks.go: names, errors and checks of AWS Batch
//   - nodes.go, parts.go, pods.go, work.go: checks of the containers of jobs and their definitions
//   - jobdetail.go, containerdetail.go, taskdetail.go, poddetail.go, summary.go: jobs as an answer shows them
//   - joblist.go: which jobs a list has
package batchapi
