package gpu_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// measured runs .ci/bench-gpu with a program and a PyTorch that say how long everything
// takes, and returns what it wrote and its exit code.
func measured(t *testing.T, settings string) (string, int) {
	t.Helper()
	testtool.Need(t, "bash", "python3")
	folder, bench := t.TempDir(), filepath.Join("testdata", "bench")
	program, err := os.ReadFile(filepath.Join(bench, "program.py"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"batchctl-workloads": string(program), "tests": "", "version": "0123456789ab\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	peer, err := filepath.Abs(filepath.Join(bench, "peer"))
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join("..", "..", ".ci", "bench-gpu")
	cmd := exec.CommandContext(t.Context(), "bash", script, "run", folder)
	cmd.Env = append(os.Environ(), "PARTS=figures", "ROUNDS=1", "REPEATS=1", "SIZES=16", "IMAGE=100", "PYTHONPATH="+peer, "PYTHONDONTWRITEBYTECODE=1",
		"CUDA_CC=9.0", "PRODUCT_MS=1", "BLUR_MS=8", "CUBLAS_MS=1", "BUILTIN_MS=1.25", "IMAGE_MS=2", "COPIES=0.85", "WHOLE=1.25", "PCIE=1.2", "TFLOPS=1")
	cmd.Env = append(cmd.Env, strings.Fields(settings)...)
	out, err := cmd.CombinedOutput()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// The ratios, the bounds that they are compared with, and the exit code.
func TestFigures(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the script reads /proc")
	}
	for _, test := range []struct {
		name, settings string
		code           int
		want           []string
	}{
		{"held", "SIZES=16,20", 0, []string{
			"Some GPU, compute capability 9.0; driver 580.1, CUDA 13.0; cuBLAS 13.1; PyTorch 0.0, torchvision 0.1; ",
			"batchctl 0123456789ab. Rounds: 1, of 1 runs each; medians.",
			"| float64, N = 20: cuBLAS against PyTorch | 1.6e-05 TFLOP/s | 1.6e-05 TFLOP/s | 1.000 | 0.97 | held |",
			"| float32, N = 16: our kernel against cuBLAS | 6.55e-06 TFLOP/s | 8.19e-06 TFLOP/s | 0.800 | 0.75 | held |",
			"| tf32, N = 16: our kernel against cuBLAS | 6.55e-06 TFLOP/s | 8.19e-06 TFLOP/s | 0.800 | 0.55 | held |",
			"| float64, N = 20: our kernel against cuBLAS | 1.28e-05 TFLOP/s | 1.6e-05 TFLOP/s | 0.800 | 0.75 | held |",
			"| blur, sigma 2, 4 x 100²: against the lower roof (copy) | 2 ms | 1.7 ms | 0.850 | 0.7 | held |",
			"| blur, sigma 5, 4 x 100²: against torchvision | 2 ms | 8 ms | 4.0 | 3 | held |",
			"| Sobel, 4 x 100²: against copies within the card | 2 ms | 1.7 ms | 0.850 | 0.8 | held |",
			"| half, 4 x 100²: against copies within the card | 2 ms | 1.7 ms | 0.850 | 0.8 | held |",
			"| brightness, 4 x 100²: against copies within the card | 2 ms | 1.7 ms | 0.850 | 0.8 | held |",
			"| blur, sigma 2, 16 x 100², with transfers: against the slower part | 2.5 ms | 2.4 ms | 0.960 | 0.9 | held |",
			"| tf32, N = 20, with transfers: against the slowest part | 1.25 ms | 1.2 ms | 0.960 | 0.9 | held |",
			"32 bounds held, 0 missed, 0 not measured; ",
		}},
		// 120,000 samples take 4 (2 r + 1) operations each.
		{"blur at the arithmetic's roof", "TFLOPS=0.004", 0, []string{
			"| blur, sigma 2, 4 x 100²: against the lower roof (copy) | 2 ms | 1.7 ms | 0.850 | 0.7 | held |",
			"| blur, sigma 5, 4 x 100²: against the lower roof (FMA) | 2 ms | 3.72 ms | 1.860 | 0.7 | held |",
		}},
		{"slower than PyTorch", "CUBLAS_MS=1.04", 1, []string{
			"| bfloat16, N = 16: cuBLAS against PyTorch | 7.88e-06 TFLOP/s | 8.19e-06 TFLOP/s | 0.962 | 0.97 | MISSED |",
			"20 bounds held, 4 missed, 0 not measured",
		}},
		{"Ampere", "CUDA_CC=8.6 BUILTIN_MS=1.6 CUBLAS_MS=1 BLUR_MS=5 COPIES=0.65 WHOLE=1.4", 1, []string{
			"| float32, N = 16: our kernel against cuBLAS | 5.12e-06 TFLOP/s | 8.19e-06 TFLOP/s | 0.625 | 0.75 | MISSED |",
			"| tf32, N = 16: our kernel against cuBLAS | 5.12e-06 TFLOP/s | 8.19e-06 TFLOP/s | 0.625 | 0.7 | MISSED |",
			"4 bounds held, 19 missed",
		}},
		{"Turing", "CUDA_CC=7.5", 0, []string{"17 bounds held, 0 missed, 0 not measured"}},
		{"a wrong result", "WRONG=tf32", 1, []string{
			"| tf32, N = 16: our kernel against cuBLAS |  | 8.19e-06 TFLOP/s |  | 0.55 | not measured |",
			"23 bounds held, 0 missed, 1 not measured",
			"failed: batchctl-workloads: matrix: verify: element (0, 1) is off by 3",
		}},
		{"a peer without TF32", "IEEE=1", 1, []string{"failed: PyTorch's tf32 product of 16x16 is off by ", " not by 5e-05 to 0.001"}},
		{"no PyTorch", "PYTHON=/nowhere/python3", 3, []string{
			"cuBLAS 13.1; no PyTorch; ",
			"| float32, N = 16: cuBLAS against PyTorch | 8.19e-06 TFLOP/s |  |  | 0.97 | not measured |",
			"18 bounds held, 0 missed, 6 not measured",
			"not here: [Errno 2] No such file or directory: '/nowhere/python3' (/nowhere/python3; PYTHON names another)",
		}},
		{"PyTorch without CUDA", "NO_CUDA=1", 3, []string{"18 bounds held, 0 missed, 6 not measured", "not here: PyTorch sees no GPU (python3; PYTHON names another)"}},
		{"no GPU", "NO_GPU=1", 3, []string{"bench-gpu: batchctl-workloads: gpu-info: no GPU can be used"}},
		{"no time", "SECONDS=0.5", 3, []string{"there was no time left"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out, code := measured(t, test.settings)
			if code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			for _, want := range test.want {
				if !strings.Contains(out, want) {
					t.Errorf("no %q", want)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}
