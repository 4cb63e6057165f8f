// Command batchctl validates, plans, submits and runs AWS Batch jobs.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/batchctl/batchctl/pkg/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal must not wait for the first one's clean-up.
	context.AfterFunc(ctx, stop)
	os.Exit(cli.Main(ctx, os.Args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
