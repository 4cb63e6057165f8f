package session

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/clienttest"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
)

// resolving returns a resolver over a ledger with these entries, and what it prints. The service has
// no jobs.
func resolving(t *testing.T, command string, entries ...once.Entry) (*Resolver, *bytes.Buffer) {
	t.Helper()
	f := clienttest.New(t)
	f.Queues = []string{"cpu"}
	c := once.New(f.Config())
	c.Ledger = &once.Ledger{Dir: t.TempDir(), Target: "local"}
	if err := c.Ledger.Append(entries...); err != nil {
		t.Fatal(err)
	}
	var notes bytes.Buffer
	r := &Resolver{Con: &term.Console{Streams: term.Streams{Err: &notes}}, Command: command, Exact: command == "stop",
		Target: &target.Target{Name: target.Local, Flags: " --target local", Client: c, Submissions: c.Ledger}}
	return r, &notes
}

// submission returns the entries of a submission, some minutes ago.
func submission(n, minutes int, workflow string, names ...string) (entries []once.Entry) {
	for i, name := range names {
		entries = append(entries, once.Entry{Time: time.Now().Add(-time.Duration(minutes) * time.Minute), Name: name, ID: clienttest.TestID(16*n + i),
			Run: "beef000" + string(rune('0'+n)), Workflow: workflow})
	}
	return entries
}

