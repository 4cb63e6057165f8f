package once

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once/attempts"
)

// Recalled is a job as the service describes it, or as the ledger recorded it.
type Recalled struct {
	types.JobDetail
	// Forgotten means that the service no longer has the job.
	Forgotten bool
}

// Recall is Describe with the help of the ledger. A job that the service has forgotten is returned
// as the ledger recorded it, with StatusExpired if its outcome is unknown. A *MissingError names
// the jobs that neither has, or that are too recent to be forgotten. Recall records the outcomes
// that it sees.
func (c *Client) Recall(ctx context.Context, ids ...string) ([]Recalled, error) {
	known, err := c.ByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	var all []Recalled
	var missing []string
	var memory memory
	for _, id := range ids {
		job, ok := known[id]
		remembered := !ok
		if remembered {
			if memory, err = memory.read(c.Ledger); err != nil {
				return nil, err
			}
			job, ok = memory.job(id)
		}
		if ok {
			all = append(all, Recalled{job, remembered && job.Status != types.JobStatusSubmitted})
		} else {
			missing = append(missing, id)
		}
	}
	if missing != nil {
		return all, &client.MissingError{IDs: missing}
	}
	return all, nil
}

// Keep records how the jobs ended and their attempts, if the client has a ledger.
func (c *Client) Keep(jobs ...types.JobDetail) error {
	if c.Ledger == nil {
		return nil
	}
	r := attempts.Recorder{Client: c.Client, Target: c.Ledger.Target, Store: c.Ledger.History(),
		Machines: c.Machines, Measured: c.Measured, ImageDigests: c.ImageDigests}
	return errors.Join(r.Record(jobs), c.Ledger.Remember(jobs...))
}

// Forgotten returns jobs of the ledger that the service has forgotten, newest first and at most
// most of them. seen reports whether the service has just listed an id. Jobs submitted within the
// service's retention time are left out.
func (c *Client) Forgotten(ctx context.Context, seen func(id string) bool, fits func(types.JobSummary) bool,
	most int) ([]types.JobSummary, error) {
	m, err := memory{}.read(c.Ledger)
	if err != nil || c.Ledger == nil {
		return nil, err
	}
	var unsure []string // outcome unknown: ask the service whether it has the job
	var found []types.JobSummary
	for _, e := range m.newest() {
		if len(found) >= most {
			break
		}
		if seen(e.ID) || time.Since(e.Time) < client.KeptFor {
			continue
		}
		job, _ := m.job(e.ID)
		if s := summaryOf(job); fits(s) {
			found = append(found, s)
			unsure = append(unsure, e.ID)
		}
	}
	known, err := c.ByID(ctx, unsure)
	return slices.DeleteFunc(found, func(s types.JobSummary) bool { _, ok := known[*s.JobId]; return ok }), err
}
