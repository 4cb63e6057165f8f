package document

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// soundTable checks what is true of every table: each problem has a location in it, and
// without problems there are rows that match the header.
func soundTable(t interface {
	Helper()
	Fatalf(string, ...any)
}, src *diag.Source) (names []string, rows [][]string, ok bool) {
	t.Helper()
	names, rows, diags := readTable(src)
	for _, d := range diags {
		if d.Source != src || !within(src, d.Span) || d.Rule == "" || strings.Contains(d.Message, "\n") {
			t.Fatalf("%q\n%+v", src.Text, d)
		}
	}
	if len(diags) > 0 {
		return nil, nil, false
	}
	if len(names) == 0 || len(rows) == 0 || slices.ContainsFunc(names, not(sweep.ValidName)) {
		t.Fatalf("%q: names %q, %d rows", src.Text, names, len(rows))
	}
	if _, _, clash := sweep.Clash(names); clash {
		t.Fatalf("%q: two names of one variable: %q", src.Text, names)
	}
	for _, row := range rows {
		if len(row) != len(names) || slices.ContainsFunc(row, not(sweep.ValidValue)) {
			t.Fatalf("%q: row %q", src.Text, row)
		}
	}
	return names, rows, true
}

func not(f func(string) bool) func(string) bool { return func(s string) bool { return !f(s) } }

// FuzzTable reads any text in each format. A CSV file that the standard library accepts
// has the same values.
func FuzzTable(f *testing.F) {
	tables := golden.Read(f, "testdata/tables.txtar")
	for _, name := range tables.Names("tables/*") {
		f.Add(tables.Text(f, name))
	}
	for _, text := range notText {
		f.Add(text)
	}
	f.Add("a\n\"x \"\"y\"\" z\"\n\"\"\n")
	f.Add("a,b\n\"1\",\"2\"\r\n3,\r\n,\n")
	f.Fuzz(func(t *testing.T, text string) {
		soundTable(t, diag.NewSource("t.json", text))
		soundTable(t, diag.NewSource("t.tsv", text))
		names, rows, ok := soundTable(t, diag.NewSource("t.csv", text))
		if !ok || strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\r") {
			return // the library drops a carriage return at the very end
		}
		r := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
		want, err := r.ReadAll()
		if err != nil {
			return // the library rejects a quote in a value without quotes
		}
		if d := cmp.Diff(want, append([][]string{names}, rows...)); d != "" {
			t.Errorf("%q (-library +ours):\n%s", text, d)
		}
	})
}

// TestTableIsReadAsWritten writes tables with necessary and with unnecessary quotes, and
// as JSON, and reads them again.
func TestTableIsReadAsWritten(t *testing.T) {
	value := rapid.StringOf(rapid.SampledFrom([]rune("ab01 .,\t\"'#é\\{}:"))).Filter(sweep.ValidValue)
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z_][a-z0-9_]{0,5}`), 1, 4, rapid.ID).Draw(t, "names")
		rows := rapid.SliceOfN(rapid.SliceOfN(value, len(names), len(names)), 1, 5).Draw(t, "rows")
		for ending, separator := range map[string]string{".csv": ",", ".tsv": "\t"} {
			var b strings.Builder
			b.WriteString(rapid.SampledFrom([]string{"", "\ufeff", "\n\r\n"}).Draw(t, "before"))
			for _, row := range append([][]string{names}, rows...) {
				for i, v := range row {
					if i > 0 {
						b.WriteString(separator)
					}
					if v == "" && len(row) == 1 || strings.Contains(v, separator) || strings.HasPrefix(v, `"`) || rapid.Bool().Draw(t, "quoted") {
						v = `"` + strings.ReplaceAll(v, `"`, `""`) + `"`
					}
					b.WriteString(v)
				}
				b.WriteString(rapid.SampledFrom([]string{"\n", "\r\n", "\n\n"}).Draw(t, "end"))
			}
			holdTable(t, diag.NewSource("t"+ending, b.String()), names, rows)
		}
		holdTable(t, diag.NewSource("t.json", asJSON(t, names, rows)), names, rows)
	})
}

