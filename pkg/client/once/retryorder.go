package once

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/plan"
)

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