// TestResolver checks what handles mean, what the resolver prints about others that have the same
// name, and its errors.
func TestResolver(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"pipe.json":    `{"name":"recon","jobs":[{"name":"pre"},{"name":"main"}]}`,
		"changed.json": `{"name":"recon","jobs":[{"name":"pre"},{"name":"main"},{"name":"new"}]}`,
		"count.json":   `{"name":"echo","image":"x:1"}`,
		"none.json":    `{"name":"none","image":"x:1"}`,
		"plain":        `{"name":"recon","jobs":[{"name":"pre"},{"name":"main"}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	var entries []once.Entry
	for _, s := range [][]once.Entry{
		submission(1, 50, "recon", "pre", "main"), submission(2, 40, "", "train"), submission(3, 30, "echo", "echo-1", "echo-2"),
		submission(4, 20, "train", "prepare", "train"), submission(5, 10, "recon", "pre", "main"), submission(6, 5, "alone", "other"),
	} {
		entries = append(entries, s...)
	}
	for _, tt := range []struct {
		command, handle string
		extent          Extent
		want            string // names and numbers, or the error with its hint
		note            string // AGE for a time
	}{
		{"status", "recon", AnyJobs, "pre 80, main 81", "note: 2 submissions are named recon; this is the newest, beef0005; choose another by its id:\n  beef0001  AGE  recon\n"},
		{"stop", "recon", WholeSubmission, "pre 80, main 81", "note: 2 submissions are named recon; this is the newest, beef0005; choose another by its id:\n  beef0001  AGE  recon\n"},
		{"status", "beef0001", AnyJobs, "pre 16, main 17", ""},
		{"status", "pipe.json", AnyJobs, "pre 80, main 81", "note: pipe.json was submitted 2 times; this is the newest, beef0005; choose another by its id:\n  beef0001  AGE  recon\n"},
		{"status", "plain", AnyJobs, "pre 80, main 81", "note: plain was submitted 2 times; this is the newest, beef0005; choose another by its id:\n  beef0001  AGE  recon\n"},
		{"status", "changed.json", AnyJobs, "pre 80, main 81", "note: changed.json was submitted 2 times; this is the newest, beef0005; choose another by its id:\n  beef0001  AGE  recon\n"},
		{"stop", "changed.json", WholeSubmission, "the ledger has no submission of the jobs in changed.json to this target; the newest submission with one of them is main pre: batchctl status --submission 00000051 --target local", ""},
		{"status", "count.json", AnyJobs, "echo-1 48, echo-2 49", ""},
		{"status", "none.json", AnyJobs, "the ledger has no submission of the jobs in none.json to this target; list the jobs: batchctl list --target local", ""},
		{"status", "gone.json", AnyJobs, "read gone.json: no such file or directory; name a job or the workflow instead: batchctl list --target local shows them", ""},
		{"status", "pre", AnyJobs, "pre 80", "note: 2 jobs are named pre; this is the newest, 00000050; choose another by its id:\n  00000010  AGE  submission beef0001 recon\n"},
		{"logs", "pre", WholeSubmission, "pre 80, main 81", "note: 2 submissions have a job pre; this is the newest, beef0005; choose another by its id:\n  beef0001  AGE  recon\n"},
		{"logs", "train", AnyJobs, "train 65", "note: 2 jobs are named train; this is the newest, 00000041; choose another by its id:\n  00000020  AGE  submission beef0002\n" +
			"note: train is also the workflow of this job; for all its jobs: batchctl logs --submission train --target local\n"},
		{"logs", "train", WholeSubmission, "prepare 64, train 65", ""},
		{"replay", "alone", OneJob, "other 96", ""},
		{"replay", "recon", OneJob, "recon is a submission of 2 jobs: pre 00000050, main 00000051; choose one of them: batchctl replay 00000050 --target local", ""},
		{"list", "pipe.json", OneJob, "pipe.json is a submission of 2 jobs: pre 00000050, main 00000051; choose one of them: batchctl list --array 00000050 --target local", ""},
		{"status", "rekon", AnyJobs, "no job or workflow has the id or name rekon, did you mean recon?", ""},
		{"status", "rekon", WholeSubmission, "no job or workflow has the id or name rekon; did you mean --submission recon?", ""},
		{"status", "nothing-like-it", AnyJobs, "no job or workflow has the id or name nothing-like-it; list the jobs: batchctl list --target local", ""},
	} {
		r, notes := resolving(t, tt.command, entries...)
		jobs, err := r.Resolve(t.Context(), tt.handle, tt.extent)
		var all []string
		for _, job := range jobs {
			all = append(all, job.Name+" "+numberOf(job.ID))
		}
		got := strings.Join(all, ", ")
		if err != nil {
			f := exit.From(err)
			got = f.Message
			if f.Hint != "" {
				got += "; " + f.Hint
			}
		}
		note := regexp.MustCompile(`[0-9hms.]+ ago`).ReplaceAllString(notes.String(), "AGE")
		if got != tt.want || note != tt.note {
			t.Errorf("%s %s:\n%s\nwant\n%s\nnote %q\nwant %q", tt.command, tt.handle, got, tt.want, note, tt.note)
		}
	}
}

// numberOf returns the number in an id of clienttest.TestID.
func numberOf(id string) string {
	n, err := strconv.ParseInt(id[:8], 16, 64)
	if err != nil {
		return id
	}
	return strconv.FormatInt(n, 10)
}

// TestNoteIsShort checks that a name with many jobs does not fill the screen.
func TestNoteIsShort(t *testing.T) {
	var entries []once.Entry
	for i := range 9 {
		entries = append(entries, submission(i, 60-i, "", "train")...)
	}
	r, notes := resolving(t, "status", entries...)
	if _, err := r.Resolve(t.Context(), "train", AnyJobs); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(notes.String()), "\n"); len(lines) != 5 || lines[0] != "note: 9 jobs are named train; this is the newest, 00000080; choose another by its id:" || lines[4] != "  and 5 older" {
		t.Errorf("%s", notes)
	}
}

// TestOpenRun checks the handles of open submissions, whose jobs need not be accepted yet.
func TestOpenRun(t *testing.T) {
	open := []once.OpenRun{
		{Name: "beef0001", Known: []client.Known{{Name: "pre", ID: clienttest.TestID(1), Run: "beef0001", Workflow: "recon"}, {Name: "later", Run: "beef0001", Workflow: "recon"}}},
		{Name: "damaged"},
		{Name: "beef0002", Known: []client.Known{{Name: "pre", Run: "beef0002", Workflow: "recon", Submitted: time.Now()}}},
	}
	for handle, want := range map[string]string{"beef0001": "beef0001", "damaged": "damaged", "recon": "beef0002", "later": "beef0001", "00000001": "beef0001", "beef0002": "beef0002", "nothing": "nothing"} {
		var notes bytes.Buffer
		r := &Resolver{Con: &term.Console{Streams: term.Streams{Err: &notes}}, Command: "resume"}
		got, err := r.OpenRun(handle, open)
		if got != want || err != nil || (handle == "recon") != strings.Contains(notes.String(), "note: 2 open submissions match recon; this is the newest, beef0002") {
			t.Errorf("OpenRun(%s) = %s, %v, want %s; %s", handle, got, err, want, &notes)
		}
	}
}
