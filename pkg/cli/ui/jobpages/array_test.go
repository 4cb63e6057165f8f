package jobpages

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/cli/ui/uitest"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/target"
)

func TestNewGrid(t *testing.T) {
	at := time.UnixMilli(100_000)
	parent := types.JobDetail{JobId: aws.String("a"), JobName: aws.String("n"), Status: types.JobStatusPending}
	child := func(i int32, status types.JobStatus, started, stopped int64, exit *int32) types.JobSummary {
		s := types.JobSummary{Status: status, ArrayProperties: &types.ArrayPropertiesSummary{Index: &i}, Container: &types.ContainerSummary{ExitCode: exit}}
		if started != 0 {
			s.StartedAt = &started
		}
		if stopped != 0 {
			s.StoppedAt = &stopped
		}
		return s
	}
	g := newGrid(parent, 7, []types.JobSummary{
		child(0, types.JobStatusSucceeded, 1000, 3500, aws.Int32(0)), child(1, types.JobStatusFailed, 1000, 2000, aws.Int32(3)), child(2, types.JobStatusRunning, 90_000, 0, nil),
		child(4, "NEW", 0, 0, nil), child(5, types.JobStatusRunning, 200_000, 0, nil), // a clock that is ahead
		child(7, types.JobStatusFailed, 1, 2, nil), child(-1, types.JobStatusFailed, 1, 2, nil), {Status: types.JobStatusFailed}, {ArrayProperties: &types.ArrayPropertiesSummary{}},
	}, at)
	if g.Statuses != "cfupsup" {
		t.Errorf("statuses %q", g.Statuses)
	}
	if want := []float64{2.5, 1, 10, -1, -1, 0, -1}; !slices.Equal(g.Seconds, want) {
		t.Errorf("seconds %v", g.Seconds)
	}
	if want := []int32{0, 3, -1, -1, -1, -1, -1}; !slices.Equal(g.Exits, want) {
		t.Errorf("exit codes %v", g.Exits)
	}
	for status, want := range map[types.JobStatus]string{types.JobStatusSubmitted: "sss", types.JobStatusFailed: "fff", "": "sss"} {
		parent.Status = status
		if g := newGrid(parent, 3, nil, at); g.Statuses != want {
			t.Errorf("children of an array that is %s: %q", status, g.Statuses)
		}
	}
}

// sweepFor returns what the children of an array with this sweep differ in; cells are those that were resubmitted.
func sweepFor(t interface{ Fatal(...any) }, s *sweep.Sweep, cells string) *session.SweepOf {
	job := types.JobDetail{ArrayProperties: &types.ArrayPropertiesDetail{Size: aws.Int32(2)}, Container: &types.ContainerDetail{Environment: []types.KeyValuePair{
		{Name: aws.String(sweep.CellsVariable), Value: aws.String(cells)}}}}
	if s != nil {
		job.Container.Environment = append(job.Container.Environment, types.KeyValuePair{Name: aws.String(sweep.DocumentVariable), Value: aws.String(s.Document())})
	}
	of, err := session.FindSweep(context.Background(), nil, job) // the document is in the environment
	if err != nil {
		t.Fatal(err)
	}
	return of
}

