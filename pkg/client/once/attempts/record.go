// Package attempts records for the history how the attempts of jobs ended, what they used, and on which machines.
//
// record.go decides which attempts are missing in the history, rows.go builds their rows from a job, and machines.go,
// usage.go and hash.go add what AWS Batch does not report with a job.
package attempts

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/history"
)

// Bounds of what one command does for the history. Of a larger array, children at equal distances are recorded.
const (
	// sampledChildren is how many children of an array are recorded: five requests.
	sampledChildren = 500
	// maxMeasured is how many logs are read for measurements; AWS allows 25 requests for events a second.
	maxMeasured = 100
	// readersOfLogs is how many of them are read concurrently.
	readersOfLogs = 8
	// recording is how long all of it may take. What is missing then, a later command records.
	recording = 10 * time.Second
	// settled is how long after the end of an attempt its log is complete.
	settled = time.Minute
)

// Record records the attempts of jobs that have ended, with what they used. An error loses no row: the next
// command that sees the jobs tries again.
func (r *Recorder) Record(jobs []types.JobDetail) error {
	ctx, cancel := context.WithTimeout(context.Background(), recording)
	defer cancel()
	var ended []types.JobDetail
	for _, job := range jobs {
		switch {
		case !batch.HasEnded(job.Status):
		case batch.ArraySize(job) == 0:
			ended = append(ended, job)
		default:
			children, err := r.children(ctx, job)
			if err != nil {
				return err
			}
			ended = append(ended, children...)
		}
	}
	var rows []history.Attempt
	details := map[string]types.JobDetail{}
	for _, job := range ended {
		details[aws.ToString(job.JobId)] = job
		rows = append(rows, r.rows(job)...)
	}
	if len(rows) == 0 {
		return nil
	}
	known, err := r.Store.Find(rows...)
	if err != nil {
		return err
	}
	rows = unknown(rows, known, details)
	if len(rows) == 0 {
		return nil
	}
	r.addHashes(ctx, rows, details)
	r.addMachines(ctx, rows, details)
	r.addImageDigests(ctx, rows, details)
	r.addUsage(ctx, rows, details)
	return r.Store.Add(rows...)
}

// unknown returns the rows that are not recorded, and those of measured attempts whose log was not searched.
func unknown(rows, known []history.Attempt, details map[string]types.JobDetail) (missing []history.Attempt) {
	type key struct {
		job    string
		number int
	}
	recorded := map[key]history.Attempt{}
	for _, a := range known {
		recorded[key{a.Job, a.Number}] = a
	}
	for _, a := range rows {
		k, found := recorded[key{a.Job, a.Number}]
		if !found || k.Usage == nil && !k.Searched && client.IsMeasured(details[a.Job]) {
			missing = append(missing, a)
		}
	}
	return missing
}

// children describes children of an array that are not recorded.
func (r *Recorder) children(ctx context.Context, array types.JobDetail) ([]types.JobDetail, error) {
	size, id := batch.ArraySize(array), aws.ToString(array.JobId)
	n := min(size, sampledChildren)
	var rows []history.Attempt
	for i := range n {
		rows = append(rows, history.Attempt{Target: r.Target, Job: batch.ChildID(id, i*size/n), Number: 1})
	}
	known, err := r.Store.Find(rows...)
	if err != nil {
		return nil, err
	}
	isKnown := map[string]bool{}
	for _, a := range known {
		isKnown[a.Job] = a.Usage != nil || a.Searched || !client.IsMeasured(array)
	}
	var missing []string
	for _, a := range rows {
		if !isKnown[a.Job] {
			missing = append(missing, a.Job)
		}
	}
	if missing == nil {
		return nil, nil
	}
	found, err := r.Client.ByID(ctx, missing)
	if err != nil {
		return nil, err
	}
	var children []types.JobDetail
	for _, id := range missing {
		if job, ok := found[id]; ok && batch.HasEnded(job.Status) {
			children = append(children, job)
		}
	}
	return children, nil
}
