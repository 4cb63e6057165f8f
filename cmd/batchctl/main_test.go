package main

import (
	"runtime"
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
