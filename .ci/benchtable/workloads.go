package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/workloads/blas"
)

// The names of further figures of a workload: the seconds that the machine would need at its limit, such as the FMA
// peak or the bandwidth of a copy, as measured in the same process.
const atLimit = "seconds at the limit"

// measured is a line that a workload prints.
type measured struct {
	Seconds  []float64
	Median   float64
	Verified bool
	Ceilings []struct{ Share float64 }
}

// workload runs one operation of the workloads.
func (w *workshop) workload(name string, args ...string) side {
	return side{name: name, prepare: func(context.Context) error { _, err := w.workloads(); return err },
		run: func(ctx context.Context) (figures, error) {
			out, f, err := w.output(ctx, program{args: append([]string{w.path("workloads")}, args...)})
			if err != nil {
				return nil, err
			}
			return readWorkload(out, f)
		}}
}

// readWorkload adds the figures of a workload's line to those of its process.
func readWorkload(line []byte, f figures) (figures, error) {
	var m measured
	if err := json.Unmarshal(line, &m); err != nil {
		return nil, err
	}
	if !m.Verified {
		return nil, errors.New("the workload did not verify its result")
	}
	f[seconds] = m.Seconds
	if len(m.Ceilings) > 0 {
		f[atLimit] = []float64{m.Median * m.Ceilings[0].Share}
	}
	return f, nil
}

// peaks are the goals for a product's share of the FMA peak, by instruction set.
var peaks = map[blas.ISA]float64{blas.AVX512: 0.92, blas.AVX2: 0.90}

// matrixGroups compares matrix products with OpenBLAS and with the peak of the machine.
func (w *workshop) matrixGroups() []group {
	best := blas.Available()[0]
	var groups []group
	add := func(isa blas.ISA, kind string, n, threads int) {
		size := w.size(n, n/8)
		name := fmt.Sprintf("gemm/%s/%d", kind, n)
		var cores []string // all
		if threads != 2 {
			name += fmt.Sprintf("/%d-thread", threads)
		}
		if isa != best {
			name, cores = name+"/"+string(isa), avx2Cores
		}
		repeats := strconv.Itoa(map[bool]int{true: 7, false: 3}[n <= 1000])
		peak, peer := atLeast(peaks[isa]), atLeast(1)
		if peaks[isa] == 0 {
			peak, peer = goal{}, goal{}
		}
		groups = append(groups, group{rounds: 5,
			rows: []row{
				{name: name + "/peak", peer: "FMA peak", ours: figure{"ours", seconds}, theirs: figure{"ours", atLimit},
					goal: peak},
				{name: name + "/openblas", peer: "OpenBLAS", ours: figure{"ours", seconds},
					theirs: figure{"openblas", seconds}, goal: peer},
			},
			sides: []side{
				w.workload("ours", "matrix", "--sizes", strconv.Itoa(size), "--type", kind, "--threads",
					strconv.Itoa(threads), "--kernel", string(isa), "--repeats", repeats, "--format", "json"),
				w.openBLAS(kind, size, threads, repeats, cores),
			}})
	}
	for _, kind := range []string{"float64", "float32"} {
		if best != blas.Portable {
			groups = append(groups, w.kernelGroup(kind, best))
		}
		for _, n := range []int{1000, 2000, 4000} {
			add(best, kind, n, 2)
		}
		add(best, kind, 2000, 1)
		if best == blas.AVX512 {
			add(blas.AVX2, kind, 2000, 2)
		}
	}
	for _, width := range []int{8, 4} {
		kind := fmt.Sprintf("float%d", 8*width)
		n := w.size(4000, 2000) // below, the program itself would count
		operands := float64(3*width*n*n) / (1 << 20)
		groups = append(groups, group{rounds: 1,
			rows: []row{{name: "gemm/" + kind + "/memory", peer: "operands", unit: mebibytes,
				ours: figure{"ours", mebibytes}, theirs: figure{"operands", seconds}, goal: atMost(1.05)}},
			sides: []side{w.workload("ours", "matrix", "--sizes", strconv.Itoa(n), "--type", kind, "--threads", "2",
				"--kernel", string(best), "--repeats", "2", "--format", "json"),
				constant("operands", operands)}})
	}
	return groups
}

