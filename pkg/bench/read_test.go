package bench

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/results"
	"github.com/batchctl/batchctl/workloads/measure"
)

const good = `{"workload":"image","operation":"sobel","size":"64x32","type":"uint8","seconds":[1,2,3],"verified":true,"checksum":"crc32c:1","exact":true,"device":{"kind":"cpu"},"novel":{"a":[1]}}`

func logOf(t *testing.T, lines ...string) *Log {
	t.Helper()
	log, err := ReadLog(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func TestReadLog(t *testing.T) {
	for name, test := range map[string]struct {
		line                     string
		results, damaged, others int
	}{
		"a result":       {good, 1, 0, 0},
		"a stamp":        {"2026-10-04T10:00:00Z {x} " + good, 1, 0, 0},
		"windows":        {good + "\r", 1, 0, 0},
		"text":           {"Total: 3 seconds", 0, 0, 1},
		"another object": {`{"level":"info","operation":"copy"}`, 0, 0, 1},
		"metrics":        {`{"workload":"x","operation":"y"}`, 0, 0, 1},
		"cut off":        {good[:60], 0, 1, 0},
		"two in a line":  {good + good, 0, 1, 0},
		"no times":       {strings.Replace(good, "[1,2,3]", "[]", 1), 0, 1, 0},
		"a time of zero": {strings.Replace(good, "[1,2,3]", "[1,0]", 1), 0, 1, 0},
		"negative":       {strings.Replace(good, "[1,2,3]", "[-1]", 1), 0, 1, 0},
		"huge":           {strings.Replace(good, "[1,2,3]", "[1e300]", 1), 0, 1, 0},
		"words":          {strings.Replace(good, "[1,2,3]", `["fast"]`, 1), 0, 1, 0},
		"null":           {"null", 0, 0, 1},
		"braces":         {"{}}{", 0, 0, 1},
		"too long":       {strings.Replace(good, "sobel", strings.Repeat("x", longestLine), 1), 0, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			log := logOf(t, test.line)
			if len(log.Results) != test.results || len(log.Damaged) != test.damaged || log.Others != test.others {
				t.Errorf("%d results, %v damaged, %d others", len(log.Results), log.Damaged, log.Others)
			}
		})
	}
}

// TestUnknownMembersAreKept: what this room does not know stays in the JSON.
func TestUnknownMembersAreKept(t *testing.T) {
	side := NewSide("CPU", "cpu", logOf(t, good))
	data, err := json.Marshal(side)
	if err != nil || !strings.Contains(string(data), `"novel":{"a":[1]}`) {
		t.Errorf("%s %v", data, err)
	}
}

// TestRowsThatCannotBeUsed: a row with a member of another shape, or a number that nothing
// measures, is damaged; the reason names the member.
func TestRowsThatCannotBeUsed(t *testing.T) {
	for member, want := range map[string]string{
		`"width":"wide"`:                              "invalid width of sobel: a string",
		`"parameters":{"a":"x"}`:                      "invalid parameters of sobel: a string",
		`"device":"cpu"`:                              "invalid device of sobel: a string",
		`"device":{"kind":"cpu","threads":-1}`:        "threads of sobel 64x32: -1 is out of range",
		`"gflops":1e300`:                              "gflops of sobel 64x32: 1e+300 is out of range",
		`"copiesIncluded":true,"copyInSeconds":-1`:    "copyInSeconds of sobel 64x32: -1 is out of range",
		`"ceilings":[{"share":1e300}]`:                "share of the ceiling of sobel 64x32: 1e+300 is out of range",
		`"kernelSeconds":0.1,"copyInSeconds":0.5`:     "seconds of sobel 64x32 do not include the copies",
		`"copiesIncluded":false,"copyOutSeconds":0.5`: "seconds of sobel 64x32 do not include the copies",
	} {
		log := logOf(t, strings.Replace(good, `"novel"`, member+`,"novel"`, 1))
		if len(log.Damaged) != 1 || log.Damaged[0].Reason != want {
			t.Errorf("%s: got %+v and %d results, want %q", member, log.Damaged, len(log.Results), want)
		}
	}
}

// TestRowsOfOlderVersions: the first workloads printed no title, first call, ceiling or
// word about exactness.
func TestRowsOfOlderVersions(t *testing.T) {
	r, err := ParseResult([]byte(`{"workload":"matrix","operation":"multiplication","size":"9x4","width":9,"height":4,"type":"float64","parameters":{"b":2.0,"a":0.5},
		"repeats":1,"seconds":[1],"median":1,"min":1,"gflops":2,"checksum":"crc32c:1","verified":true,"device":{"kind":"cpu","name":"a CPU","threads":2},
		"kernel":"gonum","versions":{"go":"go1.26.0","gonum":"v0.17.0","batchctl":"v1.0.0"}}`))
	if err != nil || r.Title != "Matrix multiplication" || r.parameters() != "a 0.5, b 2" || r.length() != 6 || r.percentOfCeiling() != 0 {
		t.Errorf("%+v %v", r, err)
	}
}

// TestRowsOfTheWorkloads reads back a row that has every member.
func TestRowsOfTheWorkloads(t *testing.T) {
	row := measure.Result{Workload: "image", Operation: "sobel", Title: "Sobel edges", Size: "64x64", Width: 64, Height: 64, Batch: 2, Type: "uint8",
		Parameters: map[string]float64{"sigma": 2}, MPixels: 8, GFLOPS: 3, Ceilings: []measure.Ceiling{measure.NewCeiling("copy bandwidth", 40, "GB/s", 30)},
		Checksum: "crc32c:1", Exact: true, Verified: true, Kernel: "own", ISA: "avx512", Efficiency: 0.9,
		Device:   measure.Device{Kind: measure.CUDA, Name: "a GPU", UUIDs: []string{"GPU-1"}, Driver: "CUDA 12.8", Binding: "libcuda"},
		Versions: measure.Versions{Go: "go1.26.0", Gonum: "v0.17.0", Batchctl: "v1.0.0"}, Environment: map[string]string{"cgroup": "none"},
		Cards: []measure.CardShare{{UUID: "GPU-1", Seconds: 1, Kernel: 0.5, CopyIn: 0.25, CopyOut: 0.25}}}
	row.SetTimes(measure.Times{First: 9, Seconds: []float64{1, 2, 3}, Splits: []measure.Split{{Kernel: 1, CopyIn: 0.5, CopyOut: 0.25}}})
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseResult(text)
	if diff := cmp.Diff(row, got.Result); err != nil || diff != "" {
		t.Errorf("%v (-written +read):\n%s", err, diff)
	}
	side := NewSide("GPU", "cuda", &Log{Results: []Result{got}})
	if want := (Split{1, 0.5, 0.25, 9}); side.Rows[0].Split != want || side.Rows[0].Summary.Median != 2 {
		t.Errorf("%+v", side.Rows[0])
	}
}

func TestPool(t *testing.T) {
	with := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(good) }
	for name, test := range map[string]struct {
		lines   []string
		rows    int
		repeats int
		problem string
		note    string
	}{
		"two runs":            {[]string{good, with("[1,2,3]", "[4]")}, 1, 4, "", ""},
		"two sizes":           {[]string{good, with("64x32", "64x64")}, 2, 3, "", ""},
		"two kernels":         {[]string{good, with(`"novel"`, `"kernel":"go","novel"`)}, 2, 3, "", ""},
		"not verified":        {[]string{with("true", "false")}, 1, 0, "the result was not verified", ""},
		"no word of it":       {[]string{with(`"verified":true,`, "")}, 1, 0, "the result was not verified", ""},
		"one of two verified": {[]string{with("true", "false", "[1,2,3]", "[9,9]"), good}, 1, 3, "", "1 run without a verified result left out"},
		"another device":      {[]string{with(`"kind":"cpu"`, `"kind":"cuda"`)}, 1, 0, "it was computed on cuda, not on cpu", ""},
		"other pixels":        {[]string{good, with("crc32c:1", "crc32c:2")}, 1, 0, "its runs measured different work: checksums crc32c:1 and crc32c:2 of an exact operation", ""},
		"not exact":           {[]string{with(`"exact":true`, `"exact":false`), with("crc32c:1", "crc32c:2", `"exact":true`, `"exact":false`)}, 1, 6, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			side := NewSide("CPU", "cpu", logOf(t, test.lines...))
			row := side.Rows[0]
			if len(side.Rows) != test.rows || len(row.Seconds) != test.repeats || row.Problem != test.problem || strings.Join(row.Notes, "") != test.note {
				t.Errorf("%d rows, %+v", len(side.Rows), row)
			}
			if (row.Summary == nil) != (test.problem != "") {
				t.Errorf("a row with the problem %q has the time %+v", row.Problem, row.Summary)
			}
		})
	}
}

