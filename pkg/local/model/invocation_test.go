package model

import (
	"testing"
	"time"
)

func TestCallsAreForgotten(t *testing.T) {
	var v invocations
	start := time.Now().UnixMilli()
	for i := range int64(5) {
		v.remember(start+i*invocationMemory.Milliseconds(), "SubmitJob "+string(rune('a'+i)), "job")
	}
	if len(v.results) != 2 || len(v.order) != 2 {
		t.Errorf("%d calls are remembered after hours, want 2", len(v.results))
	}
	if v.remember(start, "", "job"); len(v.results) != 2 {
		t.Error("a call without an id is remembered")
	}
}
