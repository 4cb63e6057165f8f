package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/plan"
)

func (p *program) submitCommand() *cli.Command {
	return &cli.Command{
		Name:      "submit",
		Usage:     "validate, plan and submit a job file; --wait ends with the job's verdict",
		UsageText: "batchctl submit [FLAGS] FILE ...",
		Description: help("The target is named before anything is sent. On the local target an engine is started in the\n"+
			"background if none runs, and the job outlives this command.",
			"batchctl submit job.json\nbatchctl submit job.json --wait\nbatchctl submit job.json --target prod --queue gpu --parameters epochs=20"),
		Flags: append(append(append(append(inputFlags(), planFlags()...), targetFlags()...), append(executorFlags(), outputFlags()...)...),
			&cli.StringFlag{Name: "check", Usage: "send nothing unless all is as it was when `PLAN` was made: a file of plan --out"},
			&cli.BoolFlag{Name: "wait", Aliases: []string{"w"}, Usage: "follow the job to its end; Ctrl-C stops the waiting, not the job"}),
		Action: p.submit,
	}
}

func (p *program) submit(c *cli.Context) error {
	format, err := outputFormat(c)
	if err != nil {
		return err
	}
	in, err := p.load(c)
	if err != nil {
		return err
	}
	made, err := p.makePlan(c, in, targetName(c, in.platform) == localTarget)
	if err != nil {
		return err
	}
	t, err := p.open(c.Context, c, in.platform, toChange)
	if err != nil {
		return err
	}
	defer t.close()
	if path := c.String("check"); path != "" {
		if err := p.checkPlan(c.Context, t, in, made, path); err != nil {
			return err
		}
	}
	jobs, err := p.send(c.Context, t, made)
	if format == "json" {
		if err := p.writeJSON(submittedRows(t, jobs)); err != nil {
			return err
		}
	} else {
		p.printSubmitted(jobs)
	}
	if err != nil {
		return err
	}
	if len(withID(jobs)) == 0 {
		return nil
	}
	if !c.Bool("wait") {
		p.nextSteps(jobs)
		return nil
	}
	log := p.Out
	if format == "json" {
		log = p.Err
	}
	return p.waitFor(c.Context, t, withID(jobs), log)
}

// send submits the plan. Together with an error it returns the jobs that were
// accepted before it.
func (p *program) send(ctx context.Context, t *target, made *plan.Plan) ([]client.Submitted, error) {
	if t.isLocal() {
		if err := t.ensureQueues(ctx, made); err != nil {
			return nil, err
		}
	}
	jobs, err := t.Submit(ctx, made)
	return jobs, submitFailure(err)
}

// submitFailure gives the three ways in which a submission fails their codes.
func submitFailure(err error) error {
	var ambiguous *client.AmbiguousError
	var refused *client.RefusedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ambiguous):
		return fail(ExitUnknown, "%v", err)
	case errors.As(err, &refused):
		return fail(ExitProblem, "%v", err)
	}
	return err
}

func withID(jobs []client.Submitted) []client.Submitted {
	var out []client.Submitted
	for _, j := range jobs {
		if j.ID != "" {
			out = append(out, j)
		}
	}
	return out
}

func ids(jobs []client.Submitted) []string {
	var out []string
	for _, j := range withID(jobs) {
		out = append(out, j.ID)
	}
	return out
}

// printSubmitted prints a line per job on stdout: short id, name, queue.
func (p *program) printSubmitted(jobs []client.Submitted) {
	for _, j := range jobs {
		if j.ID == "" {
			fmt.Fprintf(p.Out, "registered  %s\n", diag.Printable(j.Definition))
			continue
		}
		fmt.Fprintf(p.Out, "%s  %s  %s\n", client.ShortID(j.ID), diag.Printable(j.Name), diag.Printable(j.Queue))
	}
}

// nextSteps ends the story with the commands that go on from here.
func (p *program) nextSteps(jobs []client.Submitted) {
	id := client.ShortID(withID(jobs)[0].ID)
	fmt.Fprintf(p.Err, "next: batchctl wait %[1]s    batchctl logs %[1]s --follow    batchctl stop %[1]s\n", id)
}

type submittedRow struct {
	Name       string `json:"name"`
	ID         string `json:"id,omitempty"`
	ShortID    string `json:"shortId,omitempty"`
	Queue      string `json:"queue,omitempty"`
	Definition string `json:"definition"`
	ArraySize  int    `json:"arraySize,omitempty"`
	Target     string `json:"target"`
}

func submittedRows(t *target, jobs []client.Submitted) []submittedRow {
	rows := []submittedRow{}
	for _, j := range jobs {
		row := submittedRow{Name: j.Name, ID: j.ID, Queue: j.Queue, Definition: j.Definition, ArraySize: j.ArraySize, Target: t.label}
		if j.ID != "" {
			row.ShortID = client.ShortID(j.ID)
		}
		rows = append(rows, row)
	}
	return rows
}
