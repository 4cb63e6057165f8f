package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/local/events"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/urfave/cli/v2"
)

// ServeCommand is batchctl serve.
func ServeCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "serve",
		Usage:     "serve the AWS Batch API on this machine",
		UsageText: "batchctl serve [FLAGS]",
		Description: cmdline.Help("Prints exports that make the AWS CLI, boto3 and the SDKs use this engine. Only programs on this machine that have its key can use it. Jobs run with your permissions. If you are root, jobs from other clients run as processes only with --allow-root.\n\nCtrl-C and --stop end the engine and its jobs; the state is kept.",
			"batchctl serve\neval \"$(batchctl serve --exports)\"\naws batch describe-job-queues"),
	}, serveOptions{Listen: "127.0.0.1:0", GPUs: -1, LogLimit: local.DefaultLogLimit >> 20,
		Executor: target.ExecutorOptions{Runs: true}},
		func(ctx context.Context, o serveOptions) error { return serve(ctx, con, o) }, cmdline.NoTarget("platform")...)
}

// serveOptions are the flags of serve. checkServe checks their values.
type serveOptions struct {
	cmdline.Given
	Listen   string `flag:"listen" usage:"the loopback <ADDRESS>; port 0 uses a free port"`
	Engine   target.Options
	VCPUs    float64       `flag:"vcpus" usage:"the <NUMBER> of vCPUs for all jobs" default:"this machine's"`
	Memory   int           `flag:"memory" usage:"the memory for all jobs, in <MIB>" default:"this machine's"`
	GPUs     int           `flag:"gpus" usage:"the <NUMBER> of GPUs for all jobs" default:"those found"`
	LogLimit int           `flag:"log-limit" usage:"limit the log of an attempt to this many <MIB>; the job continues when its log is full; 0 sets no limit"`
	Idle     time.Duration `flag:"exit-when-idle" usage:"stop after this <DURATION> without a job or a request; 0 never stops"`
	Events   []string      `flag:"events" usage:"deliver the state changes of jobs, as EventBridge events, to <DESTINATION>: file:PATH, unix:PATH or http://127.0.0.1:PORT/PATH; may be repeated"`
	Exports  bool          `flag:"exports" usage:"print the exports of the running engine"`
	Daemon   bool          `flag:"daemon" usage:"be the background engine of a command that ends" hidden:"true"`
	Stop     bool          `flag:"stop" usage:"stop the running engine and its jobs"`
	Executor target.ExecutorOptions
}

// serve is batchctl serve: it opens the engine of the state directory and serves
// it until it is stopped. --exports and --stop talk to an engine that runs
// already.
func serve(ctx context.Context, con *term.Console, o serveOptions) error {
	if err := o.Most(0); err != nil {
		return err
	}
	dir, err := o.Engine.Dir()
	if err != nil {
		return err
	}
	switch {
	case o.Exports:
		return printExports(con, dir, false, dialects[posix])
	case o.Stop:
		return stopEngine(ctx, con, dir)
	}
	if err := target.CanRun(); err != nil {
		return err
	}
	if o.Daemon {
		target.SetUmask(daemonUmask)
	}
	if err := checkServe(o); err != nil {
		return err
	}
	destinations, err := eventDestinations(o.Events)
	if err != nil {
		return err
	}
	choice, err := o.Executor.Choose(document.Target{})
	if err != nil {
		return err
	}
	x, err := target.OpenExecutor(ctx, dir, choice)
	if err != nil {
		return err
	}
	if x.Secrets, err = target.OpenSecrets(o.Executor.SecretsFrom); err != nil {
		return err
	}
	var listener net.Listener
	if o.IsSet("listen") {
		if listener, err = listenLoopback(o.Listen); err != nil {
			return err
		}
		defer listener.Close()
	}
	options := target.EngineOptions(dir, document.Target{VCPUs: o.VCPUs, MemoryMiB: o.Memory, GPUs: o.GPUs},
		x.ExecutorChoice)
	// nil lets the engine detect GPUs; an empty list means that there are none.
	if o.GPUs == 0 {
		options.GPUs = []string{}
	}
	options.Executor, options.Secrets, options.Events = x.Executor, x.Secrets, destinations
	// 0 on the command line is no limit, which is -1 for the engine.
	if options.LogLimit = int64(o.LogLimit) << 20; options.LogLimit == 0 {
		options.LogLimit = -1
	}
	if o.Daemon {
		options.Background = target.BackgroundArguments(dir, document.Target{VCPUs: o.VCPUs, MemoryMiB: o.Memory,
			GPUs: o.GPUs}, x.ExecutorChoice)
	}
	options.Log = slog.New(slog.NewTextHandler(con.Err, nil))
	engine, err := local.Open(options)
	var locked *local.LockedError
	if errors.As(err, &locked) {
		if o.Daemon {
			fmt.Fprintln(con.Out, target.EngineTaken)
		}
		return exit.Fail(exit.NotDone, "an engine already serves %s (process %d)", dir, locked.PID).
			Try("use it: eval \"$(batchctl serve --exports)\"    or another state: --state-dir DIRECTORY")
	}
	if err != nil {
		return exit.Fail(exit.NotDone, "open the engine: %v", err)
	}
	if err := x.Keep(dir); err != nil {
		return errors.Join(exit.Fail(exit.NotDone, "note the engine's executor: %v", err), engine.Close(ctx))
	}
	target.NameExecutor(con, "", x.Label, false)
	if options.ProcessesForBatchctlOnly {
		fmt.Fprintln(con.Err, "note: you are root, so only batchctl's own commands can start processes here; to allow it for every client, add --allow-root")
	}
	if listener == nil {
		if listener, err = engine.Listen(); err != nil {
			return errors.Join(exit.Fail(exit.NotDone, "listen on 127.0.0.1: %v", err), engine.Close(ctx))
		}
		defer listener.Close()
	}
	return serveEngine(ctx, con, engine, listener, dir, o.Idle)
}

