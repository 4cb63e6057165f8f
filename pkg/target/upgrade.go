package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/batchctl/batchctl/pkg/buildinfo"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/local"
)

// leaveTimeout limits how long an engine without jobs needs to end.
const leaveTimeout = 15 * time.Second

// upgrade replaces an older background engine that nothing uses by one of this program, and returns
// the connection to the engine that serves dir then. An older engine that is in use, or that belongs
// to a command in the foreground, is used unchanged, with a note.
func upgrade(ctx context.Context, con *term.Console, older local.Connection, dir string,
	choice ExecutorChoice) (local.Connection, error) {
	own := buildinfo.Own()
	if !older.Build.Before(own) {
		return older, nil
	}
	if _, err := joined(dir, choice); err != nil {
		return older, err // the command cannot use the next engine either
	}
	note := func(format string, args ...any) {
		text := fmt.Sprintf("the local engine runs batchctl %s, and this is %s: ", older.Build, own)
		fmt.Fprintf(con.Err, "note: %s\n", diag.Printable(text+fmt.Sprintf(format, args...)))
	}
	switch {
	case older.Build.Version == "":
		note("it cannot hand over its jobs, so this command uses it; a background engine stops on its own after 10 minutes without jobs")
		return older, nil
	case len(older.Background) == 0:
		note("it belongs to another command (process %d), so this command uses it; to upgrade, stop that command and start it again", older.PID)
		return older, nil
	case !slices.Contains(older.Background, "--daemon"):
		return older, exit.Fail(exit.NotDone,
			"replace the local engine: the arguments in %s/connection.json are not those of a background engine", dir)
	}
	err := older.HandOver(ctx)
	if stays, ok := errors.AsType[*local.StaysError](err); ok {
		note("%s, so this command uses it; a later command replaces it once nothing uses it", stays.Why)
		return older, nil
	}
	if err != nil {
		// Another command may be replacing it. If nothing serves dir now, the caller starts an engine.
		return joinEngine(ctx, dir)
	}
	leaving, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	if err := older.WaitClosed(leaving); err != nil {
		return older, exit.Fail(exit.NotDone, "replace the local engine: process %d is still running: %v", older.PID,
			err)
	}
	connection, err := startEngine(ctx, con, dir, older.Background)
	if err == nil {
		note("nothing used it, so this version has replaced it")
	}
	return connection, err
}

// EndIdleEngine ends the background engine of the state directory, so that this process can have an engine of its own
// for a purpose. An engine that is in use continues, and the error names it.
func EndIdleEngine(ctx context.Context, con *term.Console, o Options, purpose string) error {
	dir, err := o.Dir()
	if err != nil {
		return err
	}
	engine, err := local.Connect(dir)
	if err != nil {
		return nil // no engine runs, or opening one says why it cannot
	}
	if err = engine.HandOver(ctx); err == nil {
		leaving, cancel := context.WithTimeout(ctx, leaveTimeout)
		defer cancel()
		if err = engine.WaitClosed(leaving); err == nil {
			fmt.Fprintf(con.Err, "note: the idle engine of batchctl %s (process %d) has ended, because %s needs an engine of its own\n", diag.Printable(engine.Command), engine.PID, purpose)
			return nil
		}
	}
	return exit.Fail(exit.NotDone,
		"%s needs an engine of its own, but the engine of batchctl %s runs in %s since %s (process %d): %v",
		purpose, cmp.Or(engine.Command, "(unknown)"), dir, engine.Since.Local().Format(time.DateTime), engine.PID, err).
		Try("stop it and its jobs: batchctl serve --stop%s    or use another directory: --state-dir DIRECTORY",
			o.FlagsTo(nil, Local))
}
