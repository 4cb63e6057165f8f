package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/diag"
)

const (
	// windowLocal and windowAWS are how many children of an array are read at the same
	// time. At AWS each costs a call a turn, of the 25 a second that CloudWatch Logs
	// answers; the local engine answers all that one DescribeJobs can name.
	windowLocal = 100
	windowAWS   = 25
	// mostLogErrors is how many children are named whose log cannot be read.
	mostLogErrors = 3
)

// followLog starts to print a job's log once it can have one.
func (f *follower) followLog(ctx context.Context, job types.JobDetail) {
	id := aws.ToString(job.JobId)
	if f.Log == nil || f.shown[id] != nil || !hasLog(job) {
		return
	}
	drained := make(chan struct{})
	f.shown[id] = drained
	ids, label := session.Parts(job), f.labels[id]
	f.logs.Go(func() {
		defer close(drained)
		if ids == nil {
			f.followOne(ctx, id, label)
			return
		}
		f.followParts(ctx, id, label, ids)
	})
}

// hasLog reports whether a job, a child of an array or a node may have written something.
func hasLog(job types.JobDetail) bool {
	begun := job.Status == types.JobStatusRunning || batch.HasEnded(job.Status)
	switch {
	case strings.HasPrefix(aws.ToString(job.StatusReason), "Dependent Job"): // it never ran
		return false
	case batch.ArraySize(job) > 0:
		n := job.ArrayProperties.StatusSummary
		return begun || n["RUNNING"]+n["SUCCEEDED"]+n["FAILED"] > 0
	case client.Nodes(job) > 0:
		return begun
	case job.EcsProperties != nil:
		return begun
	}
	return job.Container != nil && aws.ToString(job.Container.LogStreamName) != ""
}

// followOne prints the log of a job without parts.
func (f *follower) followOne(ctx context.Context, id, label string) {
	prefix := ""
	if len(f.jobs) > 1 || f.target.Several {
		prefix = diag.Printable(label) + " | "
	}
	for line, err := range f.target.Logs(ctx, id, client.LogOptions{Follow: true}) {
		if err != nil {
			f.logTrouble(label, err)
			return
		}
		f.LogLine(prefix, line.Text, line.More)
	}
}

// followParts prints the logs of an array's children or a job's nodes as they come, each
// line with the name of its own. Of what runs in the cloud only as many are read as logs
// reads.
func (f *follower) followParts(ctx context.Context, id, label string, ids []string) {
	o, all := client.LogOptions{Follow: true, Window: windowLocal}, len(ids)
	if !f.target.IsLocal() {
		o.Window, ids = windowAWS, ids[:min(all, mostLogs)]
	}
	troubles := 0
	for line, err := range f.target.MergedLogs(ctx, ids, o) {
		switch {
		case err == nil:
			f.LogLine(diag.Printable(label+session.PartOf(line.Job))+" | ", line.Text, false)
		case line.Job == "":
			f.logTrouble(label, err)
		default:
			if troubles++; troubles <= mostLogErrors {
				f.logTrouble(label+session.PartOf(line.Job), err)
			}
		}
	}
	if len(ids) < all && ctx.Err() == nil {
		f.Line("%s", fmt.Sprintf("%s: %d of %d logs were read; all: batchctl logs %s --limit 0%s", label, len(ids), all, batch.ShortID(id), f.target.Flags))
	}
}

// logTrouble says why a log cannot be read. It must never hide how the job ended.
func (f *follower) logTrouble(label string, err error) {
	if !errors.Is(err, context.Canceled) {
		f.Line("log of %s: %v", label, err)
	}
}
