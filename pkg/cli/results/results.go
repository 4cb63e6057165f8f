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
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/heatmap"
	"github.com/batchctl/batchctl/pkg/results"
	"github.com/batchctl/batchctl/pkg/secret"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
)

// resultLines is how many lines at the end of a log are searched for a result.
const resultLines = 1000

// ResultsCommand is batchctl results.
func ResultsCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "results",
		Usage:     "collect the results of jobs as a table",
		UsageText: "batchctl results [FLAGS] [JOB ...]",
		Description: cmdline.Help("Each child has a row: the last JSON object in the last 1000 lines of its log. The \"metrics\" of a job file add numbers from other lines. All members "+
			"become columns, beside the axes of the matrix or the columns of the table. If a step of onFailure or a retry runs a cell again, the newer "+
			"result counts. Jobs that are not arrays have one row each. Without a JOB, results uses the last submission.\n\n--outputs lists the files that the jobs uploaded as \"outputs\". --fetch downloads them to the local path of the output, or to JOB/INDEX/NAME; --to "+
			"sets another directory. It overwrites a local file that differs only with --force.",
			"batchctl results pi-sweep\nbatchctl results pi-sweep --output csv > pi.csv\nbatchctl results pi-sweep.json --output markdown\n"+
				"batchctl results pi-sweep --heatmap pi.svg --axes samples,seed --value error\n"+
				"batchctl results train --fetch --to results"),
	}, commandOptions{Options: Options{Options: jobs.Options{Output: cmdline.OutputsAs("text, csv, json or markdown",
		cmdline.JSON[[]map[string]any](), cmdline.JSONWith[[]OutputRow]("outputs"),
		cmdline.JSONWith[[]OutputRow]("fetch"))}}, heatmapOptions: heatmapOptions{Combine: string(heatmap.Mean)}},
		func(ctx context.Context, o commandOptions) error {
			if o.Outputs || o.Fetch {
				return printOutputs(ctx, con, o)
			}
			return printResults(ctx, con, o)
		})
}

// Options are the flags of results that select its rows and columns.
type Options struct {
	jobs.Options
	EveryLine bool `flag:"every-line" usage:"make a row of every line that is a JSON object or has a metric, from the whole log"`
	ExitCode  bool `flag:"exit-code" usage:"add a column for the exit code"`
}

// commandOptions are all flags of results.
type commandOptions struct {
	Options
	Outputs bool   `flag:"outputs" usage:"list the files that the jobs uploaded, with size, age and URL"`
	Fetch   bool   `flag:"fetch" usage:"download those files"`
	To      string `flag:"to" usage:"the <DIRECTORY> for --fetch (default: the local paths of the outputs)"`
	Force   bool   `flag:"force" usage:"let --fetch overwrite files that differ"`
	heatmapOptions
}

// Results reads the table of what the jobs printed.
func Results(ctx context.Context, con *term.Console, o Options) (*results.Table, error) {
	call, err := jobs.OpenJobs(ctx, con, o.Options, target.ToRead)
	if err != nil {
		return nil, err
	}
	defer call.Close()
	rows, err := cells(ctx, con, call)
	if err != nil {
		return nil, err
	}
	return readResults(ctx, con, o, call, rows)
}

// printResults is batchctl results without the files: it prints the table, or draws it as a heat map.
func printResults(ctx context.Context, con *term.Console, o commandOptions) error {
	for _, flag := range []string{"to", "force"} {
		if o.IsSet(flag) {
			return exit.Usage("--%s works only with --fetch", flag).Try("batchctl results JOB --fetch --%s", flag)
		}
	}
	h, err := parseHeatmap(o)
	if err != nil {
		return err
	}
	defer h.drop()
	table, err := Results(ctx, con, o.Options)
	if err != nil {
		return err
	}
	if err := h.draw(table); err != nil {
		return err
	}
	if h != nil {
		fmt.Fprintf(con.Err, "wrote %s\n", diag.Printable(h.path))
		if !o.IsSet("output") && !o.IsSet("json") {
			return nil // the heat map replaces the table
		}
	}
	return writeTable(con, o.Format, table)
}

