package model_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

func TestOneFailedChildFailsTheArrayAfterAllHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := modeltest.New(t, modeltest.Options{})
		w.Register("work", "1", "512")
		id := w.Submit("work", modeltest.Array(3), modeltest.Words("1h", "7", "1h"))
		next := w.Submit("work", modeltest.After(id))
		w.Want(id+":1", types.JobStatusFailed, model.ReasonExited)
		w.Want(id, types.JobStatusPending, "")
		w.Idle()
		w.Want(id, types.JobStatusFailed, model.ReasonChild)
		w.Want(id+":2", types.JobStatusSucceeded, model.ReasonExited)
		w.Want(next, types.JobStatusFailed, model.ReasonDependency)
	})
}

func TestSequentialArray(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := modeltest.New(t, modeltest.Options{})
		w.Register("work", "1", "64")
		began := time.Now()
		id := w.Submit("work", modeltest.Array(4), modeltest.Words("1m"), modeltest.Depends("", types.ArrayJobDependencySequential))
		w.Idle()
		if d := time.Since(began); d != 4*time.Minute || w.Most != 1 {
			t.Errorf("took %v, %d at once; want 4m and 1", d, w.Most)
		}
		for i, ran := range w.IDs() {
			if ran != fmt.Sprintf("%s:%d", id, i) {
				t.Errorf("started %v", w.IDs())
			}
		}
		id = w.Submit("work", modeltest.Array(4), modeltest.Words("0s", "fail", "0s", "0s"), modeltest.Depends("", types.ArrayJobDependencySequential))
		w.Idle()
		w.Want(id, types.JobStatusFailed, model.ReasonChild)
		w.Want(id+":0", types.JobStatusSucceeded, model.ReasonExited)
		w.Want(id+":2", types.JobStatusFailed, model.ReasonDependency)
		w.Want(id+":3", types.JobStatusFailed, model.ReasonDependency)
	})
}

func TestSequentialArrayAfterAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := modeltest.New(t, modeltest.Options{})
		w.Register("work", "1", "64")
		began := time.Now()
		first := w.Submit("work", modeltest.Words("1h"))
		id := w.Submit("work", modeltest.Array(3), modeltest.Words("1m"), modeltest.Depends(first, types.ArrayJobDependencySequential))
		w.Idle()
		w.Want(id, types.JobStatusSucceeded, "")
		if d := time.Since(began); d != time.Hour+3*time.Minute || w.Most != 1 {
			t.Errorf("took %v, %d at once; want 1h3m and 1", d, w.Most)
		}
		first = w.Submit("work", modeltest.Words("fail"))
		id = w.Submit("work", modeltest.Array(3), modeltest.Words("1m"), modeltest.Depends(first, types.ArrayJobDependencySequential))
		w.Idle()
		for i := range 3 {
			w.Want(fmt.Sprintf("%s:%d", id, i), types.JobStatusFailed, model.ReasonDependency)
		}
	})
}

func TestNToNArray(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := modeltest.New(t, modeltest.Options{VCPUs: 10, MemoryMiB: 8192})
		w.Register("work", "1", "64")
		first := w.Submit("work", modeltest.Array(3), modeltest.Words("0s", "fail", "1h"))
		second := w.Submit("work", modeltest.Array(3), modeltest.Words("1h"), modeltest.Depends(first, types.ArrayJobDependencyNToN))
		w.Want(second+":0", types.JobStatusRunning, "")
		w.Want(second+":1", types.JobStatusFailed, model.ReasonDependency)
		w.Want(second+":2", types.JobStatusPending, "")
		w.Idle()
		w.Want(second+":2", types.JobStatusSucceeded, model.ReasonExited)
		w.Want(second, types.JobStatusFailed, model.ReasonChild)
	})
}

func TestParentSaysWhyItsChildrenWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := modeltest.New(t, modeltest.Options{VCPUs: 2, MemoryMiB: 8192})
		w.Register("small", "1", "64")
		w.Register("huge", "4", "64")
		first := w.Submit("small", modeltest.Array(2), modeltest.Words("1m"))
		alone := w.Submit("huge", modeltest.Array(2), modeltest.Words("1m"))
		second := w.Submit("huge", modeltest.Array(2), modeltest.Words("1m"), modeltest.Depends(first, types.ArrayJobDependencyNToN))
		why := modeltest.Largest + "the job asks for 4 vCPUs, this machine has 2"
		w.Want(alone, types.JobStatusPending, why)
		w.Want(alone+":1", types.JobStatusRunnable, why)
		w.Want(second, types.JobStatusPending, "")
		time.Sleep(2 * time.Minute)
		w.Want(second, types.JobStatusPending, why)
		bigger := w.Restart(modeltest.Options{VCPUs: 4, MemoryMiB: 8192}).Recover()
		bigger.Want(second, types.JobStatusPending, "")
		bigger.Idle()
		bigger.Want(second, types.JobStatusSucceeded, "")
		w.Terminate(alone, "enough")
		w.Terminate(second, "enough")
		w.Idle()
	})
}

func TestDependencyOnOneChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := modeltest.New(t, modeltest.Options{})
		w.Register("work", "1", "64")
		a := w.Submit("work", modeltest.Array(2), modeltest.Words("1h", "0s"))
		b := w.Submit("work", modeltest.After(a+":1"), modeltest.Words("1h"))
		w.Want(b, types.JobStatusRunning, "")
		w.Idle()
	})
}

func TestStoppedArray(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := modeltest.New(t, modeltest.Options{VCPUs: 2, MemoryMiB: 8192})
		w.Register("work", "1", "64")
		id := w.Submit("work", modeltest.Array(5), modeltest.Words("1h"))
		w.Terminate(id+":0", "this one")
		w.Want(id+":0", types.JobStatusFailed, "this one")
		w.Want(id+":2", types.JobStatusRunning, "")
		w.Cancel(id, "no more")
		w.Want(id+":1", types.JobStatusRunning, "")
		w.Want(id+":3", types.JobStatusFailed, "no more")
		w.Terminate(id, "all")
		w.Idle()
		w.Want(id+":1", types.JobStatusFailed, "all")
		w.Want(id+":2", types.JobStatusFailed, "all")
		w.Want(id, types.JobStatusFailed, "all")
	})
}

func TestLargestArrayIsSmallInMemory(t *testing.T) {
	w := modeltest.New(t, modeltest.Options{VCPUs: 16, MemoryMiB: 1 << 20})
	w.Register("work", "1", "4")
	before := heap()
	id := w.Submit("work", modeltest.Array(10000))
	w.Idle()
	w.Want(id, types.JobStatusSucceeded, "")
	if grown := heap() - before; grown > 50<<20 {
		t.Errorf("an array of 10,000 takes %d MiB", grown>>20)
	} else {
		t.Logf("an array of 10,000 takes %d KiB", grown>>10)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
