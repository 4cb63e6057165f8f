package pixels

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/workloads/gpu/cuda"
)

func TestPTX(t *testing.T) {
	folder := t.TempDir()
	for source := range sharedBytes {
		file := source + ".cu"
		if err := cuda.Compile(file, cuda.SM70, folder); errors.Is(err, cuda.ErrNoCompiler) {
			testtool.Missing(t, "%v", err)
		} else if err != nil {
			t.Fatal(err)
		}
		name := cuda.Output(file, cuda.SM70)
		want, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if ptx(source) != string(want) {
			t.Errorf("%s is not what %s becomes: run go generate", name, file)
		}
	}
}

// entries are the kernels of a source with their PTX.
func entries(t *testing.T, source string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, part := range strings.Split(ptx(source), ".visible .entry ")[1:] {
		name, body, _ := strings.Cut(part, "(")
		all[name] = body
	}
	return all
}

// TestPTXKernels: there are those that Load wants, and none has memory of its own, which
// is what arrays become that do not fit registers or whose indices the compiler did not see.
func TestPTXKernels(t *testing.T) {
	list, err := os.ReadFile("kernels.h")
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range sharedBytes {
		all := entries(t, source)
		for name := range want {
			if all[name] == "" {
				t.Errorf("%s has no kernel %s", source, name)
			}
			if !bytes.Contains(list, []byte("X("+name+")")) {
				t.Errorf("kernels.h has no %s", name)
			}
		}
		for name, body := range all {
			if _, ok := want[name]; !ok {
				t.Errorf("%s is never launched", name)
			}
			for _, bad := range []string{".local", "call.uni", ".f64"} {
				if strings.Contains(body, bad) {
					t.Errorf("%s has %s", name, bad)
				}
			}
		}
	}
}

// TestPTXInstructions counts the instructions that the kernels are written to produce.
func TestPTXInstructions(t *testing.T) {
	for _, test := range []struct {
		source, kernel, instruction string
		count                       int
	}{
		// Four loads in flight, and one for the rest; the last bytes, one by one, read a 0 too.
		{"pointwise", "pixels_copy", `ld\.global\S*\.v4\.u32`, 5},
		{"pointwise", "pixels_copy", `st\.global\.v4\.u32`, 5},
		{"pointwise", "pixels_table", `ld\.global\S*\.v4\.u32`, 5},
		{"pointwise", "pixels_table", `st\.global\.v4\.u32`, 5},
		{"pointwise", "pixels_table", `ld\.shared\.u32`, 16*5 + 2},
		{"pointwise", "pixels_linear", `st\.global\.v4\.f32`, 5},
		{"pointwise", "pixels_linear", `fma\.rn\.f32`, 4*5 + 1},
		{"half", "pixels_half_wide", `ld\.global\S*\.v2\.u32`, 2 * 3},
		{"half", "pixels_half_wide", `st\.global\.u32`, 3},
		{"half", "pixels_half_wide", `dp4a`, 2 * 2 * 10},
		{"half", "pixels_half", `ld\.global\S*\.u32`, 2 * 4},
		{"half", "pixels_half", `st\.global\.u32`, 1},
		// Three rows at a time, and three before the loop.
		{"sobel", "pixels_sobel_wide", `ld\.global\S*\.v2\.u32`, 6 * 3},
		{"sobel", "pixels_sobel_wide", `st\.global\.v2\.u32`, 3},
		{"sobel", "pixels_sobel_wide", `dp4a`, 3 * 14},
		// The pairs of taps of 32 samples, and the taps of 24.
		{"gaussian", "pixels_gaussian_6", `dp2a`, 32 * 7},
		{"gaussian", "pixels_gaussian_6", `fma\.rn\.f32|mul\.rn\.f32`, 24 * 13},
		{"gaussian", "pixels_gaussian_6", `ld\.shared\.v4\.f32`, 14},
		{"gaussian", "pixels_gaussian_6", `st\.shared\.v4\.f32`, 8},
		{"gaussian", "pixels_gaussian_6", `st\.global\.v2\.u32`, 3},
		{"gaussian", "pixels_gaussian_15", `dp2a`, 32 * 16},
		{"gaussian", "pixels_gaussian_15", `fma\.rn\.f32|mul\.rn\.f32`, 24 * 31},
		{"gaussian", "pixels_gaussian_15", `bar\.sync`, 2},
	} {
		body := entries(t, test.source)[test.kernel]
		if n := len(regexp.MustCompile(test.instruction).FindAllString(body, -1)); n != test.count {
			t.Errorf("%s has %d times %s, want %d", test.kernel, n, test.instruction, test.count)
		}
	}
}
