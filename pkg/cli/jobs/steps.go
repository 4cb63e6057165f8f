package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/target"
)

// stepLines returns a line for each job that ran the same job, because of its onFailure: the job
// itself, and those that ran it again. It is "" for a job that ran once and has no reason to tell.
func stepLines(ctx context.Context, t *target.Target, id string) (string, error) {
	runs, err := t.Submissions.RunsOf(id)
	if err != nil {
		return "", err
	}
	var chain []once.RunJob
	for _, r := range runs {
		for _, j := range r.Attempts(id) {
			// Seen from the target to which a job moved, the others are elsewhere.
			if own := cmp.Or(j.Target, r.Target); t.Submissions.Covers(own) {
				j.At, j.Target = "", ""
			} else {
				j.Target = own
			}
			chain = append(chain, j)
		}
	}
	if len(chain) == 0 || len(chain) == 1 && chain[0].Why == "" {
		return "", nil
	}
	known, err := recallChain(ctx, t, chain)
	if _, missing := errors.AsType[*client.MissingError](err); err != nil && !missing {
		return "", err
	}
	status := map[string]types.JobStatus{}
	for _, job := range known {
		status[aws.ToString(job.JobId)] = job.Status
	}
	var b strings.Builder
	for _, j := range chain {
		b.WriteString(stepLine(j, status[j.ID]))
	}
	return b.String(), nil
}

// recallChain returns what is known about the jobs of a chain. A job of another target is left out
// if that target has no name here or cannot be read.
func recallChain(ctx context.Context, t *target.Target, chain []once.RunJob) (known []once.Recalled, err error) {
	for _, j := range chain {
		if j.ID == "" || j.At == "" && j.Target != "" {
			continue
		}
		more, failed := t.RecallAt(ctx, []string{j.ID}, map[string]string{j.ID: j.At})
		if j.At == "" {
			err = cmp.Or(err, failed)
		}
		known = append(known, more...)
	}
	return known, err
}

// stepLine formats a job of a chain: its status, what it requested, and why it ran.
func stepLine(j once.RunJob, status types.JobStatus) string {
	text := fmt.Sprintf("  step      %s  %s  %s", diag.Printable(j.Name), batch.ShortID(j.ID), status)
	if j.MemoryMiB > 0 {
		text += fmt.Sprintf("  %d MiB", j.MemoryMiB)
	}
	text += "  queue " + diag.Printable(j.Queue)
	if j.At != "" || j.Target != "" {
		text += "  target " + diag.Printable(cmp.Or(j.At, j.Target))
	}
	if j.Cause != "" {
		text += "  after " + j.Cause
		if j.Saw != "" {
			text += " (" + diag.Printable(j.Saw) + ")"
		}
	}
	if j.Why != "" {
		text += "  no further step: " + diag.Printable(j.Why)
	}
	return text + "\n"
}
