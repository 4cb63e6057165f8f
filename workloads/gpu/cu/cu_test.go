//go:build linux && !cuda

package cu

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/workloads/gpu/fakecuda"
)

// TestTagged builds as a user does, with the replacement of the CUDA toolkit. It builds the tests of
// the binding and runs them with the fake driver. The race detector also enables cgo's pointer checks.
func TestTagged(t *testing.T) {
	testtool.Long(t)
	testtool.Need(t, "gcc")
	testtool.Module(t, "gorgonia.org/cu")
	fakecuda.Build(t)
	dependOn(t, "..")
	toolkit := exec.Command("go", "run", "./toolkit")
	toolkit.Stderr = t.Output()
	settings, err := toolkit.Output()
	if err != nil {
		t.Fatalf("make the toolkit: %v", err)
	}
	for _, command := range []string{"go test -count=1 -tags cuda .", "go test -count=1 -race -tags cuda ."} {
		t.Run(command, func(t *testing.T) {
			// Only the standard output says "ok": go and the compiler have more to say with
			// cold caches, such as what is downloaded.
			var out, messages strings.Builder
			cmd := exec.CommandContext(t.Context(), "sh", "-c", string(settings)+command)
			cmd.Stdout, cmd.Stderr = &out, &messages
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s%s", err, &out, &messages)
			}
			if !strings.HasPrefix(out.String(), "ok") {
				t.Errorf("nothing was tested:\n%s%s", &out, &messages)
			}
		})
	}
}

// dependOn looks at the files of a folder, because the go command takes the result of a
// test from its cache until something changes that the test itself has looked at.
func dependOn(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
