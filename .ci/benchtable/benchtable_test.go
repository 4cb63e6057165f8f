package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSummarize(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   sample
	}{
		{nil, sample{}},
		{[]float64{3}, sample{median: 3, best: 3}},
		{[]float64{4, 2}, sample{median: 3, best: 2, spread: 1. / 3}},
		{[]float64{5, 1, 3, 2, 4}, sample{median: 3, best: 1, spread: 2. / 3}},
		{[]float64{0, 0, 0}, sample{}},
	} {
		before := slices.Clone(c.values)
		got := summarize(c.values)
		if math.Abs(got.median-c.want.median) > 1e-9 || got.best != c.want.best || math.Abs(got.spread-c.want.spread) > 1e-9 {
			t.Errorf("summarize(%v) = %+v, want %+v", c.values, got, c.want)
		}
		if !slices.Equal(before, c.values) {
			t.Errorf("summarize changed its argument from %v to %v", before, c.values)
		}
	}
}

func TestGoal(t *testing.T) {
	for _, c := range []struct {
		goal         goal
		ours, theirs float64
		value        float64
		met          bool
		text         string
	}{
		{atLeast(3), 2, 6, 3, true, ">= 3 x"},
		{atLeast(3), 2, 5.9, 2.95, false, ">= 3 x"},
		{atMost(6), 12, 2, 6, true, "<= 6 x"},
		{atMost(6), 13, 2, 6.5, false, "<= 6 x"},
		{below(10), 10, 0, 10, true, "<= 10 s"},
		{below(10), 11, 0, 11, false, "<= 10 s"},
		{goal{}, 1, 2, 2, true, "-"},
	} {
		value := c.goal.value(c.ours, c.theirs)
		if value != c.value || c.goal.met(value) != c.met || c.goal.text("") != c.text {
			t.Errorf("%+v with %g and %g: %g, %t, %q", c.goal, c.ours, c.theirs, value, c.goal.met(value), c.goal.text(""))
		}
	}
}

// fixed returns a side with the same figure in each run, and counts its runs.
func fixed(name string, value float64, order *[]string) side {
	return side{name: name, run: func(context.Context) (figures, error) {
		*order = append(*order, name)
		return figures{seconds: {value}}, nil
	}}
}

func TestMeasure(t *testing.T) {
	var order []string
	closed := false
	absent := side{name: "absent", prepare: func(context.Context) error { return needs("some-program") }, run: func(context.Context) (figures, error) {
		t.Error("a side that is not installed runs")
		return nil, nil
	}}
	broken := side{name: "broken", run: func(context.Context) (figures, error) { return nil, errors.New("status 9\nmore") }}
	unused := fixed("unused", 1, &order)
	g := group{
		rounds: 2,
		rows: []row{
			{name: "a/peer", ours: figure{"ours", seconds}, theirs: figure{"peer", seconds}, goal: atLeast(3)},
			{name: "a/absent", ours: figure{"ours", seconds}, theirs: figure{"absent", seconds}, goal: atLeast(3)},
			{name: "a/broken", ours: figure{"ours", seconds}, theirs: figure{"broken", seconds}, goal: atLeast(3)},
			{name: "a/empty", ours: figure{"ours", "MiB"}, goal: below(3)},
		},
		sides: []side{fixed("ours", 2, &order), fixed("peer", 8, &order), absent, broken, unused},
		open:  func(context.Context) (func(), error) { return func() { closed = true }, nil },
	}
	results := g.measure(t.Context(), &machine{steps: 1000}, 0)
	if got, want := strings.Join(order, " "), "ours peer ours peer"; got != want {
		t.Errorf("the sides run as %q, want %q", got, want)
	}
	if !closed {
		t.Error("the group is not closed")
	}
	for i, want := range []struct {
		note   string
		failed bool
	}{{"", false}, {"not measured: needs some-program", false}, {"failed: status 9", true}, {"failed: the runs printed no figure", true}} {
		if results[i].note != want.note || results[i].failed != want.failed {
			t.Errorf("%s: note %q, failed %t; want %+v", results[i].name, results[i].note, results[i].failed, want)
		}
	}
	if r := results[0]; r.value() != 4 || !r.met() || r.rounds != 2 || r.loop <= 0 {
		t.Errorf("result %+v", r)
	}
	order = nil
	g.measure(t.Context(), &machine{steps: 1000}, 3)
	if len(order) != 6 {
		t.Errorf("%d runs with three rounds, want 6", len(order))
	}
	g.rows = g.rows[1:2]
	order = nil
	if g.measure(t.Context(), &machine{steps: 1000}, 0); len(order) != 0 {
		t.Errorf("%v ran although the only row has no peer", order)
	}
}

