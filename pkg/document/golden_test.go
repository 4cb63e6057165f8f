package document

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
)

var update = flag.Bool("update", false, "rewrite the expected files in testdata")

// golden compares got with the file, or rewrites the file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}

// inputs returns the JSON files of a directory that are not expectations.
func inputs(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		if !strings.HasSuffix(f, ".golden.json") && !strings.HasSuffix(f, ".platform.json") {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		t.Fatalf("no input in %s", dir)
	}
	return out
}

// open loads a file. A platform file of the same name supplies the defaults.
func open(t *testing.T, file string) (*File, diag.List) {
	t.Helper()
	o := Options{Read: Beside(file), Find: func(_, path string) (Found, error) { return FindBeside(file, path) }}
	beside := strings.TrimSuffix(file, ".json") + ".platform.json"
	if text, err := os.ReadFile(beside); err == nil {
		f, diags := Load(diag.NewSource(filepath.Base(beside), string(text)), Options{})
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		o.Platform = f.Platform
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return Load(diag.NewSource(filepath.Base(file), string(text)), o)
}

// TestDiagnostics holds every message for every slip in testdata.
func TestDiagnostics(t *testing.T) {
	for _, file := range inputs(t, "testdata") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, diags := open(t, file)
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
			golden(t, strings.TrimSuffix(file, ".json")+".out", b.String())
		})
	}
}

// TestLower holds the requests that every file in testdata/lower stands for.
func TestLower(t *testing.T) {
	for _, file := range inputs(t, "testdata/lower") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f, diags := open(t, file)
			if len(diags) > 0 {
				t.Error(diags)
			}
			golden(t, strings.TrimSuffix(file, ".json")+".golden.json", requests(t, f))
		})
	}
}

// sweepNode is a sweep as JSON, without what it lacks.
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
