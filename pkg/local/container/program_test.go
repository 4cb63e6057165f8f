//go:build unix

package container

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// testImage is built from testdata/job alone, without a registry.
const testImage = "localhost/batchctl-test:1"

// TestMain is also the engine that TestKilledEngine kills.
func TestMain(m *testing.M) {
	if dir := os.Getenv("BATCHCTL_TEST_VICTIM"); dir != "" {
		victim(dir, os.Getenv("BATCHCTL_TEST_PROGRAM"))
	}
	testtool.Main(m)
}

// programs runs a test with each installed program.
func programs(t *testing.T, f func(t *testing.T, program string)) {
	t.Run(Podman, func(t *testing.T) {
		podman(t)
		f(t, Podman)
	})
	t.Run(Docker, func(t *testing.T) {
		_ = docker(t)
		f(t, Docker)
	})
}

// podman gives podman its own storage for this test and imports the image into it. Its own limits
// replace podman's defaults, which a process without CAP_SYS_RESOURCE may not set.
func podman(t *testing.T) {
	testtool.Long(t)
	testtool.Need(t, Podman, "tar")
	dir := emptyDir(t)
	engine := "events_logger = \"file\"\n"
	if runc, err := exec.LookPath("runc"); err == nil { // crun refuses machines with both versions of cgroups
		engine += fmt.Sprintf("runtime = %q\n[engine.runtimes]\n%s = [%q]\n", "runc", "runc", runc)
	}
	setFile(t, "CONTAINERS_CONF", filepath.Join(dir, "containers.conf"),
		"[containers]\ndefault_ulimits = [\"nofile=1024:4096\", \"nproc=4096:4096\"]\nnetns = \"none\"\n[engine]\n"+engine)
	setFile(t, "CONTAINERS_STORAGE_CONF", filepath.Join(dir, "storage.conf"),
		fmt.Sprintf("[storage]\ndriver = \"vfs\"\ngraphroot = %q\nrunroot = %q\n", filepath.Join(dir, "graph"), filepath.Join(dir, "run")))
	if out, err := exec.Command(Podman, "import", jobFiles(t), testImage).CombinedOutput(); err != nil {
		testtool.Missing(t, "podman import: %v\n%s", err, out)
	}
}

func setFile(t *testing.T, variable, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(variable, path)
}

// daemon is a docker daemon of the test, with its own data and without a network, so that it does
// not disturb another daemon.
type daemon struct {
	dir   string
	cmd   *exec.Cmd
	ended chan struct{}
}

// docker starts a daemon and imports the image.
func docker(t *testing.T) *daemon {
	testtool.Long(t)
	testtool.Need(t, Docker, "dockerd", "tar")
	if os.Getuid() != 0 {
		testtool.Missing(t, "only root can start a docker daemon")
	}
	dir, err := os.MkdirTemp("", "dockerd") // not t.TempDir: a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{dir: dir}
	t.Setenv("DOCKER_HOST", d.socket())
	t.Setenv("DOCKER_CONTEXT", "")
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	d.start(t)
	if out, err := exec.Command(Docker, "import", jobFiles(t), testImage).CombinedOutput(); err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	return d
}

func (d *daemon) socket() string { return "unix://" + filepath.Join(d.dir, "s") }

// start returns when the daemon answers. The daemon ends with the test.
func (d *daemon) start(t *testing.T) {
	t.Helper()
	log, err := os.Create(filepath.Join(d.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	in := func(name string) string { return filepath.Join(d.dir, name) }
	cmd := exec.Command("dockerd", "--data-root", in("data"), "--exec-root", in("exec"), "--host", d.socket(),
		"--pidfile", in("pid"), "--bridge", "none", "--iptables=false", "--ip6tables=false")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = apart()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	d.cmd, d.ended = cmd, ended
	go func() {
		defer close(ended)
		_ = cmd.Wait() // its exit matters only before it answers, which the loop below notices
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	eventually(t, "the docker daemon answers", func() bool {
		select {
		case <-ended:
			text, _ := os.ReadFile(log.Name())
			testtool.Missing(t, "dockerd exits:\n%s", text)
		default:
		}
		return exec.Command(Docker, "version").Run() == nil
	})
}

// kill ends the daemon as a crash does: its data stays mounted. It also ends the daemon's
// containerd, so that the next daemon starts its own.
func (d *daemon) kill(t *testing.T) {
	_ = d.cmd.Process.Kill()
	<-d.ended
	t.Cleanup(func() {
		if out, err := exec.Command("umount", filepath.Join(d.dir, "data")).CombinedOutput(); err != nil {
			t.Errorf("umount: %v\n%s", err, out)
		}
	})
	if err := os.Remove(filepath.Join(d.dir, "exec", "containerd", "containerd.pid")); err != nil {
		t.Error(err)
	}
}

// eventually waits until a condition is met, or fails the test.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !is() {
		select {
		case <-ctx.Done():
			t.Fatalf("not within a minute: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// jobFiles returns the file system of the image: one static program, and a directory that its
// users may not write to.
func jobFiles(t *testing.T) string {
	t.Helper()
	dir := emptyDir(t)
	files := filepath.Join(dir, "files")
	if err := os.MkdirAll(files, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(testtool.Program(t, "./testdata/job"), filepath.Join(files, "job")); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, "files.tar")
	if out, err := exec.Command("tar", "-C", files, "-cf", archive, ".").CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	return archive
}

// containers are the names of all containers of a program.
func containers(t *testing.T, program string) []string {
	t.Helper()
	out, err := exec.Command(program, "ps", "--all", "--format", "{{.Names}}").Output()
	if err != nil {
		t.Fatalf("%s ps: %v", program, err)
	}
	return strings.Fields(string(out))
}
