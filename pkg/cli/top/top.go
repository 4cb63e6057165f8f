package top

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/urfave/cli/v2"
)

// topFastest is the shortest interval. A query of AWS takes longer.
const topFastest = 100 * time.Millisecond

// topSlow is how much older than the interval a snapshot may be before the view
// shows its age.
const topSlow = 5 * time.Second

// TopCommand is batchctl top.
func TopCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "top",
		Usage:     "watch queues and jobs live",
		UsageText: "batchctl top [FLAGS] [QUEUE or JOB ...]",
		Description: cmdline.Help("On a terminal the view refreshes every two seconds; ? shows the keys, q quits. Elsewhere, or with --iterations or --output json, "+
			"it prints snapshots. A snapshot needs six calls for each queue and shows at most 1,000 jobs.\n\nA JOB, or the name of a workflow, limits the "+
			"view to these jobs and their queues.",
			"batchctl top\nbatchctl top gpu --target prod --interval 5s\nbatchctl top --iterations 10 --interval 1m > queues.txt"),
	}, options{Options: jobs.Options{Output: cmdline.Outputs(cmdline.JSON[*Snapshot]())}, Interval: "2s", Iterations: 1},
		func(ctx context.Context, o options) error { return top(ctx, con, o) }, "submission")
}

// options are the flags of top. Args are queues and handles.
type options struct {
	jobs.Options
	Interval   string `flag:"interval" usage:"refresh every <TIME>, such as 500ms, 5 (seconds) or 1m"`
	Iterations int    `flag:"iterations" usage:"print <N> snapshots; 0 prints until interrupted"`
}

// top is batchctl top: a live view on a terminal, or printed snapshots.
func top(ctx context.Context, con *term.Console, o options) error {
	interval, err := parseInterval(o.Interval)
	if err != nil {
		return err
	}
	if n := o.Iterations; n < 0 {
		return exit.Usage("--iterations must be at least 0, not %d", n).Try("0 prints until interrupted")
	}
	if out, ok := con.Out.(*os.File); ok && term.IsTerminal(con.Out) && o.Format == "text" &&
		!o.IsSet("iterations") {
		return topLive(ctx, con, o, out, interval)
	}
	return topPrinted(ctx, con, o, interval)
}

// parseInterval parses a duration, or a number of seconds.
func parseInterval(value string) (time.Duration, error) {
	interval, err := time.ParseDuration(value)
	if err != nil {
		if interval, err = time.ParseDuration(value + "s"); err != nil {
			return 0, exit.Usage("--interval %q is not a time", value).
				Try("write seconds, or a unit: --interval 5, --interval 1m")
		}
	}
	if interval < topFastest {
		return 0, exit.Usage("--interval %s is too short", value).Try("the shortest is %s", topFastest)
	}
	return interval, nil
}

// topLive shows the live view. It keeps messages of other packages, which would
// destroy the screen, and prints them when the view is left.
func topLive(ctx context.Context, con *term.Console, o options, out *os.File, interval time.Duration) error {
	var messages bytes.Buffer
	quiet := &term.Console{Streams: term.Streams{In: con.In, Out: con.Out, Err: &messages}, Sources: con.Sources}
	reader := newReader(ctx, quiet, o.Options)
	program := &topProgram{
		model: &topModel{color: term.Color(out), fresh: interval + topSlow}, reader: reader,
		pace: topPace{interval: interval},
		say:  func(err error) string { return con.Redacted(exit.From(err).Message) },
	}
	err := program.run(ctx, con.In, out)
	if closing := reader.close(); err == nil {
		err = closing
	}
	if _, failed := messages.WriteTo(con.Err); err == nil {
		err = failed
	}
	return err
}

// topPrinted prints snapshots without a terminal.
func topPrinted(ctx context.Context, con *term.Console, o options, interval time.Duration) error {
	reader := newReader(ctx, con, o.Options)
	defer reader.close()
	read := func() (*Snapshot, error) { return reader.read(ctx, nil) }
	return printSnapshots(ctx, con, read, topPace{interval: interval}, o.Iterations, o.Format)
}

// printSnapshots prints the wanted number of snapshots; 0 prints until ctx ends.
// If the first one fails, it returns the error. It prints later failures and does
// not count them.
func printSnapshots(ctx context.Context, con *term.Console, read func() (*Snapshot, error), pace topPace, wanted int,
	format string) error {
	for printed := 0; ; {
		snapshot, err := read()
		switch {
		case err != nil && (printed == 0 || ctx.Err() != nil):
			return err
		case err != nil:
			fmt.Fprintf(con.Err, "batchctl: %s\n", diag.Printable(con.Redacted(exit.From(err).Message)))
		default:
			if err := printTop(con, snapshot, format, printed > 0); err != nil {
				return err
			}
			if printed++; printed == wanted {
				return nil
			}
		}
		if err := pause(ctx, pace.next(err)); err != nil {
			return err
		}
	}
}

// printTop prints one snapshot: a JSON document, or text with a blank line
// between two of them.
func printTop(con *term.Console, s *Snapshot, format string, again bool) error {
	if format == "json" {
		return con.MaskedJSON(s)
	}
	text := s.plain()
	if again {
		text = "\n" + text
	}
	return con.Print(text)
}

// pause waits for d. It returns the cause if ctx ends before.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// topPace decides how long to wait before the next snapshot.
type topPace struct {
	interval time.Duration
	failures int // failed snapshots since the last answer
}

// topLongest limits the pause after failures.
const topLongest = time.Minute

// next returns the pause after a snapshot with this error. It doubles with every
// failure.
func (p *topPace) next(err error) time.Duration {
	if err == nil {
		p.failures = 0
		return p.interval
	}
	p.failures++
	pause := p.interval
	for range p.failures {
		if pause < topLongest {
			pause = min(pause*2, topLongest)
		}
	}
	return pause
}