// resultChild is a child whose result is read.
type resultChild struct {
	id string
	// metrics are the numbers that the job's file looks for in the log; nil without some.
	metrics *results.Metrics
	results.Child
}

// resultRows are what becomes the rows of the table: the children of arrays, or jobs that are none.
type resultRows struct {
	axes     []string // the names of the values that each child has
	children []resultChild
	areJobs  bool
}

// cells returns the children of the jobs, sorted by cell, and the names of the
// axes. If two children have the same cell, such as in a retry, the newer job
// counts. Several jobs of which none is an array are rows themselves, in the
// order in which they were named.
func cells(ctx context.Context, con *term.Console, call *jobs.Call) (rows resultRows, err error) {
	jobs := slices.Clone(call.Known)
	slices.SortStableFunc(jobs, func(a, b once.Recalled) int {
		return cmp.Compare(aws.ToInt64(a.CreatedAt), aws.ToInt64(b.CreatedAt))
	})
	// Later jobs overwrite earlier ones, because jobs are sorted by their
	// creation.
	byCell := map[int]resultChild{}
	var axes []string
	found := false
	for _, job := range jobs {
		of, err := session.FindSweep(ctx, call.Target, job.JobDetail)
		if err != nil {
			return rows, err
		}
		if of == nil && len(jobs) > 1 {
			continue // a step of a workflow that is not an array
		}
		if found && !slices.Equal(axes, of.Names()) {
			return rows, exit.Usage("%s and an earlier job in the list have different axes: %s; %s",
				aws.ToString(job.JobName), strings.Join(of.Names(), " "), strings.Join(axes, " ")).
				Try("name one of them, or only jobs of one array")
		}
		axes, found = of.Names(), true
		jobChildren, err := childrenOf(ctx, call, job.JobDetail, of)
		if err != nil {
			return rows, err
		}
		metrics := metricsOf(con, job.JobDetail)
		for _, child := range jobChildren {
			child.metrics = metrics
			byCell[child.Cell] = child
		}
	}
	if !found {
		return jobRows(ctx, con, call)
	}
	rows.axes = axes
	for _, cell := range slices.Sorted(maps.Keys(byCell)) {
		rows.children = append(rows.children, byCell[cell])
	}
	return rows, nil
}

// jobRows returns a row for each chain, in the order of the command line or of the
// file: that of its newest job, with the name of the first one. None of the jobs is an array.
func jobRows(ctx context.Context, con *term.Console, call *jobs.Call) (rows resultRows, err error) {
	rows.areJobs = true
	var newest []once.Submitted
	for _, chain := range call.Chains {
		newest = append(newest, once.Submitted{ID: chain[0].ID, Name: chain.Root().Name})
	}
	labels := session.Labels(newest)
	for _, job := range call.Known {
		if _, ok := labels[aws.ToString(job.JobId)]; !ok {
			continue // a newer job runs it again
		}
		children, err := childrenOf(ctx, call, job.JobDetail, nil)
		if err != nil {
			return rows, err
		}
		child := children[0]
		child.metrics, child.Job = metricsOf(con, job.JobDetail), cmp.Or(labels[child.id], aws.ToString(job.JobName))
		rows.children = append(rows.children, child)
	}
	return rows, nil
}

// metricsOf returns the metrics that submit stored in the job's environment. It
// prints why they cannot be read, because the job may also have printed JSON.
func metricsOf(con *term.Console, job types.JobDetail) *results.Metrics {
	if job.Container == nil {
		return nil
	}
	metrics, err := results.ParseMetrics(session.ValueIn(job.Container.Environment, results.MetricsVariable))
	if err != nil {
		fmt.Fprintf(con.Err, "batchctl: job %s: %s; its metrics are left out\n",
			diag.Printable(aws.ToString(job.JobName)), diag.Printable(err.Error()))
	}
	return metrics
}