func TestMeasureNeedsServer(t *testing.T) {
	g := group{rows: []row{{name: "a"}, {name: "b"}}, rounds: 1, open: func(context.Context) (func(), error) { return nil, needs("moto_server") }}
	for _, r := range g.measure(t.Context(), &machine{steps: 1000}, 0) {
		if r.note != "not measured: needs moto_server" || r.failed {
			t.Errorf("%s: %q, failed %t", r.name, r.note, r.failed)
		}
	}
}

func TestChoose(t *testing.T) {
	groups := []group{{rows: []row{{name: "gemm/1000"}, {name: "gemm/2000"}}}, {rows: []row{{name: "image"}}}, {long: true, rows: []row{{name: "growth"}}}}
	for _, c := range []struct {
		names []string
		long  bool
		want  string // or how the error ends
	}{
		{nil, false, "gemm/1000 gemm/2000 image"},
		{nil, true, "gemm/1000 gemm/2000 image growth"},
		{[]string{"gemm"}, false, "gemm/1000 gemm/2000"},
		{[]string{"image", "gemm/2"}, false, "gemm/2000 image"},
		{[]string{"growth"}, true, "growth"},
		{[]string{"growth"}, false, "add --long"},
		{[]string{"gemm", "gemn"}, false, `"gemn"; .ci/bench --list lists them`},
	} {
		chosen, err := choose(groups, c.names, c.long)
		var names []string
		for _, g := range chosen {
			for _, r := range g.rows {
				names = append(names, r.name)
			}
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != c.want || err != nil && !strings.HasSuffix(got, c.want) {
			t.Errorf("choose(%q, long %t) = %q, want %q", c.names, c.long, got, c.want)
		}
	}
	if len(groups[0].rows) != 2 {
		t.Error("choose changed its argument")
	}
}

func TestParse(t *testing.T) {
	o, err := parse([]string{"gemm", "--rounds", "2", "image", "--record=false"}, io.Discard)
	if err != nil || o.rounds != 2 || o.record || !slices.Equal(o.names, []string{"gemm", "image"}) {
		t.Errorf("parse: %+v, %v", o, err)
	}
	for _, args := range [][]string{{"--rounds", "-1"}, {"--unknown"}, {"gemm", "--rounds"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("parse(%q) succeeds", args)
		}
	}
}

func sampleResults() []result {
	return []result{
		{row: row{name: "validate", peer: "ajv-cli", goal: atLeast(3)}, rounds: 5, mine: sample{2, 1.9, 0.05}, peers: sample{median: 6.4}, slowdown: 1.02, loadAverage: 0.5},
		{row: row{name: "peak", unit: "MiB", goal: below(100)}, rounds: 5, mine: sample{120, 118, 0}, slowdown: 1.5, loadAverage: 9},
		{row: row{name: "images"}, note: "not measured: needs a python3 with cv2 and numpy, which takes a long line"},
	}
}

func TestPrint(t *testing.T) {
	var out bytes.Buffer
	print(&out, sampleResults())
	want := `row       median   best     spread  peer     median  ratio   goal        verdict  machine
validate  2.00 s   1.90 s   5 %     ajv-cli  6.40 s  3.20 x  >= 3 x      met      quiet 1.02 x, load 0.5
peak      120 MiB  118 MiB  0 %     -        -       -       <= 100 MiB  missed   busy 1.50 x, load 9.0
images    not measured: needs a python3 with cv2 and numpy, which takes a long line
`
	if out.String() != want {
		t.Errorf("table:\n%s\nwant:\n%s", out.String(), want)
	}
}

func TestQuantity(t *testing.T) {
	for _, c := range []struct {
		value float64
		unit  string
		want  string
	}{{0.0009996, "", "1000 µs"}, {0.00123, "s", "1.23 ms"}, {0.0567, "", "56.7 ms"}, {1234.5, "", "1234 s"}, {61.853, "MiB", "61.85 MiB"}, {10, "calls", "10 calls"}} {
		if got := quantity(c.value, c.unit); got != c.want {
			t.Errorf("quantity(%g, %q) = %q, want %q", c.value, c.unit, got, c.want)
		}
	}
	if got := (result{row: row{goal: atLeast(0.92)}, mine: sample{median: 1}, peers: sample{median: 0.918}}).ratio(); got != "0.918 x" {
		t.Errorf("ratio = %q, want 0.918 x", got)
	}
}

func TestStatus(t *testing.T) {
	missed := result{row: row{goal: atLeast(3)}, mine: sample{median: 2}, peers: sample{median: 2}, slowdown: 1.02}
	busy, failed := missed, missed
	busy.slowdown = 1.5
	failed.note, failed.failed = "failed: status 9", true
	for _, c := range []struct {
		results []result
		goals   bool
		want    int
	}{{sampleResults(), true, 0}, {[]result{missed}, true, 1}, {[]result{missed}, false, 0}, {[]result{busy}, true, 0}, {[]result{busy, failed}, false, 1}} {
		if got := status(c.results, c.goals); got != c.want {
			t.Errorf("status(%+v, %t) = %d, want %d", c.results, c.goals, got, c.want)
		}
	}
}

func TestRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	at := time.Date(2026, 11, 26, 12, 30, 0, 0, time.UTC)
	var path string
	for range 2 {
		var err error
		if path, err = record(dir, "AMD EPYC (Genoa) 9R14", "abc1234", at, sampleResults()); err != nil {
			t.Fatal(err)
		}
	}
	if want := "amd-epyc-genoa-9r14.tsv"; filepath.Base(path) != want {
		t.Errorf("the file is %s, want %s", path, want)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 5 || lines[0] != header {
		t.Fatalf("%d lines:\n%s", len(lines), text)
	}
	for _, line := range lines[1:] {
		if got, want := strings.Count(line, "\t"), strings.Count(header, "\t"); got != want || !strings.HasPrefix(line, "2026-11-26T12:30Z\tabc1234\t") {
			t.Errorf("a line with %d tabs, want %d: %s", got, want, line)
		}
	}
	if path, err := record(dir, "x", "abc", at, sampleResults()[2:]); path != "" || err != nil {
		t.Errorf("record without a measured row: %q, %v", path, err)
	}
}

func TestModelName(t *testing.T) {
	for text, want := range map[string]string{
		"vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nstepping\t: 1\n": "AMD EPYC family 25 model 17",
		"processor\t: 0\n": "",
	} {
		if got := modelName(text); got != want {
			t.Errorf("modelName(%q) = %q, want %q", text, got, want)
		}
	}
	if got := modelName("CPU implementer\t: 0x41\nCPU part\t: 0xd40\n"); !strings.HasSuffix(got, "implementer 0x41 part 0xd40") {
		t.Errorf("modelName of an arm64 machine = %q", got)
	}
}

func TestSlowdown(t *testing.T) {
	m := machine{shortest: 0.05}
	if got := m.slowdown(0.06); math.Abs(got-1.2) > 1e-9 {
		t.Errorf("slowdown = %g, want 1.2", got)
	}
	m = machine{steps: 1000}
	if loop := m.calibrate(); m.shortest <= 0 || m.shortest > loop {
		t.Errorf("the shortest loop is %g s, the median %g s", m.shortest, loop)
	}
}

func TestReleaseFlags(t *testing.T) {
	text := []byte("env: [CGO_ENABLED=0]\nbuilds:\n- {id: other}\n- {id: batchctl, tags: [a, b], ldflags: [-s -w], gcflags: [x/...=-l, y=]}\n- {id: template, ldflags: ['-X v={{ .Version }}']}\n")
	f, err := parseReleaseFlags(text, "batchctl")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"-tags=a,b", "-ldflags=-s -w", "-gcflags=x/...=-l", "-gcflags=y="}; !slices.Equal(f.args, want) || !slices.Equal(f.env, []string{"CGO_ENABLED=0"}) {
		t.Errorf("flags %q, environment %q", f.args, f.env)
	}
	for _, id := range []string{"missing", "template"} {
		if _, err := parseReleaseFlags(text, id); err == nil {
			t.Errorf("build %s: no error", id)
		}
	}
	// The real file has both programs.
	text, err = os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for id, tag := range map[string]string{"batchctl": "-tags=urfave_cli_no_docs", "static": "-tags=static"} {
		if f, err := parseReleaseFlags(text, id); err != nil || !slices.ContainsFunc(f.args, func(a string) bool { return strings.HasPrefix(a, tag) }) {
			t.Errorf("build %s: %q, %v", id, f.args, err)
		}
	}
}

