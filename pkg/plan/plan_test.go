package plan

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
)

var update = flag.Bool("update", false, "rewrite the expected files in testdata")

func load(t *testing.T, file string, p *document.Platform) *document.File {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, diags := document.Load(diag.NewSource(filepath.Base(file), string(text)), document.Options{Platform: p})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	return f
}

// cases are the inputs in testdata: name.json, with name.1.json and so on for
// further files of the same command line, and name.platform.json.
func cases(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range all {
		if name := strings.TrimSuffix(filepath.Base(f), ".json"); !strings.Contains(name, ".") {
			names = append(names, name)
		}
	}
	if len(names) < 10 {
		t.Fatalf("only %d inputs in testdata", len(names))
	}
	return names
}

func build(t *testing.T, name string) (*Plan, diag.List) {
	t.Helper()
	var platform *document.Platform
	if f := "testdata/" + name + ".platform.json"; exists(f) {
		platform = load(t, f, nil).Platform
	}
	files := []*document.File{load(t, "testdata/"+name+".json", platform)}
	for i := 1; exists(fmt.Sprintf("testdata/%s.%d.json", name, i)); i++ {
		files = append(files, load(t, fmt.Sprintf("testdata/%s.%d.json", name, i), platform))
	}
	return Build(files, platform, Options{})
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// Every input gives the plan in name.golden.json, or the lines in name.out.
func TestGolden(t *testing.T) {
	for _, name := range cases(t) {
		t.Run(name, func(t *testing.T) {
			p, problems := build(t, name)
			if (p == nil) != problems.HasErrors() {
				t.Fatalf("plan %v with problems %v", p, problems)
			}
			if p == nil {
				golden(t, "testdata/"+name+".out", lines(problems))
				return
			}
			text, err := p.JSON(nil)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "testdata/"+name+".golden.json", short(text))
		})
	}
}

func lines(l diag.List) string {
	var b strings.Builder
	l.Sort()
	for _, d := range l {
		fmt.Fprintf(&b, "%s\n  %s\n", d.Error(), d.Hint)
	}
	return b.String()
}

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
