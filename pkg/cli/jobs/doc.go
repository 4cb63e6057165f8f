// Package jobs contains the commands that show jobs and wait for them: status, list, logs, wait,
// stop, explain and queues.
package jobs