// drawMatrix draws a matrix with excluded and included cells.
func drawMatrix(t *rapid.T) *sweep.Sweep {
	values := []string{"a", "b", "a, b", "b, a", "1", "01", "x y", "<b>", "ä", ""}
	var axes []sweep.Axis
	for i := range rapid.IntRange(1, 4).Draw(t, "axes") {
		chosen := rapid.SliceOfNDistinct(rapid.SampledFrom(values), 1, 4, rapid.ID).Draw(t, "values")
		axes = append(axes, sweep.Axis{Name: fmt.Sprintf("axis%d", i), Values: chosen})
	}
	var exclude []sweep.Match
	for range rapid.IntRange(0, 3).Draw(t, "excluded") {
		m := sweep.Match{}
		for i, a := range axes {
			if rapid.Bool().Draw(t, "matches") {
				m[i] = rapid.SampledFrom(a.Values).Draw(t, "value")
			}
		}
		exclude = append(exclude, m)
	}
	var include [][]string
	for i := range rapid.IntRange(0, 2).Draw(t, "included") {
		row := make([]string, len(axes))
		for j := range row {
			row[j] = fmt.Sprintf("new%d", i)
		}
		include = append(include, row)
	}
	s, slips := sweep.NewMatrix(axes, exclude, include)
	if len(slips) > 0 || s == nil || s.Len() == 0 || s.Check() != nil {
		t.Skip("not a matrix")
	}
	return s
}

// TestPlaces places the children of matrices: each has one place, and no two have the same.
func TestPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawMatrix(t)
		size := s.Len()
		g := newGrid(types.JobDetail{JobId: aws.String("a")}, size, nil, time.Time{})
		g.place(sweepFor(t, s, ""))
		if len(g.Labels) != size || !slices.Equal(g.Names, s.Names) {
			t.Fatalf("%d labels of %v for %d children", len(g.Labels), g.Names, size)
		}
		if len(s.Axes) == 1 {
			if g.Places != nil {
				t.Fatalf("places %v for one axis", g.Places)
			}
			return
		}
		if len(g.Places) != size {
			t.Fatalf("%d places for %d children", len(g.Places), size)
		}
		seen := map[int]int{}
		for i, place := range g.Places {
			if place < 0 || place >= len(g.Rows.Values)*len(g.Columns.Values) {
				t.Fatalf("child %d is at %d of %d x %d", i, place, len(g.Rows.Values), len(g.Columns.Values))
			}
			if other, ok := seen[place]; ok {
				t.Fatalf("children %d and %d are both at %d: %q, %q", other, i, place, s.Cell(other), s.Cell(i))
			}
			seen[place] = i
			cell := s.Cell(i)
			row, column := g.Rows.Values[place/len(g.Columns.Values)], g.Columns.Values[place%len(g.Columns.Values)]
			if row != show.Text(strings.Join(cell[:len(cell)-1], ", ")) || column != show.Text(cell[len(cell)-1]) {
				t.Fatalf("child %d with %q is in row %q, column %q", i, cell, row, column)
			}
		}
	})
}

func TestOtherPlaces(t *testing.T) {
	matrix := &sweep.Sweep{Kind: sweep.Matrix, Axes: []sweep.Axis{{Name: "lr", Values: []string{"1", "2"}}, {Name: "seed", Values: []string{"3", "4"}}}, Names: []string{"lr", "seed"}}
	table := &sweep.Sweep{Kind: sweep.Table, Names: []string{"lr", "seed"}, Rows: [][]string{{"1", "3"}, {"1", "3"}, {"2", "4"}}}
	for _, c := range []struct {
		name   string
		of     *session.SweepOf
		size   int
		places []int
		labels []string
	}{
		{"no sweep", nil, 3, nil, nil},
		{"cells alone", sweepFor(t, nil, "0-1"), 2, nil, nil},
		{"table", sweepFor(t, table, ""), 3, nil, []string{"lr=1 seed=3", "lr=1 seed=3", "lr=2 seed=4"}},
		{"the failed children of a matrix", sweepFor(t, matrix, "1 3"), 2, []int{0, 1}, []string{"lr=1 seed=4", "lr=2 seed=4"}},
		{"an array that is larger than its matrix", sweepFor(t, matrix, ""), 5, nil, []string{"lr=1 seed=3", "lr=1 seed=4", "lr=2 seed=3", "lr=2 seed=4", ""}},
	} {
		g := newGrid(types.JobDetail{}, c.size, nil, time.Time{})
		g.place(c.of)
		if !slices.Equal(g.Places, c.places) || !slices.Equal(g.Labels, c.labels) || (g.Rows == nil) != (c.places == nil) {
			t.Errorf("%s: places %v, labels %q, rows %v", c.name, g.Places, g.Labels, g.Rows)
		}
	}
	// The labels of a large array are left out.
	large := &sweep.Sweep{Kind: sweep.Table, Names: []string{"n"}, Rows: slices.Repeat([][]string{{"1"}}, mostLabels+1)}
	for size, want := range map[int]int{mostLabels: mostLabels, mostLabels + 1: 0} {
		g := newGrid(types.JobDetail{}, size, nil, time.Time{})
		if g.place(sweepFor(t, large, "")); len(g.Labels) != want {
			t.Errorf("%d labels for %d children", len(g.Labels), size)
		}
	}
}

