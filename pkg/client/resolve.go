package client

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
)

// JobFinder finds the jobs and submissions that a user's text means: in the memory first, then at
// the service.
type JobFinder struct{ jobs *Jobs }

// Resolve returns the id of the only job that a handle means: see Find. Several jobs of one name
// mean the newest. A workflow of several jobs is a *SeveralJobsError. No queues means all queues.
func (f *JobFinder) Resolve(ctx context.Context, handle string, queues []string) (string, error) {
	m, err := f.Find(ctx, handle, queues)
	if err != nil {
		return "", err
	}
	return f.OnlyJob(ctx, m)
}

// AtService reports that the memory had no match.
func (m *Matches) AtService() bool { return m.atService }

// ByID reports that the handle is the id of a job, its ARN or its submission id, and not a name.
func (m *Matches) ByID() bool { return m.byID }

// OnlyJob returns the id of the job that the matches mean where only one is possible, with the index
// in the handle: the newest job of the name, or the only one of a submission.
func (f *JobFinder) OnlyJob(ctx context.Context, m *Matches) (string, error) {
	jobs := firstRun(m.Members)
	if len(m.Jobs) > 0 {
		jobs = m.Jobs[:1]
	} else if chains := ChainsOf(jobs, jobs); len(chains) == 1 {
		jobs = chains[0][:1]
	}
	if len(jobs) > 1 {
		return "", &SeveralJobsError{m.Handle, jobs}
	}
	return jobs[0].ID + m.part, f.jobs.checkSuffix(ctx, m.Handle, jobs[0].ID, m.part)
}

// Submission returns all jobs of the newest submission that the handle means. The name of a
// workflow comes before that of a job. A job means the submission that it belongs to.
func (f *JobFinder) Submission(ctx context.Context, m *Matches, queues []string) ([]Known, error) {
	if run := firstRun(m.Members); run != nil {
		return run, nil
	}
	job := m.Jobs[0]
	if !m.atService {
		return runOf(m.known, job), nil
	}
	described, err := f.jobs.ByID(ctx, []string{job.ID})
	if d, ok := described[job.ID]; ok {
		job = knownOf(d, job.ID)
	}
	if err != nil || job.Run == "" {
		return []Known{job}, err
	}
	var listed []Known
	for other, err := range f.jobs.Each(ctx, Filter{Queues: queues}) {
		if err != nil {
			return nil, err
		}
		if !batch.IsChild(other) {
			listed = append(listed, listedOf(other))
		}
	}
	tagged, err := f.tagged(ctx, listed)
	return runOf(tagged, job), err
}

// Chains returns the chains of jobs that the service has, from the tags of the jobs whose names begin like theirs. No
// queues means all queues.
func (f *JobFinder) Chains(ctx context.Context, jobs []Known, queues []string) ([]Chain, error) {
	var seen []Known
	filter := Filter{Queues: queues}
	for i := 0; i < len(jobs); i++ { // up to the jobs of the plan
		described, err := f.jobs.ByID(ctx, []string{jobs[i].ID})
		if err != nil {
			return nil, err
		}
		d, ok := described[jobs[i].ID]
		if !ok {
			continue
		}
		k := knownOf(d, jobs[i].ID)
		if seen = append(seen, k); k.Again != "" && !slices.ContainsFunc(jobs,
			func(o Known) bool { return o.ID == k.Again }) {
			jobs = append(slices.Clip(jobs), Known{ID: k.Again})
		}
	}
	if len(seen) == 0 {
		return ChainsOf(jobs, nil), nil
	}
	if root := ChainsOf(seen[:1], seen)[0].Root(); len(ChainsOf(seen, seen)) == 1 {
		filter.Name = root.Name[:min(len(root.Name), MaxUserName-len("-retry-99of99"))] + "*"
	}
	var listed []Known
	for job, err := range f.jobs.Each(ctx, filter) {
		if err != nil {
			return nil, err
		}
		if k := listedOf(job); !batch.IsChild(job) && !slices.ContainsFunc(seen,
			func(o Known) bool { return o.ID == k.ID }) {
			listed = append(listed, k)
		}
	}
	tagged, err := f.tagged(ctx, listed)
	return ChainsOf(seen, slices.Concat(seen, tagged)), err
}

// Find returns the jobs that a handle can mean. A job has a complete id, an ARN, the first four or
// more digits of an id, a submission id and a name; the index of a child or node may follow:
// `train:3`, `mpi#0`. A submission of several jobs has an id, of which four digits are enough, and
// the workflow's name. Find asks the client's Memory first. If that has no match, it searches the
// names and then the tags at the service. No queues means all queues.
func (f *JobFinder) Find(ctx context.Context, handle string, queues []string) (*Matches, error) {
	s, err := newSearch(handle)
	if err != nil {
		return nil, err
	}
	if err := f.findInMemory(s); err != nil {
		return nil, err
	}
	if s.isEmpty() && s.part != "" {
		m, err := s.partOfRun()
		if _, missing := errors.AsType[*NoSuchJobError](err); !missing {
			return m, err
		}
	}
	if s.isEmpty() && fullID().MatchString(s.base) {
		return f.findID(ctx, s, queues), nil
	}
	if s.isEmpty() {
		if err := f.findAtService(ctx, s, queues); err != nil {
			return nil, err
		}
	}
	m, err := s.matches()
	if e, ok := errors.AsType[*AmbiguousIDError](err); ok {
		f.addStatus(ctx, e.Jobs)
	}
	return m, err
}

