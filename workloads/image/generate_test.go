package image

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// TestGeneratedAssembly checks that the committed files are what go generate writes, byte for byte.
// It needs the go command and avo, from the module cache or the network.
func TestGeneratedAssembly(t *testing.T) {
	copied := t.TempDir()
	generator := filepath.Join(copied, "internal", "asm")
	if err := os.CopyFS(generator, os.DirFS("internal/asm")); err != nil {
		t.Fatal(err)
	}
	// The very command of the directive in simd.go, in a copy of the folder.
	source, err := os.ReadFile("simd.go")
	if err != nil {
		t.Fatal(err)
	}
	_, directive, _ := strings.Cut(string(source), "//go:generate ")
	directive, _, _ = strings.Cut(directive, "\n")
	words := strings.Fields(directive)
	command := exec.CommandContext(t.Context(), words[0], words[1:]...)
	command.Dir = copied
	command.Env = append(forThisMachine(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := command.CombinedOutput(); err != nil {
		testtool.Missing(t, "the generator's modules (avo): %v\n%s", err, out)
	}
	isCommitted(t, copied, "kernels_amd64.s", "kernels_amd64.go")
}

// TestGeneratedForARM checks the other generator, which has no module of its own and runs in place.
func TestGeneratedForARM(t *testing.T) {
	written := t.TempDir()
	command := exec.CommandContext(t.Context(), "go", "run", "./internal/neon", "-dir", written)
	command.Env = forThisMachine()
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	isCommitted(t, written, "kernels_arm64.s", "kernels_arm64.go")
}

// forThisMachine is the environment for programs that run here, even if this test is
// cross-compiled.
func forThisMachine() []string { return append(os.Environ(), "GOOS=", "GOARCH=") }

// isCommitted compares files of the package with those that a generator wrote.
func isCommitted(t *testing.T, written string, names ...string) {
	t.Helper()
	for _, name := range names {
		want, err := os.ReadFile(filepath.Join(written, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes (%v); run go generate", name, err)
		}
	}
}
