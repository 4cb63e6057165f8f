package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
)

// jobFile is a file that stands for its submissions.
type jobFile struct {
	// path is as you wrote it, and absolute as the ledger has it.
	path, absolute string
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
	f := jobFile{path: path, absolute: once.FilePath(path), jobs: jobsOf(file)}
	if file != nil {
		f.name = file.Name
	}
	return f, nil
}

// isOf reports whether jobs that were submitted together are a submission of the file. It compares names, for jobs
// whose file the ledger does not have. The file may have changed since: with the same name, one common job is enough,
// unless exact is set. workflow is the name of the submission.
func (f jobFile) isOf(jobs []client.Known, workflow string, exact bool) bool {
	if f.jobs.are(jobs) {
		return true
	}
	return !exact && workflow != "" && (workflow == f.name || workflow == client.TagText(f.name)) &&
		slices.ContainsFunc(jobs, f.has)
}

// has reports whether a job has the name of one of the file's. --count adds a number to its name.
func (f jobFile) has(k client.Known) bool {
	name, _ := f.jobs.job(k.Name)
	if cut := strings.LastIndexByte(k.Name, '-'); name == "" && cut > 0 && k.Workflow == f.name {
		_, known := f.jobs[k.Name[:cut]]
		return known && strings.Trim(k.Name[cut+1:], "0123456789") == ""
	}
	return name != ""
}

// submissionsOf returns the submissions of the file among jobs of the ledger, the newest first, without the jobs that
// run others again. If the ledger has the files of a submission, the path decides; otherwise the names of the jobs do.
func (f jobFile) submissionsOf(known []client.Known, exact bool) (all [][]client.Known) {
	known = slices.DeleteFunc(slices.Clone(known), func(k client.Known) bool { return k.Again != "" })
	inRun := func(a, b client.Known) bool { return a.Run == b.Run && (a.Run != "" || a.ID == b.ID) }
	sorted := client.NewestRunFirst(known)
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && inRun(sorted[0], sorted[n]) {
			n++
		}
		run := sorted[:n:n]
		sorted = sorted[n:]
		recorded := slices.ContainsFunc(run, func(k client.Known) bool { return k.File != "" })
		if recorded {
			run = slices.DeleteFunc(run, func(k client.Known) bool { return k.File != f.absolute })
		}
		if recorded && len(run) > 0 || !recorded && f.isOf(run, run[0].Workflow, exact) {
			all = append(all, run)
		}
	}
	return all
}

