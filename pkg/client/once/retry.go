package once

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/plan"
)

// NothingFailedError reports that none of the jobs failed.
type NothingFailedError struct{ IDs []string }

// Error names the jobs.
func (e *NothingFailedError) Error() string {
	var short []string
	for _, id := range e.IDs {
		short = append(short, batch.ShortID(id))
	}
	return "nothing failed in " + strings.Join(short, ", ")
}

// NotEndedError reports a job that may still fail or succeed.
type NotEndedError struct {
	Job, ID string
	Status  types.JobStatus
}

// Error names the job and its status.
func (e *NotEndedError) Error() string {
	return fmt.Sprintf("job %s (%s) is %s: wait until it ends", e.Job, batch.ShortID(e.ID), e.Status)
}

// PendingError reports a job that an interrupted submission runs again when it is resumed.
type PendingError struct{ Job, ID, Run string }

// Error names the job and the submission.
func (e *PendingError) Error() string {
	return fmt.Sprintf("the interrupted submission %s runs job %s (%s) again", e.Run, e.Job, batch.ShortID(e.ID))
}

// Retry creates a plan that runs failed jobs again. For an array it runs the FAILED children, or
// those of them that are named (array:3), in as many jobs as needed. Any other FAILED job runs as
// before. What a newer job of the same chain runs again counts only there: if it SUCCEEDED, nothing of it
// runs again. Jobs keep their definition, queue, overrides, parameters, timeout, retry strategy and
// tags. They keep only the dependencies that run again as well, those in the client included; the
// others have ended. sweep.CellsVariable tells the children their cells. A plain array gets a
// launcher that sets the old index, for which its image needs a shell. Jobs without failures are
// ignored. The error is a *NothingFailedError, a *NotEndedError, a *PendingError, a *RetryError,
// a *MissingError or an error of a call.
func (c *Client) Retry(ctx context.Context, ids []string, o RetryOptions) (*plan.Plan, error) {
	jobs, chains, wanted, err := c.retried(ctx, ids)
	if err != nil {
		return nil, err
	}
	r := retrying{client: c.Client, options: o, definitions: map[string]types.JobDefinition{}}
	var all []*runAgain
	for _, chain := range chains {
		replaced := chain.Replaced()
		for i, k := range chain {
			job, ok := jobs[k.ID]
			if !ok {
				continue // not named, or forgotten
			}
			again, err := r.failedParts(ctx, job, wanted[k.ID], replaced[i])
			if err != nil {
				return nil, err
			}
			if len(again.parts) > 0 {
				again.chain = chain
				all = append(all, again)
			}
		}
	}
	if len(all) == 0 {
		return nil, &NothingFailedError{ids}
	}
	runs, err := runsAgain(c.Ledger, all)
	if err != nil {
		return nil, err
	}
	p := &plan.Plan{}
	p.Jobs, err = inOrder(all)
	if err != nil {
		return nil, err
	}
	p.Name = retryName(p.Jobs, runs)
	return p, nil
}

