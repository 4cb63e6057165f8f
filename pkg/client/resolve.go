package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/stable"
)

var (
	fullID  = lazy(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	shortID = lazy(`^[0-9a-f]{4,8}(-[0-9a-f-]*)?$`)
)

// AmbiguousIDError reports a short id that several jobs share. The newest job comes first.
type AmbiguousIDError struct {
	Argument string
	Jobs     []Known
}

// Error lists the newest jobs, with their time and submission.
func (e *AmbiguousIDError) Error() string {
	lines := []string{fmt.Sprintf("job id %s matches %d jobs, write more digits:", e.Argument, len(e.Jobs))}
	for _, k := range e.Jobs[:min(len(e.Jobs), maxNamed)] {
		line := fmt.Sprintf("  %s  %s  %s", k.ID, k.Name, k.Status)
		if k.Submitted.UnixMilli() > 0 {
			line += "  " + k.Submitted.Local().Format(time.DateTime)
		}
		if k.Run != "" {
			line += "  submission " + strings.TrimSpace(k.Run+" "+k.Workflow)
		}
		lines = append(lines, line)
	}
	if more := len(e.Jobs) - maxNamed; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d older", more))
	}
	return strings.Join(lines, "\n")
}

// NoSuchJobError reports an argument that names no job and no submission. Near is the closest name.
type NoSuchJobError struct {
	Argument, Near string
	// Unsearched is how many jobs of the service were too old to be searched for their tags.
	Unsearched int
}

// Error suggests the closest name, if there is one.
func (e *NoSuchJobError) Error() string {
	text := "no job or workflow has the id or name " + e.Argument
	if e.Unsearched > 0 {
		text += fmt.Sprintf(" (not checked: whether one of the %d oldest jobs belongs to such a workflow)", e.Unsearched)
	}
	if e.Near != "" {
		return text + ", did you mean " + e.Near + "?"
	}
	return text
}

// Resolve returns the id of the only job that a handle means: see Find. Several jobs of one name
// mean the newest. A workflow of several jobs is a *SeveralJobsError. No queues means all queues.
func (c *Client) Resolve(ctx context.Context, handle string, queues []string) (string, error) {
	m, err := c.Find(ctx, handle, queues)
	if err != nil {
		return "", err
	}
	return c.OnlyJob(ctx, m)
}

// OnlyJob returns the id of the job that the matches mean where only one is possible, with the index
// in the handle: the newest job of the name, or the only one of a submission.
func (c *Client) OnlyJob(ctx context.Context, m *Matches) (string, error) {
	jobs := firstRun(m.Members)
	if len(m.Jobs) > 0 {
		jobs = m.Jobs[:1]
	}
	if len(jobs) > 1 {
		return "", &SeveralJobsError{m.Handle, jobs}
	}
	return jobs[0].ID + m.part, c.checkSuffix(ctx, m.Handle, jobs[0].ID, m.part)
}

// Matches are the jobs that a handle can mean. There is at least one.
type Matches struct {
	// Handle is the user's text.
	Handle string
	// Jobs have this id, submission id or name; the newest comes first.
	Jobs []Known
	// Members are the jobs of submissions with this id or workflow name: the newest submission
	// first, and its jobs in their order.
	Members []Known
	// part is the index of a child or node in the handle, such as ":3".
	part string
	// known are all jobs that were searched. atService means that the memory had no match.
	known     []Known
	atService bool
}

// Newest returns the jobs that the handle means: the newest job of the name, or the jobs of the
// newest submission, whichever is newer. In a workflow with a job of its own name, the name means
// the job. whole reports that the jobs are a submission.
func (m *Matches) Newest() (jobs []Known, whole bool) {
	run := firstRun(m.Members)
	if len(m.Jobs) == 0 {
		return run, true
	}
	job := m.Jobs[0]
	if len(run) == 0 || run[0].Run == job.Run || run[0].Submitted.Before(job.Submitted) {
		return m.Jobs[:1], false
	}
	return run, true
}

