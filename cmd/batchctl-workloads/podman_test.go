//go:build linux

package main

import (
	"archive/tar"
	"encoding/json"
	"errors"
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

// podman has images and containers in a folder of the test's own.
type podman struct {
	folder  string
	environ []string
}

func newPodman(t *testing.T) *podman {
	t.Helper()
	testtool.Long(t)
	testtool.Need(t, "podman", "make")
	p := &podman{folder: lastingDir(t)}
	write := func(name, text string) string {
		path := filepath.Join(p.folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	engine := "events_logger = \"file\"\n"
	if _, err := exec.LookPath("runc"); err == nil { // crun refuses machines with both versions of cgroups
		engine += "runtime = \"runc\"\n"
	}
	p.environ = append(os.Environ(),
		"MAKEFLAGS=", // those of a make that runs the tests
		// A process without CAP_SYS_RESOURCE may not set podman's own limits.
		"CONTAINERS_CONF="+write("containers.conf", "[containers]\ndefault_ulimits = [\"nofile=1024:4096\", \"nproc=4096:4096\"]\nnetns = \"none\"\n[engine]\n"+engine),
		"CONTAINERS_STORAGE_CONF="+write("storage.conf", fmt.Sprintf("[storage]\ndriver = \"vfs\"\ngraphroot = %q\nrunroot = %q\n",
			filepath.Join(p.folder, "graph"), filepath.Join(p.folder, "run"))))
	if out, err := p.command("podman", "info").CombinedOutput(); err != nil {
		testtool.Missing(t, "podman info: %v\n%s", err, out)
	}
	return p
}

// lastingDir is t.TempDir for what podman uses: it cleans up behind a container that has
// ended in a process of its own, which may still write when the test ends.
func lastingDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "batchctl-image")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			err := os.RemoveAll(dir)
			if err == nil {
				return
			}
			if time.Now().After(deadline) {
				t.Errorf("remove podman's storage: %v", err)
				return
			}
		}
	})
	return dir
}

func (p *podman) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Env = p.environ
	return c
}

// image is what podman says of one.
type image struct {
	podman *podman
	name   string
	// Size is in bytes.
	Size   int64
	Config struct {
		User       string
		Entrypoint []string
		Env        []string
		Labels     map[string]string
	}
}

func (p *podman) inspect(t *testing.T, name string) *image {
	t.Helper()
	out, err := p.command("podman", "image", "inspect", name).Output()
	if err != nil {
		t.Fatalf("inspect %s: %v", name, err)
	}
	var all []*image
	if err := json.Unmarshal(out, &all); err != nil || len(all) != 1 {
		t.Fatalf("inspect %s: %v: %s", name, err, out)
	}
	all[0].podman, all[0].name = p, name
	return all[0]
}

// make builds an image as people do.
func (p *podman) make(t *testing.T, target, name string, settings ...string) *image {
	t.Helper()
	for _, file := range []string{"../../Makefile", "../../templates/images/cpu.Dockerfile", "../../templates/images/gpu.Dockerfile"} {
		if _, err := os.Stat(file); err != nil { // and go test knows that its result depends on them
			t.Fatal(err)
		}
	}
	all := append([]string{"-C", filepath.Join("..", ".."), target, "PROGRAM=podman", "IMAGE=" + name, "GOARCH=" + runtime.GOARCH, "DIST=" + p.folder}, settings...)
	if out, err := p.command("make", all...).CombinedOutput(); err != nil {
		t.Fatalf("make %s: %v\n%s", target, err, out)
	}
	return p.inspect(t, name)
}

// importBase creates an image with the local libraries that the program and those in a folder need, at
// their local paths.
func (p *podman) importBase(t *testing.T, name, folder string) *image {
	t.Helper()
	program := testtool.Program(t, "../batchctl-workloads")
	users, err := filepath.Glob(filepath.Join(folder, "*.so.*"))
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(p.folder, "base.tar")
	if err := writeTar(archive, loaded(t, append(users, program))); err != nil {
		t.Fatal(err)
	}
	if out, err := p.command("podman", "import", archive, name).CombinedOutput(); err != nil {
		t.Fatalf("import the base: %v\n%s", err, out)
	}
	return p.inspect(t, name)
}

// loaded is a set of paths: the loader and the libraries that programs and libraries need.
func loaded(t *testing.T, users []string) map[string]bool {
	t.Helper()
	paths := map[string]bool{}
	for _, user := range users {
		out, err := exec.Command("ldd", user).Output()
		if err != nil {
			t.Fatalf("ldd %s: %v", user, err)
		}
		for word := range strings.FieldsSeq(string(out)) {
			if filepath.IsAbs(word) {
				paths[word] = true
			}
		}
	}
	return paths
}

func writeTar(archive string, paths map[string]bool) error {
	to, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer to.Close()
	w := tar.NewWriter(to)
	for path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: strings.TrimPrefix(path, "/"), Mode: 0o755, Size: int64(len(content))}); err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
	}
	return w.Close()
}

// podmanFailed is podman's exit code where it is podman that failed, not the program.
const podmanFailed = 125

// answer is how a container ended.
type answer struct {
	command string
	code    int
	output  string
}

// run starts a container that may do as little as one can.
func (i *image) run(t *testing.T, options []string, args ...string) answer {
	t.Helper()
	all := append([]string{"run", "--rm", "--read-only", "--read-only-tmpfs=false", "--network=none", "--cap-drop=all", "--security-opt=no-new-privileges"}, options...)
	out, err := i.podman.command("podman", append(append(all, i.name), args...)...).CombinedOutput()
	a := answer{strings.Join(args, " "), 0, string(out)}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		a.code = exit.ExitCode()
	} else if err != nil {
		t.Fatalf("%s: %v", a.command, err)
	}
	if a.code == podmanFailed {
		testtool.Missing(t, "podman cannot start a container: %s", out)
	}
	return a
}

// want compares the exit code, and looks for each text in what was printed.
func (a answer) want(t *testing.T, code int, texts ...string) {
	t.Helper()
	if a.code != code {
		t.Errorf("%s: exit code %d, want %d: %s", a.command, a.code, code, a.output)
	}
	for _, text := range texts {
		if !strings.Contains(a.output, text) {
			t.Errorf("%s: %q is not in: %s", a.command, text, a.output)
		}
	}
}