// retried returns the chains of jobs and the descriptions of the jobs that may run again. wanted are the indexes of
// the children that are meant; an array without an entry is meant as a whole.
func (c *Client) retried(ctx context.Context,
	ids []string) (jobs map[string]types.JobDetail, chains []client.Chain, wanted map[string][]int, err error) {
	named, children, err := partedIDs(ids)
	if err != nil {
		return nil, nil, nil, err
	}
	described, err := c.Describe(ctx, named...)
	if err != nil {
		return nil, nil, nil, err
	}
	var known []client.Known
	for _, job := range described {
		known = append(known, client.KnownOf(job))
	}
	if chains = client.ChainsOf(known, known); c.Ledger != nil {
		if chains, err = c.Ledger.Chains(known); err != nil {
			return nil, nil, nil, err
		}
	}
	var whole []string
	jobs, wanted = map[string]types.JobDetail{}, map[string][]int{}
	for i, chain := range chains {
		var members []string
		for _, k := range chain {
			members = append(members, k.ID)
		}
		more, err := c.ByID(ctx, members)
		if err != nil {
			return nil, nil, nil, err
		}
		chains[i] = chain.Described(more)
		for _, k := range chains[i] {
			if job, ok := more[k.ID]; ok {
				jobs[k.ID] = job
			}
			if slices.Contains(named, k.ID) && children[k.ID] == nil {
				whole = append(whole, members...)
			}
		}
	}
	for _, chain := range chains {
		for _, k := range chain {
			for _, index := range children[k.ID] {
				for _, part := range chain.Part(k.ID, index) {
					if base, at, isChild := batch.SplitChildID(part.ID); isChild {
						wanted[base] = append(wanted[base], at)
					} else {
						whole = append(whole, part.ID)
					}
				}
			}
		}
	}
	if c.Ledger != nil {
		pending, err := c.Ledger.pending()
		if err != nil {
			return nil, nil, nil, err
		}
		for _, k := range pending {
			if job, ok := jobs[k.Again]; ok {
				return nil, nil, nil, &PendingError{aws.ToString(job.JobName), k.Again, k.Run}
			}
		}
	}
	for id := range jobs {
		if slices.Contains(whole, id) {
			delete(wanted, id)
		} else if wanted[id] == nil {
			delete(jobs, id)
		}
	}
	return jobs, chains, wanted, nil
}

// partedIDs splits ids into jobs and indexes of children. An array without indexes maps to nil: all
// of its children.
func partedIDs(ids []string) (arrays []string, wanted map[string][]int, err error) {
	wanted = map[string][]int{}
	whole := map[string]bool{}
	for _, id := range ids {
		base, suffix := batch.SplitID(id)
		arrays = append(arrays, base)
		if suffix == "" {
			whole[base] = true
			continue
		}
		index, err := strconv.Atoi(suffix[1:])
		if err != nil || suffix[0] != ':' {
			return nil, nil, &RetryError{id, id, "it is neither a job nor a child of an array"}
		}
		wanted[base] = append(wanted[base], index)
	}
	for base := range whole {
		delete(wanted, base)
	}
	return client.Distinct(arrays), wanted, nil
}

// failedParts returns the jobs that run the failed parts of a job again; none if nothing failed that is not replaced.
func (r *retrying) failedParts(ctx context.Context, job types.JobDetail, wanted []int,
	replaced map[int]bool) (*runAgain, error) {
	name, id := aws.ToString(job.JobName), aws.ToString(job.JobId)
	if !batch.HasEnded(job.Status) && wanted == nil && !r.options.Partial {
		return nil, &NotEndedError{name, id, job.Status}
	}
	again := &runAgain{job: job}
	if batch.ArraySize(job) == 0 {
		if job.Status != types.JobStatusFailed || replaced[0] {
			return again, nil
		}
		in, err := r.request(ctx, job)
		if err != nil {
			return nil, err
		}
		again.parts = []*plan.Job{retryJob(job, in, retrySuffix)}
		return again, nil
	}
	failed, err := r.failed(ctx, id, wanted)
	failed = slices.DeleteFunc(failed, func(index int) bool { return replaced[index] })
	if err != nil || len(failed) == 0 {
		return again, err
	}
	in, err := r.request(ctx, job)
	if err != nil {
		return nil, err
	}
	cells, err := cellsOf(job, failed)
	if err != nil {
		return nil, err
	}
	if err := asSweep(job, in); err != nil {
		return nil, err
	}
	again.children = failed
	again.parts, err = r.arrays(job, in, cells)
	return again, err
}

// runAgain is a job with the jobs that run it again.
type runAgain struct {
	job types.JobDetail
	// chain is the job's chain.
	chain client.Chain
	// when is the job's plan.Job.When.
	when string
	// inClient are the jobs that the job waited for in the client before it was submitted.
	inClient []types.JobDependency
	// children are the indexes of an array that run again.
	children []int
	parts    []*plan.Job
}

