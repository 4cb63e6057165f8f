package blas

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

// ISA is an instruction set that kernels are written for.
type ISA string

// The instruction sets. Portable is plain Go and runs everywhere; on arm64 the
// compiler fuses its multiply-adds.
const (
	AVX512   ISA = "avx512"
	AVX2     ISA = "avx2"
	NEON     ISA = "neon"
	Portable ISA = "portable"
)

// ISAVariable is the environment variable that takes the better instruction
// sets away from Best: avx2, neon or portable.
const ISAVariable = "BATCHCTL_BLAS_ISA"

// Available lists the instruction sets of this machine, the best first.
func Available() []ISA { return append(slices.Clone(supported()), Portable) }

// Best is the instruction set that a product takes when none is asked for: the
// best of this machine, or what ISAVariable says, read once. A value that the
// machine cannot run leaves the best; LimitError tells of it.
func Best() ISA {
	isa, _ := best()
	return isa
}

// LimitError is not nil where ISAVariable says what this machine cannot run.
func LimitError() error {
	_, err := best()
	return err
}

var best = sync.OnceValues(func() (ISA, error) { return limited(os.Getenv(ISAVariable), Available()) })

func limited(wanted string, available []ISA) (ISA, error) {
	if wanted == "" {
		return available[0], nil
	}
	if slices.Contains(available, ISA(wanted)) {
		return ISA(wanted), nil
	}
	var words []string
	for _, isa := range available {
		words = append(words, string(isa))
	}
	return available[0], fmt.Errorf("%s=%s: this machine has no such kernels (it has: %s)", ISAVariable, wanted, strings.Join(words, ", "))
}