// childrenOf returns the children of a job, by index. A job that is not an array
// is its own only child. Children that the service does not list are PENDING.
func childrenOf(ctx context.Context, call *jobs.Call, job types.JobDetail, of *session.SweepOf) ([]resultChild, error) {
	id, size := aws.ToString(job.JobId), batch.ArraySize(job)
	if size == 0 {
		index := 0
		if job.ArrayProperties != nil {
			index = int(aws.ToInt32(job.ArrayProperties.Index))
		}
		child := resultChild{id: id, Child: results.Child{Index: index, Cell: of.Cell(index), Values: of.Values(index),
			Status: string(job.Status)}}
		if job.Container != nil && job.Container.ExitCode != nil {
			child.ExitCode = aws.Int(int(*job.Container.ExitCode))
		}
		return []resultChild{child}, nil
	}
	children := make([]resultChild, size)
	for i := range children {
		children[i] = resultChild{id: batch.ChildID(id, i), Child: results.Child{Index: i, Cell: of.Cell(i),
			Values: of.Values(i), Status: string(types.JobStatusPending)}}
	}
	// A list has status and exit code; describing each child would cost a call
	// per 100 of them.
	for summary, err := range call.Client.List(ctx, client.Filter{ArrayOf: id}) {
		if err != nil {
			return nil, err
		}
		if summary.ArrayProperties == nil || summary.ArrayProperties.Index == nil ||
			int(*summary.ArrayProperties.Index) >= size {
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
func readResults(ctx context.Context, con *term.Console, options Options, call *jobs.Call,
	rows resultRows) (*results.Table, error) {
	o := client.LogOptions{Tail: resultLines}
	every := options.EveryLine
	if every {
		o.Tail = 0
	}
	var ids []string
	children, byID := rows.children, map[string]*results.Metrics{}
	for _, child := range children {
		if child.metrics != nil {
			byID[child.id] = child.metrics
		}
		if child.Status != string(types.JobStatusPending) && child.Status != string(types.JobStatusRunnable) {
			ids = append(ids, child.id)
		}
	}
	outputs := map[string]*results.Output{}
	table := results.New(rows.axes, results.Options{Jobs: rows.areJobs, ExitCode: options.ExitCode, Mask: secret.Mask})
	next, odd := 0, map[string]bool{}
	// Logs arrive one after the other. A child is complete when the log of another begins.
	add := func(until string) error {
		for next < len(children) && children[next].id != until {
			child := children[next]
			if err := table.Add(child.Child, outputs[child.id]); err != nil {
				return exit.Fail(exit.NotDone, "%v", err).
					Try("name single children, such as JOB:3, or omit --every-line")
			}
			if metric, text, ok := outputs[child.id].NoNumber(); ok && !odd[metric] {
				odd[metric] = true // once for a metric is enough to fix its expression
				fmt.Fprintf(con.Err, "batchctl: metric %s of %s matched %q, which is not a number\n", metric,
					batch.ShortID(child.id), diag.Printable(con.Redacted(text)))
			}
			delete(outputs, child.id)
			next++
		}
		return nil
	}
	unread := 0
	for line, err := range call.Client.MergedLogs(ctx, ids, o) {
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
			outputs[line.Job].Metrics = byID[line.Job]
		}
		outputs[line.Job].Line(line.Text)
	}
	if err := add(""); err != nil {
		return nil, err
	}
	if without := table.Without(); without > 0 {
		what := "no JSON object"
		if len(byID) > 0 {
			what = fmt.Sprintf("neither a JSON object nor a metric in the last %d lines", resultLines)
			if every {
				what = "neither a JSON object nor a metric"
			}
		}
		fmt.Fprintf(con.Err, "%d of %d printed %s\n", without, len(children), what)
	}
	if crowded := table.Crowded(); len(crowded) > 0 {
		fmt.Fprintf(con.Err, "note: a table has at most %d different keys, so it leaves out the results of %s: print a list, not a member for each step\n",
			results.MaxKeys, diag.Printable(strings.Join(crowded, ", ")))
	}
	if unread > 0 {
		return nil, exit.Fail(exit.NotDone, "%s could not be read", text.Count(unread, "log"))
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