func TestChanges(t *testing.T) {
	got, err := Changes(sampleJobs.Base, sampleJobs.Other)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range got {
		lines = append(lines, c.String())
	}
	want := []string{`replace /queue: "cpu" by "gpu"`, `add /resources/gpus: 1`, `replace /resources/memory: "8 GiB" by "16 GiB"`,
		`replace /resources/vcpus: 16 by 4`, `replace /command/2: "cpu" by "cuda"`}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	if _, err := Changes(Job{File: "x.json", Document: []byte("[]")}, sampleJobs.Other); err == nil || !strings.Contains(err.Error(), "x.json") {
		t.Errorf("no object: %v", err)
	}
}

// TestRateOfSeveralRuns: every file of a report says the same of a row: the rate of the
// median of all runs, and the median of their shares.
func TestRateOfSeveralRuns(t *testing.T) {
	run := func(seconds, rate, share string) string {
		return `{"workload":"matrix","operation":"multiplication","size":"9x9","type":"float64","seconds":[` + seconds + `],"gflops":` + rate +
			`,"verified":true,"device":{"kind":"cpu"},"ceilings":[{"name":"peak","rate":100,"unit":"GFLOP/s","share":` + share + `}]}`
	}
	side := NewSide("CPU", "cpu", logOf(t, run("1", "90", "0.9"), run("3", "30", "0.3"), run("2", "45", "0.45")))
	r := &Report{Comparison: Against(side, AbsentSide("GPU", "none"))}
	if got := side.Text(); !strings.Contains(got, "(45.0 GFLOP/s, 45.0 % of the ceiling, median of 3,") {
		t.Errorf("text: %s", got)
	}
	if got := r.Markdown(); !strings.Contains(got, "| CPU | 45.0 GFLOP/s | 45.0 % |") {
		t.Errorf("Markdown: %s", got)
	}
}