// kernelGroup compares the kernel of the products, on data in the first-level cache, with the peak of the machine. It
// shows how much of the distance between a product and the peak is the machine's: a core that is shared with others
// slows the kernel and not the loop that measures the peak.
func (w *workshop) kernelGroup(kind string, isa blas.ISA) group {
	name := "BenchmarkKernel/" + string(isa) + "/" + kind + "/2"
	return group{rounds: 3,
		rows: []row{{name: "gemm/" + kind + "/kernel/peak", peer: "FMA peak", ours: figure{"ours", seconds},
			theirs: figure{"ours", atLimit}, goal: atLeast(peaks[isa])}},
		sides: []side{w.goBenchmark("ours", "./workloads/blas", "^BenchmarkKernel$/^"+string(isa)+"$/^"+kind+"$/^2$",
			"200x", func(all map[string]map[string]float64) figures {
				return figures{seconds: {1}, atLimit: {all[name]["%ofpeak"] / 100}}
			})}}
}

// allCores are the kernels of OpenBLAS to try; the empty name is its own choice. An OpenBLAS that is older than the
// processor may choose a slow one.
var allCores = []string{"", "SapphireRapids", "Cooperlake", "SkylakeX", "Zen", "Haswell"}

// avx2Cores are those of AVX2.
var avx2Cores = []string{"Zen", "Haswell"}

// openBLAS is a product by OpenBLAS, with the fastest of the kernels for that size.
func (w *workshop) openBLAS(kind string, n, threads int, repeats string, cores []string) side {
	var python, core string
	multiply := func(ctx context.Context, core, repeats string) (peerResult, error) {
		p := program{args: []string{python, w.path("peers.py"), "openblas", kind, strconv.Itoa(n),
			strconv.Itoa(threads), repeats}}
		if core != "" {
			p.env = []string{"OPENBLAS_CORETYPE=" + core}
		}
		return w.peer(ctx, p)
	}
	return side{name: "openblas", prepare: func(ctx context.Context) (err error) {
		if python, err = w.python(ctx, "ctypes"); err != nil {
			return err
		}
		if w.discard(ctx, python, w.path("peers.py"), "has-openblas") != nil {
			return needs("OpenBLAS (Debian: libopenblas0-pthread, or BLAS_LIBRARY=FILE)")
		}
		fastest := 0.0
		var version string
		if cores == nil {
			cores = allCores
		}
		for _, name := range cores {
			// A kernel with instructions that the processor lacks ends the process.
			r, err := multiply(ctx, name, "2")
			if err != nil {
				continue
			}
			if s := slices.Min(r.Seconds); fastest == 0 || s < fastest {
				fastest, core, version = s, name, r.Version
			}
		}
		if fastest == 0 {
			return errors.New("no kernel of OpenBLAS runs here")
		}
		w.note(fmt.Sprintf("%s, N = %d, %d threads: %s", kind, n, threads, version))
		return nil
	}, run: func(ctx context.Context) (figures, error) {
		r, err := multiply(ctx, core, repeats)
		return figures{seconds: r.Seconds}, err
	}}
}

// peerResult is what peers.py prints.
type peerResult struct {
	Seconds []float64
	Version string
}

// peer runs peers.py.
func (w *workshop) peer(ctx context.Context, p program) (r peerResult, err error) {
	out, _, err := w.output(ctx, p)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(bytes.TrimSpace(out), &r)
}

// imageOperation is an operation on images, with its arguments.
type imageOperation struct {
	name, operation string
	sizes           []int
	args            []string
}

