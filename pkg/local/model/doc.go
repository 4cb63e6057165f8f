// Package model keeps the jobs, queues, compute environments and other resources of an engine, and
// decides what happens to them.
//
// It is pure: it reads no clock, no file and no network, and starts no goroutine. Model.Apply
// alone changes a Model, one Event at a time, so the same events always lead to the same model.
// Everything else reads it:
//
//   - Model.Due and Model.Follow: what follows for a job from what happened (follow.go)
//   - Model.Schedule: which jobs start now (schedule.go); the order in a queue (picker.go), the claims of shares
//     (share.go), and the compute environments that a job fits in (placement.go)
//   - Model.Preemptions: which attempts of service jobs end for others (quota.go)
//   - Model.Overdue: which jobs have waited longer than their queue allows (limits.go)
//   - Ending: whether a failed attempt is retried (retry.go)
package model