// The job that is moved computes on the device of the other, however the two say it.
func TestChangesOfTheDevice(t *testing.T) {
	for _, test := range []struct{ from, to, want string }{
		{`"command": ["matrix", "--sizes", "9"]`, `"command": ["matrix", "--device", "cuda", "--sizes", "9"]`, `add /command/3: "--device", add /command/4: "cuda"`},
		{`"command": ["matrix", "--device", "cuda", "--sizes", "9"]`, `"command": ["matrix", "--sizes", "9"]`, `remove /command/1: "--device", remove /command/1: "cuda"`},
		{`"command": ["matrix", "--device=cuda"]`, `"command": ["matrix"]`, `remove /command/1: "--device=cuda"`},
		{`"command": ["matrix", "--device=cuda"]`, `"command": ["matrix", "--device", "cpu"]`, `replace /command/1: "--device=cuda" by "--device=cpu"`},
		{`"command": ["matrix"]`, `"command": ["matrix"]`, ``},
		{`"command": ["mine"]`, `"command": ["theirs", "--device", "cuda"]`, ``},
		{`"command": ["m", "--device", "Ref::on"], "parameters": {"on": "cpu"}`, `"command": ["m", "--device", "Ref::on"], "parameters": {"on": "cuda"}`,
			`replace /parameters/on: "cpu" by "cuda"`},
		{`"definition": "cpu-job:3"`, `"definition": "gpu-job:1"`, `replace /definition: "cpu-job:3" by "gpu-job:1"`},
	} {
		changes, err := Changes(Job{Document: []byte("{" + test.from + "}")}, Job{Document: []byte("{" + test.to + "}")})
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, c := range changes {
			lines = append(lines, c.String())
		}
		if got := strings.Join(lines, ", "); got != test.want {
			t.Errorf("%s to %s: got %s, want %s", test.from, test.to, got, test.want)
		}
	}
}

