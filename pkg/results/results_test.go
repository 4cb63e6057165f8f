package results

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sample is a table with what a table may have.
func sample(t *testing.T) *Table {
	t.Helper()
	table := New([]string{"lr", "seed", "name", "status", "amp"}, Options{ExitCode: true})
	code := func(n int) *int { return &n }
	for _, c := range []struct {
		Child
		log string
	}{
		{Child{0, 0, []string{"0.10", "1", "a|b", "x", "true"}, "SUCCEEDED", code(0), ""}, `{"loss": 0.50, "val": {"acc": 0.9, "top": {"k5": 1e3}}, "lr": 7, "steps": [1, {"a": 2}], "note": "=1+1"}`},
		{Child{1, 1, []string{"1e-3", "2", "-c", "y", "false"}, "SUCCEEDED", code(0), ""}, `{"val": {"acc": -0.25}, "loss": 12345678901234567890, "best": true, "none": null, "note": "two\nlines, \"quoted\" \u001b[31m<b>_x_ *y* ` + "`z`" + `"}`},
		{Child{2, 2, []string{"10", "3", "7", "z", "true"}, "FAILED", code(137), ""}, "Traceback"},
		{Child{0, 3, []string{"0", "4", "日本", "", "true"}, "RUNNING", nil, ""}, `{"loss": "diverged", "index": 3, "result.lr": 1, "empty": {}, "loss": "NaN", "snake_case": "ü"}`},
	} {
		if err := table.Add(c.Child, printed(false, c.log)); err != nil {
			t.Fatal(err)
		}
	}
	return table
}

