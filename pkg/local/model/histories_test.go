package model_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// step is one action of a client in a random history.
type step struct {
	what       string // submit, cancel, terminate or wait
	on         int    // of the jobs so far
	words      []string
	attempts   int32
	size       int32 // of the array; below 2: none
	sequential bool
	depends    bool
}

var steps = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
	return step{
		what:       rapid.SampledFrom([]string{"submit", "submit", "submit", "cancel", "terminate", "wait"}).Draw(t, "what"),
		on:         rapid.IntRange(0, 20).Draw(t, "on"),
		words:      rapid.SliceOfN(rapid.SampledFrom([]string{"0s", "1m", "1h", "fail", "stubborn"}), 1, 3).Draw(t, "words"),
		attempts:   rapid.Int32Range(1, 3).Draw(t, "attempts"),
		size:       rapid.Int32Range(0, 4).Draw(t, "size"),
		sequential: rapid.Bool().Draw(t, "sequential"),
		depends:    rapid.Bool().Draw(t, "depends"),
	}
}), 1, 12)

// TestRandomHistories plays random histories and kills the engine after each: no job is lost,
// each one ends, and nothing stays reserved.
func TestRandomHistories(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		history := steps.Draw(r, "history")
		var problem error
		synctest.Test(t, func(t *testing.T) { problem = playHistory(t, history) })
		if problem != nil {
			r.Fatal(problem)
		}
	})
}

func playHistory(t *testing.T, history []step) error {
	w := modeltest.New(t, modeltest.Options{VCPUs: 3, MemoryMiB: 8192})
	w.Register("work", "1", "512")
	var ids []string
	for _, step := range history {
		switch {
		case step.what == "submit":
			ids = append(ids, w.Submit("work", step.job(ids)...))
		case step.what == "wait":
			time.Sleep(time.Duration(step.on) * time.Minute)
		case len(ids) == 0:
		case step.what == "cancel":
			w.Cancel(ids[step.on%len(ids)], "not wanted")
		default:
			w.Terminate(ids[step.on%len(ids)], "enough")
		}
	}
	if err := errors.Join(finish(w.Restart(modeltest.Options{VCPUs: 3, MemoryMiB: 8192}).Recover(), ids), finish(w, ids)); err != nil {
		return err
	}
	if w.Most > 3 {
		return fmt.Errorf("%d at once on 3 vCPUs", w.Most)
	}
	return nil
}

func (s step) job(ids []string) []func(*awsbatch.SubmitJobInput) {
	job := []func(*awsbatch.SubmitJobInput){modeltest.Words(s.words...), modeltest.Attempts(s.attempts), modeltest.Timeout(7200)}
	if s.size >= 2 {
		job = append(job, modeltest.Array(s.size))
		if s.sequential {
			job = append(job, modeltest.Depends("", types.ArrayJobDependencySequential))
		}
	}
	if s.depends && len(ids) > 0 {
		job = append(job, modeltest.After(ids[s.on%len(ids)]))
	}
	return job
}

// finish waits until everything has run and checks the final states.
func finish(w *modeltest.Engine, ids []string) error {
	w.Idle()
	for _, id := range ids {
		if d := w.Task(id); !d.State.Ended() {
			return fmt.Errorf("job %s is %s, and the engine idle", id, d.State)
		}
	}
	return w.Model().Unreleased()
}
