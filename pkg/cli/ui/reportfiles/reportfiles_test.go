package reportfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/cli/ui/uitest"
)

func TestFindReports(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.json"), []byte(uitest.BenchmarkFile), 0o600); err != nil {
		t.Fatal(err)
	}
	write("a.json", uitest.BenchmarkFile)
	write("b/host.json", uitest.DoctorFile)
	write("b/c/a.json", uitest.BenchmarkFile)
	write("b/policy.json", uitest.PolicyFile)
	write("b/members.json", `{"computeReservation":10}`)
	write("b/c/d/deep.json", uitest.BenchmarkFile)
	write(".git/a.json", uitest.BenchmarkFile)
	write("node_modules/a.json", uitest.BenchmarkFile)
	write("a.JSON", uitest.BenchmarkFile)
	write("a.txt", uitest.BenchmarkFile)
	write("large.json", strings.Replace(uitest.BenchmarkFile, "CPU and GPU", strings.Repeat("x", reportSize), 1))
	for i, text := range []string{"", "[]", "{}", "null", "7", "{", `{"comparison":{}}`, `{"comparison":7}`, `{"kind":"machine"}`, `{"kind":"machine","findings":[]}`, `{"findings":[{"id":"x"}]}`, `{"name":"x","image":"y"}`, `{"fairsharePolicy":{}}`, `{"fairsharePolicy":{"computeReservation":100}}`,
		`{"shareDecaySeconds":60,"colour":1}`} {
		write(fmt.Sprintf("none%d.json", i), text)
	}
	for _, link := range [][2]string{{outside, "link"}, {filepath.Join(outside, "secret.json"), "link.json"}, {dir, "loop"}} {
		if err := os.Symlink(link[0], filepath.Join(dir, link[1])); err != nil {
			t.Skip("this system has no symbolic links")
		}
	}
	found := Find(dir)
	var paths []string
	for _, b := range found.Benchmarks {
		paths = append(paths, b.Path)
	}
	if !slices.Equal(paths, []string{"a.json", "b/c/a.json"}) || len(found.Doctors) != 1 || found.Doctors[0].Path != "b/host.json" || found.Problem != "" {
		t.Errorf("benchmarks %q, doctors %v, problem %q", paths, found.Doctors, found.Problem)
	}
	if !slices.Equal(found.Policies, []string{"b/members.json", "b/policy.json"}) {
		t.Errorf("policies %q", found.Policies)
	}
	if b := found.Benchmarks[0]; b.Title != "CPU and GPU" || b.Comparison.Base.Name != "cpu" || b.Comparison.Pairs[0].SpeedUp.Interval.High != 2.5 || b.Comparison.Pairs[0].Other.Median != 1 {
		t.Errorf("%+v", b)
	}
	if d := found.Doctors[0]; d.Kind != "machine" && string(d.Findings[0].Severity) != "error" || d.At.IsZero() {
		t.Errorf("%+v", d)
	}
	if found := Find(filepath.Join(dir, "nope")); !strings.Contains(found.Problem, "nope") || strings.Contains(found.Problem, "\n") {
		t.Errorf("a missing directory: %q", found.Problem)
	}
	if found := Find(filepath.Join(dir, "a.json")); found.Problem == "" {
		t.Error("a file as the directory is no problem")
	}
	if os.Geteuid() != 0 {
		write("closed/a.json", uitest.BenchmarkFile)
		if err := os.Chmod(filepath.Join(dir, "closed"), 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "closed"), 0o700) })
		if found := Find(dir); len(found.Benchmarks) != 2 || found.Problem != "" {
			t.Errorf("with a directory that cannot be read: %+v", found)
		}
	}
	// Of many files, the first are read.
	for i := range reportFiles {
		write(fmt.Sprintf("many/%03d.json", i), "{}")
	}
	write("many/zz.json", uitest.BenchmarkFile)
	if found := Find(filepath.Join(dir, "many")); !strings.Contains(found.Problem, "--files") || len(found.Benchmarks) != 0 {
		t.Errorf("%d benchmarks, problem %q", len(found.Benchmarks), found.Problem)
	}
}
