package plan

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
)

// stagePlaces are those of the files that the cases name.
var stagePlaces = Options{Staging: "s3://staging/${TEAM}/", Published: map[string]Published{
	"conf/config.yaml": {Path: "conf/config.yaml", URL: "s3://staging/${TEAM}/files/0001", SHA256: strings.Repeat("a", 64), Files: 1, Bytes: 12},
	"data":             {Path: "data", URL: "s3://staging/${TEAM}/files/0002", Tree: true, Files: 3, Bytes: 4096},
	"run.sh":           {Path: "run.sh", URL: "s3://staging/${TEAM}/files/0003", SHA256: strings.Repeat("b", 64), Executable: true, Files: 1, Bytes: 9},
}}

// staged is the plan of a file, beside a file of definitions.
func staged(t *testing.T, file string, o Options) (*Plan, diag.List) {
	t.Helper()
	var files []*document.File
	for _, name := range []string{file, "testdata/stage/definitions/task.json"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, problems := document.Load(diag.NewSource(filepath.Base(name), string(text)), document.Options{})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		files = append(files, f)
	}
	return Build(files, nil, o)
}

// TestStaged holds the requests of jobs with inputs and outputs.
func TestStaged(t *testing.T) {
	made, problems := staged(t, "testdata/stage/all.json", stagePlaces)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	text, err := made.JSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/stage/all.golden.json", string(text))
}

// TestBadStaged holds why jobs with inputs and outputs cannot be planned.
func TestBadStaged(t *testing.T) {
	files, err := filepath.Glob("testdata/stage/bad/*.json")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			o := stagePlaces
			if strings.Contains(file, "no-place") {
				o.Staging = ""
			}
			p, problems := staged(t, file, o)
			if p != nil || !problems.HasErrors() {
				t.Fatalf("plan %v with problems %v", p, problems)
			}
			golden(t, strings.TrimSuffix(file, ".json")+".out", lines(problems))
		})
	}
}

// TestStagedPlansAreEqual: the requests of a job follow from its file and its files'
// content alone, so that its definition is registered once.
func TestStagedPlansAreEqual(t *testing.T) {
	var texts []string
	for range 2 {
		made, problems := staged(t, "testdata/stage/all.json", stagePlaces)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		text, err := made.JSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	if len(slices.Compact(texts)) != 1 {
		t.Error("two plans of one file differ")
	}
}
