package top

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/exit"
)

// selection is the part of a target that the arguments choose.
type selection struct {
	queues []string // empty for all
	// ids are the jobs to show, and runs the submissions whose later jobs belong to them. With
	// nil ids, all jobs of the queues are shown.
	ids, runs map[string]bool
}

// choose finds out which arguments are queues, and resolves the others as handles of jobs.
func (r *topReader) choose(ctx context.Context) error {
	if r.chosen != nil {
		return nil
	}
	chosen := &selection{}
	if len(r.args) == 0 {
		r.chosen = chosen
		return nil
	}
	queues, err := r.call.Described(ctx, nil)
	if err != nil {
		return err
	}
	var found []string
	for _, arg := range r.args {
		if q, isQueue := r.call.QueueNamed(queues, arg); q.HasServiceJobs() {
			return exit.Fail(exit.NotDone, "queue %s has service jobs, which batchctl does not show", arg).
				Try("list them: aws batch list-service-jobs --job-queue %s", q.Name)
		} else if isQueue {
			chosen.queues = append(chosen.queues, arg)
			continue
		}
		ids, err := chosen.add(ctx, r, arg)
		if err != nil {
			return err
		}
		found = append(found, ids...)
	}
	known, err := r.call.Client.Recall(ctx, found...)
	if err != nil {
		return err
	}
	for _, job := range known {
		queue := batch.Name(aws.ToString(job.JobQueue))
		if _, isQueue := r.call.QueueNamed(queues, queue); isQueue {
			chosen.queues = append(chosen.queues, queue)
		}
	}
	r.chosen = chosen
	return nil
}

// add adds the jobs of a handle, and returns their ids. For an argument that fits no job the error
// is that of an unknown queue.
func (s *selection) add(ctx context.Context, r *topReader, handle string) (ids []string, err error) {
	chains, err := jobs.NewResolver(r.con, "top", r.call.Target, r.call.Platform).Resolve(ctx, handle, session.AnyJobs)
	if _, missing := errors.AsType[*client.NoSuchJobError](err); missing {
		_, err = r.call.Described(ctx, []string{handle})
	}
	if err != nil {
		return nil, err
	}
	if s.ids == nil {
		s.ids, s.runs = map[string]bool{}, map[string]bool{}
	}
	found := session.Jobs(chains)
	for _, job := range found {
		base, _ := batch.SplitID(job.ID) // top lists arrays, not their children
		s.ids[base] = true
	}
	if len(chains) > 1 {
		known, err := r.call.Client.Memory.Jobs()
		if err != nil {
			return nil, err
		}
		for _, k := range known {
			s.runs[k.Run] = s.runs[k.Run] || k.ID == found[0].ID && k.Run != ""
		}
	}
	return session.IDs(found), nil
}

// filter leaves only the chosen jobs in a snapshot. Steps of a workflow that batchctl has submitted
// since are among them.
func (s *selection) filter(call *jobs.Call, of *Snapshot) error {
	if s.ids == nil {
		return nil
	}
	known, err := call.Client.Memory.Jobs()
	for _, k := range known {
		s.ids[k.ID] = s.ids[k.ID] || s.runs[k.Run]
	}
	kept := []Job{}
	for _, job := range of.Jobs {
		if s.ids[job.id()] {
			kept = append(kept, job)
		}
	}
	of.Jobs = kept
	return err
}