func TestNumericColumns(t *testing.T) {
	var rows []map[string]any
	if err := json.Unmarshal([]byte(`[{"index":0,"loss":1.5,"name":"a","ok":true},{"index":2,"loss":null,"b\u202e":2},{"index":3,"loss":9},{"index":-1,"loss":9},{"loss":9},{"index":"1","loss":9},{"index":1,"acc":0}]`),
		&rows); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(NumericColumns(rows, nil, 3))
	if want := `[{"name":"acc","values":[null,0,null]},{"name":"b\\u202e","values":[null,null,2]},{"name":"loss","values":[1.5,null,null]}]`; err != nil || string(text) != want {
		t.Errorf("%s\nwant %s", text, want)
	}
	if text, _ := json.Marshal(NumericColumns(nil, nil, 3)); string(text) != "[]" {
		t.Errorf("no rows: %s", text)
	}
}

func TestResultsKeepTheirOrder(t *testing.T) {
	out := `[{"index":0,"zeta":"1","lr":0.1,"status":"SUCCEEDED","loss":2,"acc":0.5},{"index":1,"new":null,"loss":{"a": 1},"zeta":3,"acc":"high"},{}]`
	v, err := resultsOf([]byte(out), []string{"lr"}, "")
	if err != nil || !slices.Equal(v.Columns, strings.Fields("index zeta lr status loss acc new")) {
		t.Errorf("columns %q, %v", v.Columns, err)
	}
	// Numbers of an axis, and the index, are no results. The last column is the first choice.
	if !slices.Equal(v.Numeric, strings.Fields("zeta loss acc")) || v.Value != "acc" {
		t.Errorf("numeric columns %q, shown %q", v.Numeric, v.Value)
	}
	if want := []string{"1", "3", "", "", `{"a": 1}`, "high", "null"}; len(v.Rows) != 3 || !slices.Equal(v.Rows[1], want) || v.Rows[2][0] != "" {
		t.Errorf("rows %q", v.Rows)
	}
	for value, want := range map[string]string{"loss": "loss", "lr": "acc", "nope": "acc"} {
		if v, _ := resultsOf([]byte(out), []string{"lr"}, value); v.Value != want {
			t.Errorf("value %s shows %s", value, v.Value)
		}
	}
	many := "[" + strings.Repeat(`{"index":0},`, mostResults+4) + `{"index":1}]`
	if v, err := resultsOf([]byte(many), nil, ""); len(v.Rows) != mostResults || v.More != 5 || err != nil {
		t.Errorf("%d rows and %d more, %v", len(v.Rows), v.More, err)
	}
	for _, text := range []string{"", "{}", "[[1]]", "[{\"a\":1]"} {
		if _, err := resultsOf([]byte(text), nil, ""); err == nil {
			t.Errorf("results %q are accepted", text)
		}
	}
}

