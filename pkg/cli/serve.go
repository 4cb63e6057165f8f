package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/spec"
)

func (p *program) serveCommand() *cli.Command {
	return &cli.Command{
		Name:      "serve",
		Usage:     "serve the AWS Batch API on this machine",
		UsageText: "batchctl serve [FLAGS]",
		Description: help("stdout holds the exports with which the aws CLI, boto3 and every SDK drive this engine. Only this\n"+
			"machine can reach it, and only with its key. Jobs run on this machine as your user (as root only\n"+
			"with --allow-root); the state is kept.",
			"batchctl serve\neval \"$(batchctl serve --exports)\"\naws batch describe-job-queues"),
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "state-dir", Usage: "`DIRECTORY` of the engine (default: $BATCHCTL_STATE_DIR, else ~/.local/state/batchctl)"},
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:0", Usage: "loopback `ADDRESS`; port 0 takes a free one"},
			&cli.Float64Flag{Name: "vcpus", Usage: "vCPUs that jobs can use together", DefaultText: "this machine's"},
			&cli.IntFlag{Name: "memory", Usage: "`MIB` of memory that jobs can use together", DefaultText: "this machine's"},
			&cli.IntFlag{Name: "gpus", Value: -1, Usage: "GPUs that jobs can use together", DefaultText: "those found"},
			&cli.DurationFlag{Name: "exit-when-idle", Usage: "end after this `DURATION` without a job or a request; 0 never ends"},
			&cli.BoolFlag{Name: "lenient", Usage: "take what moto takes and AWS Batch refuses, with a notice: for test suites written against moto; what passes may fail in the cloud"},
			&cli.BoolFlag{Name: "exports", Usage: "print the exports of the running engine and end"},
			&cli.BoolFlag{Name: "stop", Usage: "end the running engine and its jobs"},
		}, executorFlags()...),
		Action: p.serve,
	}
}

func (p *program) serve(c *cli.Context) error {
	if err := most(c, 0); err != nil {
		return err
	}
	dir, err := stateDir(c)
	if err != nil {
		return err
	}
	switch {
	case c.Bool("exports"):
		return p.printExports(dir)
	case c.Bool("stop"):
		return p.stopEngine(c.Context, dir)
	}
	if err := checkServe(c); err != nil {
		return err
	}
	choice, err := executorOf(c, spec.Target{})
	if err != nil {
		return err
	}
	x, err := openExecutor(c.Context, dir, choice)
	if err != nil {
		return err
	}
	var listener net.Listener
	if c.IsSet("listen") {
		if listener, err = listenLoopback(c.String("listen")); err != nil {
			return err
		}
		defer listener.Close()
	}
	options := engineOptions(dir, spec.Target{VCPUs: c.Float64("vcpus"), MemoryMiB: c.Int("memory"), GPUs: c.Int("gpus")})
	if c.Int("gpus") == 0 {
		options.GPUs = []string{}
	}
	options.Executor, options.Lenient = x.Executor, c.Bool("lenient")
	options.Log = slog.New(slog.NewTextHandler(p.Err, nil))
	engine, err := local.Open(options)
	var locked *local.LockedError
	if errors.As(err, &locked) {
		return fail(ExitNotDone, "an engine already serves %s (process %d)", dir, locked.PID).
			try("use it: eval \"$(batchctl serve --exports)\"    or another state: --state-dir DIRECTORY")
	}
	if err != nil {
		return fail(ExitNotDone, "open the engine: %v", err)
	}
	if err := x.keep(dir); err != nil {
		return errors.Join(fail(ExitNotDone, "note the engine's executor: %v", err), engine.Close(c.Context))
	}
	p.nameExecutor(x.label)
	if listener == nil {
		if listener, err = engine.Listen(); err != nil {
			return errors.Join(fail(ExitNotDone, "listen on 127.0.0.1: %v", err), engine.Close(c.Context))
		}
		defer listener.Close()
	}
	return p.serveEngine(c.Context, engine, listener, dir, c.Duration("exit-when-idle"))
}

// maxVCPUs is more than any machine has.
const maxVCPUs = 1e6

// checkServe refuses amounts that no machine has; those that are not given are 0, or -1.
func checkServe(c *cli.Context) error {
	switch v := c.Float64("vcpus"); {
	case !(v >= 0 && v <= maxVCPUs): // not a number either
		return usage("--vcpus %v is no number of vCPUs", v).try("for example: --vcpus 4")
	case c.Int("memory") < 0:
		return usage("--memory %d is no number of MiB", c.Int("memory")).try("for example: --memory 8192")
	case c.Int("gpus") < -1:
		return usage("--gpus %d is no number of GPUs", c.Int("gpus")).try("for example: --gpus 1; without it those found are used")
	case c.Duration("exit-when-idle") < 0:
		return usage("--exit-when-idle %s is before now", c.Duration("exit-when-idle")).try("for example: --exit-when-idle 10m")
	}
	return nil
}

// serveEngine serves until ctx ends or the engine has been idle long enough.
func (p *program) serveEngine(ctx context.Context, engine *local.Engine, l net.Listener, dir string, idle time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() {
		served <- engine.Serve(ctx, l, func(c local.Connection) { p.announce(c, dir) })
	}()
	if idle > 0 {
		go func() {
			engine.WaitIdle(ctx, idle)
			cancel()
		}()
	}
	err := <-served
	closing, done := context.WithTimeout(context.Background(), closeTimeout)
	defer done()
	return errors.Join(err, engine.Close(closing))
}

func (p *program) announce(connection local.Connection, dir string) {
	fmt.Fprint(p.Out, exports(connection))
	fmt.Fprintf(p.Err, "local engine at %s, state in %s; Ctrl-C ends it and its jobs\n", connection.Endpoint, diag.Printable(dir))
}

func (p *program) printExports(dir string) error {
	connection, err := connected(dir)
	if err != nil {
		return err
	}
	return p.printText(exports(connection))
}

// stopEngine asks a running engine to end, and waits until it has.
func (p *program) stopEngine(ctx context.Context, dir string) error {
	connection, err := local.Connect(dir)
	if err != nil {
		return fail(ExitNotDone, "%v", err).try("batchctl list reads its state all the same")
	}
	process, err := os.FindProcess(connection.PID)
	if err == nil {
		err = process.Signal(os.Interrupt)
	}
	if err != nil {
		return fail(ExitNotDone, "end the engine, process %d: %v", connection.PID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	if err := local.WaitClosed(ctx, dir); err != nil {
		return fail(ExitNotDone, "the engine, process %d, has not ended yet: %v", connection.PID, err)
	}
	fmt.Fprintln(p.Err, "the engine has ended")
	return nil
}

// listenLoopback refuses every address that other machines could reach: the
// engine runs commands for whoever reaches it.
func listenLoopback(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, usage("--listen %s: %v", address, err).try("for example: --listen 127.0.0.1:8080")
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, usage("--listen %s is not a loopback address", address).
			try("the engine runs commands for whoever reaches it; use 127.0.0.1")
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fail(ExitNotDone, "listen on %s: %v", address, err).try("--listen 127.0.0.1:0 takes a free port")
	}
	return listener, nil
}
