package model_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

func TestRetriesUntilTheAttemptsAreUsedUp(t *testing.T) {
	w := modeltest.New(t, modeltest.Options{})
	w.Register("work", "1", "512")
	id := w.Submit("work", modeltest.Attempts(3), modeltest.Words("3"))
	w.Idle()
	w.Want(id, types.JobStatusFailed, model.ReasonExited)
	kept := w.Task(id).Attempts
	if len(w.IDs()) != 3 || len(kept) != 3 || w.Value(0, "AWS_BATCH_JOB_ATTEMPT") != "1" || w.Value(2, "AWS_BATCH_JOB_ATTEMPT") != "3" {
		t.Errorf("ran %v, %d attempts are kept", w.IDs(), len(kept))
	}
	streams := map[string]bool{}
	for _, a := range kept {
		streams[a.Stream] = true
		if aws.ToInt32(a.Exit) != 3 {
			t.Errorf("exit code %v, want 3", aws.ToInt32(a.Exit))
		}
	}
	if len(streams) != 3 {
		t.Errorf("the attempts share log streams: %v", streams)
	}
}

func TestEvaluateOnExitStopsRetries(t *testing.T) {
	w := modeltest.New(t, modeltest.Options{})
	w.Register("work", "1", "512")
	w.Submit("work", modeltest.Words("42"), modeltest.Attempts(5, types.EvaluateOnExit{OnExitCode: aws.String("42"), Action: types.RetryActionExit}))
	w.Idle()
	if len(w.IDs()) != 1 {
		t.Errorf("%d attempts, want 1", len(w.IDs()))
	}
}

func TestDependencies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := modeltest.New(t, modeltest.Options{})
		w.Register("work", "1", "512")
		a := w.Submit("work", modeltest.Words("1m"))
		b := w.Submit("work", modeltest.After(a))
		c := w.Submit("work", modeltest.After(a), modeltest.Words("fail"))
		d := w.Submit("work", modeltest.After(b, c))
		e := w.Submit("work", modeltest.After(d))
		w.Want(b, types.JobStatusPending, "")
		w.Idle()
		w.Want(b, types.JobStatusSucceeded, model.ReasonExited)
		w.Want(c, types.JobStatusFailed, model.ReasonExited)
		w.Want(d, types.JobStatusFailed, model.ReasonDependency)
		w.Want(e, types.JobStatusFailed, model.ReasonDependency)
		if w.IDs()[0] != a || len(w.IDs()) != 3 {
			t.Errorf("ran %v, want a, b and c only", w.IDs())
		}
		late := w.Submit("work", modeltest.After(a))
		w.Idle()
		w.Want(late, types.JobStatusSucceeded, model.ReasonExited)
		w.Want(w.Submit("work", modeltest.After(c)), types.JobStatusFailed, model.ReasonDependency)
	})
}

// TestCancelPending checks that CancelJob ends a job or child in PENDING after its dependencies, and TerminateJob at
// once (API reference of CancelJob).
func TestCancelPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := modeltest.New(t, modeltest.Options{VCPUs: 8, MemoryMiB: 8192})
		w.Register("work", "1", "64")
		first := w.Submit("work", modeltest.Words("1h"))
		second := w.Submit("work", modeltest.After(first))
		third := w.Submit("work", modeltest.After(second))
		pairs := w.Submit("work", modeltest.Array(3), modeltest.Words("2h", "1m", "3h"))
		children := w.Submit("work", modeltest.Array(3), modeltest.Depends(pairs, types.ArrayJobDependencyNToN))
		chain := w.Submit("work", modeltest.Array(3), modeltest.Words("4h"), modeltest.Depends("", types.ArrayJobDependencySequential))
		for _, id := range []string{second, children, chain} {
			w.Cancel(id, "why")
		}
		pending := func(ids ...string) {
			t.Helper()
			for _, id := range ids {
				w.Want(id, types.JobStatusPending, "")
			}
		}
		pending(second, third, children, children+":0", chain+":1", chain+":2")
		if !w.Task(second).Cancelled {
			t.Error("the cancelled job is not shown as cancelled")
		}
		w.Want(chain+":0", types.JobStatusRunning, "") // a child that has started is not cancelled
		time.Sleep(30 * time.Minute)
		pending(second, third, children, children+":0", children+":2")
		w.Want(children+":1", types.JobStatusFailed, "why")
		time.Sleep(time.Hour)
		w.Want(second, types.JobStatusFailed, "why")
		w.Want(third, types.JobStatusFailed, model.ReasonDependency)
		pending(children+":0", chain+":1")
		w.Terminate(children, "now")
		w.Want(children+":0", types.JobStatusFailed, "now")
		w.Want(children, types.JobStatusFailed, "now")
		w.Idle()
		w.Want(chain+":0", types.JobStatusSucceeded, model.ReasonExited)
		w.Want(chain+":2", types.JobStatusFailed, "why")
		w.Want(chain, types.JobStatusFailed, "why")
	})
}

func TestMachineIsSharedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := modeltest.New(t, modeltest.Options{VCPUs: 2, MemoryMiB: 8192, Queues: []model.QueueSpec{{Name: "default", Priority: 1}, {Name: "urgent", Priority: 10}}})
		w.Register("small", "1", "512")
		w.Register("large", "2", "512")
		first := w.Submit("small", modeltest.Words("1m"))
		large := w.Submit("large", modeltest.Words("1m"))
		behind := w.Submit("small", modeltest.Words("1m"))
		before := w.Submit("small", modeltest.Words("1m"), modeltest.To("urgent"))
		w.Idle()
		if want := []string{first, before, large, behind}; !slices.Equal(w.IDs(), want) {
			t.Errorf("started %v, want %v", w.IDs(), want)
		}
		if w.Most > 2 {
			t.Errorf("%d at once on 2 vCPUs", w.Most)
		}
	})
}

func TestGPUsArePinned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := modeltest.New(t, modeltest.Options{VCPUs: 8, MemoryMiB: 8192, GPUs: []string{"GPU-a", "GPU-b", "GPU-c"}})
		gpus := func(n string) func(*awsbatch.RegisterJobDefinitionInput) {
			return func(in *awsbatch.RegisterJobDefinitionInput) {
				in.ContainerProperties.ResourceRequirements = append(in.ContainerProperties.ResourceRequirements,
					types.ResourceRequirement{Type: types.ResourceTypeGpu, Value: &n})
			}
		}
		w.Register("two", "1", "64", gpus("2"))
		w.Register("one", "1", "64", gpus("1"))
		w.Register("nine", "1", "64", gpus("9"))
		began := time.Now()
		for range 3 {
			w.Submit("two", modeltest.Words("1m"))
			w.Submit("one", modeltest.Words("1m"))
		}
		w.Idle()
		for i := 0; i < len(w.Ran); i += 2 { // two at a time
			both := append(slices.Clone(w.Ran[i].GPUs), w.Ran[i+1].GPUs...)
			if slices.Sort(both); !slices.Equal(both, []string{"GPU-a", "GPU-b", "GPU-c"}) {
				t.Errorf("jobs that run together have the GPUs %v", both)
			}
		}
		if d := time.Since(began); d != 3*time.Minute {
			t.Errorf("took %v, want 3m: 3 GPUs, two jobs at a time", d)
		}
		never := w.Submit("nine")
		w.Want(never, types.JobStatusRunnable, modeltest.Largest+"the job asks for 9 GPUs, this machine has 3")
		w.Terminate(never, "enough")
		w.Idle()
	})
}
