package local

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/buildinfo"
	"github.com/batchctl/batchctl/pkg/local/api"
	"github.com/batchctl/batchctl/pkg/local/journal"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// builtAs returns a release.
func builtAs(version string) buildinfo.Build { return buildinfo.Build{Version: version} }

// serveUntilReplaced serves an engine until it makes way or the test ends, and returns its connection. ended
// receives the result.
func serveUntilReplaced(t *testing.T, e *Engine) (c Connection, ended <-chan error) {
	t.Helper()
	l, err := e.Listen()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	go func() {
		<-e.Leaving()
		stop()
	}()
	ready, served := make(chan Connection, 1), make(chan error, 1)
	go func() { served <- e.Serve(ctx, l, func(c Connection) { ready <- c }) }()
	return <-ready, served
}

// TestHandOver replaces an engine by a newer one. The older one continues while a job is unfinished or
// a client is connected. A client that has connected before continues at the newer one.
func TestHandOver(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	background := []string{"serve", "--daemon"}
	w := open(t, Options{Dir: dir, Executor: &script{}, Build: builtAs("v0.1.0"), Background: background})
	c, ended := serveUntilReplaced(t, w.engine)
	if read, err := Connect(dir); err != nil || read.Build != builtAs("v0.1.0") || len(read.Background) != 2 {
		t.Fatalf("%+v, %v", read, err)
	}
	w.register("work", "1", "64")
	id := w.submit("work", modeltest.Words("1h"))
	stays := func(why string) {
		t.Helper()
		if stays, ok := errors.AsType[*StaysError](c.HandOver(t.Context())); !ok || stays.Why != why {
			t.Errorf("hand over: %v, want %s", stays, why)
		}
	}
	stays("it has 1 unfinished job")
	if _, err := w.TerminateJob(t.Context(), &awsbatch.TerminateJobInput{JobId: &id, Reason: new(string)}); err == nil {
		t.Error("ended without a reason")
	}
	reason := "enough"
	modeltest.Must(t, w.TerminateJob, &awsbatch.TerminateJobInput{JobId: &id, Reason: &reason})
	w.idle()
	config := c.Config()
	client := awsbatch.NewFromConfig(config)
	describe := func() (types.JobStatus, error) {
		out, err := client.DescribeJobs(t.Context(), &awsbatch.DescribeJobsInput{Jobs: []string{id}})
		if err != nil {
			return "", err
		}
		return out.Jobs[0].Status, nil
	}
	if status, err := describe(); err != nil || status != types.JobStatusFailed {
		t.Fatal(status, err)
	}
	stays("it has 1 connected client")
	config.HTTPClient.(afterEnd).CloseIdleConnections()
	if err := c.HandOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(<-ended, w.engine.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	next := open(t, Options{Dir: dir, Executor: &script{}, Build: builtAs("v0.2.0"), Background: background})
	now, _ := serveUntilReplaced(t, next.engine)
	if !now.sameEngine(c) || now.Build != builtAs("v0.2.0") {
		t.Errorf("%+v after %+v", now, c)
	}
	if status, err := describe(); err != nil || status != types.JobStatusFailed {
		t.Error(status, err)
	}
}

// TestHandOverIsForBackgroundEngines checks that an engine of a command does not make way, whatever the
// caller takes it for.
func TestHandOverIsForBackgroundEngines(t *testing.T) {
	w := open(t, Options{Executor: &script{}})
	c, _ := serveUntilReplaced(t, w.engine)
	for range 2 {
		if stays, ok := errors.AsType[*StaysError](c.HandOver(t.Context())); !ok || stays.Why != errForeground.Error() {
			t.Error(stays)
		}
		c.Background = []string{"serve", "--daemon"}
	}
	answer, err := http.Post(c.Endpoint+api.HandOverPath, "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("without a signature: %s", answer.Status)
	}
}

// TestJournalNamesItsWriter checks that the first record of each version names it, also after jobs
// were forgotten.
func TestJournalNamesItsWriter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	for _, version := range []string{"v0.1.0", "v0.1.0", "v0.2.0"} {
		w := open(t, Options{Dir: dir, Executor: &script{}, Build: builtAs(version)})
		w.register("work", "1", "64")
		w.submit("work", modeltest.Words("true"))
		w.idle()
		if err := w.engine.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	for version, n := range map[string]int{"v0.1.0": 1, "v0.2.0": 1} {
		if got := bytes.Count(text, []byte(`"batchctl":`+strconv.Quote(version))); got != n {
			t.Errorf("%d records name %s, want %d", got, version, n)
		}
	}
	record := model.Record{At: 1, Events: []model.Event{{Launched: &model.Launch{Job: "old"}}}, Batchctl: "v0.1.0"}
	line, err := record.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := without(line, map[string]bool{"old": true}); err != nil || string(kept) != `{"at":1,"events":[],"batchctl":"v0.1.0"}` {
		t.Errorf("%s, %v", kept, err)
	}
}

// TestDowngrade opens the journals of later versions: each is refused with the file, what is unknown
// and the version that wrote it, and no file is changed.
func TestDowngrade(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	for name, test := range map[string]struct {
		header, records string
		want            []string
	}{
		"event": {journal.Header, `{"at":1,"events":[{"logGroupCreated":{"group":"g"}}],"batchctl":"v0.9.0"}` + "\n" +
			`{"at":2,"events":[{"paused":{"job":"a"}}]}`, []string{`unknown event "paused"`, "written by batchctl v0.9.0", "this is v0.1.0"}},
		"event of the record that names its writer": {journal.Header, `{"at":2,"events":[{"paused":{}}],"batchctl":"v0.9.1"}`, []string{`unknown event "paused"`, "written by batchctl v0.9.1"}},
		"status": {journal.Header, `{"at":1,"events":[{"moved":{"job":"a","to":"THROTTLED"}}],"batchctl":"v0.9.0"}`,
			[]string{`unknown job status "THROTTLED"`, "written by batchctl v0.9.0", "this is v0.1.0"}},
		"status without a writer": {journal.Header, `{"at":1,"events":[{"moved":{"job":"a","to":"THROTTLED"}}]}`, []string{"written by a newer batchctl"}},
		"format":                  {"batchctl journal 3 v0.9.0\n", `{"at":1}`, []string{"written by a newer batchctl (journal 3 v0.9.0; this one reads journal 2)"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			leave(t, dir, `{"endpoint":"http://`+address+`","region":"local","accessKeyId":"A","secretAccessKey":"B"}`)
			writeJournal(t, dir, test.header, test.records)
			before := filesOf(t, dir)
			for _, readOnly := range []bool{true, false} {
				_, err := Open(Options{Dir: dir, ReadOnly: readOnly, Executor: &script{}, Build: builtAs("v0.1.0")})
				if err == nil {
					t.Fatalf("read-only %t: it opened", readOnly)
				}
				for _, part := range append(test.want, filepath.Join(dir, "journal")) {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("read-only %t: %v does not contain %q", readOnly, err, part)
					}
				}
			}
			for path, text := range filesOf(t, dir) {
				if path != "lock" && text != before[path] {
					t.Errorf("%s has changed: %q, was %q", path, text, before[path])
				}
				delete(before, path)
			}
			if len(before) > 0 {
				t.Errorf("files are gone: %v", before)
			}
		})
	}
}

