package container

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestUnavailable(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for program, want := range map[string]string{
		Docker: "docker is not on PATH",
		Podman: "podman is not on PATH",
		Either: "neither docker nor podman can be used: docker is not on PATH; podman is not on PATH",
	} {
		_, err := New(t.Context(), Options{Program: program, Dir: emptyDir(t)})
		unavailable, ok := errors.AsType[*UnavailableError](err)
		if !ok || unavailable.Problem != want || !strings.Contains(unavailable.Hint, "--executor process") {
			t.Errorf("%s: %#v", program, err)
		}
	}
}

// TestNextStep runs a program that fails as the real ones do when they cannot reach their daemon.
func TestNextStep(t *testing.T) {
	for output, want := range map[string]string{
		"Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?":    "start the daemon",
		"permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock": "usermod -aG docker",
		"something else": "see: docker version",
	} {
		dir := emptyDir(t)
		script := "#!/bin/sh\necho 'WARNING: first' >&2\necho '" + output + "' >&2\nexit 1\n"
		if err := os.WriteFile(filepath.Join(dir, Docker), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir)
		_, err := New(t.Context(), Options{Program: Docker, Dir: dir})
		unavailable, ok := errors.AsType[*UnavailableError](err)
		if !ok || unavailable.Problem != "docker does not work: "+output || !strings.Contains(unavailable.Hint, want) {
			t.Errorf("%s: %#v", output, err)
		}
	}
}

// TestUnusable checks that podman 4.7.0 is rejected: it changes the values of variables.
func TestUnusable(t *testing.T) {
	dir := emptyDir(t)
	t.Setenv("PATH", dir)
	for version, usable := range map[string]bool{"4.7.0": false, "4.7.1": true} {
		if err := os.WriteFile(filepath.Join(dir, Podman), []byte("#!/bin/sh\necho "+version+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := New(t.Context(), Options{Program: Podman, Dir: dir})
		if _, ok := errors.AsType[*UnavailableError](err); ok == usable {
			t.Errorf("podman %s: %v", version, err)
		}
	}
}

func TestExplained(t *testing.T) {
	failed := exec.Command("false").Run()
	for output, want := range map[string]string{
		"":                             "exit status 1",
		"Error: no such thing\n":       "no such thing",
		"warn\nlast\n":                 "last",
		"docker: bad flag\nSee 'x'.\n": "docker: bad flag",
	} {
		if got := explained(failed, output); got.Error() != want {
			t.Errorf("%q: %v", output, got)
		}
	}
	if got := explained(os.ErrNotExist, "said"); !errors.Is(got, os.ErrNotExist) {
		t.Errorf("not started: %v", got)
	}
}

func TestHandles(t *testing.T) {
	if !Owns(client{kind: Podman}.handle("batchctl-x-1")) {
		t.Error("our own handle is refused")
	}
	for _, handle := range []string{"", "123 456", "docker", "docker other", "rm batchctl-x"} {
		if Owns(handle) || Remove("id", handle) == nil {
			t.Errorf("handle %q is taken", handle)
		}
	}
}

// emptyDir is t.TempDir for directories that containers use. podman cleans up after a container
// in a separate process, which may still write when the test ends.
func emptyDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "batchctl-container")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		var err error
		for range 100 {
			if err = os.RemoveAll(dir); err == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Errorf("remove the test's directory: %v", err)
	})
	return dir
}
