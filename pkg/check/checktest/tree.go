// Package checktest draws directories of documents for the tests of everything that checks documents.
package checktest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/spec"
)

// Corpus is documents of every kind, with and without problems, and platform files.
type Corpus struct{ documents, platforms []string }

// ReadCorpus returns the documents that the rules are tested with. The directory is that of package
// lint's test data, seen from the test.
func ReadCorpus(t testing.TB, dir string) *Corpus {
	t.Helper()
	var c Corpus
	for _, kind := range []string{"ok", "err"} {
		paths, err := filepath.Glob(filepath.Join(dir, kind, "*.json"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no documents in %s: %v", dir, err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, ".platform.json") {
				c.platforms = append(c.platforms, path)
			} else {
				c.documents = append(c.documents, path)
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

// Draw writes a few documents of the corpus into a new directory and two below it, each of which may have a
// platform file.
func (c *Corpus) Draw(t *rapid.T) *Tree {
	dir, err := os.MkdirTemp("", "check")
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	tree := &Tree{Dir: dir}
	for _, below := range []string{"", "a", filepath.Join("a", "b")} {
		if err := os.MkdirAll(filepath.Join(dir, below), 0o755); err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "governed") {
			tree.copy(t, rapid.SampledFrom(c.platforms).Draw(t, "platform"), filepath.Join(below, spec.PlatformFile))
		}
	}
	registered := map[string]bool{}
	for range rapid.IntRange(1, 6).Draw(t, "documents") {
		from := rapid.SampledFrom(c.documents).Draw(t, "document")
		to := filepath.Join(rapid.SampledFrom([]string{"", "a", filepath.Join("a", "b")}).Draw(t, "below"), filepath.Base(from))
		if slices.Contains(tree.Paths, filepath.Join(dir, to)) {
			continue
		}
		src := tree.copy(t, from, to)
		tree.Paths = append(tree.Paths, filepath.Join(dir, to))
		file, _ := spec.Load(src, spec.Options{})
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

func (tree *Tree) copy(t *rapid.T, from, to string) *diag.Source {
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree.Dir, to), text, 0o644); err != nil {
		t.Fatal(err)
	}
	return diag.NewSource(to, string(text))
}