func TestWrite(t *testing.T) {
	table := sample(t)
	if table.Len() != 4 || table.Without() != 1 {
		t.Errorf("%d rows, %d without results", table.Len(), table.Without())
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"table.csv":  func(b *bytes.Buffer) error { return table.WriteCSV(b) },
		"table.json": func(b *bytes.Buffer) error { return table.WriteJSON(b) },
		"table.md":   func(b *bytes.Buffer) error { return table.WriteMarkdown(b) },
		"table.txt":  func(b *bytes.Buffer) error { return table.WriteText(b, 20) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestEmpty(t *testing.T) {
	table := New([]string{"lr"}, Options{})
	for want, write := range map[string]func(*bytes.Buffer) error{
		"index,lr,status\n": func(b *bytes.Buffer) error { return table.WriteCSV(b) },
		"[]\n":              func(b *bytes.Buffer) error { return table.WriteJSON(b) },
		"| index | lr | status |\n| --- | --- | --- |\n": func(b *bytes.Buffer) error { return table.WriteMarkdown(b) },
		"index  lr  status\n":                            func(b *bytes.Buffer) error { return table.WriteText(b, 0) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil || b.String() != want {
			t.Errorf("%q %v, want %q", b.String(), err, want)
		}
	}
}

func TestNames(t *testing.T) {
	table := New([]string{"index", "lr", "matrix.index"}, Options{})
	log := `{"lr": 1, "result.lr": 2, "status": 3, "cell": 4, "": 5, "a.b": 6, "a": {"b": 7}, "exitCode": 8}`
	if err := table.Add(Child{Values: []string{"x", "y", "z"}}, printed(false, log)); err != nil {
		t.Fatal(err)
	}
	want := []string{"index", "matrix.index", "lr", "matrix.matrix.index", "status", "result.lr", "result.result.lr", "result.status", "result.cell", "result.", "a.b", "result.exitCode"}
	if diff := cmp.Diff(want, table.Columns()); diff != "" {
		t.Error(diff)
	}
	if table.Axes()[0] != "matrix.index" {
		t.Error(table.Axes())
	}
	row := slices.Collect(table.Rows())[0]
	if at := slices.Index(want, "a.b"); row[at] != (Value{Number, "7"}) {
		t.Errorf("the later member of a path counts: %+v", row[at])
	}
}

func TestManyObjects(t *testing.T) {
	table := New(nil, Options{})
	log := "{\"step\":1}\nx\n{\"step\":2,\"loss\":3}\n"
	if err := table.Add(Child{Index: 4, Cell: 4, Status: "SUCCEEDED"}, printed(true, log)); err != nil {
		t.Fatal(err)
	}
	if err := table.Add(Child{Index: 5, Cell: 5, Status: "FAILED"}, nil); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := table.WriteCSV(&b); err != nil || b.String() != "index,status,step,loss\n4,SUCCEEDED,1,\n4,SUCCEEDED,2,3\n5,FAILED,,\n" {
		t.Errorf("%q %v", b.String(), err)
	}
}

func TestRefused(t *testing.T) {
	table := New([]string{"lr"}, Options{})
	if err := table.Add(Child{}, nil); err == nil || table.Len() != 0 {
		t.Errorf("a cell without values: %v", err)
	}
	var many strings.Builder
	for i := range MaxKeys {
		fmt.Fprintf(&many, `"step_%d": 1, `, i)
	}
	c := Child{Values: []string{"1"}}
	if err := table.Add(c, printed(false, "{"+strings.TrimSuffix(many.String(), ", ")+"}")); err != nil {
		t.Error(err)
	}
	// One child with too many keys costs only its own results, and takes no column.
	c.Index, c.Cell = 1, 1
	if err := table.Add(c, printed(true, `{"step_1": 2, "one more": 1}`+"\n"+`{"one more": 2}`)); err != nil || table.Len() != 3 {
		t.Errorf("%d rows, %v", table.Len(), err)
	}
	c.Index, c.Cell = 2, 2
	if err := table.Add(c, printed(false, `{"step_1": 3}`)); err != nil || !slices.Equal(table.Crowded(), []string{"child 1"}) {
		t.Errorf("too many keys: %v, %v", table.Crowded(), err)
	}
	var steps []string
	for row := range table.Rows() {
		steps = append(steps, row[4].Text)
	}
	if !slices.Equal(steps, []string{"1", "", "", "3"}) || len(table.Columns()) != 3+MaxKeys {
		t.Errorf("%q in %d columns", steps, len(table.Columns()))
	}
	table.held = maxHeld
	if err := table.Add(c, printed(false, `{"step_1": 1}`)); err == nil || table.Len() != 4 {
		t.Errorf("%d rows, %v", table.Len(), err)
	}
	o := NewOutput(true)
	o.held = maxHeld
	o.Line(`{"a": 1}`)
	if _, err := o.Objects(); err == nil {
		t.Error("more objects than fit are taken")
	}
}

func TestFloat(t *testing.T) {
	for v, want := range map[Value]bool{{Number, "1e3"}: true, {Number, "-0.5"}: true, {Number, "1e999"}: false, {String, "1"}: false, {Absent, ""}: false} {
		if f, ok := v.Float(); ok != want || ok && f == 0 {
			t.Errorf("%+v: %v %v", v, f, ok)
		}
	}
}

func TestKinds(t *testing.T) {
	for text, want := range map[string]Kind{"1": Number, "-1.50": Number, "1e-5": Number, "007": String, "+1": String, ".5": String, "1.": String, " 1": String, "1 ": String,
		"0x1": String, "": String, "-": String, "NaN": String, "true": Bool, "True": String, "null": String, "[]": String} {
		if got := kindOf(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestWhatIsWrittenIsRead: other readers find in CSV and JSON what children printed.
func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := New([]string{"x"}, Options{})
		var axis []string
		for i := range rapid.IntRange(1, 5).Draw(t, "children") {
			axis = append(axis, rapid.OneOf(rapid.String(), rapid.StringMatching(`-?[0-9]{1,3}`)).Draw(t, "x"))
			object, err := json.Marshal(rapid.MapOfN(rapid.String(), value(2), 0, 4).Draw(t, "object"))
			if err != nil {
				t.Fatal(err)
			}
			if err := table.Add(Child{Index: i, Cell: i, Values: axis[i:], Status: "SUCCEEDED"}, printed(false, string(object))); err != nil {
				t.Fatal(err)
			}
		}
		rows := slices.Collect(table.Rows())
		names := table.Columns()
		var b bytes.Buffer
		if err := table.WriteCSV(&b); err != nil {
			t.Fatal(err)
		}
		read, err := csv.NewReader(&b).ReadAll()
		if err != nil || len(read) != len(rows)+1 {
			t.Fatalf("%d records, %v", len(read), err)
		}
		b.Reset()
		if err := table.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		var objects []map[string]json.RawMessage
		if err := json.Unmarshal(b.Bytes(), &objects); err != nil || len(objects) != len(rows) {
			t.Fatalf("%d objects, %v:\n%s", len(objects), err, b.Bytes())
		}
		for i, row := range rows {
			present := 0
			for j, v := range row {
				want := v.Text
				if v.Kind == String && want != "" && strings.ContainsAny(want[:1], "=+-@\t\r") {
					want = "'" + want
				}
				// encoding/csv reads \r\n inside a field as \n
				if got := read[i+1][j]; got != strings.ReplaceAll(want, "\r\n", "\n") {
					t.Fatalf("%s: CSV has %q for %q", names[j], got, v.Text)
				}
				raw, ok := objects[i][names[j]]
				if ok {
					present++
				}
				var s string
				switch {
				case ok != (v.Kind != Absent):
					t.Fatalf("%s: %+v is there: %v", names[j], v, ok)
				case v.Kind == String && (json.Unmarshal(raw, &s) != nil || s != strings.ToValidUTF8(v.Text, "\ufffd")),
					(v.Kind == Number || v.Kind == Bool || v.Kind == JSON) && string(raw) != v.Text,
					v.Kind == Null && string(raw) != "null":
					t.Fatalf("%s: JSON has %s for %+v", names[j], raw, v)
				}
			}
			if present != len(objects[i]) {
				t.Fatalf("row %d has members beyond its columns", i)
			}
		}
	})
}

// Whatever a cell holds, a Markdown table keeps its columns and a text its lines.
func TestCellsStayCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object, _ := json.Marshal(map[string]string{rapid.String().Draw(t, "key"): rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("|\\\n\r\x1b`<_a \u202e")))).Draw(t, "value")})
		table := New(nil, Options{})
		if err := table.Add(Child{Status: "SUCCEEDED"}, printed(false, string(object))); err != nil {
			t.Fatal(err)
		}
		var md, text bytes.Buffer
		if table.WriteMarkdown(&md) != nil || table.WriteText(&text, 12) != nil {
			t.Fatal("not written")
		}
		for _, line := range strings.Split(strings.TrimSuffix(md.String(), "\n"), "\n") {
			bare := strings.ReplaceAll(line, `\\`, "")
			if n := strings.Count(bare, "|") - strings.Count(bare, `\|`); n != 4 {
				t.Fatalf("%d bars in %q", n, line)
			}
		}
		for i, out := range []string{md.String(), text.String()} {
			if strings.Count(out, "\n") != 3-i || strings.ContainsAny(out, "\x1b\r\u202e") {
				t.Fatalf("%q", out)
			}
		}
	})
}

// TestMask: values are masked whole, before characters are escaped or a cell is cut.
func TestMask(t *testing.T) {
	const value = "k_.secret_that_is_long"
	table := New(nil, Options{Mask: func(column, text string) string {
		if column == "token" {
			return strings.ReplaceAll(text, value, "****")
		}
		return text
	}})
	if err := table.Add(Child{0, 0, nil, "SUCCEEDED", nil, ""}, printed(false, `{"token": "`+value+`"}`)); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"markdown": func(b *bytes.Buffer) error { return table.WriteMarkdown(b) },
		"text":     func(b *bytes.Buffer) error { return table.WriteText(b, 12) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); strings.Contains(text, "secret") || !strings.Contains(text, "****") && !strings.Contains(text, `\*\*\*\*`) {
			t.Errorf("%s: %s", name, text)
		}
	}
	var csv bytes.Buffer
	if err := table.WriteCSV(&csv); err != nil || !strings.Contains(csv.String(), value) {
		t.Errorf("data for programs stays: %v, %s", err, csv.String())
	}
}
