package once

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/clienttest"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/plan"
)

func job(name, image string, after ...document.Dependency) *plan.Job {
	return &plan.Job{Name: name, After: after,
		Register: &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String(name), Type: types.JobDefinitionTypeContainer,
			ContainerProperties: &types.ContainerProperties{Image: &image}},
		Submit: &awsbatch.SubmitJobInput{JobName: aws.String(name), JobQueue: aws.String("cpu"), JobDefinition: aws.String(name)}}
}

func planOf(jobs ...*plan.Job) *plan.Plan { return &plan.Plan{Name: "test", Jobs: jobs} }

const definitionARN = "arn:aws:batch:us-east-1:123456789012:job-definition/"

func TestSubmitRegistersOnce(t *testing.T) {
	f, c := newFake(t)
	for i, step := range []struct{ image, want string }{
		{"a", "train:1"}, {"a", "train:1"}, {"b", "train:2"}, {"a", "train:1"}, {"b", "train:2"},
	} {
		got, err := c.Submit(t.Context(), planOf(job("train", step.image)))
		if err != nil || got[0].Definition != definitionARN+step.want {
			t.Fatalf("step %d: %+v, %v, want %s", i, got, err, step.want)
		}
		if sent := *f.Submitted[i].JobDefinition; sent != definitionARN+step.want {
			t.Errorf("step %d: submitted with %s", i, sent)
		}
	}
	if n := f.Count("RegisterJobDefinition"); n != 2 {
		t.Errorf("%d registrations, want 2", n)
	}
	if tag := f.Definitions[0].Tags[client.ContentTag]; len(tag) != 32 {
		t.Errorf("content tag %q", tag)
	}
}

