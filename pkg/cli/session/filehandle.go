package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
)

// jobFile is a file that stands for its submissions.
type jobFile struct {
	path string
	// name is the workflow's name, or that of the only job.
	name string
	jobs fileJobs
}

// readFile reads a file that stands for its submissions.
func (r *Resolver) readFile(path string) (jobFile, error) {
	src, err := input.Read(r.Con, path)
	if err != nil {
		return jobFile{}, err
	}
	file, _ := document.Load(src, document.Options{}) // its problems do not matter here
	f := jobFile{path: path, jobs: jobsOf(file)}
	if file != nil {
		f.name = file.Name
	}
	return f, nil
}

// isOf reports whether jobs that were submitted together are a submission of the file. The file may
// have changed since: with the same name, one common job is enough, unless exact is set. workflow is
// the name of the submission.
func (f jobFile) isOf(jobs []client.Known, workflow string, exact bool) bool {
	if f.jobs.are(jobs) {
		return true
	}
	return !exact && workflow != "" && (workflow == f.name || workflow == client.TagText(f.name)) && slices.ContainsFunc(jobs, f.has)
}

// has reports whether a job is one of the file's. --count adds a number to its name.
func (f jobFile) has(k client.Known) bool {
	name, _ := f.jobs.job(k.Name)
	if cut := strings.LastIndexByte(k.Name, '-'); name == "" && cut > 0 && k.Workflow == f.name {
		_, known := f.jobs[k.Name[:cut]]
		return known && strings.Trim(k.Name[cut+1:], "0123456789") == ""
	}
	return name != ""
}

// submissionsOf returns the submissions of the file among jobs of the ledger, the newest first.
func (f jobFile) submissionsOf(known []client.Known, exact bool) (all [][]client.Known) {
	seen := map[string]bool{}
	runs := map[string][]client.Known{}
	for _, k := range known {
		runs[k.Run] = append(runs[k.Run], k)
	}
	for _, k := range slices.Backward(known) {
		run := runs[k.Run]
		if k.Run == "" {
			run = []client.Known{k}
		}
		if k.Run != "" && seen[k.Run] {
			continue
		}
		seen[k.Run] = true
		if f.isOf(run, k.Workflow, exact) {
			all = append(all, run)
		}
	}
	return all
}

// resolveFile returns the newest submission of a file, and prints which others there are. If the
// ledger has none, it searches the service for one with the file's name.
func (r *Resolver) resolveFile(ctx context.Context, path string, extent Extent) ([]once.Submitted, error) {
	f, err := r.readFile(path)
	if err != nil {
		return nil, err
	}
	known, err := r.known()
	if err != nil {
		return nil, err
	}
	all := f.submissionsOf(known, r.Exact)
	if len(all) == 0 {
		if run := r.fileAtService(ctx, f); run != nil {
			all = append(all, run)
		}
	}
	if len(all) == 0 {
		return nil, r.noSubmission(f, known)
	}
	if extent == OneJob && len(all[0]) > 1 {
		return nil, r.explain(path, extent, &client.SeveralJobsError{Handle: path, Jobs: all[0]})
	}
	if len(all) > 1 {
		var others []client.Known
		for _, run := range all[1:] {
			others = append(others, run[0])
		}
		r.note(fmt.Sprintf("%s was submitted %d times; this is the newest, %s", path, len(all), all[0][0].Run), runNotes(others))
	}
	return submittedOf(all[0]), nil
}

// OpenRun returns the name of the newest open run that a handle means: by its id, workflow or file, or
// by one of its jobs, accepted or not. It returns a handle that fits none unchanged.
func (r *Resolver) OpenRun(handle string, open []once.OpenRun) (string, error) {
	var known []client.Known
	for _, run := range open {
		if run.Name == handle {
			return handle, nil // a damaged one has no jobs
		}
		known = append(known, run.Known...)
	}
	var runs []client.Known // a job of each, the newest first
	if looksLikeFile(handle) && isFile(handle) {
		f, err := r.readFile(handle)
		if err != nil {
			return "", err
		}
		for _, run := range f.submissionsOf(known, r.Exact) {
			runs = append(runs, run[0])
		}
	} else if m, err := client.FindAmong(handle, known); err == nil {
		runs = oneOfEach(slices.Concat(m.Members, m.Jobs))
	} else if !isMissing(err) {
		return "", err
	}
	if len(runs) == 0 {
		return handle, nil
	}
	if len(runs) > 1 {
		r.note(fmt.Sprintf("%d open submissions match %s; this is the newest, %s", len(runs), handle, runs[0].Run), runNotes(runs[1:]))
	}
	return runs[0].Run, nil
}

// oneOfEach returns the first job of each submission, in their order.
func oneOfEach(jobs []client.Known) (runs []client.Known) {
	for _, k := range jobs {
		if k.Run != "" && !slices.ContainsFunc(runs, func(o client.Known) bool { return o.Run == k.Run }) {
			runs = append(runs, k)
		}
	}
	return runs
}