// resolveFile returns the newest submission of a file, and prints which others there are. If the
// ledger has none, it searches the service for one with the file's name.
func (r *Resolver) resolveFile(ctx context.Context, path string, extent Extent) ([]client.Chain, error) {
	f, err := r.readFile(path)
	if err != nil {
		return nil, err
	}
	known, err := r.known()
	if err != nil {
		return nil, err
	}
	all, atService := f.submissionsOf(known, r.Exact), false
	if len(all) == 0 {
		if run := r.fileAtService(ctx, f, known); run != nil {
			all, atService = append(all, run), true
		}
	}
	if len(all) == 0 {
		return nil, r.noSubmission(f, known)
	}
	if extent == OneJob && len(all[0]) > 1 {
		return nil, r.explain(path, extent, &client.SeveralJobsError{Handle: path, Jobs: all[0]})
	}
	if len(all) > 1 {
		var runs []client.Known
		for _, run := range all {
			runs = append(runs, run[0])
		}
		r.noteNewest(fmt.Sprintf("%s was submitted %d times", path, len(all)), runs, runID)
	}
	if err := r.newerOpen(path, all[0],
		func(run once.OpenRun) bool { return len(f.submissionsOf(run.Known, r.Exact)) > 0 }); err != nil {
		return nil, err
	}
	jobs := all[0]
	// Other files may have been submitted with it.
	if run := jobs[0].Run; extent == WholeSubmission && run != "" && !atService {
		jobs = slices.DeleteFunc(known, func(k client.Known) bool { return k.Run != run })
	}
	return r.chains(ctx, jobs, extent, atService)
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
		r.printNewest(fmt.Sprintf("%d open submissions match %s", len(runs), handle), runs, runID)
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

// fileAtService returns the newest submission of the file that the service has and the ledger does not; nil if there is
// none, or if the service cannot be searched.
func (r *Resolver) fileAtService(ctx context.Context, f jobFile, known []client.Known) []client.Known {
	if f.name == "" {
		return nil
	}
	m, err := r.Target.Client.Find(ctx, f.name, r.Queues)
	if err != nil || !m.AtService() {
		return nil
	}
	run, err := r.Target.Client.Submission(ctx, m, r.Queues)
	if err != nil || !f.isOf(run, run[0].Workflow, r.Exact) {
		return nil
	}
	return run
}

// noSubmission is the error for a file without a submission. It names the newest one that has a job
// of the file, or that of another file with such a job.
func (r *Resolver) noSubmission(f jobFile, known []client.Known) error {
	if err := r.newerOpen(f.path, nil,
		func(run once.OpenRun) bool { return len(f.submissionsOf(run.Known, r.Exact)) > 0 }); err != nil {
		return err
	}
	fail := exit.Fail(exit.NotDone, "the ledger has no submission of the jobs in %s to this target", f.path)
	for _, k := range slices.Backward(known) {
		if name, _ := f.jobs.job(k.Name); name == "" || k.Again != "" {
			continue
		}
		if k.File != "" {
			return exit.Fail(exit.NotDone,
				"the ledger has no submission of %s to this target; its newest job of the name %s is of %s", f.path,
				k.Name, k.File).
				Try("if you mean that submission, use its id: batchctl status --submission %s%s", batch.ShortID(k.ID),
					r.Target.Flags)
		}
		var names []string
		for _, other := range known {
			if other.ID == k.ID || other.Run != "" && other.Run == k.Run {
				names = append(names, other.Name)
			}
		}
		slices.Sort(names)
		return fail.Try("the newest submission with one of them is %s: batchctl status --submission %s%s",
			strings.Join(names, " "), batch.ShortID(k.ID), r.Target.Flags)
	}
	return fail.Try("list the jobs: batchctl list%s", r.Target.Flags)
}

// newerOpen returns an error if an interrupted submission that a handle means began after the chosen jobs were
// submitted, and the service may have accepted jobs of it that the ledger does not have. A command that only reads
// prints it, unless no jobs are chosen.
func (r *Resolver) newerOpen(handle string, chosen []client.Known, means func(once.OpenRun) bool) error {
	if r.Target.Client.Ledger == nil {
		return nil
	}
	open, _ := r.Target.Client.Ledger.OpenRuns() // resume reports the error
	for _, run := range slices.Backward(open) {
		isNewer := !slices.ContainsFunc(chosen, func(k client.Known) bool {
			return k.Run == run.Name ||
				k.Submitted.After(run.Began)
		})
		if run.Unknown == 0 || !isNewer || !r.Target.Client.Ledger.Covers(run.Target) || !means(run) {
			continue
		}
		why := fmt.Sprintf("submission %s of %s was interrupted, and batchctl does not know whether its jobs were accepted", run.Name, handle)
		remedy := fmt.Sprintf("find out: batchctl resume %s%s", run.Name, r.Target.Flags)
		if len(chosen) == 0 || r.Exact {
			return exit.Fail(exit.Unknown, "%s", why).Try("%s", remedy)
		}
		fmt.Fprintf(r.Con.Err, "note: %s; %s\n", diag.Printable(why), remedy)
		return nil
	}
	return nil
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
	for job, err := range r.Target.Client.List(ctx, filter) {
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
		return withChains(ids, known, filter, queue), nil
	}
	m, err := r.Target.Client.Find(ctx, handle, filter.Queues)
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
	return withChains(ids, known, filter, queue), nil
}

// withChains adds to jobs those of their chains that the ledger has and the filter selects, each once.
func withChains(ids []string, known []client.Known, filter client.Filter, queue string) []string {
	var jobs []client.Known
	for _, id := range ids {
		jobs = append(jobs, client.Known{ID: id})
	}
	all := slices.Clone(ids)
	for _, chain := range client.ChainsOf(jobs, known) {
		for _, k := range chain {
			if inFilter(filter, queue, k) {
				all = append(all, k.ID)
			}
		}
	}
	return client.Distinct(all)
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
		for _, chain := range client.ChainsOf(run, known) {
			for _, k := range chain {
				if inFilter(filter, queue, k) {
					ids = append(ids, k.ID)
				}
			}
		}
	}
	var others []string
	for job, err := range r.Target.Client.List(ctx, filter) {
		if err != nil {
			return nil, err
		}
		name, _ := f.jobs.job(aws.ToString(job.JobName))
		if id := aws.ToString(job.JobId); !recorded[id] && name != "" && !batch.IsChild(job) {
			others = append(others, id)
		}
	}
	described, err := r.Target.Client.ByID(ctx, others)
	for _, id := range others {
		workflow, tagged := described[id].Tags[client.WorkflowTag]
		if tagged && workflow == client.TagText(f.name) || !tagged && len(f.jobs) == 1 {
			ids = append(ids, id)
		}
	}
	return client.Distinct(ids), err
}

// Recorded returns the ids of all jobs that a handle means according to the ledger, at any target: of children if it
// has an index, and those of their chains. It sends no request, and returns none for a handle that fits nothing.
func Recorded(con *term.Console, ledger *once.Ledger, handle string) (map[string]bool, error) {
	entries, err := ledger.Entries()
	if damage, ok := errors.AsType[*once.DamageError](err); ok {
		fmt.Fprintf(con.Err, "batchctl: %s\n", diag.Printable(damage.Error()))
	} else if err != nil {
		return nil, err
	}
	var known, jobs []client.Known
	for _, e := range entries {
		known = append(known, e.Known())
	}
	if looksLikeFile(handle) && isFile(handle) {
		f, err := (&Resolver{Con: con}).readFile(handle)
		if err != nil {
			return nil, err
		}
		jobs = slices.Concat(f.submissionsOf(known, false)...)
	} else if m, err := client.FindAmong(handle, known); err == nil {
		jobs = slices.Concat(m.Jobs, m.Members)
	} else if !isMissing(err) {
		return nil, err
	}
	ids := map[string]bool{}
	for _, chain := range client.ChainsOf(jobs, known) {
		if _, index, isChild := batch.SplitChildID(batch.Name(handle)); isChild {
			for _, k := range jobs {
				for _, part := range chain.Part(k.ID, index) {
					ids[part.ID] = true
				}
			}
			continue
		}
		for _, k := range chain {
			ids[k.ID] = true
		}
	}
	return ids, nil
}

// inFilter reports whether a job of the ledger fits the times of a filter, and the queue.
func inFilter(filter client.Filter, queue string, k client.Known) bool {
	if queue != "" && k.Queue != "" && batch.Name(queue) != batch.Name(k.Queue) {
		return false
	}
	return !k.Submitted.Before(filter.CreatedAfter) && (filter.CreatedBefore.IsZero() ||
		k.Submitted.Before(filter.CreatedBefore))
}

// fitsPattern reports whether a name equals a pattern, or begins as a pattern that ends in *.
func fitsPattern(pattern, name string) bool {
	prefix, isPattern := strings.CutSuffix(pattern, "*")
	return name == pattern || isPattern && strings.HasPrefix(name, prefix)
}