// findID returns the matches of a complete id that the memory does not have. It may be that of a
// job, which the service may have forgotten, or the submission id of one.
func (f *JobFinder) findID(ctx context.Context, s *search, queues []string) *Matches {
	job := &Matches{Handle: s.handle, Jobs: []Known{{ID: s.base}}, part: s.part, atService: true, byID: true}
	known, err := f.jobs.ByID(ctx, []string{s.base})
	if d, ok := known[s.base]; ok || err != nil {
		job.Jobs[0] = knownOf(d, s.base)
		return job
	}
	// Without permission to list jobs, the id is taken for that of a job.
	if f.findAtService(ctx, s, queues) != nil || s.isEmpty() {
		return job
	}
	m, err := s.matches()
	if err != nil {
		return job
	}
	return m
}

// findInMemory searches the jobs in the client's memory.
func (f *JobFinder) findInMemory(s *search) error {
	if f.jobs.Memory == nil {
		return nil
	}
	known, err := f.jobs.Memory.Jobs()
	for _, k := range known {
		s.see(k, "")
	}
	return err
}

// findAtService lists by name, which the service can filter by. If that finds nothing, it lists
// all jobs, and then searches their tags.
func (f *JobFinder) findAtService(ctx context.Context, s *search, queues []string) error {
	s.atService = true
	var listed []Known
	for _, filter := range []Filter{{Queues: queues, Name: s.base}, {Queues: queues}} {
		isID := shortID().MatchString(s.base) || fullID().MatchString(s.base)
		if filter.Name != "" && isID {
			continue // ids cannot be filtered by
		}
		listed = nil
		for job, err := range f.jobs.Each(ctx, filter) {
			if err != nil {
				return err
			}
			if batch.IsChild(job) {
				continue // moto lists children beside their array
			}
			k := listedOf(job)
			listed = append(listed, k)
			s.see(k, aws.ToString(job.JobName))
		}
		if len(s.byName) > 0 {
			break
		}
	}
	if s.isEmpty() {
		return f.findByTags(ctx, s, listed)
	}
	return nil
}

// mostTagged is how many jobs are searched for their tags, which only DescribeJobs has.
const mostTagged = 1000

// findByTags describes the newest jobs and searches their tags.
func (f *JobFinder) findByTags(ctx context.Context, s *search, listed []Known) error {
	s.unsearched = max(0, len(listed)-mostTagged)
	tagged, err := f.tagged(ctx, listed)
	for _, k := range tagged {
		s.see(k, "")
	}
	return err
}

// tagged describes the newest of the jobs. It returns them with what their tags have, oldest first.
func (f *JobFinder) tagged(ctx context.Context, listed []Known) (tagged []Known, err error) {
	newest := slices.SortedStableFunc(slices.Values(listed),
		func(a, b Known) int { return a.Submitted.Compare(b.Submitted) })
	newest = newest[max(0, len(newest)-mostTagged):]
	var ids []string
	for _, k := range newest {
		ids = append(ids, k.ID)
	}
	described, err := f.jobs.ByID(ctx, ids)
	for _, id := range ids {
		if d, ok := described[id]; ok {
			tagged = append(tagged, knownOf(d, id))
		}
	}
	return tagged, err
}

// listedOf returns what ListJobs has about a job.
func listedOf(job types.JobSummary) Known {
	name := aws.ToString(job.JobName)
	return Known{ID: aws.ToString(job.JobId), Name: DisplayName(name),
		Submitted: time.UnixMilli(aws.ToInt64(job.CreatedAt)), Submission: submissionOf(name), Status: job.Status}
}

// KnownOf returns what a job's description has about its submission and its chain.
func KnownOf(d types.JobDetail) Known { return knownOf(d, "") }

// knownOf is KnownOf with the id to use if the service described nothing.
func knownOf(d types.JobDetail, id string) Known {
	return Known{ID: cmp.Or(aws.ToString(d.JobId), id), Name: aws.ToString(d.JobName),
		Submitted:  time.UnixMilli(aws.ToInt64(d.CreatedAt)),
		Submission: d.Tags[SubmissionTag], Run: d.Tags[RunTag], Workflow: d.Tags[WorkflowTag]}.described(d)
}

// addStatus adds the status to candidates from the memory. It ignores errors: another error is
// shown.
func (f *JobFinder) addStatus(ctx context.Context, jobs []Known) {
	var ids []string
	for _, job := range jobs {
		if job.Status == "" {
			ids = append(ids, job.ID)
		}
	}
	details, err := f.jobs.ByID(ctx, ids)
	if err != nil {
		return
	}
	for i, job := range jobs {
		if job.Status == "" {
			jobs[i].Status = details[job.ID].Status
		}
	}
}
