package session

import (
	"context"
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

// LastSubmission returns the chains of the newest submission to this target.
func (r *Resolver) LastSubmission(ctx context.Context) ([]client.Chain, error) {
	known, err := r.known()
	if err != nil {
		return nil, err
	}
	if len(known) == 0 {
		return nil, exit.Usage("%s needs a job", r.Command).
			Try("name one: batchctl %s NAME%[2]s; batchctl list%[2]s shows them", r.Command, r.Target.Flags)
	}
	return r.chains(ctx, newestRun(known), AnyJobs, false)
}

// newestRun returns the jobs of the newest submission, in their order. A job of an older version may have none.
func newestRun(known []client.Known) (run []client.Known) {
	sorted := client.NewestRunFirst(known)
	for _, k := range known {
		if k.Run == sorted[0].Run && (k.Run != "" || k.ID == sorted[0].ID) {
			run = append(run, k)
		}
	}
	return run
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

// manyJobs is the most jobs that a command line names one by one.
const manyJobs = 4

// ArgsFor returns the arguments with which a next command names the jobs, and the
// flags of the target. A job stands for those that run it again.
func ArgsFor(t *target.Target, jobs []once.Submitted) string {
	roots := slices.DeleteFunc(slices.Clone(jobs), func(j once.Submitted) bool {
		return slices.ContainsFunc(jobs, func(o once.Submitted) bool { return j.Again == o.ID && o.ID != "" })
	})
	var short []string
	for _, j := range roots {
		short = append(short, batch.ShortID(j.ID))
	}
	if len(roots) > manyJobs && t.Client.Ledger != nil {
		entries, _ := t.Client.Ledger.Own() // without a ledger every job is named
		run, n := "", 0
		for _, e := range entries {
			if e.ID == roots[0].ID {
				run = e.Run
			}
		}
		for _, e := range entries {
			if e.Run == run && run != "" && e.Again == "" {
				n++
			}
		}
		if n == len(roots) {
			return "--submission " + short[0] + t.Flags
		}
	}
	return strings.Join(short, " ") + t.Flags
}
