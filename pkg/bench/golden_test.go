package bench

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	file = filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); -update rewrites it:\n%s", file, diff)
	}
}

// sample reads a log of testdata as a side.
func sample(t *testing.T, file, name, kind string) *Side {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log, err := ReadLog(f)
	if err != nil {
		t.Fatal(err)
	}
	return NewSide(name, kind, log)
}

var samplePrices = Prices{
	Base:  &Price{0.77, "c7a.4xlarge in us-east-1, on demand", "2026-07-20", "the carried table"},
	Other: &Price{0.8048, "g6.xlarge in us-east-1, on demand", "2026-07-20", "the carried table"},
}

var sampleJobs = Jobs{
	Base: Job{"matrix-cpu", "matrix-cpu.json", []byte(`{"name": "matrix-cpu", "queue": "cpu", "command": ["matrix", "--device", "cpu", "--sizes", "1000"],
		"resources": {"vcpus": 16, "memory": "8 GiB"}}`)},
	Other: Job{"matrix-gpu", "matrix-gpu.json", []byte(`{"name": "matrix-gpu", "queue": "gpu", "command": ["matrix", "--device", "cuda", "--sizes", "1000"],
		"resources": {"vcpus": 4, "memory": "16 GiB", "gpus": 1}}`)},
}

func sampleReport(t *testing.T, other *Side, prices Prices) *Report {
	t.Helper()
	return reportOf(t, sample(t, "cpu.log", "CPU", "cpu"), other, prices)
}

func reportOf(t *testing.T, base, other *Side, prices Prices) *Report {
	t.Helper()
	c := Against(base, other)
	d, err := Decide(c, prices, sampleJobs)
	if err != nil {
		t.Fatal(err)
	}
	return &Report{Title: "CPU and GPU, 2026-10-04", Comparison: c, Decision: d, Notes: []string{"repeating ended: every interval is within 5 %"}}
}

// TestGolden compares every file of three reports; of busy, rows are not a measurement. Look at
// what changes: open the HTML.
func TestGolden(t *testing.T) {
	for name, r := range map[string]*Report{
		"both":   sampleReport(t, sample(t, "gpu.log", "GPU", "cuda"), samplePrices),
		"no-gpu": sampleReport(t, AbsentSide("GPU", "this machine has no NVIDIA GPU (no /dev/nvidiactl)"), Prices{Base: samplePrices.Base}),
		"busy":   reportOf(t, sample(t, "busy-cpu.log", "CPU", "cpu"), sample(t, "busy-gpu.log", "GPU", "cuda"), samplePrices),
	} {
		files, err := r.Files()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			compareGolden(t, name+"."+f.Name, string(f.Data))
		}
		again, err := r.Files()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(files, again); diff != "" {
			t.Errorf("%s: written twice, the files differ:\n%s", name, diff)
		}
	}
}

// TestNoGPUIsSaid looks for the reason in every format.
func TestNoGPUIsSaid(t *testing.T) {
	const why = "no NVIDIA GPU (no /dev/nvidiactl)"
	r := sampleReport(t, AbsentSide("GPU", why), Prices{})
	files, err := r.Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name != "cpu-benchmark.txt" && !strings.Contains(string(f.Data), why) {
			t.Errorf("%s does not say why there is no GPU", f.Name)
		}
	}
}

func TestCompareGolden(t *testing.T) {
	d := Compare(sample(t, "cpu.log", "old", ""), sample(t, "cpu-new.log", "new", ""), CompareOptions{})
	data, err := d.JSON()
	if err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "compare.txt", d.Text())
	compareGolden(t, "compare.md", d.Markdown())
	compareGolden(t, "compare.json", string(data))
}
