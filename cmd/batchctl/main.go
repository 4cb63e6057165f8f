// Command batchctl validates, plans, submits and runs AWS Batch jobs.
package main

import (
	"os"
	"runtime"
	"runtime/debug"

	"github.com/batchctl/batchctl/pkg/cli"
)

func main() {
	collectLate()
	os.Exit(cli.Main(cli.UntilSignal(), os.Args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// collectLate lets the heap grow to 32 MiB before the first collection. At the usual 4 MiB
// it took a third of the time of most commands, which end before they have need of one: it
// goes through the variables of the whole program. After it they come as usual. Where GOGC
// is set, that is what counts.
func collectLate() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(800)
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
