package injob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/usage"
)

// MeasureCommand is batchctl measure.
func MeasureCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "measure",
		Usage:     "run a program and measure its resource use",
		UsageText: "batchctl measure -- PROGRAM [ARGUMENT ...]",
		Description: cmdline.Help("Jobs with \"measure\": true start with measure, unless they start with stage or child, which measure too. Copy batchctl "+
			"into the image. When the program has ended, measure prints one line: the container's peak memory, CPU seconds, and bytes read and "+
			"written. The exit code is the program's; 126 and 127 mean that the program cannot be started. "+
			"The local engine measures jobs itself.",
			"batchctl measure -- python train.py --epochs 10\n"+
				`ENTRYPOINT ["/usr/local/bin/batchctl", "measure", "--"]`),
		SkipFlagParsing: true,
		Action: func(c *cli.Context) error {
			args := c.Args().Slice()
			if len(args) == 1 && cmdline.IsHelp(args[0]) {
				return showHelp(con, c)
			}
			return measure(con, args)
		},
	}
}

// showHelp prints the help of a command that parses its own arguments.
func showHelp(con *term.Console, c *cli.Context) error {
	return cmdline.ShowHelp(con.Out, c.App, "batchctl "+c.Command.Name, c.Command)
}

// measure is batchctl measure.
func measure(con *term.Console, args []string) error {
	switch {
	case len(args) > 0 && args[0] != "--":
		return exit.Usage("unknown argument %q", args[0]).Try("put the program after --: batchctl measure -- %s",
			strings.Join(args, " "))
	case len(args) < 2:
		return exit.Usage("measure has no program to run").
			Try("batchctl measure -- PROGRAM [ARGUMENT ...]; see batchctl measure --help")
	}
	environ := os.Environ()
	m := startMeasurement(&environ, true)
	err := sweep.Become(m.exec, args[1:], environ)
	m.finish(con)
	if e, ok := errors.AsType[*sweep.Ending](err); ok {
		return exit.Fail(e.Exit, "%v", e)
	}
	if err != nil {
		return err
	}
	return exit.Silent(m.exit)
}

// measurement measures the container of this process. Without a meter it measures nothing.
type measurement struct {
	meter *usage.Meter
	exit  int // the exit code of the program, after exec
}

// startMeasurement begins to measure if the job asks for it. It removes the variable that asks for it from environ, so
// that no launcher inside measures too. unasked is the answer if there is no such variable.
func startMeasurement(environ *[]string, unasked bool) *measurement {
	asked := unasked
	for _, v := range *environ { // the last one of a name counts
		if value, found := strings.CutPrefix(v, usage.Variable+"="); found {
			asked = usage.IsAsked(value)
		}
	}
	if !asked {
		return &measurement{}
	}
	*environ = append(slices.DeleteFunc(slices.Clone(*environ),
		func(v string) bool { return strings.HasPrefix(v, usage.Variable+"=") }), usage.Variable+"=")
	m := &measurement{meter: &usage.Meter{Group: usage.OwnGroup(), Inside: true, Children: true,
		Processes: func() []int {
			return slices.DeleteFunc(usage.Tree(os.Getpid()), func(pid int) bool { return pid == os.Getpid() })
		}}}
	if hasGPUs(*environ) {
		m.meter.GPUs = usage.NVIDIA() // a container sees only its own
	}
	m.meter.Start()
	return m
}

// hasGPUs reports whether the container runtime gave the container GPUs of NVIDIA (NVIDIA Container Toolkit
// documentation, "Specialized Configurations with Docker": "void" and "none" mean no GPU).
func hasGPUs(environ []string) (has bool) {
	for _, v := range environ {
		if value, found := strings.CutPrefix(v, "NVIDIA_VISIBLE_DEVICES="); found {
			has = value != "" && value != "void" && value != "none"
		}
	}
	return has
}

// exec replaces this process by a program, or runs the program as a child process if it is measured.
func (m *measurement) exec(path string, argv, env []string) error {
	if m.meter == nil {
		return become(path, argv, env)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, handedOn()...)
	defer signal.Stop(signals)
	debug.FreeOSMemory() // this process only waits now
	p := sweep.Process{Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Signals: signals}
	code, _, err := p.Run(context.Background(), path, argv)
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno // as the replacement of this process would return it
	}
	m.exit = code
	return err
}

// finish prints the measurement after the program's output, and returns it. It is nil if nothing was measured.
func (m *measurement) finish(con *term.Console) *usage.Usage {
	if m.meter == nil {
		return nil
	}
	used := m.meter.Stop(nil)
	fmt.Fprintln(term.Unmasked(con.Err), used.Line())
	return &used
}

// storing is how long the launcher tries to store a measurement. AWS Batch sends SIGKILL half a minute after SIGTERM.
const storing = 10 * time.Second

// store writes the measurement as an object, if the job has a place for it. The line in the log is there already, so
// an error changes nothing else.
func store(ctx context.Context, con *term.Console, used *usage.Usage, at string,
	put func(ctx context.Context, url, text string) error) {
	if used == nil || at == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, storing)
	defer cancel()
	if err := put(ctx, at, used.Text()+"\n"); err != nil {
		fmt.Fprintf(term.Unmasked(con.Err), "batchctl: the measurement is only in the log, not at %s: %v\n", at,
			exit.Cause(err))
	}
}

// stages reports whether a command starts with batchctl stage, which measures itself.
func stages(args []string) bool {
	return len(args) > 1 && filepath.Base(args[0]) == "batchctl" && args[1] == "stage"
}
