package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
)

// Resolver finds the jobs that a handle means, for every command that takes jobs. A handle is
//   - of a job: its name, short id, complete id, ARN or submission id, with the index of a child
//     or node if only that is meant;
//   - of a submission: its id, the workflow's name, or its file.
//
// Where several jobs or submissions have one name, the newest is meant, and the Resolver prints the
// others.
type Resolver struct {
	Con    *term.Console
	Target *target.Target
	// Command is the command's name, for hints.
	Command string
	// Queues are searched at the service; none means all.
	Queues []string
	// Exact means that a file stands only for a submission of exactly its jobs, because the
	// command changes them.
	Exact bool
}

// Extent is how many jobs a handle may mean.
type Extent int

const (
	// AnyJobs is one job, or the jobs of a submission.
	AnyJobs Extent = iota
	// OneJob is one job. The handle of a submission means its only job.
	OneJob
	// WholeSubmission is all jobs of a submission. A job means the submission that it belongs to.
	WholeSubmission
)

// Resolve returns the jobs that a handle means. Its errors have the next step.
func (r *Resolver) Resolve(ctx context.Context, handle string, extent Extent) ([]once.Submitted, error) {
	if looksLikeFile(handle) && isFile(handle) {
		return r.resolveFile(ctx, handle, extent)
	}
	m, err := r.Target.Find(ctx, handle, r.Queues)
	if isMissing(err) && isFile(handle) {
		return r.resolveFile(ctx, handle, extent)
	}
	if err != nil {
		return nil, r.explain(handle, extent, err)
	}
	if extent == WholeSubmission {
		jobs, err := r.Target.Submission(ctx, m, r.Queues)
		r.noteOthers(handle, jobs, true, m)
		return submittedOf(jobs), err
	}
	jobs, whole := m.Newest()
	if extent == OneJob && len(m.Jobs) > 0 {
		jobs, whole = m.Jobs[:1], false
	}
	if extent == OneJob || !whole {
		id, err := r.Target.OnlyJob(ctx, m)
		if err != nil {
			return nil, r.explain(handle, extent, err)
		}
		r.noteOthers(handle, jobs, whole, m)
		return []once.Submitted{{ID: id, Name: jobs[0].Name}}, nil
	}
	r.noteOthers(handle, jobs, true, m)
	return submittedOf(jobs), nil
}

// submittedOf converts jobs that were found.
func submittedOf(jobs []client.Known) (all []once.Submitted) {
	for _, k := range jobs {
		all = append(all, once.Submitted{ID: k.ID, Name: k.Name})
	}
	return all
}

// looksLikeFile reports whether a handle has the form of a path, which no job's name has.
func looksLikeFile(handle string) bool {
	if batch.IsARN(handle) {
		return false
	}
	switch filepath.Ext(handle) {
	case ".json", ".yaml", ".yml":
		return true
	}
	return strings.ContainsRune(handle, filepath.Separator)
}

// isFile reports whether a file has this path.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// NamesFile reports whether an argument of a command that takes files and handles is a file: it
// exists, is "-", or has the form of a path.
func NamesFile(arg string) bool { return arg == "-" || looksLikeFile(arg) || isFile(arg) }

// known returns the ledger's jobs of this target, and prints damaged lines.
func (r *Resolver) known() (all []client.Known, err error) {
	entries, err := Entries(r.Con, r.Target)
	for _, e := range entries {
		all = append(all, e.Known())
	}
	return all, err
}

// isMissing reports whether a handle fits nothing.
func isMissing(err error) bool {
	_, missing := errors.AsType[*client.NoSuchJobError](err)
	return missing
}

