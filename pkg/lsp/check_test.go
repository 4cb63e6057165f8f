package lsp

import (
	"io"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/check"
	"github.com/batchctl/batchctl/pkg/check/checktest"
	"github.com/batchctl/batchctl/pkg/document"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/lint"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// TestSameAsValidate opens the documents of a directory in an editor, and checks that the
// problems are those of `batchctl validate` for the directory.
func TestSameAsValidate(t *testing.T) {
	testtool.ShortChecks(t, 100)
	corpus := checktest.ReadCorpus()
	total := 0
	rapid.Check(t, func(t *rapid.T) {
		tree := corpus.Draw(t, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") })
		defer os.RemoveAll(tree.Dir)
		slices.Sort(tree.Paths) // the editor's order
		documents := check.Named(tree.Paths...)
		for i := range documents {
			documents[i].Named = false // an editor also opens files of other tools
		}
		want := check.New(check.Options{FindPlatform: document.FindPlatform}).Check(documents).Problems

		s := newServer(io.Discard, Options{Rules: lint.Rules})
		for _, path := range tree.Paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			d := didOpenParams{}
			d.TextDocument.URI, d.TextDocument.Text = uriOf(path), string(text)
			if _, err := s.didOpen(d); err != nil {
				t.Fatal(err)
			}
		}
		s.check()
		var got diag.List
		for _, found := range s.found {
			got = append(got, found...)
		}
		got.Sort()
		if d := cmp.Diff(short(want), short(got)); d != "" {
			t.Errorf("-validate +editor:\n%s", d)
		}
		total += len(want)
	})
	if total == 0 {
		t.Error("no document has a problem")
	}
}

func short(l diag.List) []string {
	var out []string
	for _, d := range l {
		out = append(out, d.Error())
	}
	return out
}

// TestOneMistakeIsOneProblem checks a value that both the schema and a rule reject.
func TestOneMistakeIsOneProblem(t *testing.T) {
	c := open(t, `{}`, Options{FindPlatform: alone, Rules: lint.Rules})
	c.didOpen(jobURI, `{"jobName": "a", "jobDefinition": "d"}`)
	problems := c.diagnostics(jobURI, 1)
	if len(problems) != 1 || problems[0].Code == document.RuleMissingMember {
		t.Errorf("got %+v", problems)
	}
}
