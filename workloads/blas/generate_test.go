package blas

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The assembly in the repository is what its generator writes, byte for byte.
// A copy of the generator runs, at the same place relative to its output, so
// that the command in the first line is the same.
func TestGenerated(t *testing.T) {
	root := t.TempDir()
	generator := filepath.Join(root, "internal", "asm")
	if err := os.CopyFS(generator, os.DirFS(filepath.Join("internal", "asm"))); err != nil {
		t.Fatal(err)
	}
	if out, err := inDirectory(generator, "mod", "download").CombinedOutput(); err != nil {
		if os.Getenv("BATCHCTL_REQUIRE_TOOLS") != "" {
			t.Fatalf("go mod download: %v\n%s", err, out)
		}
		t.Skipf("the generator's modules (avo) are not here and cannot be fetched: %v\n%s", err, out)
	}
	if out, err := inDirectory(generator, "run", ".", "-out", "../../kernels_amd64.s", "-stubs", "../../kernels_amd64.go", "-pkg", "blas").CombinedOutput(); err != nil {
		t.Fatalf("go run: %v\n%s", err, out)
	}
	for _, name := range []string{"kernels_amd64.s", "kernels_amd64.go"} {
		want, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what internal/asm writes: run go generate ./workloads/blas", name)
		}
	}
}

// inDirectory is the go command of this test, in a directory of its own module.
func inDirectory(dir string, args ...string) *exec.Cmd {
	command := exec.Command("go", append([]string{"-C", dir}, args...)...)
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	return command
}
