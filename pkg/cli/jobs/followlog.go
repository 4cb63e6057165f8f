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
	// time. At AWS each child costs one call per poll, and CloudWatch Logs allows 25
	// GetLogEvents calls a second. Locally it is the size of one DescribeJobs call.
	windowLocal = 100
	windowAWS   = 25
	// mostLogErrors is the most children whose unreadable log is reported.
	mostLogErrors = 3
)

// followLog starts to print a job's log when the job can have one. It does
// nothing for a job whose log is already followed.
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

// hasLog reports whether a job, any of its children or any of its nodes may have
// written a log.
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
	case job.EksProperties != nil: // on AWS its log is in the cluster
		return begun && batch.IsLocal(aws.ToString(job.JobArn))
	}
	return job.Container != nil && aws.ToString(job.Container.LogStreamName) != ""
}

// followOne prints the log of a job without children or nodes.
func (f *follower) followOne(ctx context.Context, id, label string) {
	prefix := ""
	if len(f.jobs) > 1 || f.target.Several {
		prefix = diag.Printable(label) + " | "
	}
	for line, err := range f.target.Client.Logs(ctx, id, client.LogOptions{Follow: true}) {
		if err != nil {
			f.logTrouble(label, err)
			return
		}
		f.LogLine(prefix, line.Text, line.More)
	}
}

// followParts prints the logs of an array's children or a job's nodes as they
// arrive. Each line begins with the name of its child. At AWS it reads at most
// MostLogs of them.
func (f *follower) followParts(ctx context.Context, id, label string, ids []string) {
	o, all := client.LogOptions{Follow: true, Window: windowLocal}, len(ids)
	if !f.target.IsLocal() {
		o.Window, ids = windowAWS, ids[:min(all, MostLogs)]
	}
	failures := 0
	for line, err := range f.target.Client.MergedLogs(ctx, ids, o) {
		switch {
		case err == nil:
			f.LogLine(diag.Printable(label+session.PartOf(line.Job))+" | ", line.Text, false)
		case line.Job == "":
			f.logTrouble(label, err)
		default:
			if failures++; failures <= mostLogErrors {
				f.logTrouble(label+session.PartOf(line.Job), err)
			}
		}
	}
	if len(ids) < all && ctx.Err() == nil {
		f.Line("%s", fmt.Sprintf("%s: %d of %d logs were read; to read all: batchctl logs %s --limit 0%s", label,
			len(ids), all, batch.ShortID(id), f.target.Flags))
	}
}

// logTrouble reports why a log cannot be read. This must not hide how the job
// ended.
func (f *follower) logTrouble(label string, err error) {
	if !errors.Is(err, context.Canceled) {
		f.Line("log of %s: %v", label, err)
	}
}
