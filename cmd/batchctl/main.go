// Command batchctl validates, plans, submits and runs AWS Batch jobs.
package main

import (
	"os"
	"runtime"
	"runtime/debug"

	"github.com/batchctl/batchctl/pkg/cli"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
)

func main() {
	collectLate()
	os.Exit(cli.Main(cmdline.UntilSignal(), os.Args, term.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// collectLate lets the heap grow to 32 MiB before the first collection. At the usual 4 MiB
// it took a third of the time of most commands, which end before they have need of one: it
// goes through the variables of the whole program. After it they come as usual, or as a
// command has asked for in the meantime. Where GOGC is set, that is what counts.
func collectLate() {
	if os.Getenv("GOGC") != "" {
		return
	}
	runtime.AddCleanup(new([64]byte), collectUsually, debug.SetGCPercent(late))
}

// late is the growth in per cent until the first collection.
const late = 800

// collectUsually goes back to the usual growth, if no one has asked for another one.
func collectUsually(usual int) {
	if now := debug.SetGCPercent(usual); now != late {
		debug.SetGCPercent(now)
	}
}
