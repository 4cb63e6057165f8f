// Command batchctl validates, plans, submits and runs AWS Batch jobs.
package main

import (
	"os"

	"github.com/batchctl/batchctl/pkg/cli"
)

func main() {
	os.Exit(cli.Main(cli.UntilSignal(), os.Args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
