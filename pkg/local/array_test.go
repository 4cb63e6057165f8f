package local

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// largest begins the status reason of a job that needs more than the machine has.
const largest = "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - The job resource requirement (vCPU/memory/GPU) is higher than that can be met " +
	"by the CE(s) attached to the job queue: "

func array(size int32) func(*awsbatch.SubmitJobInput) {
	return func(in *awsbatch.SubmitJobInput) { in.ArrayProperties = &types.ArrayProperties{Size: &size} }
}

func depends(id string, kind types.ArrayJobDependency) func(*awsbatch.SubmitJobInput) {
	return func(in *awsbatch.SubmitJobInput) {
		var named *string
		if id != "" {
			named = &id
		}
		in.DependsOn = append(in.DependsOn, types.JobDependency{JobId: named, Type: kind})
	}
}

func TestArray(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		w := open(t, Options{Executor: s, VCPUs: 2, MemoryMiB: 8192})
		w.register("work", "1", "512")
		id := w.submit("work", array(5), words("1m"))
		synctest.Wait()
		w.want(id, types.JobStatusPending, "")
		d := w.job(id)
		if got := fmt.Sprint(d.ArrayProperties.StatusSummary); *d.ArrayProperties.Size != 5 ||
			got != "map[FAILED:0 PENDING:0 RUNNABLE:3 RUNNING:2 STARTING:0 SUBMITTED:0 SUCCEEDED:0]" {
			t.Errorf("size %d, %s", *d.ArrayProperties.Size, got)
		}
		w.want(id+":4", types.JobStatusRunnable, "")
		w.idle()
		w.want(id, types.JobStatusSucceeded, "")
		if len(s.ran) != 5 || s.most != 2 {
			t.Errorf("%d children ran, %d at once; want 5 and 2", len(s.ran), s.most)
		}
		for i, ran := range s.ran {
			index := s.value(i, "AWS_BATCH_JOB_ARRAY_INDEX")
			if ran != id+":"+index || s.value(i, "AWS_BATCH_JOB_ID") != ran || s.value(i, "AWS_BATCH_JOB_ARRAY_SIZE") != "5" {
				t.Errorf("job %s has index %s and id %s", ran, index, s.value(i, "AWS_BATCH_JOB_ID"))
			}
		}
		if child := w.job(id + ":3"); *child.ArrayProperties.Index != 3 || *child.JobId != id+":3" {
			t.Errorf("child: id %s, index %d", *child.JobId, *child.ArrayProperties.Index)
		}
	})
}

func TestOneFailedChildFailsTheArrayAfterAllHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{})
		w.register("work", "1", "512")
		id := w.submit("work", array(3), words("1h", "7", "1h"))
		next := w.submit("work", after(id))
		synctest.Wait()
		w.want(id+":1", types.JobStatusFailed, model.ReasonExited)
		w.want(id, types.JobStatusPending, "")
		w.idle()
		w.want(id, types.JobStatusFailed, model.ReasonChild)
		w.want(id+":2", types.JobStatusSucceeded, model.ReasonExited)
		w.want(next, types.JobStatusFailed, model.ReasonDependency)
	})
}

func TestSequentialArray(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		w := open(t, Options{Executor: s})
		w.register("work", "1", "64")
		began := time.Now()
		id := w.submit("work", array(4), words("1m"), depends("", types.ArrayJobDependencySequential))
		w.idle()
		if d := time.Since(began); d != 4*time.Minute || s.most != 1 {
			t.Errorf("took %v, %d at once; want 4m and 1", d, s.most)
		}
		for i, ran := range s.ran {
			if ran != fmt.Sprintf("%s:%d", id, i) {
				t.Errorf("started %v", s.ran)
			}
		}
		id = w.submit("work", array(4), words("0s", "fail", "0s", "0s"), depends("", types.ArrayJobDependencySequential))
		w.idle()
		w.want(id, types.JobStatusFailed, model.ReasonChild)
		w.want(id+":0", types.JobStatusSucceeded, model.ReasonExited)
		w.want(id+":2", types.JobStatusFailed, model.ReasonDependency)
		w.want(id+":3", types.JobStatusFailed, model.ReasonDependency)
	})
}

func TestSequentialArrayAfterAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		w := open(t, Options{Executor: s})
		w.register("work", "1", "64")
		began := time.Now()
		first := w.submit("work", words("1h"))
		id := w.submit("work", array(3), words("1m"), depends(first, types.ArrayJobDependencySequential))
		w.idle()
		w.want(id, types.JobStatusSucceeded, "")
		if d := time.Since(began); d != time.Hour+3*time.Minute || s.most != 1 {
			t.Errorf("took %v, %d at once; want 1h3m and 1", d, s.most)
		}
		first = w.submit("work", words("fail"))
		id = w.submit("work", array(3), words("1m"), depends(first, types.ArrayJobDependencySequential))
		w.idle()
		for i := range 3 {
			w.want(fmt.Sprintf("%s:%d", id, i), types.JobStatusFailed, model.ReasonDependency)
		}
	})
}

