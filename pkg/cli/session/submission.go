package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/target"
)

// A submission is the jobs that one command submitted together, as the ledger has them.

// Entries reads the ledger's jobs of this target. It prints damaged lines and
// leaves them out.
func Entries(con *term.Console, t *target.Target) ([]once.Entry, error) {
	entries, err := t.Submissions.Entries()
	var damage *once.DamageError
	if errors.As(err, &damage) {
		fmt.Fprintf(con.Err, "batchctl: %s\n", diag.Printable(damage.Error()))
	} else if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(entries, func(e once.Entry) bool { return !t.Submissions.Covers(e.Target) }), nil
}

// LastSubmission returns the jobs of the newest submission to this target.
func LastSubmission(con *term.Console, command string, t *target.Target) ([]once.Submitted, error) {
	entries, err := Entries(con, t)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, exit.Usage("%s needs a job", command).Try("name one: batchctl %s NAME%[2]s; batchctl list%[2]s shows them", command, t.Flags)
	}
	return together(entries, len(entries)-1), nil
}

// fileJobs are the names of a file's jobs. The value reports whether the job is
// in every submission of the file. A step that runs when others have ended may be
// skipped, and then the steps after it are, too.
type fileJobs map[string]bool

// jobsOf returns the jobs of a file; nil for a nil file.
func jobsOf(file *document.File) fileJobs {
	if file == nil {
		return nil
	}
	w := fileJobs{}
	for _, job := range file.Jobs {
		w[job.Name] = job.When == ""
	}
	// Repeat until nothing changes: a job may come before the steps that it depends on.
	for again := true; again; {
		again = false
		for _, job := range file.Jobs {
			after := func(d document.Dependency) bool { always, known := w[d.Job]; return known && !always }
			if w[job.Name] && slices.ContainsFunc(job.DependsOn, after) {
				w[job.Name], again = false, true
			}
		}
	}
	return w
}

// job returns the job of the file to which a submitted job belongs; "" for an unknown one.
// between reports that it is only an inserted step before that job.
func (w fileJobs) job(name string) (of string, between bool) {
	if _, ok := w[name]; ok {
		return name, false
	}
	for job := range w {
		if isPart, join := plan.IsMadeFor(name, job); isPart {
			return job, join
		}
	}
	return "", false
}

// are reports whether these jobs are a complete submission of the file.
func (w fileJobs) are(jobs []client.Known) bool {
	found := map[string]bool{}
	for _, j := range jobs {
		name, between := w.job(j.Name)
		if name == "" {
			return false
		}
		found[name] = found[name] || !between
	}
	for name, always := range w {
		if always && !found[name] {
			return false
		}
	}
	return true
}

// together returns the jobs of the submission that contains entry i, in the order
// of the file.
func together(entries []once.Entry, i int) (jobs []once.Submitted) {
	for n, e := range entries {
		if n == i || e.Run != "" && e.Run == entries[i].Run {
			jobs = append(jobs, once.Submitted{ID: e.ID, Name: e.Name, Queue: e.Queue, Definition: e.Definition, ArraySize: e.ArraySize})
		}
	}
	return jobs
}

// manyJobs is the most jobs that a command line names one by one.
const manyJobs = 4

// ArgsFor returns the arguments with which a next command names the jobs, and the
// flags of the target.
func ArgsFor(t *target.Target, jobs []once.Submitted) string {
	var short []string
	for _, j := range jobs {
		short = append(short, batch.ShortID(j.ID))
	}
	if len(jobs) > manyJobs && t.Ledger != nil {
		entries, _ := t.Ledger.Own() // without a ledger every job is named
		at := slices.IndexFunc(entries, func(e once.Entry) bool { return e.ID == jobs[0].ID })
		if at >= 0 && len(together(entries, at)) == len(jobs) {
			return "--submission " + short[0] + t.Flags
		}
	}
	return strings.Join(short, " ") + t.Flags
}
