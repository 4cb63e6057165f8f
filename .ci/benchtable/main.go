// Command benchtable runs the benchmarks of batchctl, each against its peer, and prints one table. A row with a goal
// says whether the goal is met, and whether the machine was quiet. Run it through .ci/bench:
//
//	.ci/bench              every row, in at most 40 minutes
//	.ci/bench NAME ...     the rows with these names, or whose names start with them
//	.ci/bench --list       the rows with their peers and goals
//
// Each row is measured in rounds: ours, the peer, ours, the peer, so that a change of the machine's speed affects both.
// The spread is the distance between the quartiles of our times, as a share of their median. A fixed loop on all CPUs
// runs before and after the rounds: its time, divided by the shortest in this run, says how busy the machine was.
//
// The figures are appended to .ci/bench-results, one file for each model of CPU. A row whose peer is not installed is
// not measured and does not fail. The exit status is 1 if a goal is missed on a quiet machine or a benchmark fails, and
// 2 if the arguments are wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	os.Exit(code)
}

// options are the flags.
type options struct {
	list, long, small, record bool
	rounds                    int
	limit                     time.Duration
	names                     []string // of rows, or how they start
}

// parse reads the arguments. Flags may follow names.
func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "Usage: .ci/bench [FLAGS] [NAME ...]\n\nMeasure the rows whose names are, or start with, NAME; without a NAME all of them.")
		flags.PrintDefaults()
	}
	flags.BoolVar(&o.list, "list", false, "list the rows with their peers and goals, and measure nothing")
	flags.IntVar(&o.rounds, "rounds", 0, "measure `N` rounds (each row has a number of its own)")
	flags.BoolVar(&o.long, "long", false, "also measure the rows that take long; no limit of time")
	flags.DurationVar(&o.limit, "limit", 40*time.Minute, "start no row after this `time`")
	flags.BoolVar(&o.record, "record", true, "append the figures to .ci/bench-results")
	flags.BoolVar(&o.small, "small", false, "try the benchmarks with small sizes; judge and record nothing")
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return o, err
		}
		if args = flags.Args(); len(args) > 0 {
			o.names, args = append(o.names, args[0]), args[1:]
		}
	}
	if o.rounds < 0 {
		return o, fmt.Errorf("--rounds %d: want 1 or more", o.rounds)
	}
	return o, nil
}

// run measures the rows that the arguments choose. It returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0, err
	}
	if err != nil {
		return 2, err
	}
	w, err := newWorkshop(o.small)
	if err != nil {
		return 2, err
	}
	defer w.close()
	groups, err := choose(w.groups(), o.names, o.long || o.list)
	if err != nil {
		return 2, err
	}
	if o.list {
		list(stdout, groups)
		return 0, nil
	}

	began := time.Now()
	m := machine{steps: calibrationSteps}
	m.warmUp()
	var all []result
	for _, g := range groups {
		var results []result
		if late := !o.long && time.Since(began) > o.limit; late || ctx.Err() != nil {
			results = g.without("not measured: " + map[bool]string{true: "out of time", false: "interrupted"}[late])
		} else {
			for _, r := range g.rows {
				fmt.Fprintf(stderr, "%s %s\n", time.Now().Format("15:04:05"), r.name)
			}
			results = g.measure(ctx, &m, o.rounds)
		}
		for _, r := range results {
			fmt.Fprintln(stderr, "         "+r.progress())
		}
		all = append(all, results...)
	}
	for i := range all {
		all[i].slowdown = m.slowdown(all[i].loop)
	}

	model := cpuModel()
	fmt.Fprintf(stdout, "%s, %d CPUs, %s, %.0f minutes\n", model, cpus, describeCommit(), time.Since(began).Minutes())
	for _, note := range w.notes {
		fmt.Fprintln(stdout, note)
	}
	print(stdout, all)
	if o.small {
		fmt.Fprintln(stdout, "The sizes were small: no figure counts.")
		return status(all, false), nil
	}
	if o.record {
		file, err := record(resultsDir, model, describeCommit(), time.Now(), all)
		if err != nil {
			return 1, err
		}
		if file != "" {
			fmt.Fprintln(stdout, "appended to "+file)
		}
	}
	return status(all, true), nil
}

// status returns the exit status: 1 if a benchmark failed, or if goals count and one is missed on a quiet machine.
func status(all []result, goals bool) int {
	for _, r := range all {
		if r.failed || goals && r.measured() && !r.met() && r.quiet() {
			return 1
		}
	}
	return 0
}

// choose returns the groups with the rows that the names select. Rows that take long need the flag.
func choose(groups []group, names []string, long bool) ([]group, error) {
	used := map[string]bool{}
	var chosen []group
	for _, g := range groups {
		var rows []row
		for _, r := range g.rows {
			selected := len(names) == 0
			for _, name := range names {
				if strings.HasPrefix(r.name, name) {
					used[name], selected = true, true
				}
			}
			if selected && (long || !g.long) {
				rows = append(rows, r)
			}
		}
		if len(rows) > 0 {
			g.rows = rows
			chosen = append(chosen, g)
		}
	}
	for _, name := range names {
		if !used[name] {
			return nil, fmt.Errorf("no row is or starts with %q; .ci/bench --list lists them", name)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("these rows take long: add --long")
	}
	return chosen, nil
}
