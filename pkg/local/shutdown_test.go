package local

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// TestEndJobs checks that jobs in every state end, and that the next engine starts none of them
// again.
func TestEndJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "state")
		w := open(t, Options{Dir: dir, VCPUs: 2, MemoryMiB: 8192})
		w.register("work", "1", "512")
		w.register("large", "64", "512")
		everything := modeltest.Attempts(3, types.EvaluateOnExit{OnReason: aws.String("*"), Action: types.RetryActionRetry},
			types.EvaluateOnExit{OnStatusReason: aws.String("*"), Action: types.RetryActionRetry})
		done := w.submit("work", modeltest.Words("0s"))
		w.idle()
		running := w.submit("work", modeltest.Words("1h"), everything)
		stubborn := w.submit("work", modeltest.Words("stubborn"), everything)
		waits := w.submit("work", modeltest.Words("1h"), everything)
		never := w.submit("large", everything)
		depends := w.submit("work", modeltest.After(running), everything)
		children := w.submit("work", modeltest.Array(3), modeltest.Words("1h"), everything)
		stopped := w.submit("work", modeltest.Words("1h"))
		w.terminate(stopped, "enough")
		synctest.Wait()

		jobs, err := w.engine.EndJobs(t.Context())
		if err != nil || jobs != 6 {
			t.Errorf("ended %d jobs, want 6: %v", jobs, err)
		}
		if _, err := w.Client.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("late"), JobQueue: aws.String("default"), JobDefinition: aws.String("work")}); err == nil {
			t.Error("a job was accepted during the shutdown")
		}
		if err := w.engine.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := &script{}
		w = open(t, Options{Dir: dir, Executor: s, VCPUs: 2, MemoryMiB: 8192})
		w.idle()
		if len(s.ran) != 0 {
			t.Errorf("the next engine started %v", s.ran)
		}
		for _, id := range []string{running, stubborn, waits, never, depends, children, children + ":0", children + ":2"} {
			w.want(id, types.JobStatusFailed, ReasonShutdown)
		}
		w.want(done, types.JobStatusSucceeded, model.ReasonExited)
		w.want(stopped, types.JobStatusFailed, "enough")
	})
}

// TestProcessesForBatchctlOnly checks that an engine of root starts processes for batchctl's
// commands, but not for other clients that have the key.
func TestProcessesForBatchctlOnly(t *testing.T) {
	for _, only := range []bool{false, true} {
		for _, x := range []attempt.Executor{&script{}, containers{&script{}}} {
			w := open(t, Options{Executor: x, ProcessesForBatchctlOnly: only})
			w.register("work", "1", "512")
			w.submit("work", modeltest.Words("0s")) // batchctl's own command
			others := w.engine.Config()
			others.APIOptions = nil // without batchctl's header, as from the aws CLI
			other := awsbatch.NewFromConfig(others)
			_, err := other.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("other"), JobQueue: aws.String("default"), JobDefinition: aws.String("work")})
			rejected := err != nil && strings.Contains(err.Error(), "batchctl serve --allow-root")
			if want := only && !attempt.Contained(x); rejected != want || !want && err != nil {
				t.Errorf("only batchctl %v, containers %v: %v", only, attempt.Contained(x), err)
			}
		}
	}
}

// containers is an executor that reports its jobs as containers.
type containers struct{ *script }

func (containers) Contained() bool { return true }

// TestClientAfterEnd checks that a client of an engine that has shut down reads the last states
// from its directory and can change nothing. A client of a killed engine gets an error.
func TestClientAfterEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	w := open(t, Options{Dir: dir, Executor: &script{}})
	w.register("work", "1", "512")
	id := w.submit("work", modeltest.Words("1h"))
	l, err := w.engine.Listen()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ready, served := make(chan Connection, 1), make(chan error, 1)
	go func() { served <- w.engine.Serve(ctx, l, func(c Connection) { ready <- c }) }()
	connection := <-ready
	client := awsbatch.NewFromConfig(connection.Config(), func(o *awsbatch.Options) { o.Retryer = aws.NopRetryer{} })
	status := func() (string, error) {
		out, err := client.DescribeJobs(t.Context(), &awsbatch.DescribeJobsInput{Jobs: []string{id}})
		if err != nil {
			return "", err
		}
		return string(out.Jobs[0].Status) + " " + aws.ToString(out.Jobs[0].StatusReason), nil
	}
	if text, err := status(); err != nil || strings.HasPrefix(text, "FAILED") {
		t.Errorf("while it serves: %s, %v", text, err)
	}
	if _, err := w.engine.EndJobs(t.Context()); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := errors.Join(<-served, w.engine.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if text, err := status(); err != nil || text != "FAILED "+ReasonShutdown {
		t.Errorf("after the end: %s, %v", text, err)
	}
	_, err = client.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("late"), JobQueue: aws.String("default"), JobDefinition: aws.String("work")})
	if err == nil {
		t.Errorf("a job for an engine that has ended: %v", err)
	}
	text, err := json.Marshal(connection)
	if err != nil {
		t.Fatal(err)
	}
	leave(t, dir, string(text))
	if text, err := status(); err == nil {
		t.Errorf("after a kill: %s", text)
	}
}
