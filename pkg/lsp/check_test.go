package lsp

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/lint"
	"github.com/batchctl/batchctl/pkg/spec"
)

// TestSameAsValidate holds that the editor and `batchctl validate` find the same
// in every file that the rules are tested with.
func TestSameAsValidate(t *testing.T) {
	files, err := filepath.Glob("../lint/testdata/*/*.json")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	total := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		src := diag.NewSource("/jobs/"+filepath.Base(file), string(text))
		if spec.Recognize(src) != spec.Ours {
			continue
		}
		loaded, want := spec.Load(src, spec.Options{Read: spec.Beside(src.Name), Find: spec.FindBeside})
		want = lint.Settle(append(want, lint.Check([]*spec.File{loaded}, nil, lint.Rules())...))
		want.Sort()

		s := newServer(io.Discard, Options{FindPlatform: alone})
		d := didOpenParams{}
		d.TextDocument.URI, d.TextDocument.Text = uriOf(src.Name), string(text)
		if _, err := s.didOpen(d); err != nil {
			t.Fatal(err)
		}
		s.check()
		if d := cmp.Diff(short(want), short(s.found[uriOf(src.Name)])); d != "" {
			t.Errorf("%s (-validate +editor):\n%s", file, d)
		}
		total += len(want)
	}
	if total == 0 {
		t.Error("no file has a problem")
	}
}

func short(l diag.List) []string {
	var out []string
	for _, d := range l {
		out = append(out, d.Error())
	}
	return out
}

// TestOneMistakeIsOneProblem has a value that the schema and a rule refuse.
func TestOneMistakeIsOneProblem(t *testing.T) {
	c := open(t, `{}`, Options{FindPlatform: alone, Rules: lint.Rules})
	c.didOpen(jobURI, `{"jobName": "a", "jobDefinition": "d"}`)
	problems := c.diagnostics(jobURI, 1)
	if len(problems) != 1 || problems[0].Code == spec.RuleMissingMember {
		t.Errorf("got %+v", problems)
	}
}