func TestParseBenchmarks(t *testing.T) {
	all := parseBenchmarks([]byte("goos: linux\nBenchmarkGrowth/1k/submit-2  \t 3000\t 120000 ns/op\nBenchmarkThrottled-16 1 2e10 ns/op 49.5 submits/s\nPASS\n"))
	if len(all) != 2 || all["BenchmarkThrottled"]["submits/s"] != 49.5 {
		t.Errorf("benchmarks %v", all)
	}
	if got := perOperation(all)["submit"]; len(got) != 1 || math.Abs(got[0]-120e-6) > 1e-12 {
		t.Errorf("seconds of submit: %v", got)
	}
}

func TestReadWorkload(t *testing.T) {
	f, err := readWorkload([]byte(`{"seconds":[2,4],"median":3,"verified":true,"ceilings":[{"share":0.5}]}`), figures{})
	if err != nil || !slices.Equal(f[seconds], []float64{2, 4}) || !slices.Equal(f[atLimit], []float64{1.5}) {
		t.Errorf("figures %v, %v", f, err)
	}
	if _, err := readWorkload([]byte(`{"seconds":[2]}`), figures{}); err == nil {
		t.Error("a result that is not verified counts")
	}
}

// TestRows checks what the measurements rely on: unique names, and rows that use sides of their group.
func TestRows(t *testing.T) {
	w := &workshop{built: map[string]bool{}}
	names := map[string]bool{}
	for _, g := range w.groups() {
		if g.rounds < 1 {
			t.Errorf("%s has no rounds", g.rows[0].name)
		}
		sides := map[string]bool{}
		for _, s := range g.sides {
			if sides[s.name] {
				t.Errorf("%s has two sides %s", g.rows[0].name, s.name)
			}
			sides[s.name] = true
		}
		for _, r := range g.rows {
			if names[r.name] || strings.ContainsAny(r.name, "\t ") {
				t.Errorf("the name %q is not unique or has blanks", r.name)
			}
			names[r.name] = true
			if !sides[r.ours.side] || !r.goal.alone && !sides[r.theirs.side] {
				t.Errorf("%s uses a side that its group does not have", r.name)
			}
			if r.goal.alone == (r.peer != "") {
				t.Errorf("%s: peer %q, and a goal with a peer: %t", r.name, r.peer, !r.goal.alone)
			}
		}
	}
}
