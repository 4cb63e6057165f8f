package testtool

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// Program builds a main package of this module without cgo and returns the path of the
// program. A package's tests build it once for each set of flags. The package is an
// import path or a folder relative to the test, such as "../../cmd/batchctl".
func Program(t testing.TB, pkg string, flags ...string) string {
	t.Helper()
	file, err := current.program(pkg, flags)()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// program is the build of a package with flags, which runs at its first call.
func (r *record) program(pkg string, flags []string) func() (string, error) {
	r.lock()
	defer r.mu.Unlock()
	key := strings.Join(append([]string{pkg}, flags...), "\x00")
	if r.built[key] == nil {
		r.built[key] = sync.OnceValues(func() (string, error) { return r.build(pkg, flags) })
	}
	return r.built[key]
}

// build runs go build, and returns the program's path.
func (r *record) build(pkg string, flags []string) (string, error) {
	folder, err := r.programFolder()
	if err != nil {
		return "", BuildError(pkg, "", err)
	}
	// Each build has a folder of its own, since the same program may be built with other flags.
	folder, err = os.MkdirTemp(folder, "")
	if err != nil {
		return "", BuildError(pkg, "", err)
	}
	file := filepath.Join(folder, path.Base(filepath.ToSlash(pkg)))
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	build := exec.Command("go", append(append([]string{"build"}, flags...), "-o", file, pkg)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	return file, BuildError(pkg, string(out), err)
}

// BuildError is an error for a failed build that printed out. It is one sentence if the
// cause is the machine and not the source.
func BuildError(what, out string, err error) error {
	all := strings.ToLower(fmt.Sprint(out, err))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("build %s: cannot find go in PATH", what)
	case strings.Contains(all, "no space left on device"), strings.Contains(all, "disk quota exceeded"):
		return fmt.Errorf("build %s: the disk is full: free space in %s and in your caches (`go env GOCACHE`)", what,
			os.TempDir())
	}
	return fmt.Errorf("build %s: %w\n%s", what, err, out)
}

// programFolder is a new folder for the programs of this process, so that two users or
// two runs of the same tests never share one.
func (r *record) programFolder() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.folder != "" {
		return r.folder, nil
	}
	folder, err := os.MkdirTemp("", "batchctl-test-")
	if err != nil {
		return "", err
	}
	// A container's user must be able to start the program.
	if err := os.Chmod(folder, 0o755); err != nil {
		return "", err
	}
	r.folder = folder
	return folder, nil
}

// findShell adds sh to PATH if only PATH lacks it: jobs and scripts of tests run in sh, and
// every Unix system has /bin/sh.
func (r *record) findShell() error {
	const shell = "/bin/sh"
	if _, err := exec.LookPath("sh"); err == nil {
		return nil
	}
	if _, err := os.Stat(shell); err != nil {
		return nil
	}
	folder, err := r.programFolder()
	if err != nil {
		return err
	}
	folder, err = os.MkdirTemp(folder, "")
	if err != nil {
		return err
	}
	if err := os.Symlink(shell, filepath.Join(folder, "sh")); err != nil {
		return err
	}
	return os.Setenv("PATH", os.Getenv("PATH")+string(os.PathListSeparator)+folder)
}

// removeFolder removes the programs at the end of the tests.
func (r *record) removeFolder() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.folder != "" {
		_ = os.RemoveAll(r.folder) // a program that still runs can prevent it on Windows
	}
}
