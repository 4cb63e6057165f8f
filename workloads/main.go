package workloads

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/measure"
)

// The exit codes of the program. A retry strategy can match them with onExitCode.
const (
	// ExitOK is a completed run whose results are correct.
	ExitOK = 0
	// ExitFailed is failed work, a wrong result, or a stop by a signal.
	ExitFailed = 1
	// ExitUsage is a wrong command line.
	ExitUsage = 2
	// ExitNoDevice is a missing device. A retry on another machine may find it.
	ExitNoDevice = 3
)

const help = `Usage: batchctl-workloads WORKLOAD [flags]
       batchctl-workloads list

Workloads:
%s
Examples:
  batchctl-workloads matrix --sizes 1000,2000
  batchctl-workloads image --sizes 2048 --batch 1,4
  batchctl-workloads matrix --device cuda --type float32,tf32
  batchctl-workloads gpu-info
  batchctl-workloads matrix --help

Exit codes: 0 done, 1 failed or wrong result, 2 usage, 3 no such device.
`

// Main is the program batchctl-workloads; it returns the exit code.
func Main(ctx context.Context, platform gpu.Platform, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, platform, args, stdout, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "batchctl-workloads:", err)
	}
	return exitCode(err)
}

// dispatch runs the workload that the first argument names, or prints the help or the list.
func dispatch(ctx context.Context, platform gpu.Platform, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return measure.Usagef("name a workload: %s, or list; see batchctl-workloads --help",
			strings.Join(names(), ", "))
	}
	name, rest := args[0], args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		_, err := fmt.Fprintf(stdout, help, table())
		return err
	case "list":
		_, err := fmt.Fprint(stdout, table())
		return err
	}
	w, found := Lookup(name)
	switch {
	case found:
		return named(name, w.Run(ctx, platform, rest, stdout, stderr))
	case strings.HasPrefix(name, "-"):
		return flagFirst(args)
	}
	return measure.Unknown("workload", name, append(names(), "list"))
}

// flagFirst is the usage error for a flag before the workload. It shows the command line that works.
func flagFirst(args []string) error {
	at := slices.IndexFunc(args, func(arg string) bool { return slices.Contains(names(), arg) })
	if at < 0 {
		return measure.Usagef("the workload comes first: batchctl-workloads matrix %s", strings.Join(args, " "))
	}
	moved := append([]string{args[at]}, slices.Delete(slices.Clone(args), at, at+1)...)
	return measure.Usagef("the workload comes first: batchctl-workloads %s", strings.Join(moved, " "))
}

// named puts the workload's name before its error.
func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// exitCode maps an error of a workload to the exit code of the program.
func exitCode(err error) int {
	if err == nil {
		return ExitOK
	}
	if _, usage := errors.AsType[*measure.UsageError](err); usage {
		return ExitUsage
	}
	if _, missing := errors.AsType[*measure.NoDeviceError](err); missing {
		return ExitNoDevice
	}
	return ExitFailed
}

func names() []string {
	var all []string
	for _, w := range All() {
		all = append(all, w.Name)
	}
	return all
}

// table is the list of workloads, one indented line each, as help and list print it.
func table() string {
	var lines strings.Builder
	for _, w := range All() {
		fmt.Fprintf(&lines, "  %-8s %s\n", w.Name, w.Doc)
	}
	return lines.String()
}