// runsAgain returns the runs of the jobs, and adds to each job what it waited for in the client.
// Only the ledger has that: the job was submitted without dependencies.
func runsAgain(l *Ledger, all []*runAgain) ([]Run, error) {
	if l == nil {
		return nil, nil
	}
	var ids []string
	for _, r := range all {
		ids = append(ids, aws.ToString(r.job.JobId))
	}
	runs, err := l.RunsOf(ids...)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		for _, run := range runs {
			j, ok := run.Job(aws.ToString(r.job.JobId))
			if !ok || j.When == "" {
				continue
			}
			r.when = j.When
			for _, id := range run.AfterIDs(j) {
				r.inClient = append(r.inClient, types.JobDependency{JobId: &id})
			}
		}
	}
	return runs, nil
}

// retryName returns the name of a plan that runs jobs again: that of the only job or array, the
// workflow's name with a suffix, or "".
func retryName(jobs []*plan.Job, runs []Run) string {
	first := jobs[0].Group
	if !slices.ContainsFunc(jobs, func(j *plan.Job) bool { return j.Group != first }) {
		return first
	}
	if len(runs) == 1 && runs[0].Name != "" {
		return runs[0].Name + retrySuffix
	}
	return ""
}

// inOrder returns all jobs, each after those that it waits for.
func inOrder(all []*runAgain) (jobs []*plan.Job, err error) {
	byID, byChain := map[string]*runAgain{}, map[string]*runAgain{}
	for _, r := range all {
		byID[*r.job.JobId] = r
		for _, k := range r.chain {
			if byChain[k.ID] == nil {
				byChain[k.ID] = r
			}
		}
	}
	begun := map[*runAgain]bool{}
	var add func(r *runAgain) error
	add = func(r *runAgain) error {
		if begun[r] {
			return nil
		}
		begun[r] = true
		for _, d := range slices.Concat(r.job.DependsOn, r.inClient) {
			on := byID[aws.ToString(d.JobId)]
			if on == nil { // a newer job runs it again; its children have other indexes
				on, d.Type = byChain[aws.ToString(d.JobId)], ""
			}
			if on == nil || on == r {
				continue
			}
			if err := add(on); err != nil {
				return err
			}
			if meant := lastNamed(jobs, on.parts[0].Name); meant != on.parts[0] {
				return &RetryError{*r.job.JobName, *r.job.JobId,
					"it depends on one of several jobs named " + *on.job.JobName +
						"; retry it with that one alone, by their ids"}
			}
			r.waitFor(on, d.Type)
			for _, part := range r.parts {
				part.When = r.when // without a job to wait for, it runs immediately
			}
		}
		if slices.ContainsFunc(r.job.DependsOn,
			func(d types.JobDependency) bool { return d.Type == types.ArrayJobDependencySequential }) {
			r.sequential()
		}
		jobs = append(jobs, r.parts...)
		return nil
	}
	for _, r := range all {
		if err := add(r); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// lastNamed returns the job that a name in plan.Job.After of the next job refers to.
func lastNamed(jobs []*plan.Job, name string) *plan.Job {
	for _, j := range slices.Backward(jobs) {
		if j.Name == name {
			return j
		}
	}
	return nil
}

// sequential makes the children of all parts run one after the other.
func (r *runAgain) sequential() {
	for i, part := range r.parts {
		if arraySize(part.Submit) > 0 {
			part.Submit.DependsOn = []types.JobDependency{{Type: types.ArrayJobDependencySequential}}
		}
		if i > 0 {
			part.After = append(part.After, document.Dependency{Job: r.parts[i-1].Name})
		}
	}
}

// waitFor makes all parts wait for those of on: child by child if both have the same children, else
// for all of them.
func (r *runAgain) waitFor(on *runAgain, of types.ArrayJobDependency) {
	size := func(a, b *plan.Job) bool { return arraySize(a.Submit) == arraySize(b.Submit) }
	if of == types.ArrayJobDependencyNToN && slices.Equal(r.children, on.children) &&
		slices.EqualFunc(r.parts, on.parts, size) {
		for i, part := range r.parts {
			d := document.Dependency{Job: on.parts[i].Name}
			if arraySize(part.Submit) > 0 {
				d.Type = string(of)
			}
			part.After = append(part.After, d)
		}
		return
	}
	for _, part := range r.parts {
		for _, before := range on.parts {
			part.After = append(part.After, document.Dependency{Job: before.Name})
		}
	}
}
