package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

// keptRevisions is how many revisions of a definition gc leaves when nothing else
// is asked for: enough to go back to what ran last month.
const keptRevisions = 5

func (p *program) gcCommand() *cli.Command {
	return &cli.Command{
		Name:      "gc",
		Usage:     "deregister old revisions of the job definitions that batchctl registered",
		UsageText: "batchctl gc [FLAGS] [DEFINITION ...]",
		Description: help("The last revisions of each name stay, and every one that a job which has not ended or an open submission\n"+
			"uses. What something else registered is left alone. Without a DEFINITION all names are looked at.",
			"batchctl gc --dry-run --target prod\nbatchctl gc --keep 10 resnet-train"),
		Flags: jobFlags(append(outputFlags(),
			&cli.IntFlag{Name: "keep", Value: keptRevisions, Usage: "leave the last `N` revisions of each name"},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would be deregistered, and change nothing"})...),
		Action: p.gc,
	}
}

type gcRow struct {
	Definition string `json:"definition"`
	Action     string `json:"action"` // deregistered, kept, or with --dry-run would be deregistered
	Reason     string `json:"reason,omitempty"`
}

func (p *program) gc(c *cli.Context) error {
	keep := c.Int("keep")
	if keep < 1 {
		return usage("--keep %d would leave nothing to submit with", keep).try("the least is --keep 1")
	}
	why := toChange
	if c.Bool("dry-run") {
		why = toRead
	}
	call, err := p.openFor(c, why)
	if err != nil {
		return err
	}
	defer call.close()
	revisions, other, err := call.Revisions(c.Context, keep, c.Args().Slice()...)
	if err != nil {
		return err
	}
	rows := []gcRow{}
	var failed error
	for _, r := range revisions {
		row := gcRow{lastPart(r.ARN), "kept", r.Kept}
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
	if err := p.printGC(call.format, rows); err != nil {
		return err
	}
	if other > 0 {
		fmt.Fprintf(p.Err, "left alone: %d revisions that batchctl did not register\n", other)
	}
	return failed
}

func (p *program) printGC(format string, rows []gcRow) error {
	if format == "json" {
		return p.writeJSON(rows)
	}
	if len(rows) == 0 {
		fmt.Fprintln(p.Err, "no revisions that batchctl registered")
		return nil
	}
	t := p.table("DEFINITION", "", "REASON")
	for _, r := range rows {
		t.row(r.Definition, r.Action, r.Reason)
	}
	return t.flush()
}