func TestSubmitTakesTheNewestEqualRevision(t *testing.T) {
	f, c := newFake(t)
	j := job("train", "a")
	if _, err := c.Submit(t.Context(), planOf(j)); err != nil {
		t.Fatal(err)
	}
	again := f.Definitions[0]
	again.Revision, again.JobDefinitionArn = aws.Int32(7), aws.String(definitionARN+"train:7")
	removed := again
	removed.Revision, removed.JobDefinitionArn, removed.Status = aws.Int32(9), aws.String(definitionARN+"train:9"), aws.String("INACTIVE")
	f.Definitions = append([]types.JobDefinition{again, removed}, f.Definitions...)
	got, err := c.Submit(t.Context(), planOf(j))
	if err != nil || got[0].Definition != definitionARN+"train:7" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestSubmitSharesADefinition checks that jobs of one plan with the same definition run the same
// revision, even if it is not the latest.
func TestSubmitSharesADefinition(t *testing.T) {
	f, c := newFake(t)
	for _, image := range []string{"a", "b"} {
		if _, err := c.Submit(t.Context(), planOf(job("train", image))); err != nil {
			t.Fatal(err)
		}
	}
	alone := job("train", "a")
	alone.Submit = nil
	submit := func(definition string) *plan.Job {
		return &plan.Job{Name: definition, Submit: &awsbatch.SubmitJobInput{JobName: aws.String("again"), JobQueue: aws.String("cpu"), JobDefinition: aws.String(definition)}}
	}
	got, err := c.Submit(t.Context(), planOf(alone, submit("train"), submit(definitionARN+"train"), submit("train:2"), submit("other")))
	if err != nil {
		t.Fatal(err)
	}
	var sent []string
	for _, s := range got {
		sent = append(sent, strings.TrimPrefix(s.Definition, definitionARN))
	}
	if d := cmp.Diff([]string{"train:1", "train:1", "train:1", "train:2", "other"}, sent); d != "" {
		t.Error(d)
	}
	if n := len(f.Submitted); n != 6 {
		t.Errorf("%d submissions", n)
	}
}

func TestSubmitWithFullTags(t *testing.T) {
	f, c := newFake(t)
	j := job("train", "a")
	j.Register.Tags = map[string]string{}
	for i := range 50 {
		j.Register.Tags[clienttest.TestID(i)] = "x"
	}
	if _, err := c.Submit(t.Context(), planOf(j)); err != nil || len(f.Definitions[0].Tags) != 50 {
		t.Errorf("%d tags, %v", len(f.Definitions[0].Tags), err)
	}
}

func TestSubmitWorkflow(t *testing.T) {
	f, c := newFake(t)
	prepare := job("prepare", "a")
	array := job("array", "a", document.Dependency{Job: "prepare"})
	array.Submit.ArrayProperties = &types.ArrayProperties{Size: aws.Int32(3)}
	array.Submit.DependsOn = []types.JobDependency{{JobId: aws.String("elsewhere")}}
	second := job("second", "a", document.Dependency{Job: "array", Type: "N_TO_N"}, document.Dependency{Job: "prepare"})
	second.Register, second.Submit.JobDefinition = nil, aws.String("registered:4")
	alone := job("alone", "a")
	alone.Submit = nil

	got, err := c.Submit(t.Context(), planOf(prepare, array, second, alone))
	if err != nil {
		t.Fatal(err)
	}
	want := []Submitted{
		{Name: "prepare", ID: clienttest.TestID(1), Queue: "cpu", Definition: definitionARN + "prepare:1"},
		{Name: "array", ID: clienttest.TestID(2), Queue: "cpu", Definition: definitionARN + "array:1", ArraySize: 3},
		{Name: "second", ID: clienttest.TestID(3), Queue: "cpu", Definition: "registered:4"},
		{Name: "alone", Definition: definitionARN + "alone:1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var depends []string
	for _, d := range append(f.Submitted[1].DependsOn, f.Submitted[2].DependsOn...) {
		depends = append(depends, strings.TrimSpace(*d.JobId+" "+string(d.Type)))
	}
	if diff := cmp.Diff([]string{"elsewhere", clienttest.TestID(1), clienttest.TestID(2) + " N_TO_N", clienttest.TestID(1)}, depends); diff != "" {
		t.Error(diff)
	}
	if len(array.Submit.DependsOn) != 1 || *array.Submit.JobDefinition != "array" || array.Register.Tags != nil {
		t.Error("the plan was changed")
	}
}

func TestSubmitOutOfOrder(t *testing.T) {
	_, c := newFake(t)
	_, err := c.Submit(t.Context(), planOf(job("b", "x", document.Dependency{Job: "a"}), job("a", "x")))
	if err == nil || !strings.Contains(err.Error(), "depends on a") {
		t.Error(err)
	}
}

// TestSubmitFaults checks that, whatever fails, an intent leads to at most one job, and that the
// error tells whether there may be one.
func TestSubmitFaults(t *testing.T) {
	type refused = *client.RefusedError
	type unreachable = *client.UnreachableError
	type ambiguous = *client.AmbiguousError
	is := func(err error, want any) bool {
		switch want.(type) {
		case refused:
			_, ok := errors.AsType[refused](err)
			return ok
		case unreachable:
			_, ok := errors.AsType[unreachable](err)
			return ok
		case ambiguous:
			_, ok := errors.AsType[ambiguous](err)
			return ok
		}
		return err == nil
	}
	notFound := clienttest.Reply(400, "ClientException", `{"message":"JobDefinition train:1 not found"}`)
	dropped := clienttest.Reply(500, "ServerException", `{"message":"oops"}`)
	denied := clienttest.Reply(403, "AccessDeniedException", `{"message":"not for you"}`)
	for _, c := range []struct {
		name            string
		faults, looks   []clienttest.Fault
		want            any
		text            string
		calls, accepted int
	}{
		{"fine", nil, nil, nil, "", 1, 1},
		{"connection refused", clienttest.Times(9, clienttest.RefusedConnection), nil, unreachable(nil), "nothing was sent: connect: connection refused", 1, 0},
		{"plain HTTP behind https", clienttest.Times(9, clienttest.PlainHTTP), nil, unreachable(nil), "nothing was sent", 1, 0},
		{"no such host", clienttest.Times(9, clienttest.NoSuchHost), nil, unreachable(nil), "no such host", 1, 0},
		{"EOF", clienttest.Times(9, clienttest.LostEOF), nil, nil, "", 1, 1},
		{"reset", clienttest.Times(9, clienttest.LostReset), nil, nil, "", 1, 1},
		{"truncated", clienttest.Times(9, clienttest.LostTruncated), nil, nil, "", 1, 1},
		{"200 without an id", clienttest.Times(9, clienttest.LostEmpty), nil, nil, "", 1, 1},
		{"500", clienttest.Times(9, clienttest.LostStatus(500, "ServerException", `{"message":"oops"}`)), nil, nil, "", 1, 1},
		{"502 HTML", clienttest.Times(9, clienttest.LostStatus(502, "", `<html>`)), nil, nil, "", 1, 1},
		{"503", clienttest.Times(9, clienttest.LostStatus(503, "ServiceUnavailable", `{}`)), nil, nil, "", 1, 1},
		{"throttling code with 503", clienttest.Times(9, clienttest.LostStatus(503, "SlowDown", `{}`)), nil, nil, "", 1, 1},
		{"403 of a proxy", clienttest.Times(9, clienttest.LostStatus(403, "", `<html>`)), nil, nil, "", 1, 1},
		{"408 without a name", clienttest.Times(9, clienttest.LostStatus(408, "", `{}`)), nil, nil, "", 1, 1},
		{"dropped", []clienttest.Fault{dropped}, nil, nil, "", 2, 1},
		{"dropped, then lost", []clienttest.Fault{dropped, clienttest.LostReset}, nil, nil, "", 2, 1},
		{"always dropped", clienttest.Times(99, dropped), nil, ambiguous(nil), "no clear answer (ServerException: oops); the job may have been accepted", unclearTries, 0},
		{"lost, and listing is denied", []clienttest.Fault{clienttest.LostEOF}, clienttest.Times(99, denied), ambiguous(nil), "searching for it failed: list jobs: refused: AccessDeniedException", 1, 1},
		{"lost, and looks fail for a while", []clienttest.Fault{clienttest.LostEOF}, clienttest.Times(9, dropped), nil, "", 1, 1},
		{"lost, and listing always fails", []clienttest.Fault{clienttest.LostEOF}, clienttest.Times(999, dropped), ambiguous(nil), "searching for it failed", 1, 1},
		{"dropped, then refused", []clienttest.Fault{dropped, denied}, nil, refused(nil), "not for you", 2, 0},
		{"refused", clienttest.Times(9, clienttest.Reply(400, "ClientException", `{"message":"no queue"}`)), nil, refused(nil), "refused: ClientException: no queue", 1, 0},
		{"expired", clienttest.Times(9, clienttest.Reply(403, "ExpiredTokenException", `{"message":"old"}`)), nil, refused(nil), "refused: ExpiredTokenException: old", 1, 0},
		{"throttled for a while", clienttest.Times(5, clienttest.Throttle()), nil, nil, "", 6, 1},
		{"always throttled", clienttest.Times(99, clienttest.Throttle()), nil, refused(nil), "busy", 8, 0},
		{"throttled, then lost", []clienttest.Fault{clienttest.Throttle(), clienttest.LostEOF}, nil, nil, "", 2, 1},
		{"definition not visible yet", clienttest.Times(3, notFound), nil, nil, "", 4, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, client := newFake(t)
				f.Faults["SubmitJob"], f.Faults["ListJobs"] = c.faults, c.looks
				got, err := client.Submit(t.Context(), planOf(job("train", "a")))
				if !is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.text) {
					t.Errorf("got %T: %v, want %T with %q", err, err, c.want, c.text)
				}
				if n := f.Count("SubmitJob"); n != c.calls || len(f.Submitted) != c.accepted {
					t.Errorf("%d calls, %d accepted, want %d, %d", n, len(f.Submitted), c.calls, c.accepted)
				}
				if (err == nil) != (len(got) == 1) {
					t.Errorf("%d jobs returned with error %v", len(got), err)
				}
			})
		})
	}
}