// Submission returns all jobs of the newest submission that the handle means. The name of a
// workflow comes before that of a job. A job means the submission that it belongs to.
func (c *Client) Submission(ctx context.Context, m *Matches, queues []string) ([]Known, error) {
	if run := firstRun(m.Members); run != nil {
		return run, nil
	}
	job := m.Jobs[0]
	if !m.atService {
		return runOf(m.known, job), nil
	}
	described, err := c.ByID(ctx, []string{job.ID})
	if d, ok := described[job.ID]; ok {
		job = knownOf(d, job.ID)
	}
	if err != nil || job.Run == "" {
		return []Known{job}, err
	}
	var listed []Known
	for other, err := range c.Each(ctx, Filter{Queues: queues}) {
		if err != nil {
			return nil, err
		}
		if !batch.IsChild(other) {
			listed = append(listed, listedOf(other))
		}
	}
	tagged, err := c.tagged(ctx, listed)
	return runOf(tagged, job), err
}

// firstRun returns the jobs of the first submission in a list that is sorted by submissions.
func firstRun(members []Known) []Known {
	for i := range members {
		if members[i].Run != members[0].Run {
			return members[:i]
		}
	}
	return members
}

// runOf returns the jobs of a job's submission, or only the job if no other is known.
func runOf(all []Known, job Known) (run []Known) {
	for _, k := range all {
		if k.Run != "" && k.Run == job.Run {
			run = append(run, k)
		}
	}
	if run == nil {
		run = []Known{job}
	}
	return run
}

// SeveralJobsError reports the name of a workflow where only one job can be meant.
type SeveralJobsError struct {
	Handle string
	Jobs   []Known
}

// Error names the jobs.
func (e *SeveralJobsError) Error() string {
	var names []string
	for _, k := range e.Jobs[:min(len(e.Jobs), maxNamed)] {
		names = append(names, k.Name+" "+batch.ShortID(k.ID))
	}
	if more := len(e.Jobs) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%s is a submission of %d jobs: %s", e.Handle, len(e.Jobs), strings.Join(names, ", "))
}

// maxNamed is how many jobs an error names.
const maxNamed = 8

// Find returns the jobs that a handle can mean. A job has a complete id, an ARN, the first four or
// more digits of an id, a submission id and a name; the index of a child or node may follow:
// `train:3`, `mpi#0`. A submission of several jobs has an id, of which four digits are enough, and
// the workflow's name. Find asks the client's Memory first. If that has no match, it searches the
// names and then the tags at the service. No queues means all queues.
func (c *Client) Find(ctx context.Context, handle string, queues []string) (*Matches, error) {
	f, err := newFinder(handle)
	if err != nil {
		return nil, err
	}
	if err := c.findInMemory(f); err != nil {
		return nil, err
	}
	if f.isEmpty() && f.part != "" {
		m, err := f.partOfRun()
		if _, missing := errors.AsType[*NoSuchJobError](err); !missing {
			return m, err
		}
	}
	if f.isEmpty() && fullID().MatchString(f.base) {
		return c.findID(ctx, f, queues), nil
	}
	if f.isEmpty() {
		if err := c.findAtService(ctx, f, queues); err != nil {
			return nil, err
		}
	}
	m, err := f.matches()
	if e, ok := errors.AsType[*AmbiguousIDError](err); ok {
		c.addStatus(ctx, e.Jobs)
	}
	return m, err
}

// FindAmong is Find in a list of jobs. It sends no request.
func FindAmong(handle string, known []Known) (*Matches, error) {
	f, err := newFinder(handle)
	if err != nil {
		return nil, err
	}
	for _, k := range known {
		f.see(k, "")
	}
	return f.matches()
}

// findID returns the matches of a complete id that the memory does not have. It may be that of a
// job, which the service may have forgotten, or the submission id of one.
func (c *Client) findID(ctx context.Context, f *finder, queues []string) *Matches {
	job := &Matches{Handle: f.handle, Jobs: []Known{{ID: f.base}}, part: f.part, atService: true}
	known, err := c.ByID(ctx, []string{f.base})
	if d, ok := known[f.base]; ok || err != nil {
		job.Jobs[0] = knownOf(d, f.base)
		return job
	}
	// Without permission to list jobs, the id is taken for that of a job.
	if c.findAtService(ctx, f, queues) != nil || f.isEmpty() {
		return job
	}
	m, err := f.matches()
	if err != nil {
		return job
	}
	return m
}