func asJSON(t *rapid.T, names []string, rows [][]string) string {
	list := jsontree.NewArray(nil)
	for r, row := range rows {
		order := rapid.Permutation(names).Draw(t, "order")
		if r == 0 {
			order = names
		}
		o := jsontree.NewObject(nil)
		for _, name := range order {
			o.Set(name, jsontree.NewString(row[slices.Index(names, name)], nil))
		}
		list.Append(o)
	}
	return string(list.AppendJSON(nil))
}

func holdTable(t *rapid.T, src *diag.Source, names []string, rows [][]string) {
	gotNames, gotRows, diags := readTable(src)
	if len(diags) > 0 {
		t.Fatalf("%q: %v", src.Text, diags)
	}
	if d := cmp.Diff(append([][]string{names}, rows...), append([][]string{gotNames}, gotRows...)); d != "" {
		t.Fatalf("%s %q (-want +got):\n%s", src.Name, src.Text, d)
	}
}

func TestTooManyRows(t *testing.T) {
	rows := strings.Repeat("1\n", sweep.MaxCells)
	if _, got, diags := readTable(diag.NewSource("t.csv", "a\n"+rows)); len(got) != sweep.MaxCells || len(diags) > 0 {
		t.Errorf("%d rows, %v", len(got), diags)
	}
	_, _, diags := readTable(diag.NewSource("t.csv", "a\n"+rows+"2\n3\n"))
	if len(diags) != 1 || diags[0].Rule != RuleArrayCells || diags[0].Span.Start != len("a\n"+rows) {
		t.Errorf("%v", diags)
	}
}

// Numbers in JSON keep their spelling.
func TestNumbersAsWritten(t *testing.T) {
	_, rows, diags := readTable(diag.NewSource("t.json", `[{"a": 0.10, "b": 1E3, "c": 12345678901234567890, "d": false}]`))
	want, _ := json.Marshal([][]string{{"0.10", "1E3", "12345678901234567890", "false"}})
	if got, _ := json.Marshal(rows); string(got) != string(want) || len(diags) > 0 {
		t.Errorf("%s %v", got, diags)
	}
}

func TestBeside(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"runs.csv": "a\n1\n", "lists/commands.txt": "true\n"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := SiblingReader(filepath.Join(dir, "job.json"))
	for path, want := range map[string]string{"runs.csv": "a\n1\n", "./lists/commands.txt": "true\n", filepath.Join(dir, "runs.csv"): "a\n1\n"} {
		src, err := read(path)
		if err != nil || src.Text != want || !filepath.IsAbs(src.Name) {
			t.Errorf("%s: %v %v", path, src, err)
		}
	}
	for path, want := range map[string]string{
		"run.csv":           `no such file, write "runs.csv"`,
		"lists/command.txt": `no such file, write "lists/commands.txt"`,
		"other.csv":         "no such file, write the path relative to the directory of this file",
		"lists":             "is a directory, ",
	} {
		if _, err := read(path); err == nil || fmt.Sprintf("%v, %s", err, hintOf(err)) != want {
			t.Errorf("%s: %v, %s; want %s", path, err, hintOf(err), want)
		}
	}
	outside := filepath.Join(t.TempDir(), "secret.csv")
	if err := os.WriteFile(outside, []byte("a\n1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.csv")); err != nil {
		t.Log(err) // creating a link may need a permission
	}
	for _, path := range []string{outside, "../secret.csv", "link.csv", "lists/../../secret.csv"} {
		if src, err := read(path); err == nil || path == outside && err != errOutside {
			t.Errorf("%s: %v %v", path, src, err)
		}
	}
	t.Chdir(dir)
	if src, err := SiblingReader("-")("runs.csv"); err != nil || src.Name != "runs.csv" {
		t.Errorf("beside standard input: %v %v", src, err)
	}
}