func TestSubmitDoesNotWaitForAnOldDefinition(t *testing.T) {
	f, c := newFake(t)
	f.Faults["SubmitJob"] = clienttest.Times(9, clienttest.Reply(400, "ClientException", `{"message":"JobDefinition gone not found"}`))
	j := job("train", "a")
	j.Register = nil
	if _, err := c.Submit(t.Context(), planOf(j)); err == nil || f.Count("SubmitJob") != 1 {
		t.Errorf("%d calls, %v", f.Count("SubmitJob"), err)
	}
}

func TestSubmitPartly(t *testing.T) {
	f, c := newFake(t)
	f.Faults["SubmitJob"] = []clienttest.Fault{func(serve func() *http.Response) (*http.Response, error) { return serve(), nil }, clienttest.LostEOF}
	f.Faults["ListJobs"] = []clienttest.Fault{clienttest.Reply(403, "AccessDeniedException", `{"message":"no"}`)}
	got, err := c.Submit(t.Context(), planOf(job("a", "x"), job("b", "x"), job("c", "x")))
	if e, ok := errors.AsType[*client.AmbiguousError](err); !ok || e.Job != "b" || e.Queue != "cpu" {
		t.Error(err)
	}
	if len(got) != 1 || got[0].ID != clienttest.TestID(1) {
		t.Errorf("got %+v", got)
	}
}

func TestSubmitWithoutCredentials(t *testing.T) {
	f, _ := newFake(t)
	c := New(aws.Config{Region: "us-east-1", HTTPClient: f, Credentials: aws.CredentialsProviderFunc(
		func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, errors.New("no profile") })})
	j := job("train", "a")
	j.Register = nil
	_, err := c.Submit(t.Context(), planOf(j))
	if _, ok := errors.AsType[*client.UnreachableError](err); !ok || !strings.Contains(err.Error(), "no profile") || len(f.Calls) > 0 {
		t.Errorf("%v after %v", err, f.Calls)
	}
}

