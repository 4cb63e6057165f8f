package sweep

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// runAsChild is what a program does with a Child whose signals it gets.
func runAsChild() int {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM)
	c := Child{Environ: os.Environ(), Args: os.Args[1:], Signals: signals, Stdout: os.Stdout, Stderr: os.Stderr, Exec: syscall.Exec}
	exit, err := c.Run(context.Background())
	if err != nil {
		fmt.Fprintf(os.Stderr, "batchctl: %v\n", err)
	}
	return exit
}
