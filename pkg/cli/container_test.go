package cli_test

import (
	"archive/tar"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/batchctl/batchctl/pkg/cli/clitest"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// TestContainers runs the scripts of testdata/container: the children of arrays in
// images with next to nothing in them. Podman has a storage of the test's own, and
// these images:
//
//	localhost/box/busybox:1   /bin/sh is busybox
//	localhost/box/bash:1      /bin/sh is bash, which has no program of its own beside the
//	                          shell, as busybox's shell has
//	localhost/box/batchctl:1  batchctl, and testdata/container/cell; no shell
//	localhost/box/entry:1     the same, with "batchctl child" as its entry point
//	localhost/box/tools:1     busybox and batchctl; its user is no one else's
func TestContainers(t *testing.T) {
	testtool.Long(t)
	testtool.Need(t, "podman", "busybox", "bash-static")
	busybox, bash := staticShell(t, "busybox"), staticShell(t, "bash-static")
	dir := lastingDir(t)
	storage := podmanStorage(t, dir)
	batchctl := testtool.Program(t, "../../cmd/batchctl", "-ldflags", "-s -w")
	cell := testtool.Program(t, "./testdata/container/cell", "-ldflags", "-s -w")
	for _, i := range []struct {
		name, change string
		files        map[string]string
	}{
		{"busybox", "", map[string]string{"bin/sh": busybox}},
		{"bash", "", map[string]string{"bin/sh": bash}},
		{"batchctl", "", map[string]string{"bin/batchctl": batchctl, "cell": cell}},
		{"tools", `USER 65532:65532`, map[string]string{"bin/sh": busybox, "bin/batchctl": batchctl}},
		{"entry", `ENTRYPOINT ["/batchctl", "child"]`, map[string]string{"batchctl": batchctl, "cell": cell}},
	} {
		archive := filepath.Join(dir, i.name+".tar")
		if err := writeTar(archive, i.files); err != nil {
			t.Fatal(err)
		}
		imports := exec.Command("podman", "import", "--change", i.change, archive, "localhost/box/"+i.name+":1")
		if i.change == "" {
			imports = exec.Command("podman", "import", archive, "localhost/box/"+i.name+":1")
		}
		imports.Env = append(os.Environ(), storage...)
		if out, err := imports.CombinedOutput(); err != nil {
			testtool.Missing(t, "podman import: %v\n%s", err, out)
		}
	}
	clitest.Run(t, "testdata/container", func(e *testscript.Env) { e.Vars = append(e.Vars, storage...) })
}

// staticShell is the path of a program that needs no library.
func staticShell(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	program, err := elf.Open(path)
	if err != nil {
		testtool.Missing(t, "no static shell: %s: %v", path, err)
	}
	defer program.Close()
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			testtool.Missing(t, "no static shell: %s needs a loader; install busybox-static and bash-static", path)
		}
	}
	return path
}

// podmanStorage returns the environment in which podman keeps images and containers below dir,
// and starts containers on restricted machines.
func podmanStorage(t *testing.T, dir string) (environ []string) {
	t.Helper()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	engine := "events_logger = \"file\"\n"
	if _, err := exec.LookPath("runc"); err == nil { // crun refuses machines with both versions of cgroups
		engine += "runtime = \"runc\"\n"
	}
	return []string{
		"CONTAINERS_CONF=" + write("containers.conf", "[containers]\ndefault_ulimits = [\"nofile=1024:4096\", \"nproc=4096:4096\"]\nnetns = \"none\"\n[engine]\n"+engine),
		"CONTAINERS_STORAGE_CONF=" + write("storage.conf", fmt.Sprintf("[storage]\ndriver = \"vfs\"\ngraphroot = %q\nrunroot = %q\n",
			filepath.Join(dir, "graph"), filepath.Join(dir, "run"))),
	}
}

// writeTar writes a file system of programs. The map has their paths in it and on this machine.
func writeTar(archive string, files map[string]string) error {
	to, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer to.Close()
	w := tar.NewWriter(to)
	for place, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: place, Mode: 0o755, Size: int64(len(text))}); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return w.Close()
}

// lastingDir is t.TempDir for podman. A process of podman cleans up after a container, and may
// still write when the test ends.
func lastingDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "batchctl-box")
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