// finder collects the jobs that a handle may mean.
type finder struct {
	// handle is the whole text, base is it without the part of a child or node.
	handle, base, part string
	// seen are all jobs that were examined.
	seen                  []Known
	byID, byName, members []Known
	// atService means that the memory had no match. unsearched jobs were not described there.
	atService  bool
	unsearched int
}

// newFinder returns a finder for a handle.
func newFinder(handle string) (*finder, error) {
	f := &finder{handle: handle}
	if batch.IsARN(handle) {
		_, f.handle, _ = strings.Cut(handle, "job/")
	}
	if f.base, f.part = batch.SplitID(f.handle); f.base == "" {
		return nil, &NoSuchJobError{Argument: handle}
	}
	return f, nil
}

// isEmpty reports whether nothing was found.
func (f *finder) isEmpty() bool { return len(f.byID)+len(f.byName)+len(f.members) == 0 }

// see adds a job to the candidates if the handle fits it. jobName is its name in the service.
func (f *finder) see(k Known, jobName string) {
	f.seen = append(f.seen, k)
	isShort := shortID().MatchString(f.base)
	switch {
	case k.ID == f.base || k.Submission == f.base, isShort && strings.HasPrefix(k.ID, f.base):
		f.byID = append(f.byID, k)
	case f.base == k.Name, f.base == jobName, CutName(f.base) == k.Name:
		f.byName = append(f.byName, k)
	}
	f.seeRun(k, isShort)
}

// seeRun adds a job to the members if the handle fits its submission.
func (f *finder) seeRun(k Known, isShort bool) {
	called := func(name string) bool {
		return name != "" && (k.Workflow == name || f.atService && k.Workflow == TagText(name))
	}
	switch {
	case called(f.handle):
		f.part = "" // the colon belongs to the name
	case k.Run == "":
		return
	case f.part != "" || !(k.Run == f.base || isShort && strings.HasPrefix(k.Run, f.base)) && !called(f.base):
		return
	}
	f.members = append(f.members, k)
}

// matches returns what was found, sorted.
func (f *finder) matches() (*Matches, error) {
	newestFirst := func(a, b Known) int { return b.Submitted.Compare(a.Submitted) }
	m := &Matches{Handle: f.handle, known: f.seen, part: f.part, atService: f.atService}
	switch {
	case len(f.byID) > 1:
		stable.Sort(f.byID, newestFirst)
		return nil, &AmbiguousIDError{f.base, f.byID}
	case len(f.byID) == 1:
		m.Jobs = f.byID
		return m, nil
	case f.isEmpty() && f.part != "":
		return f.partOfRun()
	case f.isEmpty():
		return nil, f.noSuch()
	}
	// Reversed, because of jobs with equal times the one that was recorded last is the newest.
	m.Jobs = slices.Clone(f.byName)
	slices.Reverse(m.Jobs)
	stable.Sort(m.Jobs, newestFirst)
	last := map[string]time.Time{} // of each submission
	for _, k := range f.members {
		if k.Submitted.After(last[k.Run]) {
			last[k.Run] = k.Submitted
		}
	}
	m.Members = slices.Clone(f.members)
	stable.Sort(m.Members, func(a, b Known) int {
		return cmp.Or(last[b.Run].Compare(last[a.Run]), strings.Compare(a.Run, b.Run))
	})
	return m, nil
}

// partOfRun returns the match of a handle such as recon:3, where recon is a submission of one job.
func (f *finder) partOfRun() (*Matches, error) {
	whole := &finder{handle: f.base, base: f.base, atService: f.atService}
	for _, k := range f.seen {
		whole.see(k, "")
	}
	if len(whole.members) == 0 {
		return nil, f.noSuch()
	}
	m, err := whole.matches()
	if err != nil {
		return nil, err
	}
	run := firstRun(m.Members)
	if len(run) > 1 {
		return nil, &SeveralJobsError{f.base, run}
	}
	m.Handle, m.Jobs, m.Members, m.part = f.handle, run, nil, f.part
	return m, nil
}

