// Package jobs shows jobs and waits for them: status, list, logs, wait, stop, explain and queues.
package jobs
