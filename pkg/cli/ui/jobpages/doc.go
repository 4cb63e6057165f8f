// Package jobpages has the pages about jobs: the list of jobs, a job, the children of an array with their results, a
// workflow, and the check of a job file.
package jobpages