func TestNToNArray(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{VCPUs: 10, MemoryMiB: 8192})
		w.register("work", "1", "64")
		first := w.submit("work", array(3), words("0s", "fail", "1h"))
		second := w.submit("work", array(3), words("1h"), depends(first, types.ArrayJobDependencyNToN))
		synctest.Wait()
		w.want(second+":0", types.JobStatusRunning, "")
		w.want(second+":1", types.JobStatusFailed, model.ReasonDependency)
		w.want(second+":2", types.JobStatusPending, "")
		w.idle()
		w.want(second+":2", types.JobStatusSucceeded, model.ReasonExited)
		w.want(second, types.JobStatusFailed, model.ReasonChild)
	})
}

func TestParentSaysWhyItsChildrenWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{VCPUs: 2, MemoryMiB: 8192})
		w.register("small", "1", "64")
		w.register("huge", "4", "64")
		first := w.submit("small", array(2), words("1m"))
		alone := w.submit("huge", array(2), words("1m"))
		second := w.submit("huge", array(2), words("1m"), depends(first, types.ArrayJobDependencyNToN))
		why := largest + "the job asks for 4 vCPUs, this machine has 2"
		w.want(alone, types.JobStatusPending, why)
		w.want(alone+":1", types.JobStatusRunnable, why)
		w.want(second, types.JobStatusPending, "")
		time.Sleep(2 * time.Minute)
		w.want(second, types.JobStatusPending, why)
		bigger := w.crash(Options{VCPUs: 4, MemoryMiB: 8192}) // the same directory, on a larger machine
		bigger.want(second, types.JobStatusPending, "")
		bigger.idle()
		bigger.want(second, types.JobStatusSucceeded, "")
		w.terminate(alone, "enough")
		w.terminate(second, "enough")
		w.idle()
	})
}

func TestDependencyOnOneChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{})
		w.register("work", "1", "64")
		a := w.submit("work", array(2), words("1h", "0s"))
		b := w.submit("work", after(a+":1"), words("1h"))
		synctest.Wait()
		w.want(b, types.JobStatusRunning, "")
		w.idle()
	})
}

func TestStoppedArray(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{VCPUs: 2, MemoryMiB: 8192})
		w.register("work", "1", "64")
		id := w.submit("work", array(5), words("1h"))
		synctest.Wait()
		w.terminate(id+":0", "this one")
		synctest.Wait()
		w.want(id+":0", types.JobStatusFailed, "this one")
		w.want(id+":2", types.JobStatusRunning, "")
		w.cancel(id, "no more")
		w.want(id+":1", types.JobStatusRunning, "")
		w.want(id+":3", types.JobStatusFailed, "no more")
		w.terminate(id, "all")
		w.idle()
		w.want(id+":1", types.JobStatusFailed, "all")
		w.want(id+":2", types.JobStatusFailed, "all")
		w.want(id, types.JobStatusFailed, "all")
	})
}

// TestStoppedArrayKeepsOtherEnds checks that stopping an array does not change the reason of a
// child that had ended before. Otherwise explain would report the user as the cause.
func TestStoppedArrayKeepsOtherEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{VCPUs: 4, MemoryMiB: 8192})
		w.register("work", "1", "64")
		id := w.submit("work", array(6), words("0s", "fail", "1m", "1h", "1h", "1h"))
		synctest.Wait()
		w.cancel(id, "no more")
		synctest.Wait()
		want := func(all ...string) {
			t.Helper()
			for i, want := range all {
				d := w.job(fmt.Sprintf("%s:%d", id, i))
				if got := fmt.Sprintf("%s %v %v", d.Status, *d.IsCancelled, *d.IsTerminated); got != want {
					t.Errorf("child %d: %s, want %s", i, got, want)
				}
			}
		}
		time.Sleep(2 * time.Minute)
		want("SUCCEEDED false false", "FAILED false false", "SUCCEEDED false false", "RUNNING true false")
		w.terminate(id, "all")
		w.idle()
		want("SUCCEEDED false false", "FAILED false false", "SUCCEEDED false false", "FAILED false true", "FAILED false true", "FAILED false true")
		waits := w.submit("work", array(6), words("1h"))
		synctest.Wait()
		w.cancel(waits, "no more")
		w.terminate(waits, "all")
		w.idle()
		if d := w.job(waits + ":5"); !*d.IsCancelled || *d.IsTerminated || *d.StatusReason != "no more" {
			t.Errorf("a child that waited when its array was cancelled: %v %v %s", *d.IsCancelled, *d.IsTerminated, *d.StatusReason)
		}
	})
}

func TestLargestArrayIsSmallInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{VCPUs: 16, MemoryMiB: 1 << 20})
		w.register("work", "1", "4")
		before := heap()
		id := w.submit("work", array(10000))
		w.idle()
		w.want(id, types.JobStatusSucceeded, "")
		if grown := heap() - before; grown > 50<<20 {
			t.Errorf("an array of 10,000 takes %d MiB", grown>>20)
		} else {
			t.Logf("an array of 10,000 takes %d KiB", grown>>10)
		}
	})
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
