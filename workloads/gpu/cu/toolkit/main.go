// Command toolkit creates what "go build -tags cuda" needs instead of NVIDIA's CUDA
// toolkit: cuda.h and libcuda.a, from what the module gorgonia.org/cu ships. It prints
// the settings of cgo for the shell:
//
//	eval "$(go run ./workloads/gpu/cu/toolkit)"
//	go build -tags cuda ./cmd/batchctl-workloads
//
// A program that is linked with that libcuda.a starts without a driver and can report why there is no
// GPU. With -cuda FOLDER it uses an installed toolkit, and creates only a header that lets
// gorgonia.org/cu compile against CUDA 13. The files go into your cache folder, or the folder of -o.
// Do not commit them or pass them on: the declarations are NVIDIA's.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with its environment as arguments; it returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("toolkit", flag.ContinueOnError)
	flags.SetOutput(stderr)
	output := flags.String("o", "", "write into this `folder` instead of the user's cache")
	cuda := flags.String("cuda", "", "use the CUDA toolkit in this `folder`, such as /usr/local/cuda")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: toolkit [-o FOLDER] [-cuda FOLDER]")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 { // no operands
		flags.Usage()
		return 2
	}
	s, err := prepare(*output, *cuda)
	if err != nil {
		fmt.Fprintln(stderr, "toolkit:", err)
		return 1
	}
	fmt.Fprint(stdout, s)
	return 0
}

// prepare writes the files and returns the settings of cgo.
func prepare(output, cuda string) (settings, error) {
	env, err := goEnv()
	if err != nil {
		return settings{}, err
	}
	var p product
	if cuda == "" {
		p, err = replacement(env)
	} else {
		p, err = installed(cuda)
	}
	if err != nil {
		return settings{}, err
	}
	folder, err := p.put(output)
	if err != nil {
		return settings{}, err
	}
	return p.settings(folder, env), nil
}
