package blas

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

// ISA is an instruction set that has kernels.
type ISA string

// The instruction sets. Portable is plain Go and runs everywhere; on arm64 the
// compiler fuses its multiply-adds.
const (
	AVX512   ISA = "avx512"
	AVX2     ISA = "avx2"
	NEON     ISA = "neon"
	Portable ISA = "portable"
)

// ISAVariable is the environment variable that limits Best to a set: avx512, avx2, neon or
// portable.
const ISAVariable = "BATCHCTL_BLAS_ISA"

// Available lists the instruction sets that this machine can run, the best first.
func Available() []ISA { return append(slices.Clone(supported()), Portable) }

// Best is the instruction set of a product that asks for none: the best available one, or the one
// that ISAVariable names, read once. If the machine cannot run that one, Best is the best
// available, and LimitError reports the problem.
func Best() ISA {
	isa, _ := best()
	return isa
}

// LimitError returns an error if ISAVariable names an instruction set that this machine cannot run.
func LimitError() error {
	_, err := best()
	return err
}

var best = sync.OnceValues(func() (ISA, error) { return limited(os.Getenv(ISAVariable), Available()) })

// limited returns the wanted instruction set, or the first available one if none is wanted or the
// wanted one is unavailable; the latter is also an error.
func limited(wanted string, available []ISA) (ISA, error) {
	if wanted == "" {
		return available[0], nil
	}
	if slices.Contains(available, ISA(wanted)) {
		return ISA(wanted), nil
	}
	var names []string
	for _, isa := range available {
		names = append(names, string(isa))
	}
	return available[0], fmt.Errorf("%s=%s: this machine has no such kernels (it has: %s)", ISAVariable, wanted,
		strings.Join(names, ", "))
}