// TestUnits compares the offsets of places with those of the text in UTF-16.
func TestUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("ab\t\r é€\U0001F600\U00010000\u202e")), 0, 8, -1), 1, 5).Draw(t, "lines")
		text := strings.Join(lines, "\n")
		u := newUnits(text)
		for i, line := range lines {
			before := len(utf16.Encode([]rune(strings.Join(append(slices.Clone(lines[:i]), ""), "\n"))))
			runes := []rune(line)
			for column := 1; column <= len(runes)+2; column++ {
				want := before + len(utf16.Encode(runes[:min(column-1, len(runes))]))
				if got := u.at(i+1, column); got != want {
					t.Fatalf("line %d, column %d of %q: %d, want %d", i+1, column, text, got, want)
				}
			}
		}
		// Places outside the text are at its borders.
		if u.at(0, 0) != 0 || u.at(-5, 7) != u.at(1, 7) || u.at(len(lines)+9, 1) != u.at(len(lines), 1) {
			t.Fatalf("places outside of %q", text)
		}
	})
}

func TestCheckText(t *testing.T) {
	r := uitest.Recording()
	s := source.New(t.Context(), jobs.Options{Target: target.Options{Name: target.Local}}, target.Local)
	s.Commands.Instead = r.Answer
	text := "{\"name\":\"\U0001F600\",\"commnd\":[],\"x\":1}"
	problems := `[{"line":1,"column":14,"endLine":1,"endColumn":20,"severity":"error","rule":"r","message":"m","hint":"h","fix":{"message":"write command","edits":[` +
		`{"start":16,"end":22,"text":"command"},{"start":25,"end":25,"text":" "},{"start":99,"end":100,"text":"out"},{"start":-1,"end":2,"text":"out"},{"start":5,"end":4,"text":"out"}]}},` +
		`{"line":1,"column":1,"endLine":1,"endColumn":2,"severity":"warning","message":"w"}]`
	r.Known["validate -"] = uitest.Reply{Out: problems, Err: "1 error\n", Status: 1}
	c, err := (&Check{Source: s}).checkText(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	units := utf16.Encode([]rune(text))
	f := c.Problems[0]
	if got := string(utf16.Decode(units[f.From:f.To])); got != "commnd" {
		t.Errorf("the marked text is %q, from %d to %d", got, f.From, f.To)
	}
	if want := "{\"name\":\"\U0001F600\",\"command\":[ ],\"x\":1}"; f.Fix != want || f.FixNote != "write command" {
		t.Errorf("the fixed text is %q, %q", f.Fix, f.FixNote)
	}
	if c.Errors != 1 || c.Warnings != 1 || c.Plan != "" || c.Cost != "" || c.Problems[1].Fix != "" || r.Count("plan -")+r.Count("cost -") > 0 {
		t.Errorf("%+v", c)
	}
	if c.Command != "batchctl validate job.json" || r.Inputs[0] != text {
		t.Errorf("command %s, input %q", c.Command, r.Inputs[0])
	}
	// Without errors, the plan and the price follow.
	r.Known["validate -"] = uitest.Reply{Out: "[]\n"}
	if c, err := (&Check{Source: s}).checkText(t.Context(), text); err != nil || c.Plan != "1 job: submit" || c.Cost != "0.01 USD" || c.PlanProblem != "" || c.Problems == nil {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := (&Check{Source: s}).checkText(t.Context(), " \n"); err != nil || c.Plan != "" {
		t.Errorf("an empty text: %+v, %v", c, err)
	}
	r.Known["plan -"] = uitest.Reply{Err: "batchctl: no queue\n", Status: 1}
	if c, err := (&Check{Source: s}).checkText(t.Context(), text); err != nil || c.Plan != "" || c.PlanProblem != "no queue" {
		t.Errorf("a plan that fails: %+v, %v", c, err)
	}
	// What validate cannot read is an error of the answer.
	r.Known["validate -"] = uitest.Reply{Err: "batchctl: the text has no end\n", Status: 2}
	if _, err := (&Check{Source: s}).checkText(t.Context(), text); err == nil || err.Error() != "the text has no end" {
		t.Errorf("%v", err)
	}
}