// fileAtService returns the newest submission of the file that the service has; nil if there is
// none, or if the service cannot be searched.
func (r *Resolver) fileAtService(ctx context.Context, f jobFile) []client.Known {
	if f.name == "" {
		return nil
	}
	m, err := r.Target.Find(ctx, f.name, r.Queues)
	if err != nil {
		return nil
	}
	run, err := r.Target.Submission(ctx, m, r.Queues)
	if err != nil || !f.isOf(run, run[0].Workflow, r.Exact) {
		return nil
	}
	return run
}

// noSubmission is the error for a file without a submission. It names the newest one that has a job
// of the file.
func (r *Resolver) noSubmission(f jobFile, known []client.Known) error {
	fail := exit.Fail(exit.NotDone, "the ledger has no submission of the jobs in %s to this target", f.path)
	for _, k := range slices.Backward(known) {
		if name, _ := f.jobs.job(k.Name); name == "" {
			continue
		}
		var names []string
		for _, other := range known {
			if other.ID == k.ID || other.Run != "" && other.Run == k.Run {
				names = append(names, other.Name)
			}
		}
		slices.Sort(names)
		return fail.Try("the newest submission with one of them is %s: batchctl status --submission %s%s", strings.Join(names, " "), batch.ShortID(k.ID), r.Target.Flags)
	}
	return fail.Try("list the jobs: batchctl list%s", r.Target.Flags)
}

// Since returns the ids of all jobs that a handle means and that the filter selects, such as by the
// time of creation. A handle may end in *. "" means every job. queue is the only queue to search; ""
// for those of the filter, and jobs of the ledger in any other.
func (r *Resolver) Since(ctx context.Context, handle, queue string, filter client.Filter) ([]string, error) {
	if handle != "" && looksLikeFile(handle) && isFile(handle) {
		return r.fileSince(ctx, handle, queue, filter)
	}
	var ids []string
	filter.Name = handle
	for job, err := range r.Target.List(ctx, filter) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, aws.ToString(job.JobId))
	}
	if handle == "" {
		return ids, nil
	}
	known, err := r.known()
	if err != nil {
		return nil, err
	}
	for _, k := range known {
		if inFilter(filter, queue, k) && k.Workflow != "" && fitsPattern(handle, k.Workflow) {
			ids = append(ids, k.ID)
		}
	}
	if len(ids) > 0 || strings.HasSuffix(handle, "*") {
		return client.Distinct(ids), nil
	}
	m, err := r.Target.Find(ctx, handle, filter.Queues)
	if isMissing(err) && isFile(handle) {
		return r.fileSince(ctx, handle, queue, filter)
	}
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, r.explain(handle, AnyJobs, err)
	}
	for _, k := range slices.Concat(m.Jobs, m.Members) {
		if inFilter(filter, queue, k) || k.Submitted.IsZero() {
			ids = append(ids, k.ID)
		}
	}
	return client.Distinct(ids), nil
}

// fileSince returns the ids of jobs that were submitted with a file: those of its submissions in
// the ledger, and those that other machines submitted, by their names and tags.
func (r *Resolver) fileSince(ctx context.Context, path, queue string, filter client.Filter) (ids []string, err error) {
	f, err := r.readFile(path)
	if err != nil {
		return nil, err
	}
	known, err := r.known()
	if err != nil {
		return nil, err
	}
	recorded := map[string]bool{}
	for _, k := range known {
		recorded[k.ID] = true
	}
	for _, run := range f.submissionsOf(known, false) {
		for _, k := range run {
			if inFilter(filter, queue, k) {
				ids = append(ids, k.ID)
			}
		}
	}
	var others []string
	for job, err := range r.Target.List(ctx, filter) {
		if err != nil {
			return nil, err
		}
		name, _ := f.jobs.job(aws.ToString(job.JobName))
		if id := aws.ToString(job.JobId); !recorded[id] && name != "" && !batch.IsChild(job) {
			others = append(others, id)
		}
	}
	described, err := r.Target.ByID(ctx, others)
	for _, id := range others {
		workflow, tagged := described[id].Tags[client.WorkflowTag]
		if tagged && workflow == client.TagText(f.name) || !tagged && len(f.jobs) == 1 {
			ids = append(ids, id)
		}
	}
	return client.Distinct(ids), err
}

// inFilter reports whether a job of the ledger fits the times of a filter, and the queue.
func inFilter(filter client.Filter, queue string, k client.Known) bool {
	if queue != "" && k.Queue != "" && batch.Name(queue) != batch.Name(k.Queue) {
		return false
	}
	return !k.Submitted.Before(filter.CreatedAfter) && (filter.CreatedBefore.IsZero() || k.Submitted.Before(filter.CreatedBefore))
}

// fitsPattern reports whether a name equals a pattern, or begins as a pattern that ends in *.
func fitsPattern(pattern, name string) bool {
	prefix, isPattern := strings.CutSuffix(pattern, "*")
	return name == pattern || isPattern && strings.HasPrefix(name, prefix)
}
