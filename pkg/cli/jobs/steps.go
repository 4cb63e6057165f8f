package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/target"
)

// stepLines returns a line for each job of a chain, also for those at other targets. It is "" for a job that ran once
// and has no reason to tell.
func stepLines(ctx context.Context, t *target.Target, chain client.Chain) (string, error) {
	if t.Client.Ledger != nil && !isPart(chain[0].ID) {
		chains, err := t.Client.Ledger.Chains(chain)
		if err != nil {
			return "", err
		}
		chain = chains[0]
	}
	var ids []string
	for _, k := range chain {
		ids = append(ids, k.ID)
	}
	runs, err := t.Submissions.RunsOf(ids...)
	if err != nil {
		return "", err
	}
	steps := make([]once.RunJob, len(chain))
	for i, k := range chain {
		for _, r := range runs {
			if j, ok := r.Job(k.ID); ok {
				steps[i] = j
			}
		}
		steps[i].Name, steps[i].ID, steps[i].Queue, steps[i].Target = k.Name, k.ID,
			cmp.Or(steps[i].Queue, batch.Name(k.Queue)), k.At
		if k.At == "" { // seen from the target to which a job moved, the others are elsewhere
			steps[i].At = ""
		}
	}
	if len(steps) == 1 && steps[0].Why == "" {
		return "", nil
	}
	known, err := recallChain(ctx, t, steps)
	if _, missing := errors.AsType[*client.MissingError](err); err != nil && !missing {
		return "", err
	}
	described := byID(known)
	var b strings.Builder
	for i, j := range steps {
		if i < len(steps)-1 && j.Cause == "" {
			j.Cause = causeRetry
		}
		b.WriteString(stepLine(j, described[j.ID]))
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

// causeRetry is the cause of a job that no rung submitted.
const causeRetry = "retry"

// stepLine formats a job of a chain: its status, what it requested, and why it ran.
func stepLine(j once.RunJob, job types.JobDetail) string {
	text := fmt.Sprintf("  step      %s  %s  %s", diag.Printable(j.Name), batch.ShortID(j.ID), job.Status)
	if j.MemoryMiB > 0 {
		text += fmt.Sprintf("  %d MiB", j.MemoryMiB)
	}
	text += "  queue " + diag.Printable(j.Queue)
	if j.At != "" || j.Target != "" {
		text += "  target " + diag.Printable(cmp.Or(j.At, j.Target))
	}
	switch j.Cause {
	case "":
	case causeRetry:
		text += "  by batchctl retry"
	default:
		text += "  after " + j.Cause
		if j.Saw != "" {
			text += " (" + diag.Printable(j.Saw) + ")"
		}
	}
	if j.Why != "" {
		text += "  no further step: " + diag.Printable(j.Why)
	}
	if why := Outcome(job); job.Status == types.JobStatusFailed && why != "" {
		text += "  " + diag.Printable(why)
	}
	return text + "\n"
}
