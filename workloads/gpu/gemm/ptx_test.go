package gemm

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/workloads/gpu/cuda"
)

// TestGenerated checks that the texts that are committed are what the compiler makes of
// the sources.
func TestGenerated(t *testing.T) {
	for _, test := range []struct {
		source  string
		target  cuda.Target
		version string
		file    string
	}{
		{"gemm.cu", cuda.SM70, "6.3", gemmPTX}, {"peak.cu", cuda.SM70, "6.3", peakPTX},
		{"mma.cu", cuda.SM80, "7.0", mmaPTX}, {"peak_mma.cu", cuda.SM80, "7.0", peakMMAPTX},
		{"wgmma.cu", cuda.SM90a, "8.0", wgmmaPTX},
	} {
		t.Run(test.source, func(t *testing.T) {
			text := ptx(test.file)
			if !strings.Contains(text, ".version "+test.version+"\n.target "+string(test.target)+"\n") {
				t.Errorf("the text is not PTX %s for %s", test.version, test.target)
			}
			folder := t.TempDir()
			err := cuda.Compile(test.source, test.target, folder)
			if errors.Is(err, cuda.ErrNoCompiler) {
				testtool.Missing(t, "%v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			name := cuda.Output(test.source, test.target)
			got, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != text {
				t.Errorf("%s is not of this %s: run go generate ./workloads/gpu/gemm", name, test.source)
			}
		})
	}
}

// TestText checks what makes the kernels fast: everything moves 16 bytes at a time, the
// loop over the depth is there once and all within it is unrolled, and no array has gone
// to local memory because its index is unknown.
func TestText(t *testing.T) {
	all := ptx(gemmPTX) + ptx(peakPTX) + ptx(mmaPTX) + ptx(peakMMAPTX) + ptx(wgmmaPTX)
	for kernel, counts := range map[string]map[string]int{
		// A step of 8 for 8x8 and 8x16 sums. Before the loop and in it: a fetch and a store;
		// 1 read of the factors before the 8 of the loop.
		"gemm_f32":      {"fma.rn.f32": 8 * 64, "ld.global.v4.f32": 2 * 2, "st.shared.v4.f32": 2, "ld.shared.v4.f32": 9 * 4, "st.global.v4.f32": 16},
		"gemm_f32_wide": {"fma.rn.f32": 8 * 128, "ld.global.v4.f32": 2 * 4, "st.shared.v4.f32": 2 * 2, "ld.shared.v4.f32": 9 * 6, "st.global.v4.f32": 32},
		"gemm_f64":      {"fma.rn.f64": 8 * 64, "ld.global.v2.f64": 2 * 6, "st.shared.v2.f64": 2 * 2, "ld.shared.v2.f64": 9 * 8, "st.global.v2.f64": 32},
		"gemm_f32_any":  {"fma.rn.f32": 8 * 128, "ld.shared.v4.f32": 9 * 6},
		"gemm_f64_any":  {"fma.rn.f64": 8 * 64, "ld.shared.v2.f64": 9 * 8},
		// Two multiplications deep in a step; three steps of copies before the loop and one in
		// it; the operands of one multiplication before the loop and of two in it.
		"gemm_tf32":        {"mma.sync": 2 * 32, "cp.async.cg": 4 * 6, "ldmatrix": 3 * 4, "ld.shared.f32": 3 * 16, "cvt.rna.tf32": 3 * 32, "st.global.v2.f32": 64},
		"gemm_bf16":        {"mma.sync": 2 * 32, "cp.async.cg": 4 * 6, "ldmatrix": 3 * 8, "cvt.rn.bf16x2": 64, "st.global.u32": 64},
		"gemm_f64_mma":     {"mma.sync": 2 * 32, "cp.async.cg": 4 * 4, "ld.shared.f64": 3 * 12, "st.global.v2.f64": 32},
		"gemm_tf32_any":    {"mma.sync": 2 * 32, "cp.async.cg": 0, "ldmatrix": 3 * 4},
		"gemm_bf16_any":    {"mma.sync": 2 * 32, "cp.async.cg": 0, "ldmatrix": 3 * 8},
		"gemm_f64_mma_any": {"mma.sync": 2 * 32, "cp.async.cg": 0},
		// Two steps in the loop and two of copies before it; each is four multiplications deep.
		// Every element of TF32 is rounded: the host's kernels do not show what clang leaves out.
		"gemm_bf16_wgmma": {"wgmma.mma_async": 2 * 4, "cp.async.cg": 4 * 12, "cvt.rn.bf16x2": 64, "st.global.u32": 64},
		"gemm_tf32_wgmma": {"wgmma.mma_async": 2 * 4, "cp.async.cg": 4 * 12, "st.shared.v4": 2 * 8, "ld.shared.f32": 2 * (4*8 + 16), "cvt.rna.tf32": 2 * (4*8 + 16), "st.global.f32": 128},
		"gemm_f64_hopper": {"mma.sync.aligned.m16n8k4": 2 * 16, "cp.async.cg": 4 * 4, "ld.shared.f64": 3 * 12, "st.global.v2.f64": 32},
		// The operations of a round, which designs count.
		"gemm_peak_f32": {"fma.rn.f32": 8 * 32}, "gemm_peak_f64": {"fma.rn.f64": 8 * 32},
		"gemm_peak_tf32": {"mma.sync.aligned.m16n8k8": 8 * 4}, "gemm_peak_bf16": {"mma.sync.aligned.m16n8k16": 8 * 4},
		"gemm_peak_f64_mma": {"mma.sync.aligned.m8n8k4": 8 * 4}, "gemm_peak_f64_hopper": {"mma.sync.aligned.m16n8k8": 8 * 4},
		"gemm_peak_tf32_wgmma": {"wgmma.mma_async.sync.aligned.m64n256k8": 4}, "gemm_peak_bf16_wgmma": {"wgmma.mma_async.sync.aligned.m64n256k16": 4},
	} {
		text := entry(t, all, kernel)
		if strings.Contains(text, ".local") {
			t.Errorf("%s uses local memory", kernel)
		}
		for instruction, want := range counts {
			if got := strings.Count(text, "\t"+instruction); got != want {
				t.Errorf("%s has %s %d times, want %d", kernel, instruction, got, want)
			}
		}
	}
}

// entry is the text of a kernel.
func entry(t *testing.T, ptx, name string) string {
	t.Helper()
	_, text, ok := strings.Cut(ptx, ".entry "+name+"(")
	if !ok {
		t.Fatalf("there is no kernel %s", name)
	}
	text, _, _ = strings.Cut(text, "\n}\n")
	return text
}
