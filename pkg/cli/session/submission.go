package session

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/target"
)

// A submission is what one command submitted together, as the ledger knows it: a
// workflow's jobs, or one job.

// Entries reads the ledger's jobs of this target and names lines that it cannot read.
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

// LastSubmission returns the jobs that were submitted last to this target.
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

// SubmissionCalled finds a submission by a word: its file, or one of its jobs, of several
// the newest. A name is a whole name.
func SubmissionCalled(con *term.Console, t *target.Target, word string) ([]once.Submitted, error) {
	entries, err := Entries(con, t)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(word, ".json") {
		return submissionOf(con, t, entries, word)
	}
	var named []string
	for i, e := range slices.Backward(entries) {
		if e.Name == word || e.Run == word || len(word) >= 4 && strings.HasPrefix(e.ID, word) {
			return together(entries, i), nil
		}
		named = append(named, e.Name)
	}
	f := exit.Fail(exit.NotDone, "the ledger has no submission with a job %s to this target", word)
	if near := diag.Near(word, slices.Values(named)); near != "" {
		return nil, f.Try("did you mean --submission %s?", near)
	}
	return nil, f.Try("see what there is: batchctl list%s", t.Flags)
}

// submissionOf finds the newest submission of the jobs that a file describes now.
func submissionOf(con *term.Console, t *target.Target, entries []once.Entry, path string) ([]once.Submitted, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, exit.Fail(exit.NotDone, "read %s: %v", path, exit.Cause(err)).Try("name a job of the submission instead: its name or short id")
	}
	src, err := input.Read(con, path)
	if err != nil {
		return nil, err
	}
	file, _ := document.Load(src, document.Options{}) // its problems do not matter here
	jobs := jobsOf(file)
	var partly []once.Submitted
	for i := len(entries) - 1; i >= 0 && len(jobs) > 0; i-- {
		if name, _ := jobs.job(entries[i].Name); name == "" {
			continue
		}
		submitted := together(entries, i)
		if jobs.are(submitted) {
			return submitted, nil
		}
		if partly == nil {
			partly = submitted
		}
	}
	f := exit.Fail(exit.NotDone, "the ledger has no submission of the jobs of %s to this target", path)
	if partly != nil {
		return nil, f.Try("the newest submission with one of them is %s: batchctl status --submission %s%s",
			strings.Join(sortedNames(partly), " "), batch.ShortID(partly[0].ID), t.Flags)
	}
	return nil, f.Try("see what there is: batchctl list%s", t.Flags)
}

// fileJobs is the jobs of a file, and whether each is in every submission of it: a step that
// runs when others have ended may not be needed, and so may not what comes after it.
type fileJobs map[string]bool

func jobsOf(file *document.File) fileJobs {
	if file == nil {
		return nil
	}
	w := fileJobs{}
	for _, job := range file.Jobs {
		w[job.Name] = job.When == ""
	}
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

// job is the job of the file that a submitted one belongs to, "" for none; between tells that
// it is only a step before it.
func (w fileJobs) job(name string) (of string, between bool) {
	if _, ok := w[name]; ok {
		return name, false
	}
	for job := range w {
		if made, join := plan.IsMadeFor(name, job); made {
			return job, join
		}
	}
	return "", false
}

// are reports whether these jobs are a submission of the file.
func (w fileJobs) are(jobs []once.Submitted) bool {
	there := map[string]bool{}
	for _, j := range jobs {
		name, between := w.job(j.Name)
		if name == "" {
			return false
		}
		there[name] = there[name] || !between
	}
	for name, always := range w {
		if always && !there[name] {
			return false
		}
	}
	return true
}

func sortedNames(jobs []once.Submitted) (names []string) {
	for _, j := range jobs {
		names = append(names, j.Name)
	}
	slices.Sort(names)
	return names
}

// together are the jobs of the submission of entry i, in the order of the file.
func together(entries []once.Entry, i int) (jobs []once.Submitted) {
	for n, e := range entries {
		if n == i || e.Run != "" && e.Run == entries[i].Run {
			jobs = append(jobs, once.Submitted{ID: e.ID, Name: e.Name, Queue: e.Queue, Definition: e.Definition, ArraySize: e.ArraySize})
		}
	}
	return jobs
}

// manyWords is how many jobs a command line still names one by one.
const manyWords = 4

// WordsOf are how a next command names the jobs.
func WordsOf(t *target.Target, jobs []once.Submitted) string {
	var short []string
	for _, j := range jobs {
		short = append(short, batch.ShortID(j.ID))
	}
	if len(jobs) > manyWords && t.Ledger != nil {
		entries, _ := t.Ledger.Own() // without a ledger every job is named
		at := slices.IndexFunc(entries, func(e once.Entry) bool { return e.ID == jobs[0].ID })
		if at >= 0 && len(together(entries, at)) == len(jobs) {
			return "--submission " + short[0] + t.Flags
		}
	}
	return strings.Join(short, " ") + t.Flags
}
