package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/diag"
)

func (p *program) logsCommand() *cli.Command {
	return &cli.Command{
		Name:      "logs",
		Usage:     "print what jobs wrote",
		UsageText: "batchctl logs [FLAGS] [JOB ...]",
		Description: help("The log of the last attempt goes to stdout. With --follow it goes on until the job has ended.\n"+
			"A child of an array is named by its index: 3f2a91c0:7.",
			"batchctl logs 3f2a91c0\nbatchctl logs resnet-train --follow\nbatchctl logs 3f2a91c0:7 --timestamps"),
		Flags: jobFlags(append(outputFlags(),
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on until the job has ended"},
			&cli.BoolFlag{Name: "timestamps", Usage: "put the time before each line"})...),
		Action: p.logs,
	}
}

func (p *program) logs(c *cli.Context) error {
	why := toRead
	if c.Bool("follow") {
		why = toChange // somebody has to run the job that we follow
	}
	call, err := p.openJobs(c, why)
	if err != nil {
		return err
	}
	defer call.close()
	for _, j := range call.jobs {
		if err := p.printLog(c, call, j); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) printLog(c *cli.Context, call *jobCall, j client.Submitted) error {
	type row struct {
		Job  string `json:"job"`
		Time string `json:"time"`
		Text string `json:"text"`
	}
	rows := []row{}
	lines := 0
	for line, err := range call.Logs(c.Context, j.ID, c.Bool("follow")) {
		if err != nil {
			return err
		}
		lines++
		stamp := line.Time.UTC().Format("2006-01-02T15:04:05.000Z")
		if call.format == "json" {
			rows = append(rows, row{client.ShortID(j.ID), stamp, line.Text})
			continue
		}
		text := line.Text
		if isTerminal(p.Out) {
			text = diag.Printable(text)
		}
		if c.Bool("timestamps") {
			text = stamp + "  " + text
		}
		if len(call.jobs) > 1 {
			text = diag.Printable(j.Name) + " | " + text
		}
		if _, err := fmt.Fprintln(p.Out, text); err != nil {
			return err
		}
	}
	if call.format == "json" {
		return p.writeJSON(rows)
	}
	if lines == 0 {
		fmt.Fprintf(p.Err, "%s has written nothing; batchctl status %s says why\n", diag.Printable(j.Name), client.ShortID(j.ID))
	}
	return nil
}

func (p *program) waitCommand() *cli.Command {
	return &cli.Command{
		Name:      "wait",
		Usage:     "wait until jobs have ended, and end with their verdict",
		UsageText: "batchctl wait [FLAGS] [JOB ...]",
		Description: help("Exit code 0 when every job SUCCEEDED, 1 when one FAILED. Ctrl-C stops the waiting, not the job.",
			"batchctl wait 3f2a91c0\nbatchctl wait prepare train --timeout 2h"),
		Flags: jobFlags(append(outputFlags(),
			&cli.DurationFlag{Name: "timeout", Usage: "stop waiting after this `DURATION`, such as 90m"})...),
		Action: p.wait,
	}
}

func (p *program) wait(c *cli.Context) error {
	call, err := p.openJobs(c, toChange)
	if err != nil {
		return err
	}
	defer call.close()
	ctx := c.Context
	if d := c.Duration("timeout"); d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	err = p.waitFor(ctx, call.target, call.jobs, nil)
	if call.format == "json" {
		return errors.Join(p.printJobs(call.target, call.jobs), err)
	}
	return err
}

func (p *program) stopCommand() *cli.Command {
	return &cli.Command{
		Name:      "stop",
		Usage:     "end jobs: cancel those that wait, terminate those that run",
		UsageText: "batchctl stop [FLAGS] JOB ...",
		Description: help("Each job is named; nothing is stopped by a name's prefix. A running job gets SIGTERM, and SIGKILL\nafter 30 seconds. What had already ended is left alone and said so.",
			"batchctl stop 3f2a91c0\nbatchctl stop resnet-train --reason \"wrong learning rate\""),
		Flags: jobFlags(append(outputFlags(),
			&cli.StringFlag{Name: "reason", Value: "stopped with batchctl stop", Usage: "the `TEXT` that Batch keeps with the job"})...),
		Action: p.stop,
	}
}

type stopRow struct {
	Name    string `json:"name"`
	ID      string `json:"id"`
	ShortID string `json:"shortId"`
	// Call is CancelJob, TerminateJob, or "" when the job had ended before.
	Call   string `json:"call"`
	Before string `json:"before"`
	Status string `json:"status"`
}

func stopText(s client.Stopped) string {
	if s.Call == "" {
		return fmt.Sprintf("left alone: %s already", s.Before)
	}
	return fmt.Sprintf("%s, was %s (%s)", s.Job.Status, s.Before, s.Call)
}

func (p *program) stop(c *cli.Context) error {
	if !c.Args().Present() {
		return usage("stop needs a job").try("name one: batchctl stop NAME; batchctl list shows them")
	}
	call, err := p.openJobs(c, toChange)
	if err != nil {
		return err
	}
	defer call.close()
	ctx, cancel := context.WithTimeout(c.Context, time.Minute)
	defer cancel()
	rows := []stopRow{}
	code := ExitOK
	for _, j := range call.jobs {
		done, err := call.Stop(ctx, j.ID, c.String("reason"))
		if err != nil {
			fmt.Fprintf(p.Err, "batchctl: stop %s: %s\n", client.ShortID(j.ID), diag.Printable(err.Error()))
			code = ExitNotDone
			continue
		}
		rows = append(rows, stopRow{j.Name, j.ID, client.ShortID(j.ID), done.Call, string(done.Before), string(done.Job.Status)})
		if call.format == "text" {
			fmt.Fprintf(p.Out, "%s  %s  %s\n", client.ShortID(j.ID), diag.Printable(j.Name), stopText(done))
		}
	}
	if call.format == "json" {
		if err := p.writeJSON(rows); err != nil {
			return err
		}
	}
	return quiet(code)
}