// daemonUmask is the usual umask. With it, the files of jobs do not depend on the
// shell that happened to start the engine.
const daemonUmask = 0o022

// maxVCPUs is more than any machine has; larger values are typing errors.
const maxVCPUs = 1e6

// checkServe refuses amounts that no machine has. A value that is not given is 0,
// or -1 for GPUs.
func checkServe(o serveOptions) error {
	switch {
	case !(o.VCPUs >= 0 && o.VCPUs <= maxVCPUs): // not a number either
		return exit.Usage("--vcpus %v is not a number of vCPUs", o.VCPUs).Try("for example: --vcpus 4")
	case o.Memory < 0:
		return exit.Usage("--memory %d is not a number of MiB", o.Memory).Try("for example: --memory 8192")
	case o.LogLimit < 0:
		return exit.Usage("--log-limit %d is not a number of MiB", o.LogLimit).
			Try("for example: --log-limit 100; 0 keeps everything")
	case o.GPUs < -1:
		return exit.Usage("--gpus %d is not a number of GPUs", o.GPUs).
			Try("for example: --gpus 1; by default the engine uses the GPUs that it finds")
	case o.Idle < 0:
		return exit.Usage("--exit-when-idle %s is negative", o.Idle).Try("for example: --exit-when-idle 10m")
	}
	return nil
}

// eventDestinations parses the values of --events.
func eventDestinations(values []string) ([]events.Destination, error) {
	var all []events.Destination
	for _, text := range values {
		to, err := events.ParseDestination(text)
		if err != nil {
			return nil, exit.Usage("--events %s: %v", diag.Printable(text), err).
				Try("for example: --events file:events.jsonl, --events unix:/run/user/1000/events.sock or --events http://127.0.0.1:8080/events")
		}
		if slices.Contains(all, to) {
			return nil, exit.Usage("--events %s is given twice", diag.Printable(text)).Try("name each destination once")
		}
		all = append(all, to)
	}
	return all, nil
}

// lingerTime is how long a stopped engine still answers clients that wait for its
// jobs. They poll every half second.
const lingerTime = 2 * time.Second

