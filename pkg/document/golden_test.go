package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/results"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// An archive in testdata has the document NAME.json, in some cases a platform file and the
// files that the document names, and the result as "want". Each document can also read the
// tables of tables.txtar and these, which are not text.
var notText = map[string]string{"tables/binary.txt": "echo 1\n\x00\n", "tables/latin1.csv": "lr\n\xff\n"}

// open loads the document of an archive. A platform file supplies the defaults.
func open(t *testing.T, a *golden.Archive) (*File, diag.List) {
	t.Helper()
	tables := golden.Read(t, "testdata/tables.txtar")
	t.Chdir(t.TempDir())
	a.Extract(t, ".")
	tables.Extract(t, ".")
	for name, text := range notText {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file := a.Name + ".json"
	o := Options{Read: SiblingReader(file), Find: func(_, path string) (Found, error) { return FindBeside(file, path) }}
	if a.Has(PlatformFile) {
		f, diags := Load(diag.NewSource(PlatformFile, a.Text(t, PlatformFile)), Options{})
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		o.Platform = f.Platform
	}
	return Load(diag.NewSource(file, a.Text(t, file)), o)
}

// documents returns the texts of the documents in archives of testdata.
func documents(t testing.TB, archives ...string) (all []string) {
	t.Helper()
	for _, archive := range archives {
		for _, a := range golden.Cases(t, "testdata/"+archive+".txtar") {
			for _, name := range a.Names("*.json") {
				all = append(all, a.Text(t, name))
			}
		}
	}
	return all
}

// TestDiagnostics checks the messages for each mistake in testdata.
func TestDiagnostics(t *testing.T) {
	for _, a := range golden.Cases(t, "testdata/problems.txtar") {
		t.Run(a.Name, func(t *testing.T) {
			_, diags := open(t, a)
			var b strings.Builder
			for _, d := range diags {
				if strings.HasPrefix(d.Rule, "json-") {
					continue // package jsontree has its own golden files
				}
				fmt.Fprintln(&b, d.Error())
				if d.Hint != "" {
					fmt.Fprintf(&b, "  hint: %s\n", d.Hint)
				}
			}
			a.Want(t, "want", b.String())
		})
	}
}

// TestLower checks the requests for each case in testdata/lower.txtar.
func TestLower(t *testing.T) {
	for _, a := range golden.Cases(t, "testdata/lower.txtar") {
		t.Run(a.Name, func(t *testing.T) {
			f, diags := open(t, a)
			if diags.HasErrors() {
				t.Error(diags)
			}
			a.Want(t, "want", requests(t, f))
		})
	}
}

// sweepNode returns a sweep as JSON, without its empty members.
func sweepNode(t *testing.T, s *sweep.Sweep) *jsontree.Node {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := jsontree.Parse(diag.NewSource("sweep", string(text)))
	return filter(n, func(m *jsontree.Node) bool {
		return m.Kind != jsontree.Null && m.Text != "" && m.Text != "0" && m.Text != "false" || m.Len() > 0
	})
}

// requests prints the jobs of a file as one JSON document.
func requests(t *testing.T, f *File) string {
	t.Helper()
	var b bytes.Buffer
	list := jsontree.NewArray(nil)
	for _, j := range f.Jobs {
		o := jsontree.NewObject(nil)
		o.Set("RegisterJobDefinition", j.Register.Clone())
		o.Set("SubmitJob", j.Submit.Clone())
		after := jsontree.NewArray(nil)
		for _, d := range j.DependsOn {
			after.Append(jsontree.NewString(strings.TrimSpace(d.Job+" "+d.Type), nil))
		}
		if after.Len() > 0 {
			o.Set("after", after)
		}
		earlier := jsontree.NewArray(nil)
		for _, d := range j.Earlier {
			earlier.Append(jsontree.NewString(strings.TrimSpace(d.Job+" "+d.Type), nil))
		}
		if earlier.Len() > 0 {
			o.Set("earlier", earlier)
		}
		if j.When != "" {
			o.Set("when", jsontree.NewString(j.When, nil))
		}
		if j.Sweep != nil {
			o.Set("sweep", sweepNode(t, j.Sweep))
		}
		if len(j.Metrics) > 0 {
			o.Set("metrics", tree(results.FormatMetrics(j.Metrics)))
		}
		if len(j.Rungs) > 0 {
			o.Set("onFailure", tree(j.Ladder(strings.ToUpper).Format()))
		}
		for _, receiver := range j.Notify {
			o.Set("notify", jsontree.NewString(receiver, nil))
		}
		if j.Measure != nil {
			o.Set("measure", tree("true"))
		}
		if d := j.Document(); d != nil {
			o.Set("stage", tree(StageText(d)))
		}
		list.Append(o)
	}
	for _, request := range f.Requests {
		o := jsontree.NewObject(nil)
		o.Set(string(f.Kind), request.Clone())
		list.Append(o)
	}
	if err := json.Indent(&b, list.AppendJSON(nil), "", "  "); err != nil {
		t.Fatal(err)
	}
	return b.String() + "\n"
}