var imageOperations = []imageOperation{
	{"blur-2", "gaussian-blur", []int{2048, 4096}, []string{"--sigma", "2"}},
	{"blur-5", "gaussian-blur", []int{2048, 4096}, []string{"--sigma", "5"}},
	{"sobel", "sobel", []int{4096}, nil},
	{"resize-half", "resize-half", []int{4096}, nil},
	{"brightness", "brightness", []int{4096}, nil},
	// OpenCV's filter has 8 taps and no antialiasing: less work than ours if the image becomes smaller.
	{"lanczos", "resize-lanczos", []int{2048, 4096}, []string{"--scale", "0.5"}},
}

// imageGoals returns the goals against OpenCV and for the share of the copy bandwidth. The operations that are limited
// by memory have goals only for the best kernel on 2 threads.
func imageGoals(name, kernel string, best bool, threads int) (opencv, copied goal) {
	switch {
	case kernel == "go" || kernel == string(blas.NEON):
		return goal{}, goal{}
	case strings.HasPrefix(name, "blur") && kernel == string(blas.AVX512):
		return atLeast(1.8), goal{}
	case name == "blur-2" && threads == 2:
		return atLeast(2), goal{}
	case strings.HasPrefix(name, "blur"):
		return atLeast(1.4), goal{}
	case name == "lanczos":
		return atLeast(1), goal{}
	case best && threads == 2:
		return atLeast(1), atLeast(0.8)
	}
	return goal{}, goal{}
}

// imageGroups compares operations on images with OpenCV, and with the copy bandwidth of the machine.
func (w *workshop) imageGroups() []group {
	var kernels []string
	for _, isa := range blas.Available() {
		if isa != blas.Portable {
			kernels = append(kernels, string(isa))
		}
	}
	if len(kernels) == 0 {
		kernels = []string{"go"}
	}
	const repeats = "5"
	var groups []group
	for _, o := range imageOperations {
		for _, n := range o.sizes {
			for _, threads := range []int{1, 2} {
				size := strconv.Itoa(w.size(n, n/8))
				g := group{rounds: 3, sides: []side{w.openCV(o.name, size, threads, repeats)}}
				for i, kernel := range kernels {
					name := fmt.Sprintf("image/%s/%d/%d-thread/%s", o.name, n, threads, kernel)
					opencv, copied := imageGoals(o.name, kernel, i == 0, threads)
					g.rows = append(g.rows, row{name: name + "/opencv", peer: "OpenCV", ours: figure{kernel, seconds},
						theirs: figure{"opencv", seconds}, goal: opencv})
					if copied != (goal{}) {
						g.rows = append(g.rows, row{name: name + "/copy", peer: "copy bandwidth",
							ours: figure{kernel, seconds}, theirs: figure{kernel, atLimit}, goal: copied})
					}
					args := append([]string{"image", "--batch", "1", "--format", "json", "--kernel", kernel,
						"--threads", strconv.Itoa(threads), "--repeats", repeats,
						"--operations", o.operation, "--sizes", size}, o.args...)
					// OpenCV is first in the list and runs after our first kernel.
					g.sides = slices.Insert(g.sides, 2*i, w.workload(kernel, args...))
				}
				groups = append(groups, g)
			}
		}
	}
	return groups
}

// openCV is an operation of OpenCV.
func (w *workshop) openCV(name, size string, threads int, repeats string) side {
	var python string
	return side{name: "opencv", prepare: func(ctx context.Context) error {
		var err error
		if python, err = w.python(ctx, "cv2", "numpy"); err != nil {
			return needs("a python3 with cv2 (Debian: python3-opencv)")
		}
		return nil
	}, run: func(ctx context.Context) (figures, error) {
		r, err := w.peer(ctx, program{args: []string{python, w.path("peers.py"), "opencv", name, size,
			strconv.Itoa(threads), repeats}})
		if err == nil {
			w.note("OpenCV " + r.Version)
		}
		return figures{seconds: r.Seconds}, err
	}}
}
