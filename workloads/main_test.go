package workloads

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/workloads/gpu"
)

func TestProgram(t *testing.T) {
	for _, test := range []struct {
		args           string
		code           int
		stdout, stderr string // parts; empty wants nothing
	}{
		{"matrix --sizes 10,20 --repeats 1", ExitOK, "Matrix multiplication 20x20: ", ""},
		{"image --sizes 16 --batch 1 --repeats 1", ExitOK, "Sobel edges 16x16 batch 1: ", ""},
		{"--help", ExitOK, "Exit codes:", ""},
		{"matrix --help", ExitOK, "--sizes LIST", ""},
		{"list", ExitOK, "matrix   multiply", ""},
		{"", ExitUsage, "", "name a workload: matrix, image, gpu-info, or list"},
		{"matrx", ExitUsage, "", "unknown workload matrx; did you mean matrix? (allowed: gpu-info, image, list, matrix)"},
		{"--sizes 10 matrix", ExitUsage, "", "the workload comes first: batchctl-workloads matrix --sizes 10"},
		{"--sizes 10", ExitUsage, "", "the workload comes first: batchctl-workloads matrix --sizes 10"},
		{"matrix --sizes ten", ExitUsage, "", "matrix: invalid value \"ten\" for flag --sizes"},
		{"matrix --sizes 900000", ExitFailed, "", "needs 17.7 TiB"},
		{"matrix --device cuda", ExitNoDevice, "", "use --device cpu"},
		{"image --input no-such-file", ExitFailed, "", "no such file or directory"},
	} {
		var stdout, stderr bytes.Buffer
		code := Main(t.Context(), gpu.Platform{}, strings.Fields(test.args), &stdout, &stderr)
		if code != test.code || !holds(stdout.String(), test.stdout) || !holds(stderr.String(), test.stderr) {
			t.Errorf("%s: code %d\nstdout %s\nstderr %s", test.args, code, &stdout, &stderr)
		}
	}
}

func holds(got, part string) bool {
	if part == "" {
		return got == ""
	}
	return strings.Contains(got, part)
}

func TestMainStopped(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("terminated signal received"))
	var stdout, stderr bytes.Buffer
	code := Main(ctx, gpu.Platform{}, []string{"matrix", "--sizes", "50"}, &stdout, &stderr)
	if want := "batchctl-workloads: matrix: stopped before it finished: terminated signal received\n"; code != ExitFailed || stderr.String() != want {
		t.Errorf("code %d, %s", code, &stderr)
	}
}

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range All() {
		if w.Name == "" || w.Doc == "" || seen[w.Name] {
			t.Errorf("%q is not a proper row", w.Name)
		}
		seen[w.Name] = true
		if found, ok := Lookup(w.Name); !ok || found.Name != w.Name {
			t.Errorf("%s is not found", w.Name)
		}
	}
	if _, ok := Lookup("none"); ok {
		t.Error("found what is not there")
	}
}