// TestSubmitInterrupted checks that a call in progress is awaited, so that its id is known, and
// that the next one is not started.
func TestSubmitInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		ctx, cancel := context.WithCancel(t.Context())
		f.Faults["SubmitJob"] = []clienttest.Fault{func(serve func() *http.Response) (*http.Response, error) {
			cancel()
			time.Sleep(submitGrace - time.Second)
			return serve(), nil
		}}
		j, k := job("a", "x"), job("b", "x")
		j.Register, k.Register = nil, nil
		got, err := c.Submit(ctx, planOf(j, k))
		if len(got) != 1 || got[0].ID != clienttest.TestID(1) || !errors.Is(err, context.Canceled) {
			t.Errorf("%+v, %v", got, err)
		}
		if n := f.Count("SubmitJob"); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}

// hang answers when the request's context ends, like a dead connection.
type hang struct{ *clienttest.Fake }

func (h hang) Do(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestSubmitWithAWrongClock submits a job without an earlier call, so that the SDK has not
// measured the clock's error yet.
func TestSubmitWithAWrongClock(t *testing.T) {
	for code, want := range map[string]int{"InvalidSignatureException": 1, "ClientException": 0} {
		f, c := newFake(t)
		late := func(serve func() *http.Response) (*http.Response, error) {
			r := clienttest.Answer(403, code, `{"message":"Signature expired"}`)
			r.Header.Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
			return r, nil
		}
		f.Faults["SubmitJob"] = []clienttest.Fault{late}
		j := job("a", "x")
		j.Register = nil
		jobs, err := c.Submit(t.Context(), planOf(j))
		if len(jobs) != want || len(f.Submitted) != want || (err == nil) != (want == 1) {
			t.Errorf("%s: %+v, %v", code, jobs, err)
		}
	}
}

func TestSubmitTellsOnceWhatWasUnclear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.Faults["SubmitJob"] = []clienttest.Fault{clienttest.LostEmpty}
		var messages []string
		c.Progress = func(text string) { messages = append(messages, text) }
		j := job("a", "x")
		j.Register = nil
		if _, err := c.Submit(t.Context(), planOf(j)); err != nil || !slices.Contains(messages, "job a: no clear answer (the answer has no job id); checking whether it was accepted") {
			t.Errorf("%q, %v", messages, err)
		}
	})
}

func TestSubmitGivesUpOnASilentService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := newFake(t)
		c := New(aws.Config{Region: "us-east-1", HTTPClient: hang{f}, Credentials: aws.AnonymousCredentials{}})
		j := job("a", "x")
		j.Register = nil
		start := time.Now()
		_, err := c.Submit(t.Context(), planOf(j))
		if _, ok := errors.AsType[*client.AmbiguousError](err); !ok || time.Since(start) > client.AttemptTimeout+DefaultSettle+searchPatience+2*searchTimeout {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestSubmitWritesTheLedger(t *testing.T) {
	f, c := newFake(t)
	c.Ledger = &Ledger{Dir: t.TempDir(), Target: "local"}
	array := job("a", "x")
	array.Submit.ArrayProperties = &types.ArrayProperties{Size: aws.Int32(3)}
	if _, err := c.Submit(t.Context(), planOf(array)); err != nil {
		t.Fatal(err)
	}
	got, err := c.Ledger.Entries()
	want := []Entry{{Target: "local", Queue: "cpu", Name: "a", ID: clienttest.TestID(1), Definition: definitionARN + "a:1", ArraySize: 3, Workflow: "test"}}
	if len(got) == 1 && !got[0].Time.IsZero() {
		want[0].Time, want[0].Submission, want[0].Run = got[0].Time, f.Submitted[0].Tags[client.SubmissionTag], f.Submitted[0].Tags[client.RunTag]
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if open, err := c.Ledger.OpenRuns(); len(open) > 0 || err != nil {
		t.Error(open, err)
	}
}

// TestSubmitWithABrokenLedger checks that a job is not sent if its intent cannot be written.
func TestSubmitWithABrokenLedger(t *testing.T) {
	f, c := newFake(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.Ledger = &Ledger{Dir: filepath.Join(file, "dir"), Target: "local"}
	got, err := c.Submit(t.Context(), planOf(job("a", "x"), job("b", "x")))
	if len(got) != 0 || err == nil || !strings.Contains(err.Error(), "before anything is sent") || len(f.Calls) != 0 {
		t.Errorf("%+v, %v, %d submitted", got, err, len(f.Submitted))
	}
}
