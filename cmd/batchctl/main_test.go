package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

func gcPercent() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func TestCollectLate(t *testing.T) {
	usual := gcPercent()
	t.Setenv("GOGC", "50")
	if collectLate(); gcPercent() != usual {
		t.Errorf("GOGC is set, and yet it is %d", gcPercent())
	}
	t.Setenv("GOGC", "")
	if collectLate(); gcPercent() <= usual {
		t.Errorf("%d before the first collection", gcPercent())
	}
	for runtime.GC(); gcPercent() != usual; {
		runtime.Gosched() // the cleanup comes on a goroutine of its own
	}
}

// A command keeps its own garbage collection target. When validate lost it at the first collection,
// 10,000 files took a sixth longer.
func TestCollectUsuallyKeepsWhatWasAskedFor(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(late))
	if collectUsually(100); gcPercent() != 100 {
		t.Errorf("the growth stays %d %%, want the usual 100", gcPercent())
	}
	debug.SetGCPercent(400)
	if collectUsually(100); gcPercent() != 400 {
		t.Errorf("the growth asked for was 400 %%, and is %d", gcPercent())
	}
}
