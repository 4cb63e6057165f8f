package measure

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// busyResult has three repeats with that spread, and that share of a limit.
func busyResult(spread, share float64) Result {
	r := sampleResult()
	r.SetTimes(Times{First: 1, Seconds: []float64{100, 100, 100 + spread}})
	r.Ceilings = []Ceiling{NewCeiling("copy bandwidth", 10, "GB/s", 5), NewCeiling("FMA peak", 100, "GFLOP/s", share)}
	return r
}

func TestDoubt(t *testing.T) {
	for _, test := range []struct {
		spread, share float64
		want          string
	}{
		{0, 100, ""}, {0, 104, ""}, {0, 106, "106 % of the FMA peak"}, {0, 196, "196 % of the FMA peak"},
		{24, 90, ""}, {26, 90, "spread 26.0 %"}, {486, 90, "spread 486 %"}, {486, 196, "196 % of the FMA peak"},
	} {
		if got := busyResult(test.spread, test.share).Doubt(); got != test.want {
			t.Errorf("spread %v %%, share %v %%: got %q, want %q", test.spread, test.share, got, test.want)
		}
	}
}

// A limit that a correct measurement can exceed is no reason for doubt until the share
// is more than any mix of reads and writes can reach.
func TestDoubtExceedable(t *testing.T) {
	for share, want := range map[float64]string{106: "", 149: "", 193: "193 % of the FMA peak"} {
		r := busyResult(0, share)
		r.Ceilings[1].Exceedable = true
		if got := r.Doubt(); got != want {
			t.Errorf("%v %%: got %q, want %q", share, got, want)
		}
	}
}

// Every format marks a row that is not a measurement, and text its sum too.
func TestPrinterMarksBusyRows(t *testing.T) {
	for _, test := range []struct {
		result      Result
		line, total string
		member      any
	}{
		{busyResult(0, 90), "first call 1.00 s, verified)", "Total: 200 seconds", nil},
		{busyResult(486, 90), "first call 1.00 s, verified): machine busy, not a measurement",
			"Total: 200 seconds (1 of 2 rows): machine busy, not a measurement", "spread 486 %"},
	} {
		var text, rows bytes.Buffer
		for format, out := range map[Format]*bytes.Buffer{Text: &text, JSON: &rows} {
			p, err := NewPrinter(out, format, Device{}, "gonum")
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range []Result{busyResult(0, 90), test.result} {
				if err := p.Print(r); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.Total(); err != nil {
				t.Fatal(err)
			}
		}
		lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
		if len(lines) != 4 || !strings.HasSuffix(lines[1], "verified)") || !strings.HasSuffix(lines[2], test.line) || lines[3] != test.total {
			t.Errorf("got %q", lines)
		}
		var row map[string]any
		last := strings.Split(strings.TrimSuffix(rows.String(), "\n"), "\n")[1]
		if err := json.Unmarshal([]byte(last), &row); err != nil || row["notMeasured"] != test.member {
			t.Errorf("notMeasured %v, want %v: %v", row["notMeasured"], test.member, err)
		}
	}
}
