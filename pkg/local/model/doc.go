// Package model keeps the jobs, queues, compute environments and other resources of an engine, and
// decides what happens to them.
//
// It is pure: it reads no clock, no file and no network, and starts no goroutine. Model.Apply
// alone changes a Model, one Event at a time, so the same events always lead to the same model.
//
// A Model is composed of parts. Each has its own state and rules, and no pointer to the others:
//
//   - ControlPlane: what requests create besides jobs (controlplane.go). It is composed of QueueTable,
//     EnvironmentTable, PolicyTable, QuotaShareTable, ConsumableTable and DefinitionTable. The environments in
//     which a job fits are in placement.go
//   - JobTable: the jobs and how they are found (jobtable.go), and every change of their states (moves.go). It lists
//     the tasks that are due (due.go) and has the QueueJobs of each queue (queuejobs.go) with its shares (share.go)
//   - Machine: the resources and devices of the local machine that are in use (machine.go)
//   - Logs: the log groups and streams (logs.go)
//   - invocations: the calls of the last hour (invocation.go)
//
// The decisions read these parts and change nothing. Model has a method for each (decide.go):
//
//   - Follow: the events that follow for a job from what happened (followUp in follow.go)
//   - Schedule: which jobs start next (scheduler in schedule.go); the order in a queue (picker.go), the claims of
//     fair shares (fairness.go), quota shares (quotas.go), and what is free (freecapacity.go)
//   - Preemptions: which attempts of service jobs end for others (preempt.go)
//   - Overdue: which jobs have waited longer than their queue allows (limits.go)
//   - Ending, a function: whether a failed attempt is retried (ending.go, retry.go)
//
// A submission passes through the parts in this order. Model.Apply finds its definition in the DefinitionTable,
// newJob (submission.go) computes the job's Work (work.go), and Model.add gives the job to the ConsumableTable and
// the JobTable. That lists it in its queue and marks it as due.
//
// A Dispatcher (dispatch.go) runs the same scheduler for jobs of a simulation, without a Model.
package model