func FuzzReadLog(f *testing.F) {
	f.Add(good)
	f.Add(good[:60] + "\n" + good)
	f.Fuzz(func(t *testing.T, text string) {
		log, err := ReadLog(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		side := NewSide("CPU", "", log)
		c := Against(side, NewSide("GPU", "", log))
		d, err := Decide(c, samplePrices, Jobs{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (&Report{Title: "t", Comparison: c, Decision: d}).Files(); err != nil {
			t.Fatal(err)
		}
		if _, err := Compare(side, side, CompareOptions{}).JSON(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestCeilings: the nearest limit is the one that binds.
func TestCeilings(t *testing.T) {
	r, err := ParseResult([]byte(`{"workload": "image", "operation": "sobel", "seconds": [1], "ceilings": [
		{"name": "copy bandwidth", "rate": 41.5, "unit": "GB/s", "share": 0.84}, {"name": "FMA peak", "rate": 93, "unit": "GFLOP/s", "share": 0.2}]}`))
	if err != nil || r.percentOfCeiling() != 84 {
		t.Errorf("%v, %v", r.percentOfCeiling(), err)
	}
}

// TestReadMeasurement: a side of a report has the lines of its logs, and a log its own, whatever
// the side.
func TestReadMeasurement(t *testing.T) {
	base := logOf(t, good)
	other := logOf(t, strings.Replace(good, `{"kind":"cpu"}`, `{"kind":"cuda"}`, 1))
	report, err := (&Report{Comparison: Against(NewSide("CPU", "cpu", base), NewSide("GPU", "cuda", other))}).JSON()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		text     string
		isReport bool
		want     []Result
	}{
		"CPU":     {string(report), true, base.Results},
		"GPU":     {string(report), true, other.Results},
		"neither": {string(report), true, nil},
		"log":     {good, false, base.Results},
	} {
		log, isReport, err := ReadMeasurement([]byte(test.text), name)
		if err != nil || isReport != test.isReport {
			t.Errorf("%s: a report %v, %v", name, isReport, err)
			continue
		}
		if diff := cmp.Diff(test.want, log.Results); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestReadMetrics: rates become the time of a unit; what is neither a rate nor a time is not compared.
func TestReadMetrics(t *testing.T) {
	for name, test := range map[string]struct {
		value   string
		seconds float64
		damage  string
	}{
		"images_per_sec": {"320", 1.0 / 320, ""}, "MB/s": {"8", 0.125, ""}, "it.per.second": {"4", 0.25, ""}, "Tokens-per-s": {"1e3", 0.001, ""},
		"epoch_seconds": {"2.5", 2.5, ""}, "seconds": {"3", 3, ""}, "step.ms": {"5", 0.005, ""},
		"x_per_sec": {"0", 0, "metric x_per_sec: 0 gives no time"}, "nan/s": {"nan", 0, "metric nan/s: NaN gives no time"}, "seconds/x_seconds": {"-1", 0, "metric seconds/x_seconds: -1 gives no time"},
		"loss": {"1", -1, ""}, "images_s": {"1", -1, ""}, "forms": {"1", -1, ""}, "superseconds": {"1", -1, ""},
	} {
		found := results.NewOutput(false)
		var err error
		if found.Metrics, err = results.ParseMetrics(results.FormatMetrics([]results.Metric{{Name: name, Expression: `v=(\S+)`}})); err != nil {
			t.Fatal(err)
		}
		found.Line("v=" + test.value)
		log, others := ReadMetrics(found, "cuda")
		switch {
		case test.seconds < 0:
			if len(others) != 1 || len(log.Results) > 0 {
				t.Errorf("%s: %+v", name, log)
			}
		case test.damage != "":
			if len(log.Damaged) != 1 || log.Damaged[0].Reason != test.damage {
				t.Errorf("%s: %+v", name, log)
			}
		case len(log.Results) != 1 || math.Abs(log.Results[0].Seconds[0]-test.seconds) > 1e-12:
			t.Errorf("%s: %+v", name, log)
		default:
			side := NewSide("GPU", "cuda", log)
			if why := side.Untimed(); why != "" {
				t.Errorf("%s: %s", name, why)
			}
			again, err := ParseResult(log.Results[0].Raw) // as in a report's JSON
			if err != nil || !again.isMetric() || again.Verified {
				t.Errorf("%s: %+v %v", name, again, err)
			}
		}
	}
}
