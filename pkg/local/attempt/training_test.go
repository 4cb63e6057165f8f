package attempt

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// TestFailure checks that only a regular file of the container itself is read, and only its beginning.
func TestFailure(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		write func(output string) error
		want  string
	}{
		"nothing": {func(string) error { return nil }, ""},
		"text": {func(output string) error {
			return os.WriteFile(filepath.Join(output, "failure"), []byte(" no data\n"), 0o600)
		}, "no data"},
		"long": {func(output string) error {
			return os.WriteFile(filepath.Join(output, "failure"), []byte(strings.Repeat("x", 5000)), 0o600)
		}, strings.Repeat("x", 1024)},
		"invalid": {func(output string) error {
			return os.WriteFile(filepath.Join(output, "failure"), []byte("a\xffb"), 0o600)
		}, "ab"},
		"link":      {func(output string) error { return os.Symlink(outside, filepath.Join(output, "failure")) }, ""},
		"directory": {func(output string) error { return os.Mkdir(filepath.Join(output, "failure"), 0o700) }, ""},
		"link to another directory": {func(output string) error {
			return errors.Join(os.RemoveAll(output), os.Symlink(filepath.Dir(outside), output), os.WriteFile(filepath.Join(filepath.Dir(outside), "failure"), []byte("secret"), 0o600))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "ml")
			if err := errors.Join(os.Mkdir(dir, 0o700), writeInputs(dir, &model.Training{})); err != nil {
				t.Fatal(err)
			}
			if err := c.write(filepath.Join(dir, "output")); err != nil {
				t.Fatal(err)
			}
			if got := failure(dir); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
