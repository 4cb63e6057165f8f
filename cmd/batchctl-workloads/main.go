// Command batchctl-workloads is the program inside the container image: it
// runs one of the shipped workloads, on the CPU or on NVIDIA GPUs.
//
// Loading the driver makes it a dynamic program. The tag static leaves that out, for
// images without a C library.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/batchctl/batchctl/workloads"
	"github.com/batchctl/batchctl/workloads/gpu"
)

// platform is how this build reaches GPUs.
var platform gpu.Platform

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program, whatever hangs
	code := workloads.Main(ctx, platform, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
