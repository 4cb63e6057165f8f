package image

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// What go generate writes is what is committed, byte for byte. It needs the go
// command and avo, from the module cache or the network.
func TestGeneratedAssembly(t *testing.T) {
	unable := t.Skipf
	if os.Getenv("BATCHCTL_REQUIRE_TOOLS") == "1" {
		unable = t.Fatalf
	}
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
	command.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	if out, err := command.CombinedOutput(); err != nil {
		unable("%s: %v: without the generator's module nothing can be compared\n%s", directive, err, out)
	}
	for _, name := range []string{"kernels_amd64.s", "kernels_amd64.go"} {
		want, err := os.ReadFile(filepath.Join(copied, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes (%v); run go generate", name, err)
		}
	}
}
