// Package source gets what the pages of batchctl ui show. A Commander runs batchctl's commands in this process and
// shares their answers among the open pages; an Observer queries the queues and keeps the list of jobs.
package source
