package attempt

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// TestScratch checks directories under random tasks: no two tasks have one directory at a time,
// each starts with an empty one, and the files of a task stay under its name.
func TestScratch(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		base := t.TempDir()
		root, err := os.OpenRoot(base)
		if err != nil {
			r.Fatal(err)
		}
		defer root.Close()
		if err := root.Mkdir("scratch", 0o700); err != nil {
			r.Fatal(err)
		}
		s := &Scratch{root: root}
		tasks := []string{"a", "b", "c", "d"}
		inUse, left := map[string]string{}, map[string]bool{}
		for range rapid.IntRange(1, 30).Draw(r, "steps") {
			one := rapid.SampledFrom(tasks).Draw(r, "task")
			dir, busy := inUse[one]
			if !busy {
				dir, err := s.take(one)
				if err != nil {
					r.Fatal(err)
				}
				for other, d := range inUse {
					if d == dir {
						r.Fatalf("%s and %s share %s", one, other, dir)
					}
				}
				entries, err := os.ReadDir(filepath.Join(base, dir))
				if err != nil || (len(entries) > 0) != left[one] || filepath.Base(dir) != one {
					r.Fatalf("%s gets %s with %d entries, %v; it left something: %v", one, dir, len(entries), err, left[one])
				}
				inUse[one] = dir
				continue
			}
			if rapid.Bool().Draw(r, "writes") {
				left[one] = true
				if err := os.WriteFile(filepath.Join(base, dir, "result"), []byte(one), 0o600); err != nil {
					r.Fatal(err)
				}
			}
			s.leave(dir)
			delete(inUse, one)
		}
		for one := range left {
			if text, err := os.ReadFile(filepath.Join(base, "scratch", one, "result")); err != nil || string(text) != one {
				r.Errorf("what %s left is lost: %q, %v", one, text, err)
			}
		}
	})
}

// TestScratchAfterChange checks that a directory is not given to another task if its task has
// changed it.
func TestScratchAfterChange(t *testing.T) {
	for name, spoil := range map[string]func(base, dir string) error{
		"closed": func(base, dir string) error { return os.Chmod(filepath.Join(base, dir), 0o500) },
		"open":   func(base, dir string) error { return os.Chmod(filepath.Join(base, dir), 0o777|os.ModeSticky) },
		"link": func(base, dir string) error {
			return errors.Join(os.Remove(filepath.Join(base, dir)), os.Mkdir(filepath.Join(base, "empty"), 0o700), os.Symlink("../empty", filepath.Join(base, dir)))
		},
		"gone": func(base, dir string) error { return os.Remove(filepath.Join(base, dir)) },
	} {
		base := t.TempDir()
		root, err := os.OpenRoot(base)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if err := root.Mkdir("scratch", 0o700); err != nil {
			t.Fatal(err)
		}
		s := &Scratch{root: root}
		for i, id := range []string{"first", "second"} {
			dir, err := s.take(id)
			if err != nil {
				t.Fatal(err)
			}
			if info, err := root.Lstat(dir); err != nil || info.Mode() != os.ModeDir|0o700 {
				t.Errorf("%s: the %s task gets %v, %v", name, id, info.Mode(), err)
			}
			if i == 0 {
				if err := spoil(base, dir); err != nil {
					t.Fatal(err)
				}
			}
			s.leave(dir)
		}
	}
}
