package submit

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
)

// keptRevisions is the default of --keep: enough revisions to return to what ran
// last month.
const keptRevisions = 5

// gcOptions are the flags of gc. Args are names of job definitions.
type gcOptions struct {
	jobs.Options
	// keep is how many of the newest revisions of each definition are kept.
	keep   int
	dryRun bool
}

// gc is batchctl gc. After a failed call it deletes nothing more, but prints a
// row for everything.
func gc(ctx context.Context, con *term.Console, o gcOptions) error {
	if o.keep < 1 {
		return exit.Usage("--keep must be at least 1, not %d", o.keep).Try("use --keep 1 or more")
	}
	why := target.ToChange
	if o.dryRun {
		why = target.ToRead
	}
	call, err := jobs.OpenFor(ctx, con, o.Options, why)
	if err != nil {
		return err
	}
	defer call.Close()
	revisions, other, err := call.Client.Revisions(ctx, o.keep, o.Args...)
	if err != nil {
		return err
	}
	rows := []target.Removed{}
	var failed error
	for _, r := range revisions {
		row := target.Removed{Definition: batch.Name(r.ARN), Action: "kept", Reason: r.Kept}
		if r.Kept == "" && failed == nil {
			row.Action = "would be deregistered"
			if !o.dryRun {
				row.Action = "deregistered"
				failed = call.Client.Deregister(ctx, r)
			}
		}
		if failed != nil && r.Kept == "" {
			row.Action, row.Reason = "kept", "not deregistered: a call failed"
		}
		rows = append(rows, row)
	}
	// Names select definitions, so only gc without names deletes anything else.
	if len(o.Args) == 0 && failed == nil {
		var more []target.Removed
		more, failed = gcResources(ctx, con, call, o.dryRun)
		rows = append(rows, more...)
		old, err := call.DropStaged(o.dryRun, time.Now())
		if err != nil {
			return err
		}
		rows = append(rows, old...)
	}
	if err := printGC(con, call.Format, rows); err != nil {
		return err
	}
	if other > 0 {
		fmt.Fprintf(con.Err, "kept: %d revisions that another tool registered\n", other)
	}
	return failed
}

// gcResources deletes the consumable resources that limited arrays. If the
// resources cannot be listed, because of missing permissions or another service,
// it prints that and deletes nothing.
func gcResources(ctx context.Context, con *term.Console, call *jobs.Call,
	dryRun bool) (rows []target.Removed, failed error) {
	resources, err := call.Client.Resources(ctx)
	if err != nil {
		fmt.Fprintf(con.Err, "not checked: consumable resources: %s\n", diag.Printable(err.Error()))
		return nil, nil
	}
	for _, r := range resources {
		row := target.Removed{Resource: r.Name, Action: "kept", Reason: r.Kept}
		switch {
		case r.Kept != "":
		case dryRun:
			row.Action = "would be removed"
		case failed != nil:
			row.Reason = "not removed: a call failed"
		default:
			row.Action = "removed"
			if failed = call.Client.RemoveResource(ctx, r); failed != nil {
				row.Action, row.Reason = "kept", "not removed: a call failed"
			}
		}
		rows = append(rows, row)
	}
	return rows, failed
}

// printGC prints what was deleted and kept, as a table or JSON.
func printGC(con *term.Console, format string, rows []target.Removed) error {
	if format == "json" {
		return con.MaskedJSON(rows)
	}
	if len(rows) == 0 {
		fmt.Fprintln(con.Err, "nothing that batchctl registered or created")
		return nil
	}
	t := con.Table("WHAT", "", "REASON")
	for _, r := range rows {
		t.Row(cmp.Or(r.Definition, r.Resource, r.Staged), r.Action, r.Reason)
	}
	return t.Flush()
}