// serveEngine serves until the engine has been idle for the given time, or until
// ctx ends. The end of ctx stops the engine's jobs. A stop by a signal or by
// idleness is a success.
func serveEngine(ctx context.Context, con *term.Console, engine *local.Engine, l net.Listener, dir string,
	idle time.Duration) error {
	// ctx must not end the server itself: it answers clients until the jobs have
	// ended.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	served, quiet := make(chan error, 1), make(chan struct{})
	go func() {
		served <- engine.Serve(serving, l, func(c local.Connection) { announce(con, c, dir) })
	}()
	if idle > 0 {
		go func() {
			if engine.WaitIdle(serving, idle) == nil {
				close(quiet)
			}
		}()
	}
	closing, done := context.WithCancel(context.WithoutCancel(ctx))
	defer done()
	var err error
	select {
	case err = <-served: // serving failed
		served <- nil
	case <-quiet:
	case <-engine.Leaving():
	case <-ctx.Done():
		time.AfterFunc(target.CloseTimeout, done)
		err = target.EndJobs(closing, engine)
		linger, cancel := context.WithTimeout(closing, lingerTime)
		defer cancel()
		_ = engine.Drain(linger)
	}
	stop()
	err = errors.Join(err, <-served)
	time.AfterFunc(target.CloseTimeout, done)
	if err = errors.Join(err, engine.Close(closing)); err == nil {
		err = &exit.Failure{Code: exit.OK} // a signal is the usual way to stop a server
	}
	return err
}

// announce prints the exports on stdout, for eval, and the address on stderr.
func announce(con *term.Console, connection local.Connection, dir string) {
	fmt.Fprint(con.Out, dialects[posix].exports(connection, false))
	fmt.Fprintf(con.Err, "local engine at %s, state in %s; Ctrl-C ends it and its jobs\n", connection.Endpoint,
		diag.Printable(dir))
}

// stopEngine stops a running engine and its jobs, waits until both have ended,
// and prints the jobs that it ended.
func stopEngine(ctx context.Context, con *term.Console, dir string) error {
	connection, err := local.Connect(dir)
	if _, ok := errors.AsType[*local.NotServingError](err); ok {
		fmt.Fprintf(con.Err, "no engine is running for %s\n", diag.Printable(dir))
		return nil
	}
	if err != nil {
		return exit.Fail(exit.NotDone, "%v", err).Try("to read its state: batchctl list")
	}
	// Ctrl-C in the engine's terminal sends the same signal.
	process, err := os.FindProcess(connection.PID)
	if err != nil {
		return exit.Fail(exit.NotDone, "stop the engine, process %d: %v", connection.PID, err)
	}
	jobs, listErr := unfinishedOn(ctx, connection)
	if err := process.Signal(os.Interrupt); err != nil {
		return exit.Fail(exit.NotDone, "stop the engine, process %d: %v", connection.PID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, target.CloseTimeout)
	defer cancel()
	if err := connection.WaitClosed(ctx); err != nil {
		return exit.Fail(exit.NotDone, "the engine, process %d, is still running: %v", connection.PID, err)
	}
	switch {
	case listErr != nil:
		fmt.Fprintf(con.Err, "the engine and its jobs have stopped; listing the jobs failed: %s\n",
			diag.Printable(listErr.Error()))
	case len(jobs) == 0:
		fmt.Fprintln(con.Err, "the engine has stopped")
	default:
		fmt.Fprintf(con.Err, "the engine has stopped, with %s: %s\n", text.Count(len(jobs), "job"),
			diag.Printable(target.SomeOf(jobs)))
	}
	return nil
}

// unfinishedOn lists the unfinished jobs of an engine in another process. It
// closes its idle connections, because the engine waits for open ones when it
// stops.
func unfinishedOn(ctx context.Context, connection local.Connection) ([]string, error) {
	config := connection.Config()
	if idle, ok := config.HTTPClient.(interface{ CloseIdleConnections() }); ok {
		defer idle.CloseIdleConnections()
	}
	t := &target.Target{Client: once.New(config)}
	return t.Unfinished(ctx)
}

// listenLoopback refuses addresses that other machines can reach: the engine runs
// commands for every client that reaches it.
func listenLoopback(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, exit.Usage("--listen %s: %v", address, err).Try("for example: --listen 127.0.0.1:8080")
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, exit.Usage("--listen %s is not a loopback address", address).
			Try("use 127.0.0.1: the engine runs commands for every client that reaches it")
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, exit.Fail(exit.NotDone, "listen on %s: %v", address, err).
			Try("--listen 127.0.0.1:0 uses a free port")
	}
	return listener, nil
}
