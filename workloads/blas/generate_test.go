package blas

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// TestGenerated checks that the committed assembly is the output of its generator, byte for byte. A
// copy of the generator runs at the same relative path, so that the command in the first line is
// the same.
func TestGenerated(t *testing.T) {
	root := t.TempDir()
	generator := filepath.Join(root, "internal", "asm")
	if err := os.CopyFS(generator, os.DirFS(filepath.Join("internal", "asm"))); err != nil {
		t.Fatal(err)
	}
	if out, err := inDirectory(generator, "mod", "download").CombinedOutput(); err != nil {
		testtool.Missing(t, "the generator's modules (avo): %v\n%s", err, out)
	}
	if out, err := inDirectory(generator, "run", ".", "-out", "../../kernels_amd64.s", "-stubs", "../../kernels_amd64.go", "-pkg", "blas").CombinedOutput(); err != nil {
		t.Fatalf("go run: %v\n%s", err, out)
	}
	isWritten(t, root, "kernels_amd64.s", "kernels_amd64.go")
}

func TestGeneratedForARM(t *testing.T) {
	root := t.TempDir()
	if out, err := goCommand("run", "./internal/neon", "-dir", root).CombinedOutput(); err != nil {
		t.Fatalf("go run: %v\n%s", err, out)
	}
	isWritten(t, root, "kernels_arm64.s", "kernels_arm64.go")
}

// isWritten compares files of the package with the generator's output in dir.
func isWritten(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what its generator writes: run go generate ./workloads/blas", name)
		}
	}
}

// inDirectory is the go command, run in another module's directory.
func inDirectory(dir string, args ...string) *exec.Cmd {
	command := goCommand(append([]string{"-C", dir}, args...)...)
	command.Env = append(command.Env, "GOWORK=off", "GOFLAGS=-mod=mod")
	return command
}

// goCommand is the go command that builds for the local machine, even if this test is cross-compiled.
func goCommand(args ...string) *exec.Cmd {
	command := exec.Command("go", args...)
	command.Env = append(os.Environ(), "GOOS=", "GOARCH=")
	return command
}
