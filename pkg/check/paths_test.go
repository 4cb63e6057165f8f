package check

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// paths returns the paths of documents below a directory.
func paths(t *testing.T, documents []Document, below string) (all []string) {
	t.Helper()
	for _, d := range documents {
		rel, err := filepath.Rel(below, d.Path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, filepath.ToSlash(rel))
	}
	return all
}

// tree writes empty files below a new directory.
func tree(t *testing.T, files ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestFindBelow checks which files of a directory are found, in the order of filepath.WalkDir: also below a link to
// the directory, but not below a link in it.
func TestFindBelow(t *testing.T) {
	root := tree(t, "jobs/b/c.json", "jobs/a.json", "jobs/b.json", "jobs/a.txt", "jobs/.hidden/d.json", "other/e.json", "jobs/.f.json")
	want := []string{".f.json", "a.json", "b/c.json", "b.json"}
	jobs := filepath.Join(root, "jobs")
	found, failed := Find([]string{jobs}, nil, JobFiles)
	if got := paths(t, found, jobs); !slices.Equal(got, want) || failed != nil {
		t.Errorf("found %v, %v", got, failed)
	}
	link := filepath.Join(root, "link")
	if err := errors.Join(os.Symlink("jobs", link), os.Symlink("../other", filepath.Join(jobs, "linked"))); err != nil {
		t.Skip(err) // Windows allows links to administrators only
	}
	found, failed = Find([]string{link, filepath.Join(root, "other")}, nil, JobFiles)
	want = []string{"link/.f.json", "link/a.json", "link/b/c.json", "link/b.json", "other/e.json"}
	if got := paths(t, found, root); !slices.Equal(got, want) || failed != nil {
		t.Errorf("through a link: found %v, %v", got, failed)
	}
}