// explain adds the next step to an error about a handle.
func (r *Resolver) explain(handle string, extent Extent, err error) error {
	if several, ok := errors.AsType[*client.SeveralJobsError](err); ok {
		return exit.Fail(exit.NotDone, "%v", several).Try("choose one of them: batchctl %s %s%s", r.use(), batch.ShortID(several.Jobs[0].ID), r.Target.Flags)
	}
	if part, ok := errors.AsType[*client.NoSuchPartError](err); ok {
		if part.Attempt > 0 && r.Command == "logs" {
			return exit.Fail(exit.NotDone, "%v", part).Try("read the log of an attempt: batchctl logs %s --attempt %d%s", part.Use, part.Attempt, r.Target.Flags)
		}
		return exit.Fail(exit.NotDone, "%v", part).Try("name one that exists: batchctl %s %s%s", r.use(), part.Use, r.Target.Flags)
	}
	missing, ok := errors.AsType[*client.NoSuchJobError](err)
	if !ok || r.Command == "top" { // top takes queues, too
		return err
	}
	if looksLikeFile(handle) {
		if _, err := os.Stat(handle); errors.Is(err, fs.ErrNotExist) {
			return exit.Fail(exit.NotDone, "read %s: %v", handle, exit.Cause(err)).Try("name a job or the workflow instead: batchctl list%s shows them", r.Target.Flags)
		}
	}
	if missing.Near != "" && extent == WholeSubmission {
		return exit.Fail(exit.NotDone, "%v", &client.NoSuchJobError{Argument: handle, Unsearched: missing.Unsearched}).Try("did you mean --submission %s?", missing.Near)
	}
	return LeadOn(r.Target, err)
}

// use is the command as it takes one job.
func (r *Resolver) use() string {
	if r.Command == "list" {
		return "list --array"
	}
	return r.Command
}

// oneJobCommands take one job, and have no --submission.
var oneJobCommands = [...]string{"explain", "replay", "list", "top"}

// mostOthers is how many other jobs or submissions a note lists.
const mostOthers = 3

// noteOthers prints which other jobs or submissions have the handle, and how to choose one of them.
func (r *Resolver) noteOthers(handle string, chosen []client.Known, whole bool, m *client.Matches) {
	if !whole {
		if len(m.Jobs) > 1 {
			r.note(fmt.Sprintf("%d jobs are named %s; this is the newest, %s", len(m.Jobs), handle, batch.ShortID(chosen[0].ID)), jobNotes(m.Jobs[1:]))
		}
		if run := m.Members; len(run) > 0 && run[0].Run == chosen[0].Run && !slices.Contains(oneJobCommands[:], r.Command) {
			fmt.Fprintf(r.Con.Err, "note: %s is also the workflow of this job; for all its jobs: batchctl %s --submission %[1]s%[3]s\n",
				diag.Printable(handle), r.Command, diag.Printable(r.Target.Flags))
		}
		return
	}
	from := m.Members
	if len(from) == 0 {
		from = m.Jobs
	}
	runs := slices.DeleteFunc(oneOfEach(from), func(k client.Known) bool { return k.Run == chosen[0].Run })
	if len(runs) == 0 {
		return
	}
	named := "are named"
	if len(m.Members) == 0 {
		named = "have a job"
	}
	r.note(fmt.Sprintf("%d submissions %s %s; this is the newest, %s", len(runs)+1, named, handle, chosen[0].Run), runNotes(runs))
}

// note prints a sentence and the other jobs or submissions that the user may have meant.
func (r *Resolver) note(text string, others []string) {
	fmt.Fprintf(r.Con.Err, "note: %s; choose another by its id:\n", diag.Printable(text))
	for _, line := range others[:min(len(others), mostOthers)] {
		fmt.Fprintf(r.Con.Err, "  %s\n", diag.Printable(line))
	}
	if more := len(others) - mostOthers; more > 0 {
		fmt.Fprintf(r.Con.Err, "  and %d older\n", more)
	}
}

// jobNotes describes jobs: the short id, the time, and the submission.
func jobNotes(jobs []client.Known) (lines []string) {
	for _, k := range jobs {
		line := batch.ShortID(k.ID) + "  " + ago(k.Submitted)
		if k.Run != "" {
			line += "  submission " + strings.TrimSpace(k.Run+" "+k.Workflow)
		}
		lines = append(lines, line)
	}
	return lines
}

// runNotes describes submissions by a job of each: the id, the time, and the workflow.
func runNotes(runs []client.Known) (lines []string) {
	for _, k := range runs {
		lines = append(lines, strings.TrimSpace(k.Run+"  "+ago(k.Submitted)+"  "+k.Workflow))
	}
	return lines
}

// ago formats the time of a submission.
func ago(at time.Time) string { return term.Ago(aws.Int64(at.UnixMilli()), time.Now()) }
