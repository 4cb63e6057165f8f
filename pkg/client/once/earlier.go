package once

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/document"
)

// EarlierError reports that a dependency on a job of an earlier submission cannot be used. Nothing
// was sent.
type EarlierError struct {
	// Job depends on On, the name or short id of a job.
	Job, On string
	Err     error
}

// Error names the job, its dependency and the cause.
func (e *EarlierError) Error() string {
	return fmt.Sprintf("submit job %s: it depends on %s, a job of an earlier submission: %v", e.Job, e.On, e.Err)
}

// Unwrap returns the cause.
func (e *EarlierError) Unwrap() error { return e.Err }

// findEarlier resolves the names of jobs of earlier submissions, each once, and checks that the
// service still has them.
func findEarlier(ctx context.Context, c *Client, r *run) error {
	found := map[string]string{}
	for _, t := range r.tasks {
		for i, e := range t.earlier {
			id, known := found[e.Name]
			if !known {
				var err error
				if id, err = c.Resolve(ctx, e.Name, nil); err != nil {
					return &EarlierError{t.name, e.Name, err}
				}
				found[e.Name] = id
			}
			t.earlier[i].ID = id
			if e.Type != "" {
				continue // child by child, so it is the array itself
			}
			ids, err := c.counting(ctx, id)
			if err != nil {
				return err
			}
			t.earlier[i].ID = ids[0]
			for _, id := range ids[1:] {
				t.earlier = append(t.earlier, earlier{Name: e.Name, ID: id})
			}
		}
	}
	return checkEarlier(ctx, c, r)
}

// counting returns the jobs of a job's chain whose result counts: a job that FAILED and was healed would fail each job
// that depends on it.
func (c *Client) counting(ctx context.Context, id string) (ids []string, err error) {
	if c.Ledger == nil {
		return []string{id}, nil
	}
	chains, err := c.Ledger.Chains([]client.Known{{ID: id}})
	if err != nil || len(chains[0]) == 1 {
		return []string{id}, err
	}
	var here client.Chain
	for _, k := range chains[0] {
		if k.At == "" {
			here, ids = append(here, k), append(ids, k.ID)
		}
	}
	described, err := c.ByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	var known client.Chain
	var details []types.JobDetail
	for _, k := range here.Described(described) {
		if d, ok := described[k.ID]; ok {
			known, details = append(known, k), append(details, d)
		}
	}
	if known == nil {
		return []string{id}, nil // checkEarlier reports that they are forgotten
	}
	ids = nil
	for _, i := range known.Current(details) {
		ids = append(ids, known[i].ID)
	}
	return ids, nil
}

// errForgotten means that a job can no longer be used as a dependency.
var errForgotten = errors.New("it ended so long ago that the service has deleted it; remove that dependency, or submit that job again")

// checkEarlier refuses dependencies on jobs that the service has forgotten. For a job that waits in
// the client, the remembered outcome of the dependency is enough.
func checkEarlier(ctx context.Context, c *Client, r *run) error {
	var ids []string
	for _, t := range r.tasks {
		for _, e := range t.earlier {
			ids = append(ids, e.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	jobs, err := c.Recall(ctx, client.Distinct(ids)...)
	missing, isMissing := errors.AsType[*client.MissingError](err)
	if err != nil && !isMissing {
		return err
	}
	forgotten := map[string]Recalled{}
	for _, job := range jobs {
		if job.Forgotten {
			forgotten[aws.ToString(job.JobId)] = job
		}
	}
	for _, t := range r.tasks {
		for _, e := range t.earlier {
			if isMissing && slices.Contains(missing.IDs, e.ID) {
				return &EarlierError{t.name, e.Name, &client.MissingError{IDs: []string{e.ID}}}
			}
			job, isForgotten := forgotten[e.ID]
			if isForgotten && (t.when == "" || t.when == document.WhenFailure && !batch.HasEnded(job.Status)) {
				return &EarlierError{t.name, e.Name, errForgotten}
			}
		}
	}
	return nil
}
