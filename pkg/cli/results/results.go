package results

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/results"
	"github.com/batchctl/batchctl/pkg/secret"
	"github.com/batchctl/batchctl/pkg/target"
)

// resultLines is how many lines at the end of a log are searched for a result.
const resultLines = 1000

// printResults is batchctl results: it prints the table, or draws it as a heat
// map.
func printResults(ctx context.Context, con *term.Console, o options) error {
	for _, flag := range []string{"to", "force"} {
		if o.given(flag) {
			return exit.Usage("--%s works only with --fetch", flag).Try("batchctl results JOB --fetch --%s", flag)
		}
	}
	h, err := parseHeatmap(o)
	if err != nil {
		return err
	}
	defer h.drop()
	call, err := jobs.OpenJobs(ctx, con, o.Options, target.ToRead)
	if err != nil {
		return err
	}
	defer call.Close()
	axes, children, err := cells(ctx, con, call)
	if err != nil {
		return err
	}
	table, err := readResults(ctx, con, o, call, axes, children)
	if err != nil {
		return err
	}
	if err := h.draw(table, len(axes)); err != nil {
		return err
	}
	if h != nil && !o.given("output") && !o.given("json") {
		return nil // the heat map replaces the table
	}
	return writeTable(con, call.Format, table)
}

// resultChild is a child whose result is read.
type resultChild struct {
	id string
	results.Child
}

// cells returns the children of the jobs, sorted by cell, and the names of the
// axes. If two children have the same cell, such as in a retry, the newer job
// counts.
func cells(ctx context.Context, con *term.Console, call *jobs.Call) (axes []string, children []resultChild, err error) {
	jobs := slices.Clone(call.Known)
	slices.SortStableFunc(jobs, func(a, b once.Recalled) int {
		return cmp.Compare(aws.ToInt64(a.CreatedAt), aws.ToInt64(b.CreatedAt))
	})
	// Later jobs overwrite earlier ones, because jobs are sorted by their
	// creation.
	byCell := map[int]resultChild{}
	found := false
	for _, job := range jobs {
		of, err := session.FindSweep(ctx, call.Target, job.JobDetail)
		if err != nil {
			return nil, nil, err
		}
		if of == nil && len(jobs) > 1 {
			continue // a step of a workflow that is not an array
		}
		if found && !slices.Equal(axes, of.Names()) {
			return nil, nil, exit.Usage("%s and a job before it have different axes: %s; %s", aws.ToString(job.JobName), strings.Join(of.Names(), " "), strings.Join(axes, " ")).
				Try("name one of them, or those of one array")
		}
		axes, found = of.Names(), true
		jobChildren, err := childrenOf(ctx, call, job.JobDetail, of)
		if err != nil {
			return nil, nil, err
		}
		for _, child := range jobChildren {
			byCell[child.Cell] = child
		}
	}
	if !found {
		return nil, nil, exit.Usage("none of %s is an array", term.Plural(len(jobs), "job")).Try("name one: batchctl results JOB")
	}
	for _, cell := range slices.Sorted(maps.Keys(byCell)) {
		children = append(children, byCell[cell])
	}
	return axes, children, nil
}

// childrenOf returns the children of a job, by index. A job that is not an array
// is its own only child. Children that the service does not list are PENDING.
func childrenOf(ctx context.Context, call *jobs.Call, job types.JobDetail, of *session.SweepOf) ([]resultChild, error) {
	id, size := aws.ToString(job.JobId), batch.ArraySize(job)
	if size == 0 {
		child := resultChild{id, results.Child{Cell: of.Cell(0), Values: of.Values(0), Status: string(job.Status)}}
		if job.Container != nil && job.Container.ExitCode != nil {
			child.ExitCode = aws.Int(int(*job.Container.ExitCode))
		}
		return []resultChild{child}, nil
	}
	children := make([]resultChild, size)
	for i := range children {
		children[i] = resultChild{batch.ChildID(id, i), results.Child{Index: i, Cell: of.Cell(i), Values: of.Values(i), Status: string(types.JobStatusPending)}}
	}
	// A list has status and exit code; describing each child would cost a call
	// per 100 of them.
	for summary, err := range call.List(ctx, client.Filter{ArrayOf: id}) {
		if err != nil {
			return nil, err
		}
		if summary.ArrayProperties == nil || summary.ArrayProperties.Index == nil || int(*summary.ArrayProperties.Index) >= size {
			continue
		}
		child := &children[*summary.ArrayProperties.Index]
		child.Status = string(summary.Status)
		if summary.Container != nil && summary.Container.ExitCode != nil {
			child.ExitCode = aws.Int(int(*summary.Container.ExitCode))
		}
	}
	return children, nil
}

// readResults reads the end of the children's logs, and returns the table.
// Children that cannot have started have no log and are not read.
func readResults(ctx context.Context, con *term.Console, options options, call *jobs.Call, axes []string, children []resultChild) (*results.Table, error) {
	o := client.LogOptions{Tail: resultLines}
	every := options.everyLine
	if every {
		o.Tail = 0
	}
	var ids []string
	for _, child := range children {
		if child.Status != string(types.JobStatusPending) && child.Status != string(types.JobStatusRunnable) {
			ids = append(ids, child.id)
		}
	}
	outputs := map[string]*results.Output{}
	table := results.New(axes, results.Options{ExitCode: options.exitCode, Mask: secret.Mask})
	next := 0
	// Logs arrive one after the other. A child is complete when the log of another begins.
	add := func(until string) error {
		for next < len(children) && children[next].id != until {
			child := children[next]
			if err := table.Add(child.Child, outputs[child.id]); err != nil {
				return exit.Fail(exit.NotDone, "%v", err).Try("name single children as in JOB:3, or omit --every-line")
			}
			delete(outputs, child.id)
			next++
		}
		return nil
	}
	unread := 0
	for line, err := range call.MergedLogs(ctx, ids, o) {
		if err != nil && line.Job == "" {
			return nil, err
		}
		if err := add(line.Job); err != nil {
			return nil, err
		}
		if err != nil {
			unread++
			fmt.Fprintf(con.Err, "batchctl: log of %s: %s\n", batch.ShortID(line.Job), diag.Printable(err.Error()))
			continue
		}
		if outputs[line.Job] == nil {
			outputs[line.Job] = results.NewOutput(every)
		}
		outputs[line.Job].Line(line.Text)
	}
	if err := add(""); err != nil {
		return nil, err
	}
	if without := table.Without(); without > 0 {
		fmt.Fprintf(con.Err, "%d of %d printed no JSON object\n", without, len(children))
	}
	if unread > 0 {
		return table, exit.Fail(exit.NotDone, "%s could not be read", term.Plural(unread, "log"))
	}
	return table, nil
}

// widestValue is the width of a value in a table on a terminal, in columns.
const widestValue = 60

// writeTable prints the table. CSV and JSON are for programs, so they are not
// masked for a terminal.
func writeTable(con *term.Console, format string, t *results.Table) error {
	write := map[string]func(io.Writer) error{"csv": t.WriteCSV, "json": t.WriteJSON, "markdown": t.WriteMarkdown,
		"text": func(w io.Writer) error {
			widest := 0
			if term.IsTerminal(con.Out) {
				widest = widestValue
			}
			return t.WriteText(w, widest)
		}}[format]
	if format == "csv" || format == "json" {
		return write(con.Out) // data for programs
	}
	var b strings.Builder
	if err := write(&b); err != nil {
		return err
	}
	return con.Print(b.String())
}
