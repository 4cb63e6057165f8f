// Package submit sends jobs to a target: submit, run, resume, retry and replay.
package submit
