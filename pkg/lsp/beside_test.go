package lsp

import (
	"os"
	"path/filepath"
	"testing"
)

const tableJob = `{
  "name": "train",
  "image": "registry.example.com/train:1.4.0",
  "command": ["train", "${{ matrix.lr }}"],
  "array": { "table": "runs.csv" }
}
`

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A table is read together with the document, its problems are in the table, and it is
// read again after a change: on disk, and in the editor.
func TestTableBesideTheDocument(t *testing.T) {
	dir := t.TempDir()
	job, table := uriOf(filepath.Join(dir, "train.json")), filepath.Join(dir, "runs.csv")
	writeFile(t, table, "lr,seed\n0.1\n")
	c := open(t, `{}`, Options{FindPlatform: alone})
	c.didOpen(job, tableJob)
	got := c.diagnostics(uriOf(table), -1)
	if len(got) != 1 || got[0].Code != "table-row" || got[0].Range.Start != (position{1, 0}) {
		t.Fatalf("the short row: %+v", got)
	}
	if got := c.diagnostics(job, 1); len(got) != 0 {
		t.Errorf("the job file has no problem: %+v", got)
	}

	writeFile(t, table, "rate,seed\n0.1,1\n")
	c.notify("workspace/didChangeWatchedFiles", `{"changes":[]}`)
	if got := c.diagnostics(uriOf(table), -1); len(got) != 0 {
		t.Errorf("the row is fixed: %+v", got)
	}
	got = c.diagnostics(job, 1)
	if len(got) != 1 || got[0].Code != "matrix-reference" || got[0].Range.Start != (position{3, 24}) {
		t.Fatalf("a column that is gone: %+v", got)
	}

	c.didOpen(uriOf(table), "lr,seed\n0.1,1\n")
	if got := c.diagnostics(job, 1); len(got) != 0 {
		t.Errorf("the table in the editor counts: %+v", got)
	}
}

// A text that was never saved has no directory for relative paths.
func TestTableOfAnUnsavedText(t *testing.T) {
	c := open(t, `{}`, Options{FindPlatform: alone})
	c.didOpen("untitled:Untitled-1", tableJob)
	if got := c.diagnostics("untitled:Untitled-1", 1); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}
