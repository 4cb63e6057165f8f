// Package checktest generates directories of documents, for tests of programs that check
// documents.
package checktest

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/lint/examples"
)

// Corpus holds documents of every kind, with and without problems, and platform files.
type Corpus struct{ documents, platforms examples.Files }

// ReadCorpus returns the documents and platform files of the examples of all rules.
func ReadCorpus() *Corpus {
	var c Corpus
	for _, e := range examples.All() {
		for _, run := range []examples.Files{e.Good, e.Bad} {
			if platform, ok := run.Platform(); ok {
				c.platforms = append(c.platforms, platform)
			}
			for _, f := range run.Documents() {
				if filepath.Ext(f.Name) == ".json" {
					f.Name = e.Rule + "-" + f.Name
					c.documents = append(c.documents, f)
				}
			}
		}
	}
	return &c
}

// Tree is a directory with documents and platform files.
type Tree struct {
	// Dir is the directory, to be removed by the caller.
	Dir string
	// Paths are the documents, as absolute paths in a random order. Platform files are not among them.
	Paths []string
	// Ambiguous reports whether two documents register the same job definition, so that their order matters.
	Ambiguous bool
}

// Choose returns a random number below n.
type Choose func(n int) int

// fataler is a test that can fail at once: *testing.T, or that of a property test.
type fataler interface{ Fatal(args ...any) }

// Draw writes a few documents of the corpus into a new directory and two below it, each of which may have a
// platform file.
func (c *Corpus) Draw(t fataler, choose Choose) *Tree {
	dir, err := os.MkdirTemp("", "check")
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	tree := &Tree{Dir: dir}
	directories := []string{"", "a", filepath.Join("a", "b")}
	for _, below := range directories {
		if err := os.MkdirAll(filepath.Join(dir, below), 0o755); err != nil {
			t.Fatal(err)
		}
		if choose(2) == 1 {
			tree.write(t, filepath.Join(below, document.PlatformFile), c.platforms[choose(len(c.platforms))].Text)
		}
	}
	registered := map[string]bool{}
	for range 1 + choose(6) {
		from := c.documents[choose(len(c.documents))]
		to := filepath.Join(directories[choose(len(directories))], from.Name)
		if slices.Contains(tree.Paths, filepath.Join(dir, to)) {
			continue
		}
		src := tree.write(t, to, from.Text)
		tree.Paths = append(tree.Paths, filepath.Join(dir, to))
		file, _ := document.Load(src, document.Options{})
		if file == nil {
			continue
		}
		for _, job := range file.Jobs {
			name := job.Register.Get("jobDefinitionName").Str()
			tree.Ambiguous = tree.Ambiguous || name != "" && registered[name]
			registered[name] = true
		}
	}
	return tree
}

// write writes a file below the directory, and returns its text.
func (tree *Tree) write(t fataler, name, text string) *diag.Source {
	if err := os.WriteFile(filepath.Join(tree.Dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return diag.NewSource(name, text)
}
