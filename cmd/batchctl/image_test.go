//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// TestImage builds the image as users do, and has it copy batchctl to a local directory, as a job's first
// container does.
func TestImage(t *testing.T) {
	testtool.Long(t)
	for _, file := range []string{"Dockerfile", "../../Makefile"} {
		if _, err := os.Stat(file); err != nil { // and go test knows that its result depends on them
			t.Fatal(err)
		}
	}
	certificates := "/etc/ssl/certs/ca-certificates.crt"
	if _, err := os.Stat(certificates); err != nil {
		testtool.Missing(t, "CA certificates: %v", err)
	}
	podman := newPodman(t)
	const name = "localhost/batchctl:test"
	podman(t, "make", "-C", "../..", "image-batchctl", "PROGRAM=podman", "IMAGE="+name, "GOARCH="+runtime.GOARCH, "DIST="+t.TempDir())
	shared := t.TempDir()
	run := []string{"podman", "run", "--rm", "--read-only", "--network=none", "--cap-drop=all", "--security-opt=no-new-privileges", "--volume", shared + ":/shared", name}
	if out := podman(t, append(run, "stage", "install", "/shared/bin")...); out != "/shared/bin/batchctl\n/shared/bin/ca-certificates.crt\n" {
		t.Errorf("%q", out)
	}
	if out, err := exec.Command(filepath.Join(shared, "bin", "batchctl"), "version").CombinedOutput(); err != nil || !bytes.Contains(out, []byte("batchctl")) {
		t.Errorf("what was installed does not run: %v\n%s", err, out)
	}
	want, err := os.ReadFile(certificates)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(shared, "bin", "ca-certificates.crt")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the certificates: %v", err)
	}
	// As a job's own container it moves what is to be moved.
	if err := os.WriteFile(shared+"/in.txt", []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	document := `BATCHCTL_STAGE={"version":1,"inputs":[{"from":"/shared/in.txt","to":"/shared/to/"}],"outputs":[{"from":"/shared/to","to":"/shared/${RUN}"}]}`
	stage := append(append([]string{}, run[:len(run)-1]...), "--env", document, "--env", "RUN=7", name, "stage", "--", "batchctl", "version")
	podman(t, stage...)
	if got, err := os.ReadFile(shared + "/7/in.txt"); err != nil || string(got) != "text" {
		t.Errorf("%q %v", got, err)
	}
}

// newPodman is podman, and what starts it, with images in a folder of the test's own. It
// returns what was printed to stdout.
func newPodman(t *testing.T) func(t *testing.T, command ...string) string {
	t.Helper()
	testtool.Need(t, "podman", "make")
	folder, err := os.MkdirTemp("", "batchctl-image")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	engine := "events_logger = \"file\"\n"
	if _, err := exec.LookPath("runc"); err == nil { // crun refuses machines with both versions of cgroups
		engine += "runtime = \"runc\"\n"
	}
	environ := append(os.Environ(),
		"MAKEFLAGS=", // those of a make that runs the tests
		"CONTAINERS_CONF="+write("containers.conf", "[containers]\ndefault_ulimits = [\"nofile=1024:4096\", \"nproc=4096:4096\"]\nnetns = \"none\"\n[engine]\n"+engine),
		"CONTAINERS_STORAGE_CONF="+write("storage.conf", fmt.Sprintf("[storage]\ndriver = \"vfs\"\ngraphroot = %q\nrunroot = %q\n", filepath.Join(folder, "graph"), filepath.Join(folder, "run"))))
	start := func(t *testing.T, command ...string) string {
		t.Helper()
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Env = environ
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v\n%s%s", strings.Join(command, " "), err, &stdout, &stderr)
		}
		return stdout.String()
	}
	info := exec.Command("podman", "info")
	info.Env = environ
	if out, err := info.CombinedOutput(); err != nil {
		testtool.Missing(t, "podman info: %v\n%s", err, out)
	}
	t.Cleanup(func() { removeStorage(t, folder) })
	return start
}

// removeStorage removes what podman used: it cleans up behind a container that has ended in
// a process of its own, which may still write.
func removeStorage(t *testing.T, folder string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		err := os.RemoveAll(folder)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("remove podman's storage: %v", err)
			return
		}
	}
}
