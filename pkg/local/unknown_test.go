//go:build unix

package local

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/batchapi"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// TestStatusWithoutAnEngine checks that a reader of a killed engine's directory learns that the
// recorded states may be out of date.
func TestStatusWithoutAnEngine(t *testing.T) {
	w := open(t, Options{Dir: filepath.Join(t.TempDir(), "state"), Executor: &script{}})
	w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.ContainerProperties.Command = []string{"1h"}
	})
	w.register("done", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.ContainerProperties.Command = []string{"true"}
	})
	runs := w.submit("work")
	array := w.submit("work", func(in *awsbatch.SubmitJobInput) { in.ArrayProperties = &types.ArrayProperties{Size: aws.Int32(2)} })
	ended := w.submit("done")
	if err := w.engine.waiters.wait(t.Context(), 0, func() bool {
		return w.engine.model.Task(runs).State == model.Running && w.engine.model.Task(ended).State == model.Succeeded && w.engine.model.Task(array+":1").State == model.Running
	}); err != nil {
		t.Fatal(err)
	}
	read := func(dir string) *testEngine {
		e, err := Open(Options{Dir: dir, ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close(context.Background()) })
		return &testEngine{awsbatch.NewFromConfig(e.Config()), t, e, e.Handler()}
	}
	if d := read(w.engine.options.Dir).job(runs); d.Status != types.JobStatusRunning {
		t.Errorf("while the engine is running the job is %s", d.Status)
	}
	left := t.TempDir() // the files that an engine killed now would leave
	if err := os.CopyFS(left, os.DirFS(w.engine.options.Dir)); err != nil {
		t.Fatal(err)
	}
	r := read(left)
	since := r.engine.lastAt
	reason := "unknown since " + time.UnixMilli(since).UTC().Format(time.RFC3339) + ": the engine is not running; the last recorded status is "
	for id, was := range map[string]string{runs: "RUNNING", array: "PENDING", array + ":1": "RUNNING"} {
		if d := r.job(id); d.Status != batchapi.StatusUnknown || aws.ToString(d.StatusReason) != reason+was {
			t.Errorf("%s is %s, %q", id, d.Status, aws.ToString(d.StatusReason))
		}
	}
	if d := r.job(ended); d.Status != types.JobStatusSucceeded {
		t.Errorf("a job that had ended is %s", d.Status)
	}
	if n := r.job(array).ArrayProperties.StatusSummary; n["UNKNOWN"] != 2 || n["RUNNING"] != 0 {
		t.Errorf("the children are %v", n)
	}
	out, err := r.ListJobs(t.Context(), &awsbatch.ListJobsInput{JobQueue: aws.String("default"), JobStatus: types.JobStatusRunning})
	if err != nil || len(out.JobSummaryList) != 1 || out.JobSummaryList[0].Status != batchapi.StatusUnknown {
		t.Errorf("listed %+v, %v", out, err)
	}
	if _, jobs, at := r.engine.Unknown(); jobs != 2 || at.UnixMilli() != since {
		t.Errorf("%d jobs since %s", jobs, at)
	}
}
