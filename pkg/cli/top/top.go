package top

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
)

// topFastest is the shortest interval: a look at AWS takes longer.
const topFastest = 100 * time.Millisecond

// topSlow is how long a look may take before what is shown is said to be old.
const topSlow = 5 * time.Second

func TopCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "top",
		Usage:     "watch the queues and the jobs that run or wait, as they change",
		UsageText: "batchctl top [FLAGS] [QUEUE ...]",
		Description: cmdline.Help("On a terminal the view is drawn anew every two seconds; ? shows its keys, q leaves. Elsewhere, or with --iterations or\n"+
			"--output json, snapshots are printed. A snapshot costs six calls a queue and shows at most 1,000 jobs.",
			"batchctl top\nbatchctl top gpu --target prod --interval 5s\nbatchctl top --output json\nbatchctl top --iterations 10 --interval 1m > queues.txt"),
		Flags: jobs.Flags(append(cmdline.OutputFlags(),
			&cli.StringFlag{Name: "interval", Value: "2s", Usage: "the `TIME` between two looks, such as 500ms, 5 or 1m; without a unit it is in seconds"},
			&cli.IntFlag{Name: "iterations", Value: 1, Usage: "print `N` snapshots and end; 0 goes on until it is interrupted"},
		)...),
		Action: func(c *cli.Context) error { return top(con, c) },
	}
}

func top(con *term.Console, c *cli.Context) error {
	format, err := cmdline.OutputFormat(c)
	if err != nil {
		return err
	}
	interval, err := parseInterval(c.String("interval"))
	if err != nil {
		return err
	}
	if n := c.Int("iterations"); n < 0 {
		return exit.Usage("--iterations %d is less than none", n).Try("0 goes on until it is interrupted")
	}
	if out, ok := con.Out.(*os.File); ok && term.IsTerminal(con.Out) && format == "text" && !c.IsSet("iterations") {
		return topLive(con, c, out, interval)
	}
	return topPrinted(con, c, format, interval)
}

// parseInterval reads a duration, or a number of seconds.
func parseInterval(word string) (time.Duration, error) {
	interval, err := time.ParseDuration(word)
	if err != nil {
		if interval, err = time.ParseDuration(word + "s"); err != nil {
			return 0, exit.Usage("--interval %q is no time", word).Try("write seconds, or a unit: --interval 5, --interval 1m")
		}
	}
	if interval < topFastest {
		return 0, exit.Usage("--interval %s is too short", word).Try("the shortest is %s", topFastest)
	}
	return interval, nil
}

// topLive shows the view on a terminal. What is said meanwhile is kept, and told
// when the view is left.
func topLive(con *term.Console, c *cli.Context, out *os.File, interval time.Duration) error {
	var said bytes.Buffer
	behind := &term.Console{Streams: term.Streams{In: con.In, Out: con.Out, Err: &said}, Sources: con.Sources}
	reader := &topReader{words: c.Args().Slice(), open: func() (*jobs.Call, error) { return jobs.OpenForFlags(behind, c, target.ToRead) }}
	loop := &topLoop{
		model: &topModel{color: term.Color(out), fresh: interval + topSlow}, screen: &term.Screen{Out: out}, reader: reader,
		pace: topPace{interval: interval},
		say:  func(err error) string { return con.Redacted(exit.From(err).Message) },
	}
	err := loop.run(c.Context, con.In)
	if closing := reader.close(); err == nil {
		err = closing
	}
	if _, failed := said.WriteTo(con.Err); err == nil {
		err = failed
	}
	return err
}

// topPrinted prints as many snapshots as are asked for.
func topPrinted(con *term.Console, c *cli.Context, format string, interval time.Duration) error {
	reader := &topReader{words: c.Args().Slice(), open: func() (*jobs.Call, error) { return jobs.OpenForFlags(con, c, target.ToRead) }}
	defer reader.close()
	look := func() (*topSnapshot, error) { return reader.look(c.Context, nil) }
	return printSnapshots(c.Context, con, look, topPace{interval: interval}, c.Int("iterations"), format)
}

// printSnapshots prints what wanted looks show; 0 are without end. Once one has
// succeeded, those that fail are told and do not count.
func printSnapshots(ctx context.Context, con *term.Console, look func() (*topSnapshot, error), pace topPace, wanted int, format string) error {
	for printed := 0; ; {
		snapshot, err := look()
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

// printTop prints one snapshot: a JSON document, or text with a blank line before
// each but the first.
func printTop(con *term.Console, s *topSnapshot, format string, again bool) error {
	if format == "json" {
		return con.MaskedJSON(s)
	}
	text := s.plain()
	if again {
		text = "\n" + text
	}
	return con.Print(text)
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// topPace says how long to wait before the next look.
type topPace struct {
	interval time.Duration
	failures int // looks that failed since the last answer
}

// topLongest bounds the pause after looks that failed.
const topLongest = time.Minute

// next takes the outcome of a look; the pause doubles with every failure.
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
