package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/workloads/gpu/fakecuda"
)

// A complete benchmark: both reference jobs on the local engine, that of the GPU in the batchctl-workloads
// in batchctl's folder with the fake driver, which runs the kernels on the CPU, and the report. Its
// times mean nothing.
func TestBenchOnGPU(t *testing.T) {
	libraries := fakecuda.Build(t)
	bin, dir := programs(t), t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "jobs"), os.DirFS("../../jobs")); err != nil {
		t.Fatal(err)
	}
	platform := filepath.Join(dir, "jobs", "batchctl.json")
	text, err := os.ReadFile(platform)
	if err != nil {
		t.Fatal(err)
	}
	machine := strings.Replace(string(text), `"targets": {`, `"targets": { "local": { "gpus": 1, "vcpus": 8, "memory": "64 GiB" },`, 1)
	if err := os.WriteFile(platform, []byte(machine), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, workload := range []string{"matrix", "image"} {
		t.Run(workload, func(t *testing.T) {
			parameters := map[string]string{"matrix": "sizes=64", "image": "sizes=64,batch=2"}[workload]
			args := []string{"bench", "--target", "local", "--workload", workload, "--runs", "1", "--out", "report", "--published",
				"--env", "BATCHCTL_LIBCUDA=" + libraries + "/libcuda.so.1", "--env", "BATCHCTL_CUBLAS=" + libraries + "/libcublas.so.12"}
			for pair := range strings.SplitSeq(parameters, ",") {
				args = append(args, "--parameters", pair)
			}
			cmd := exec.Command(filepath.Join(bin, "batchctl"), args...)
			cmd.Dir = filepath.Join(dir, "jobs")
			cmd.Env = append(os.Environ(), "BATCHCTL_STATE_DIR="+filepath.Join(dir, "state"))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
			data, err := os.ReadFile(filepath.Join(dir, "jobs", "report", "benchmark.json"))
			if err != nil {
				t.Fatal(err)
			}
			var report struct {
				Comparison struct {
					Pairs    []struct{}
					Unpaired []struct{ BaseSeconds, OtherSeconds float64 }
				}
			}
			if err := json.Unmarshal(data, &report); err != nil {
				t.Fatal(err)
			}
			// Microseconds on a driver that runs on the CPU are often not a measurement, and then
			// not compared. That both sides ran is what counts here.
			rows := len(report.Comparison.Pairs)
			for _, u := range report.Comparison.Unpaired {
				if u.BaseSeconds > 0 && u.OtherSeconds > 0 {
					rows++
				}
			}
			if want := map[string]int{"matrix": 1, "image": 7}[workload]; rows < want {
				t.Errorf("%d rows have both sides, want %d:\n%s", rows, want, out)
			}
			for _, want := range []string{"Decision", "Speed-up", "Published elsewhere"} {
				if !strings.Contains(string(out), want) {
					t.Errorf("the summary has no %q:\n%s", want, out)
				}
			}
		})
	}
}
