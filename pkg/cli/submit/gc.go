package submit

import (
	"cmp"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
)

// keptRevisions is how many revisions of a definition gc leaves when nothing else
// is asked for: enough to go back to what ran last month.
const keptRevisions = 5

// GCCommand is batchctl gc.
func GCCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "gc",
		Usage:     "deregister old revisions of job definitions and remove bounds on arrays, as far as batchctl made them",
		UsageText: "batchctl gc [FLAGS] [DEFINITION ...]",
		Description: cmdline.Help("The last revisions of each name stay, and every one that a job which has not ended or an open submission\n"+
			"uses. What something else registered is left alone. Without a DEFINITION all names are looked at, and the\n"+
			"consumable resources that held maxParallel and that no job needs any more; and on the local engine the texts that were\n"+
			"too long for a request and have not been submitted for 90 days.",
			"batchctl gc --dry-run --target prod\nbatchctl gc --keep 10 resnet-train"),
		Flags: jobs.Flags(append(cmdline.OutputFlags(),
			&cli.IntFlag{Name: "keep", Value: keptRevisions, Usage: "leave the last `N` revisions of each name"},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would be deregistered, and change nothing"})...),
		Action: func(c *cli.Context) error { return gc(con, c) },
	}
}

func gc(con *term.Console, c *cli.Context) error {
	keep := c.Int("keep")
	if keep < 1 {
		return exit.Usage("--keep %d would leave nothing to submit with", keep).Try("the least is --keep 1")
	}
	why := target.ToChange
	if c.Bool("dry-run") {
		why = target.ToRead
	}
	call, err := jobs.OpenForFlags(con, c, why)
	if err != nil {
		return err
	}
	defer call.Close()
	revisions, other, err := call.Revisions(c.Context, keep, c.Args().Slice()...)
	if err != nil {
		return err
	}
	rows := []target.Removed{}
	var failed error
	for _, r := range revisions {
		row := target.Removed{Definition: batch.Name(r.ARN), Action: "kept", Reason: r.Kept}
		if r.Kept == "" && failed == nil {
			row.Action = "would be deregistered"
			if !c.Bool("dry-run") {
				row.Action = "deregistered"
				failed = call.Deregister(c.Context, r)
			}
		}
		if failed != nil && r.Kept == "" {
			row.Action, row.Reason = "kept", "not deregistered: a call failed"
		}
		rows = append(rows, row)
	}
	if !c.Args().Present() && failed == nil {
		var more []target.Removed
		more, failed = gcResources(con, c, call)
		rows = append(rows, more...)
		old, err := call.DropStaged(c.Bool("dry-run"), time.Now())
		if err != nil {
			return err
		}
		rows = append(rows, old...)
	}
	if err := printGC(con, call.Format, rows); err != nil {
		return err
	}
	if other > 0 {
		fmt.Fprintf(con.Err, "left alone: %d revisions that batchctl did not register\n", other)
	}
	return failed
}

// gcResources removes the consumable resources that bounded arrays. Who may not see any,
// or asks a service that has none, has nothing to remove.
func gcResources(con *term.Console, c *cli.Context, call *jobs.Call) (rows []target.Removed, failed error) {
	resources, err := call.Resources(c.Context)
	if err != nil {
		fmt.Fprintf(con.Err, "not looked at: consumable resources: %s\n", diag.Printable(err.Error()))
		return nil, nil
	}
	for _, r := range resources {
		row := target.Removed{Resource: r.Name, Action: "kept", Reason: r.Kept}
		switch {
		case r.Kept != "":
		case c.Bool("dry-run"):
			row.Action = "would be removed"
		case failed != nil:
			row.Reason = "not removed: a call failed"
		default:
			row.Action = "removed"
			if failed = call.RemoveResource(c.Context, r); failed != nil {
				row.Action, row.Reason = "kept", "not removed: a call failed"
			}
		}
		rows = append(rows, row)
	}
	return rows, failed
}

func printGC(con *term.Console, format string, rows []target.Removed) error {
	if format == "json" {
		return con.MaskedJSON(rows)
	}
	if len(rows) == 0 {
		fmt.Fprintln(con.Err, "nothing that batchctl registered or made")
		return nil
	}
	t := con.Table("WHAT", "", "REASON")
	for _, r := range rows {
		t.Row(cmp.Or(r.Definition, r.Resource, r.Staged), r.Action, r.Reason)
	}
	return t.Flush()
}
