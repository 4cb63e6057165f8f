package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/local/journal"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// TestOpenRefusesWithoutItsJournal checks that an engine that has lost its journal does not
// report an empty list of jobs.
func TestOpenRefusesWithoutItsJournal(t *testing.T) {
	damages := map[string]func(t *testing.T, path string, data []byte) []byte{
		"is missing": func(t *testing.T, path string, _ []byte) []byte {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			return nil
		},
		"is empty":                   func(*testing.T, string, []byte) []byte { return []byte{} },
		"starts with zeros":          func(_ *testing.T, _ string, data []byte) []byte { return make([]byte, len(data)) },
		"ends within its first line": func(_ *testing.T, _ string, data []byte) []byte { return data[:7] },
		"has no records":             func(*testing.T, string, []byte) []byte { return []byte(journal.Header) },
	}
	traces := map[string]func(t *testing.T, dir string){
		"a log":        func(*testing.T, string) {},
		"executor":     func(t *testing.T, dir string) { onlyTrace(t, dir, "executor") },
		connectionFile: func(t *testing.T, dir string) { onlyTrace(t, dir, connectionFile) },
	}
	for problem, damage := range damages {
		for trace, leave := range traces {
			if problem == "has no records" && trace != "a log" {
				continue // this engine never got a job
			}
			t.Run(problem+" beside "+trace, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "state")
				w := open(t, Options{Dir: dir, Executor: &script{}})
				w.register("work", "1", "64")
				w.submit("work", modeltest.Words("true"))
				w.idle()
				if err := w.engine.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				leave(t, dir)
				path := filepath.Join(dir, "journal")
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if data = damage(t, path, data); data != nil {
					if err := os.WriteFile(path, data, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				for _, readOnly := range []bool{true, false} {
					e, err := Open(Options{Dir: dir, ReadOnly: readOnly, Executor: &script{}})
					if err == nil {
						t.Errorf("read-only %t: the engine opened, with %d jobs", readOnly, len(e.model.BySubmission))
						_ = e.Close(t.Context())
						continue
					}
					for _, part := range []string{path, problem, "restore the file", "mv " + dir} {
						if !strings.Contains(err.Error(), part) {
							t.Errorf("read-only %t: %v does not contain %q", readOnly, err, part)
						}
					}
				}
			})
		}
	}
}

// onlyTrace leaves, besides the journal, only one file of an engine that has run.
func onlyTrace(t *testing.T, dir, name string) {
	t.Helper()
	for _, other := range []string{"logs", "scratch"} {
		if err := os.RemoveAll(filepath.Join(dir, other)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOpenAfterACrashOfTheFirstStart checks that an engine opens if the earlier one died before
// it had a journal: it had acknowledged nothing.
func TestOpenAfterACrashOfTheFirstStart(t *testing.T) {
	for name, data := range map[string]string{"no journal": "", "empty": "", "torn": journal.Header[:5], "zeros": "\x00\x00\x00"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			for _, sub := range []string{dir, filepath.Join(dir, "logs"), filepath.Join(dir, "scratch")} {
				if err := os.Mkdir(sub, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			files := map[string]string{"lock": "1\n", "engine.log": "", "journal": data}
			if name == "no journal" {
				delete(files, "journal")
			}
			for file, text := range files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			open(t, Options{Dir: dir, Executor: &script{}})
		})
	}
}
