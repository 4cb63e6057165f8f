package injob

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/objects"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// child is batchctl child. It ignores the end of ctx: signals are for the child's
// program, which decides how to stop.
func child(ctx context.Context, con *term.Console, args []string) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	// The list of a sweep may be in S3, which Open reads with the container's
	// role.
	environ := os.Environ()
	m := &measurement{}
	if !stages(args) { // which also stores the measurement beside the outputs
		m = startMeasurement(&environ, false)
	}
	child := &sweep.Child{
		Environ: environ, Args: args, Exec: m.exec, Signals: signals, Stdout: con.Out, Stderr: term.Unmasked(con.Err),
		Open: (&objects.Store{Config: func(ctx context.Context) (aws.Config, error) {
			return containerConfig(ctx,
				con)
		}}).Open,
	}
	code, err := child.Run(context.WithoutCancel(ctx))
	m.finish(con)
	if err != nil {
		return exit.Fail(code, "%v", err)
	}
	return exit.Silent(max(code, m.exit))
}