// TestUnknownMembersAreIgnored checks that a member that a later version adds to a known event does not
// prevent a downgrade.
func TestUnknownMembersAreIgnored(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	leave(t, dir, "{}")
	writeJournal(t, dir, journal.Header, `{"at":1,"mood":"fine","events":[{"logGroupCreated":{"group":"later","colour":"red"}}],"batchctl":"v0.9.0"}`)
	w := open(t, Options{Dir: dir, Executor: &script{}, Build: builtAs("v0.1.0")})
	if w.engine.model.LogGroups["later"] == nil {
		t.Error("the event was not applied")
	}
}

// writeJournal writes a journal with records, one a line.
func writeJournal(t *testing.T, dir, header, records string) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	path := filepath.Join(dir, "journal")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	j, _, err := journal.Open(root, "journal", func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(records, "\n") {
		if _, err := j.Append([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append([]byte(header), text[len(journal.Header):]...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// filesOf returns the contents of the files of a directory.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		if e.Type().IsRegular() {
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			files[e.Name()] = string(text)
		}
	}
	return files
}

// An event of a newer engine is an error that names it, so that the engine does not start without it.
func TestEventsOfNewerEngines(t *testing.T) {
	e := open(t, Options{}).engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.replayed([]byte(`{"at":1000,"events":[{"invented":{"thing":"x"}}]}`)); err == nil || !strings.Contains(err.Error(), "written by a newer batchctl") {
		t.Errorf("error %v", err)
	}
}