// noSuch returns the error for a handle that fits nothing, with the nearest name.
func (f *finder) noSuch() error {
	names := func(yield func(string) bool) {
		for _, k := range f.seen {
			if !yield(k.Name) || k.Workflow != "" && !yield(k.Workflow) {
				return
			}
		}
	}
	return &NoSuchJobError{f.handle, diag.Near(f.base, names), f.unsearched}
}

// findInMemory searches the jobs in the client's memory.
func (c *Client) findInMemory(f *finder) error {
	if c.Memory == nil {
		return nil
	}
	known, err := c.Memory.Jobs()
	for _, k := range known {
		f.see(k, "")
	}
	return err
}

// findAtService lists by name, which the service can filter by. If that finds nothing, it lists
// all jobs, and then searches their tags.
func (c *Client) findAtService(ctx context.Context, f *finder, queues []string) error {
	f.atService = true
	var listed []Known
	for _, filter := range []Filter{{Queues: queues, Name: f.base}, {Queues: queues}} {
		isID := shortID().MatchString(f.base) || fullID().MatchString(f.base)
		if filter.Name != "" && isID {
			continue // ids cannot be filtered by
		}
		listed = nil
		for job, err := range c.Each(ctx, filter) {
			if err != nil {
				return err
			}
			if batch.IsChild(job) {
				continue // moto lists children beside their array
			}
			k := listedOf(job)
			listed = append(listed, k)
			f.see(k, aws.ToString(job.JobName))
		}
		if len(f.byName) > 0 {
			break
		}
	}
	if f.isEmpty() {
		return c.findByTags(ctx, f, listed)
	}
	return nil
}

// mostTagged is how many jobs are searched for their tags, which only DescribeJobs has.
const mostTagged = 1000

// findByTags describes the newest jobs and searches their tags.
func (c *Client) findByTags(ctx context.Context, f *finder, listed []Known) error {
	f.unsearched = max(0, len(listed)-mostTagged)
	tagged, err := c.tagged(ctx, listed)
	for _, k := range tagged {
		f.see(k, "")
	}
	return err
}

// tagged describes the newest of the jobs. It returns them with what their tags have, oldest first.
func (c *Client) tagged(ctx context.Context, listed []Known) (tagged []Known, err error) {
	newest := slices.SortedStableFunc(slices.Values(listed), func(a, b Known) int { return a.Submitted.Compare(b.Submitted) })
	newest = newest[max(0, len(newest)-mostTagged):]
	var ids []string
	for _, k := range newest {
		ids = append(ids, k.ID)
	}
	described, err := c.ByID(ctx, ids)
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
	return Known{ID: aws.ToString(job.JobId), Name: DisplayName(name), Submitted: time.UnixMilli(aws.ToInt64(job.CreatedAt)), Submission: submissionOf(name), Status: job.Status}
}

// knownOf returns what a job's description has about its submission. id is used if the service
// described nothing.
func knownOf(d types.JobDetail, id string) Known {
	return Known{ID: cmp.Or(aws.ToString(d.JobId), id), Name: aws.ToString(d.JobName), Submitted: time.UnixMilli(aws.ToInt64(d.CreatedAt)),
		Submission: d.Tags[SubmissionTag], Run: d.Tags[RunTag], Workflow: d.Tags[WorkflowTag]}
}

// addStatus adds the status to candidates from the memory. It ignores errors: another error is
// shown.
func (c *Client) addStatus(ctx context.Context, jobs []Known) {
	var ids []string
	for _, job := range jobs {
		if job.Status == "" {
			ids = append(ids, job.ID)
		}
	}
	details, err := c.ByID(ctx, ids)
	if err != nil {
		return
	}
	for i, job := range jobs {
		if job.Status == "" {
			jobs[i].Status = details[job.ID].Status
		}
	}
}

// lazy returns a regular expression that is compiled when it is first needed.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
