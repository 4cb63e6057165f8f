//go:build unix

package cli

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// TestPreCommit runs the hook in pre-commit itself, which clones the hook's repository at a tag.
func TestPreCommit(t *testing.T) {
	testtool.Works(t, "pre-commit", "--version")
	testtool.Need(t, "git", "curl", "tar", "awk")
	served := &releases{files: map[string][]byte{}}
	for _, version := range []string{"v1.2.3", "v1.10.0"} {
		served.add(t, version)
	}
	server := httptest.NewServer(served)
	t.Cleanup(server.Close)
	own, err := exec.LookPath("batchctl") // testscript put it there
	if err != nil {
		t.Fatal(err)
	}
	var path []string
	for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
		if folder != filepath.Dir(own) {
			path = append(path, folder)
		}
	}
	environment := append(os.Environ(), "HOME="+t.TempDir(), "PATH="+strings.Join(path, ":"), "NO_PROXY=*", "BATCHCTL_STATE_DIR="+t.TempDir(), "BATCHCTL_RELEASES="+server.URL+"/releases",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_CONFIG_GLOBAL=/dev/null")
	run := func(dir string, args ...string) (string, error) {
		c := exec.Command(args[0], args[1:]...)
		c.Dir, c.Env = dir, environment
		out, err := c.CombinedOutput()
		return string(out), err
	}
	commit := func(dir string, files map[string]string) {
		t.Helper()
		for name, text := range files {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "x"}} {
			if out, err := run(dir, append([]string{"git"}, args...)...); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
	}
	hooks := t.TempDir()
	files := map[string]string{}
	for _, name := range []string{".pre-commit-hooks.yaml", "templates/ci/pre-commit.sh", "templates/ci/install.sh"} {
		files[name] = read(t, filepath.Join("../..", name))
	}
	commit(hooks, files)
	commits := map[string]string{}
	for tag, args := range map[string][]string{"v1.2.3": {"tag"}, "v1.10.0": {"tag", "-a", "-m", "x"}, "newest": {"tag"}} {
		commit(hooks, map[string]string{"VERSION": tag})
		if out, err := run(hooks, append(append([]string{"git"}, args...), tag)...); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		out, err := run(hooks, "git", "rev-parse", "HEAD")
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		commits[tag] = strings.TrimSpace(out)
	}
	const problem, refusal = `bad.json:1:10: the name of a job definition`, "batchctl-validate: rev is not a release, and batchctl is not in PATH"
	for _, c := range []struct{ rev, release, want string }{
		{"v1.2.3", "v1.2.3", problem}, {"v1.10.0", "v1.10.0", problem}, {"newest", "", refusal},
		{commits["v1.2.3"], "v1.2.3", problem}, {commits["v1.10.0"], "v1.10.0", problem}, {commits["newest"], "", refusal},
	} {
		t.Run(c.rev, func(t *testing.T) {
			rev, release, want := c.rev, c.release, c.want
			served.downloads = nil
			user := t.TempDir()
			files := map[string]string{
				"good.json":               `{"name": "good", "image": "busybox:1.36", "command": ["true"], "resources": {"vcpus": 1, "memory": "512 MiB"}, "timeout": "10m"}`,
				"bad.json":                `{"name": "bad name", "image": "busybox:1.36", "command": ["true"], "resources": {"vcpus": 1, "memory": "512 MiB"}, "timeout": "10m"}`,
				"package.json":            `{"private": true}`,
				"stack.yaml":              badStack,
				"compose.yml":             "services: { web: { image: nginx } }\n",
				".github/workflows/a.yml": "on: push\njobs: {}\n",
				"k8s.yaml":                "kind: Job\napiVersion: batch/v1\n---\nkind: ConfigMap\n",
				"tags.yaml":               "a: !Ref b\nc: !x {}\n",
				"helm/broken.yaml":        "a: [1\nb: {{ .Values.x }}\n",
				".pre-commit-config.yaml": "repos:\n  - repo: file://" + hooks + "\n    rev: " + rev + "\n    hooks: [{ id: batchctl-validate }]\n",
			}
			for i := range 40 { // pre-commit divides as many among its processes
				files[fmt.Sprintf("more/%d.json", i)] = files["good.json"]
			}
			commit(user, files)
			for range 2 {
				if out, err := run(user, "pre-commit", "run", "--all-files"); err == nil || !strings.Contains(out, want) || strings.Contains(out, "good.json") || strings.Contains(out, "in your PATH") ||
					release != "" && !strings.Contains(out, "\n43 files checked: 2 errors") || strings.Contains(out, "broken.yaml") {
					t.Errorf("%v\n%s", err, out)
				}
			}
			if len(served.downloads) != 2 && release != "" || len(served.downloads) > 0 && !strings.HasPrefix(served.downloads[0], release+"/") {
				t.Errorf("downloads %q, want the checksums and an archive of %s, once", served.downloads, release)
			}
		})
	}
}
