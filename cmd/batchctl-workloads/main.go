// Command batchctl-workloads is the program inside the container image: it
// runs one of the shipped workloads.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/batchctl/batchctl/workloads"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := workloads.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
