package forecastpages

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestJobFiles(t *testing.T) {
	const job = `{ "name": "hello", "image": "busybox:1.36", "command": ["true"], "resources": { "vcpus": 1, "memory": "1 GiB" } }`
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.json"), []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.json", "b/c/a.json", "b/c/d/deep.json", ".git/a.json", "node_modules/a.json", "a.JSON", "a.txt", "-a.json", "batchctl.json"} {
		write(name, job)
	}
	write("large.json", job+strings.Repeat(" ", largestFile))
	for i, text := range []string{"", "[]", "{}", "null", "7", "{", `{"title":"CPU and GPU","comparison":{"base":{"name":"cpu"},"pairs":[{"title":"gemm"}]},"notes":["a note"]}`,
		`{"kind":"ecs","system":"Amazon Linux","gpu":"absent","findings":[{"check":"driver","severity":"error"}]}`, `{"name":"fair","fairsharePolicy":{"shareDecaySeconds":60}}`, `{"shareDecaySeconds":60}`, `{"jobQueues":[]}`,
		`{"jobQueueName":"q","state":"ENABLED","priority":1,"computeEnvironmentOrder":[]}`} {
		write(fmt.Sprintf("none%d.json", i), text)
	}
	for _, link := range [][2]string{{outside, "link"}, {filepath.Join(outside, "secret.json"), "link.json"}, {dir, "loop"}} {
		if err := os.Symlink(link[0], filepath.Join(dir, link[1])); err != nil {
			t.Skip("this system has no symbolic links")
		}
	}
	want := []string{"a.json", "b/c/a.json"}
	if found := jobFiles(dir); !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
	for _, name := range []string{"nope", "a.json"} {
		if found := jobFiles(filepath.Join(dir, name)); found != nil {
			t.Errorf("%s: found %q", name, found)
		}
	}
	if os.Geteuid() != 0 {
		write("closed/a.json", job)
		if err := os.Chmod(filepath.Join(dir, "closed"), 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "closed"), 0o700) })
		if found := jobFiles(dir); !slices.Equal(found, want) {
			t.Errorf("with a directory that cannot be read: %q", found)
		}
	}
	// Of many files, the first are read.
	for i := range mostFiles {
		write(fmt.Sprintf("many/%03d.json", i), "{}")
	}
	write("many/zz.json", job)
	if found := jobFiles(filepath.Join(dir, "many")); found != nil {
		t.Errorf("of many files: %q", found)
	}
}
