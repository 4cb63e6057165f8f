package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// stagePlaces are those of the files that the cases name.
var stagePlaces = Options{Staging: "s3://staging/${TEAM}/", Published: map[string]Published{
	"conf/config.yaml": {Path: "conf/config.yaml", URL: "s3://staging/${TEAM}/files/0001", SHA256: strings.Repeat("a", 64), Files: 1, Bytes: 12},
	"data":             {Path: "data", URL: "s3://staging/${TEAM}/files/0002", Tree: true, Files: 3, Bytes: 4096},
	"run.sh":           {Path: "run.sh", URL: "s3://staging/${TEAM}/files/0003", SHA256: strings.Repeat("b", 64), Executable: true, Files: 1, Bytes: 9},
}}

// staged is the plan of a file, beside a file of definitions.
func staged(t *testing.T, a *golden.Archive, file string, o Options) (*Plan, diag.List) {
	t.Helper()
	return Build([]*document.File{load(t, a, file, nil), load(t, a, "task.json", nil)}, nil, o)
}

func stageCases(t *testing.T) *golden.Archive { return golden.Read(t, "testdata/stage.txtar") }

// TestStaged holds the requests of jobs with inputs and outputs.
func TestStaged(t *testing.T) {
	a := stageCases(t)
	made, problems := staged(t, a, "all.json", stagePlaces)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	text, err := made.JSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	a.Want(t, "all.want", string(text))
}

// TestMeasured holds the requests of jobs with metrics: a variable of the submission, and no other member.
func TestMeasured(t *testing.T) {
	a := stageCases(t)
	made, problems := staged(t, a, "metrics.json", stagePlaces)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	text, err := made.JSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	a.Want(t, "metrics.want", string(text))
}

// TestBadStaged holds why jobs with inputs, outputs or metrics cannot be planned.
func TestBadStaged(t *testing.T) {
	a := stageCases(t)
	for _, file := range a.Names("bad/*.json") {
		t.Run(file, func(t *testing.T) {
			o := stagePlaces
			if strings.Contains(file, "no-place") {
				o.Staging = ""
			}
			p, problems := staged(t, a, file, o)
			if p != nil || !problems.HasErrors() {
				t.Fatalf("plan %v with problems %v", p, problems)
			}
			a.Want(t, strings.TrimSuffix(file, ".json")+".want", lines(problems))
		})
	}
}

// TestStagedPlansAreEqual: the requests of a job follow from its file and its files'
// content alone, so that its definition is registered once.
func TestStagedPlansAreEqual(t *testing.T) {
	var texts []string
	for range 2 {
		made, problems := staged(t, stageCases(t), "all.json", stagePlaces)
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
