package session

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/clienttest"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/ladder"
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
		{"status", "recon", AnyJobs, "pre 80, main 81", ""},
		{"stop", "recon", WholeSubmission, "pre 80, main 81", "note: 2 submissions are named recon; this is the newest, beef0005; the one before is beef0001, AGE\n"},
		{"status", "beef0001", AnyJobs, "pre 16, main 17", ""},
		{"status", "pipe.json", AnyJobs, "pre 80, main 81", ""},
		{"status", "plain", AnyJobs, "pre 80, main 81", ""},
		{"status", "changed.json", AnyJobs, "pre 80, main 81", ""},
		{"stop", "changed.json", WholeSubmission, "the ledger has no submission of the jobs in changed.json to this target; the newest submission with one of them is main pre: batchctl status --submission 00000051 --target local", ""},
		{"status", "count.json", AnyJobs, "echo-1 48, echo-2 49", ""},
		{"status", "none.json", AnyJobs, "the ledger has no submission of the jobs in none.json to this target; list the jobs: batchctl list --target local", ""},
		{"status", "gone.json", AnyJobs, "read gone.json: no such file or directory; name a job or the workflow instead: batchctl list --target local shows them", ""},
		{"status", "pre", AnyJobs, "pre 80", ""},
		{"logs", "pre", WholeSubmission, "pre 80, main 81", ""},
		{"logs", "train", AnyJobs, "train 65", "note: 2 jobs are named train; this is the newest, 00000041; the one before is 00000020, AGE\n" +
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
		chains, err := r.Resolve(t.Context(), tt.handle, tt.extent)
		var all []string
		for _, job := range Jobs(chains) {
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

// TestFileHandle checks that a file means what was submitted with it, not a job of another file with the same name, and
// that a step of onFailure makes an older submission no newer.
func TestFileHandle(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"a.json", "b.json", "c.json", "old.json"} {
		if err := os.WriteFile(name, []byte(`{"name":"train","image":"x:1"}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	entries := slices.Concat(submission(1, 60, "", "train"), submission(2, 50, "", "train"), submission(3, 40, "", "train"), submission(4, 30, "", "train"),
		submission(5, 20, "", "renamed"), submission(6, 10, "", "train-try2"), submission(7, 5, "", "train-retry"))
	for i, file := range []string{"", "a.json", "b.json", "b.json", "a.json", "", ""} {
		if entries[i].File = once.FilePath(file); file != "" && entries[i].File == "" {
			t.Fatal(file)
		}
	}
	entries[5].Run, entries[5].Again = entries[2].Run, entries[2].ID // a late step of the older submission of b.json
	entries[6].Again = entries[4].ID
	for handle, want := range map[string]string{
		"a.json": "train-retry 112, renamed 80", "b.json": "train 64", "old.json": "train 16", "other/../b.json": "train 64",
		"00000030": "train-try2 96, train 48", "train-try2": "train-try2 96, train 48", "beef0003": "train-try2 96, train 48", "beef0007": "train-retry 112, renamed 80",
	} {
		if handle == "old.json" || handle == "other/../b.json" {
			if err := os.MkdirAll("other", 0o700); err != nil {
				t.Fatal(err)
			}
		}
		r, _ := resolving(t, "stop", entries...)
		chains, err := r.Resolve(t.Context(), handle, AnyJobs)
		var got []string
		for _, job := range Jobs(chains) {
			got = append(got, job.Name+" "+numberOf(job.ID))
		}
		if strings.Join(got, ", ") != want || err != nil {
			t.Errorf("%s: %v, %v, want %s", handle, got, err, want)
		}
	}
	// Without an entry that has no file, there is nothing to compare by name.
	r, _ := resolving(t, "stop", entries[1:]...)
	_, err := r.Resolve(t.Context(), "c.json", AnyJobs)
	if f := exit.From(err); err == nil || !strings.Contains(f.Message, "its newest job of the name train is of "+once.FilePath("b.json")) || f.Hint != "if you mean that submission, use its id: batchctl status --submission 00000040 --target local" {
		t.Errorf("%v", err)
	}
	if chains, err := r.LastSubmission(t.Context()); err != nil || chains[0][0].Name != "train-retry" {
		t.Errorf("%v, %v", chains, err)
	}
}

// TestStateMachine checks that a chain has the jobs that the state machine submitted, which the ledger does not have.
func TestStateMachine(t *testing.T) {
	f := clienttest.New(t)
	f.Queues = []string{"cpu"}
	at := time.Now().UnixMilli()
	for i, job := range []types.JobDetail{{Status: "FAILED", Tags: map[string]string{ladder.Tag: ladder.ByStateMachine}},
		{Status: "RUNNING", Tags: map[string]string{ladder.Tag: ladder.ByStateMachine, client.RetryTag: clienttest.TestID(0)}}, {Status: "RUNNING"}} {
		job.JobId, job.JobName, job.CreatedAt = aws.String(clienttest.TestID(i)), aws.String([]string{"s", "s-try2", "s-other"}[i]), aws.Int64(at+int64(i))
		f.Jobs[*job.JobId] = func(time.Duration) *types.JobDetail { return &job }
		f.Listed = append(f.Listed, types.JobSummary{JobId: job.JobId, JobName: job.JobName, JobArn: aws.String("cpu"), Status: job.Status, CreatedAt: job.CreatedAt})
	}
	c := once.New(f.Config())
	c.Ledger = &once.Ledger{Dir: t.TempDir(), Target: "aws 1 x"}
	if err := c.Ledger.Append(once.Entry{Time: time.Now(), Name: "s", ID: clienttest.TestID(0), Run: "beef0001"}); err != nil {
		t.Fatal(err)
	}
	r := &Resolver{Con: &term.Console{}, Command: "stop", Target: &target.Target{Name: "prod", Client: c, Submissions: c.Ledger}}
	chains, err := r.Resolve(t.Context(), "s", AnyJobs)
	if err != nil || len(chains) != 1 || len(chains[0]) != 2 || chains[0][0].Name != "s-try2" || chains[0][1].Name != "s" {
		t.Errorf("%v, %v", chains, err)
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

// TestNewestNote checks that nine runs of one job print nothing, and a line if two came close together.
func TestNewestNote(t *testing.T) {
	for _, close := range []bool{false, true} {
		var entries []once.Entry
		for i := range 9 {
			entries = append(entries, submission(i, 60-i, "", "train")...)
		}
		want := ""
		if close {
			entries[8].Time = entries[7].Time.Add(2 * time.Second)
			want = "note: 9 jobs are named train; this is the newest, 00000080; the one before is 00000070, 53m"
		}
		r, notes := resolving(t, "status", entries...)
		if _, err := r.Resolve(t.Context(), "train", AnyJobs); err != nil {
			t.Fatal(err)
		}
		if got := notes.String(); !strings.HasPrefix(got, want) || strings.Count(got, "\n") != len(want)/max(1, len(want)) {
			t.Errorf("got %q, want %q", got, want)
		}
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
