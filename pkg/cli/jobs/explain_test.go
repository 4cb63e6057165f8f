package jobs

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/explain"
	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/target"
)

// stuckSince is what a look at a job shows that Batch calls misconfigured.
func stuckSince(start time.Time) *explain.Bundle {
	now := time.Now().UnixMilli()
	job := &types.JobDetail{JobId: aws.String("3f2a91c0-1111-4222-8333-444455556666"), JobName: aws.String("train"), Status: types.JobStatusRunnable,
		CreatedAt: aws.Int64(start.UnixMilli()), StatusReason: aws.String("MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - no CE holds it")}
	return &explain.Bundle{Version: 1, At: now, Subject: explain.Subject{Job: job}, Looks: []explain.Sample{{At: now, Status: job.Status, Reason: *job.StatusReason}}}
}

// TestExplainWait checks that the wait ends with a verdict when the reason has stood for ten
// minutes, looks of other commands counted.
func TestExplainWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var errs bytes.Buffer
		con := &term.Console{Streams: term.Streams{Err: &errs}}
		at := &target.Target{Name: "aws", Submissions: &once.Ledger{Dir: t.TempDir()}}
		gather := func() (*explain.Bundle, error) {
			b := stuckSince(start)
			session.RememberLook(at, *b.Subject.Job.JobId, b)
			return b, nil
		}
		b, err := gatherUntilFirm(t.Context(), con, true, "", gather)
		if err != nil {
			t.Fatal(err)
		}
		if a := explain.Explain(b); a.Verdict == nil || a.Verdict.Cause != "cannot-fit" {
			t.Errorf("%+v", a)
		}
		if took := time.Since(start); took < 10*time.Minute || took > 11*time.Minute {
			t.Errorf("firm after %s", took)
		}
		if n := strings.Count(errs.String(), "\n"); n != 1 {
			t.Errorf("told %d times:\n%s", n, &errs)
		}
		// A later command knows what the earlier one saw.
		b, err = gather()
		if err != nil || !explain.Explain(b).Firm() {
			t.Errorf("not firm at the next command: %v", err)
		}
		// No one looks on without being asked to, and the time can be bounded.
		start = time.Now()
		at.Submissions.Dir = t.TempDir()
		if b, err := gatherUntilFirm(t.Context(), con, false, "", gather); err != nil || explain.Explain(b).Firm() {
			t.Errorf("without --wait: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var f *exit.Failure
		if b, err := gatherUntilFirm(ctx, con, true, "", gather); b == nil || !errors.As(err, &f) || f.Code != exit.TimedOut {
			t.Errorf("at the timeout: %v", err)
		}
	})
}

// TestLooks checks that observations are deleted when the job has ended, and that damaged
// ones do not matter.
func TestLooks(t *testing.T) {
	root := t.TempDir() // others may have an x.json of their own in the folder for temporary files
	at := &target.Target{Name: "aws", Submissions: &once.Ledger{Dir: filepath.Join(root, "state", "aws")}}
	path := filepath.Join(at.Submissions.Dir, "looks", "a_1.json")
	session.RememberLook(at, "a:1", stuckSince(time.Now()))
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := stuckSince(time.Now())
	session.RememberLook(at, "a:1", b)
	if len(b.Looks) != 1 {
		t.Errorf("%+v", b.Looks)
	}
	for range 100 {
		b = stuckSince(time.Now())
		session.RememberLook(at, "a:1", b)
	}
	if len(b.Looks) > 60 {
		t.Errorf("%d looks are kept", len(b.Looks))
	}
	b.Subject.Job.Status = types.JobStatusFailed
	session.RememberLook(at, "a:1", b)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("observations of an ended job are kept: %v", err)
	}
	session.RememberLook(at, "../../x", stuckSince(time.Now()))
	for _, dir := range []string{root, filepath.Dir(at.Submissions.Dir), at.Submissions.Dir} {
		if _, err := os.Stat(filepath.Join(dir, "x.json")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("an id led out of the directory: %v", err)
		}
	}
}

// TestWhy checks that the follower prints the reason of a waiting job within a minute, and
// once, and that status shows it.
func TestWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "state")
		engine, err := local.Open(local.Options{Dir: dir, VCPUs: 1, MemoryMiB: 1024, Executor: sleeper{}})
		if err != nil {
			t.Fatal(err)
		}
		defer engine.Close(context.Background())
		cfg := engine.Config()
		at := &target.Target{Name: target.Local, Label: target.Local, Config: cfg, Client: once.New(cfg), Submissions: &once.Ledger{Dir: dir}}
		b := awsbatch.NewFromConfig(cfg)
		_, err = b.RegisterJobDefinition(t.Context(), &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("d"), Type: types.JobDefinitionTypeContainer,
			ContainerProperties: &types.ContainerProperties{Image: aws.String("x"), Command: []string{"x"}, ResourceRequirements: []types.ResourceRequirement{
				{Type: types.ResourceTypeVcpu, Value: aws.String("1")}, {Type: types.ResourceTypeMemory, Value: aws.String("64")}}}})
		if err != nil {
			t.Fatal(err)
		}
		var last string
		for range 3 {
			out, err := b.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("j"), JobQueue: aws.String("default"), JobDefinition: aws.String("d")})
			if err != nil {
				t.Fatal(err)
			}
			last = *out.JobId
			time.Sleep(time.Millisecond)
		}
		var errs bytes.Buffer
		con := &term.Console{Streams: term.Streams{Out: &errs, Err: &errs}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		f := NewFollower(con, at, []once.Submitted{{ID: last, Name: "j"}}, nil)
		if _, err := f.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if n := strings.Count(errs.String(), "RUNNABLE  it waits its turn: one job in the queue is ahead of it"); n != 1 {
			t.Errorf("told %d times:\n%s", n, &errs)
		}
		details, err := at.Client.Describe(t.Context(), last)
		if err != nil {
			t.Fatal(err)
		}
		at.Flags = " --target local"
		call := &Call{Target: at}
		if line := call.whyLine(t.Context(), details[0]); !strings.HasPrefix(line, "why         it waits its turn") || !strings.HasSuffix(line, "batchctl explain "+batch.ShortID(last)+" --target local\n") {
			t.Errorf("status: %q", line)
		}
		details[0].CreatedAt = aws.Int64(time.Now().UnixMilli())
		if line := call.whyLine(t.Context(), details[0]); line != "" {
			t.Errorf("too early: %q", line)
		}
	})
}

// sleeper runs every attempt until its context ends.
type sleeper struct{}

func (sleeper) Run(ctx context.Context, a attempt.Attempt, _ *os.File) (int, error) {
	a.Started("x")
	<-ctx.Done()
	return 143, nil
}
func (sleeper) Clear(string, string) error                             { return nil }
func (sleeper) Unhonoured(*types.ContainerProperties) []attempt.Member { return nil }
