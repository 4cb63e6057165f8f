package platform

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/urfave/cli/v2"
)

// keptRevisions is the default of --keep: enough revisions to return to what ran
// last month.
const keptRevisions = 5

// GCCommand is batchctl gc.
func GCCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "gc",
		Usage:     "deregister unused revisions of job definitions",
		UsageText: "batchctl gc [FLAGS] [DEFINITION ...]",
		Description: cmdline.Help("Deregisters all but the newest revisions of each job definition. It keeps revisions that an unfinished job or an open submission "+
			"uses, and revisions that another tool registered.\n\nWithout a DEFINITION, it checks all definitions, and also deletes consumable resources that maxParallel created and no job needs any more. On the "+
			"local engine, it also deletes staged data that no submission has used for 90 days.",
			"batchctl gc --dry-run --target prod"),
	}, gcOptions{Options: jobs.Options{Output: cmdline.Outputs(cmdline.JSON[[]target.Removed]())}, Keep: keptRevisions},
		func(ctx context.Context, o gcOptions) error { return gc(ctx, con, o) }, "submission")
}

// gcOptions are the flags of gc. Args are names of job definitions.
type gcOptions struct {
	jobs.Options
	Keep   int  `flag:"keep" usage:"keep the newest <N> revisions of each definition"`
	DryRun bool `flag:"dry-run" usage:"print what would be deregistered; change nothing"`
}

// gc is batchctl gc. After a failed call it deletes nothing more, but prints a
// row for everything.
func gc(ctx context.Context, con *term.Console, o gcOptions) error {
	if o.Keep < 1 {
		return exit.Usage("--keep must be at least 1, not %d", o.Keep).Try("use --keep 1 or more")
	}
	why := target.ToChange
	if o.DryRun {
		why = target.ToRead
	}
	call, err := jobs.OpenFor(ctx, con, o.Options, why)
	if err != nil {
		return err
	}
	defer call.Close()
	revisions, other, err := call.Client.Revisions(ctx, o.Keep, o.Args...)
	if err != nil {
		return err
	}
	rows := []target.Removed{}
	var failed error
	for _, r := range revisions {
		row := target.Removed{Definition: batch.Name(r.ARN), Action: "kept", Reason: r.Kept}
		if r.Kept == "" && failed == nil {
			row.Action = "would be deregistered"
			if !o.DryRun {
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
		more, failed = gcResources(ctx, con, call, o.DryRun)
		rows = append(rows, more...)
		old, err := call.DropStaged(o.DryRun, time.Now())
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
