package measure

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

func sampleResult() Result {
	r := Result{Workload: "matrix", Operation: "multiplication", Title: "Matrix multiplication", Size: "5000x5000",
		Width: 5000, Height: 5000, Type: "float64", GFLOPS: 203.4, Checksum: "crc32c:00000001", Verified: true,
		Device: Device{Kind: CPU, Name: "Fine CPU", Threads: 2}, Kernel: "gonum", Versions: Versions{"go1", "v1", "v2"}}
	r.SetTimes(Times{First: 1.31, Seconds: []float64{1.3, 1.234, 1.1}})
	return r
}

func TestLine(t *testing.T) {
	blur := Result{Title: "Gaussian blur", Size: "2048x2048", Batch: 4, Type: "uint8", MPixels: 139.8,
		Parameters: map[string]float64{"sigma": 2, "factor": 1.5}, Repeats: 1, Seconds: []float64{0.12}, Min: 0.12, Median: 0.12, FirstCall: 0.13}
	held := sampleResult()
	held.Ceilings = []Ceiling{NewCeiling("FMA peak", 233, "GFLOP/s", 203.4)}
	for _, test := range []struct {
		result Result
		want   string
	}{
		{held, "Matrix multiplication 5000x5000: 1.23 seconds (float64, 203 GFLOP/s, 87 % of the FMA peak (233 GFLOP/s), median of 3, spread 16.2 %, first call 1.31 s, verified)"},
		{sampleResult(), "Matrix multiplication 5000x5000: 1.23 seconds (float64, 203 GFLOP/s, median of 3, spread 16.2 %, first call 1.31 s, verified)"},
		{blur, "Gaussian blur 2048x2048 batch 4: 0.120 seconds (uint8, factor 1.5, sigma 2, 140 MPixel/s, median of 1, spread 0.00 %, first call 0.130 s, verified)"},
	} {
		if got := test.result.Line(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

func TestDigits(t *testing.T) {
	for _, test := range []struct {
		value float64
		want  string
	}{
		{1.234, "1.23"}, {12.34, "12.3"}, {123.4, "123"}, {98765, "98765"}, {0.1234, "0.123"}, {0.000012345, "0.0000123"},
		{1, "1.00"}, {0, "0.00"}, {1e-12, "0.000000000"},
	} {
		if got := digits(test.value); got != test.want {
			t.Errorf("digits(%v) = %s, want %s", test.value, got, test.want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 5}, 5}, {[]float64{9, 1, 5, 7}, 6}} {
		before := slices.Clone(test.values)
		if got := Median(test.values); got != test.want {
			t.Errorf("Median(%v) = %v", test.values, got)
		}
		if !slices.Equal(before, test.values) {
			t.Errorf("Median changed its argument to %v", test.values)
		}
	}
}

func TestPrinterText(t *testing.T) {
	var out bytes.Buffer
	p, err := NewPrinter(&out, Text, Device{Kind: CPU, Name: "Fine CPU", Threads: 2}, "gonum")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.Print(sampleResult()); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Total(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "Device cpu (Fine CPU), 2 threads, kernel gonum, go") ||
		lines[1] != sampleResult().Line() || lines[3] != "Total: 2.47 seconds" {
		t.Errorf("got %q", lines)
	}
}

func TestPrinterJSON(t *testing.T) {
	var out bytes.Buffer
	p, err := NewPrinter(&out, JSON, Device{}, "gonum")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Print(sampleResult()), p.Total()); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || bytes.Count(out.Bytes(), []byte("\n")) != 1 {
		t.Fatalf("want one object on one line: %v\n%s", err, out.String())
	}
	for _, name := range []string{"workload", "operation", "size", "width", "height", "type", "repeats", "seconds",
		"median", "min", "gflops", "checksum", "verified", "device", "kernel", "versions"} {
		if _, found := got[name]; !found {
			t.Errorf("no member %s", name)
		}
	}
	if got["median"] != 1.234 || got["min"] != 1.1 || got["repeats"] != 3.0 {
		t.Errorf("got %v", got)
	}
}

func TestPrinterRefusesUnverified(t *testing.T) {
	for _, format := range Formats() {
		var out bytes.Buffer
		p, _ := NewPrinter(&out, format, Device{}, "gonum")
		out.Reset()
		r := sampleResult()
		r.Verified = false
		if err := p.Print(r); err == nil || out.Len() > 0 {
			t.Errorf("%s: printed %q, %v", format, out.String(), err)
		}
	}
}

// fullDisk fails every write.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestPrinterReportsWriteErrors(t *testing.T) {
	if _, err := NewPrinter(fullDisk{}, Text, Device{}, ""); err == nil {
		t.Error("header: no error")
	}
	for _, format := range Formats() {
		p := &Printer{w: fullDisk{}, format: format}
		if err := p.Print(sampleResult()); err == nil {
			t.Errorf("%s: no error", format)
		}
	}
}

func TestBuildVersions(t *testing.T) {
	v := BuildVersions()
	if !strings.HasPrefix(v.Go, "go") || v.Gonum == "" || v.Batchctl == "" {
		t.Errorf("got %+v", v)
	}
}
