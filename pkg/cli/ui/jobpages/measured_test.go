package jobpages

import (
	"fmt"
	"testing"

	"github.com/batchctl/batchctl/pkg/cli/ui/uitest"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/usage"
)

// used returns a measurement of a peak in MiB.
func used(mib int64) usage.Usage {
	bytes, cpu := mib<<20, 5.0
	return usage.Usage{Version: 1, Seconds: 10, CPUSeconds: &cpu, PeakMemory: &bytes, Source: "cgroup2"}
}

// TestMeasuredBounds has more attempts than a page shows: the first ones have rows, the others are counted.
func TestMeasuredBounds(t *testing.T) {
	var all []history.Attempt
	for i := mostMeasured + 50; i > 0; i-- { // the newest first
		all = append(all, history.Attempt{Job: uitest.PrepareID, Number: i, Status: "FAILED", Usage: []usage.Usage{used(1)}})
	}
	v := MeasuredOf(uitest.PrepareID, all)
	if v.IsArray || len(v.Rows) != mostMeasured || v.More != 50 || v.Measured != mostMeasured+50 || v.Rows[0].Attempt != "1" || v.Rows[mostMeasured-1].Attempt != "100" {
		t.Errorf("%d rows, %d more, %d measured, the first is %+v", len(v.Rows), v.More, v.Measured, v.Rows[0])
	}
}

// TestMeasuredAmounts compares what was used with what was requested.
func TestMeasuredAmounts(t *testing.T) {
	limit := int64(256 << 20)
	limited := used(64)
	limited.MemoryLimit = &limit
	request := history.Resources{VCPUs: 2, MemoryMiB: 128}
	for name, c := range map[string]struct {
		attempt history.Attempt
		used    usage.Usage
		memory  amountOf
	}{
		"of the request":               {history.Attempt{Requested: request, Usage: []usage.Usage{limited}}, limited, amountOf{"64 MiB", "128 MiB", 50}},
		"of the limit of a container":  {history.Attempt{Requested: request, Usage: []usage.Usage{limited, limited}}, limited, amountOf{"64 MiB", "256 MiB", 25}},
		"of the limit without request": {history.Attempt{Usage: []usage.Usage{limited}}, limited, amountOf{"64 MiB", "256 MiB", 25}},
		"without both":                 {history.Attempt{Usage: []usage.Usage{used(64)}}, used(64), amountOf{"64 MiB", "", -1}},
		"more than requested":          {history.Attempt{Requested: request, Usage: []usage.Usage{used(512)}}, used(512), amountOf{"512 MiB", "128 MiB", 100}},
		"not measured":                 {history.Attempt{Requested: request}, usage.Usage{}, amountOf{"", "128 MiB", -1}},
	} {
		if got := memoryOf(c.attempt, c.used); got != c.memory {
			t.Errorf("%s: %+v, want %+v", name, got, c.memory)
		}
	}
	if got, want := processorsOf(history.Attempt{Requested: request}, used(1)), (amountOf{"0.5", "2", 25}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := processorsOf(history.Attempt{Requested: request}, usage.Usage{}), (amountOf{"", "2", -1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestMeasuredChildren takes the newest measured attempt of each child.
func TestMeasuredChildren(t *testing.T) {
	child := func(index, number int, u ...usage.Usage) history.Attempt {
		return history.Attempt{Job: fmt.Sprintf("%s:%d", uitest.ArrayID, index), Number: number, Usage: u, Requested: history.Resources{MemoryMiB: 100}}
	}
	all := []history.Attempt{child(0, 3), child(0, 2, used(20)), child(0, 1, used(90)), child(1, 1, used(40)), child(7, 1, used(80)), {Job: uitest.PrepareID, Usage: []usage.Usage{used(99)}}}
	columns := MeasuredColumns(uitest.ArrayID, all, 3)
	if len(columns) == 0 || columns[0].Name != "peak memory MiB" || !columns[0].IsMeasured || len(columns[0].Values) != 3 || *columns[0].Values[0] != 20 || *columns[0].Values[1] != 40 || columns[0].Values[2] != nil {
		t.Errorf("%+v", columns)
	}
	v := MeasuredOf(uitest.ArrayID, all)
	want := measuredFigure{Name: "peak memory", Requested: "100 MiB", P50: "40 MiB", P95: "80 MiB", Max: "80 MiB", Children: 3, Part: 80}
	if !v.IsArray || len(v.Figures) == 0 || v.Figures[0] != want {
		t.Errorf("%+v", v.Figures)
	}
}
