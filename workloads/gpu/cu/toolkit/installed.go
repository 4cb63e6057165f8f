package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
)

// compat is a header that lets gorgonia.org/cu compile against CUDA 13.
//
//go:embed c/compat13.h
var compat []byte

// installed puts a cuda.h for CUDA 13, which also works with older ones, before the header and the
// library of an installed toolkit. That library is the driver's: a program that is linked with it
// does not start without a driver.
func installed(cuda string) (product, error) {
	cuda, err := filepath.Abs(cuda)
	if err != nil {
		return product{}, err
	}
	include, library := filepath.Join(cuda, "include"), filepath.Join(cuda, "lib64", "stubs")
	text, err := os.ReadFile(filepath.Join(include, "cuda.h"))
	if err == nil {
		_, err = os.Stat(filepath.Join(library, "libcuda.so"))
	}
	if err != nil {
		return product{}, fmt.Errorf("%s is no CUDA toolkit: %w; without -cuda none is needed", cuda, err)
	}
	return product{
		files:     map[string][]byte{"cuda.h": compat},
		includes:  []string{include},
		libraries: []string{library},
		depends:   [][]byte{text},
	}, nil
}
