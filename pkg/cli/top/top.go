package top

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
)

// topFastest is the shortest interval: a look at AWS takes longer.
const topFastest = 100 * time.Millisecond

// topSlow is how long a look may take before what is shown is reported to be old.
const topSlow = 5 * time.Second

func top(ctx context.Context, con *term.Console, o options) error {
	interval, err := parseInterval(o.interval)
	if err != nil {
		return err
	}
	if n := o.iterations; n < 0 {
		return exit.Usage("--iterations must be at least 0, not %d", n).Try("0 prints until interrupted")
	}
	if out, ok := con.Out.(*os.File); ok && term.IsTerminal(con.Out) && o.Format == "text" && !o.printed {
		return topLive(ctx, con, o, out, interval)
	}
	return topPrinted(ctx, con, o, interval)
}

// parseInterval reads a duration, or a number of seconds.
func parseInterval(word string) (time.Duration, error) {
	interval, err := time.ParseDuration(word)
	if err != nil {
		if interval, err = time.ParseDuration(word + "s"); err != nil {
			return 0, exit.Usage("--interval %q is not a time", word).Try("write seconds, or a unit: --interval 5, --interval 1m")
		}
	}
	if interval < topFastest {
		return 0, exit.Usage("--interval %s is too short", word).Try("the shortest is %s", topFastest)
	}
	return interval, nil
}

// topLive shows the view on a terminal. What is reported meanwhile is kept, and told
// when the view is left.
func topLive(ctx context.Context, con *term.Console, o options, out *os.File, interval time.Duration) error {
	var said bytes.Buffer
	behind := &term.Console{Streams: term.Streams{In: con.In, Out: con.Out, Err: &said}, Sources: con.Sources}
	reader := &topReader{queueArgs: o.Args, open: func() (*jobs.Call, error) { return jobs.OpenFor(ctx, behind, o.Options, target.ToRead) }}
	program := &topProgram{
		model: &topModel{color: term.Color(out), fresh: interval + topSlow}, reader: reader,
		pace: topPace{interval: interval},
		say:  func(err error) string { return con.Redacted(exit.From(err).Message) },
	}
	err := program.run(ctx, con.In, out)
	if closing := reader.close(); err == nil {
		err = closing
	}
	if _, failed := said.WriteTo(con.Err); err == nil {
		err = failed
	}
	return err
}

// topPrinted prints as many snapshots as are asked for.
func topPrinted(ctx context.Context, con *term.Console, o options, interval time.Duration) error {
	reader := &topReader{queueArgs: o.Args, open: func() (*jobs.Call, error) { return jobs.OpenFor(ctx, con, o.Options, target.ToRead) }}
	defer reader.close()
	look := func() (*topSnapshot, error) { return reader.read(ctx, nil) }
	return printSnapshots(ctx, con, look, topPace{interval: interval}, o.iterations, o.Format)
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
