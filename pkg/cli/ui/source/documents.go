package source

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/results"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/top"
	"github.com/batchctl/batchctl/pkg/cost"
	"github.com/batchctl/batchctl/pkg/explain"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/wire"
)

// About returns the options of a command about the jobs with these ids or names.
func (s *Source) About(command string, ids ...string) jobs.Options {
	o := jobs.Options{Target: s.Options.Target}
	o.Command, o.Args = command, ids
	return o
}

// Status asks for jobs, or for those of the last submission.
func (s *Source) Status(ids ...string) Question[[]jobs.Row] {
	return s.status(append([]string{"status"}, ids...), s.About("status", ids...))
}

// StatusOf asks for the jobs of a submission. Ids beside it are an error of the user.
func (s *Source) StatusOf(submission string, ids ...string) Question[[]jobs.Row] {
	o := s.About("status", ids...)
	o.Submission = submission
	return s.status(append([]string{"status", "--submission", submission}, ids...), o)
}

func (s *Source) status(words []string, o jobs.Options) Question[[]jobs.Row] {
	return Question[[]jobs.Row]{words, func(ctx context.Context, con *term.Console) ([]jobs.Row, error) {
		return jobs.Status(ctx, con, o)
	}}
}

// Children asks for the children of an array, or only for those with these statuses.
func (s *Source) Children(array string, statuses ...types.JobStatus) Question[wire.Native[[]types.JobSummary]] {
	o := jobs.ListOptions{Options: s.About("list"), Array: array}
	words := []string{"list", "--array", array}
	for _, status := range statuses {
		o.Statuses = append(o.Statuses, string(status))
		words = append(words, "--status", string(status))
	}
	return Question[wire.Native[[]types.JobSummary]]{append(words, "--limit", "0"),
		func(ctx context.Context, con *term.Console) (wire.Native[[]types.JobSummary], error) {
			return jobs.List(ctx, con, o)
		}}
}

// Explain asks why a job waits or failed.
func (s *Source) Explain(id string) Question[*explain.Answer] {
	o := jobs.ExplainOptions{Options: s.About("explain", id)}
	return Question[*explain.Answer]{[]string{"explain", id},
		func(ctx context.Context, con *term.Console) (*explain.Answer, error) {
			return jobs.Explain(ctx, con, o)
		}}
}

// Results asks for the results of an array: rows whose members keep their order.
func (s *Source) Results(id string) Question[json.RawMessage] {
	o := results.Options{Options: s.About("results", id)}
	return Question[json.RawMessage]{[]string{"results", id},
		func(ctx context.Context, con *term.Console) (json.RawMessage, error) {
			table, err := results.Results(ctx, con, o)
			if err != nil {
				return nil, err
			}
			var b bytes.Buffer
			err = table.WriteJSON(&b)
			return b.Bytes(), err
		}}
}

// Cost asks what jobs cost. flags are those of o as users type them, with the jobs.
func (s *Source) Cost(o preview.CostOptions, flags ...string) Question[*preview.SpentDocument] {
	o.Target, o.Command = s.Options.Target, "cost"
	return Question[*preview.SpentDocument]{append([]string{"cost"}, flags...),
		func(ctx context.Context, con *term.Console) (*preview.SpentDocument, error) {
			return preview.Spent(ctx, con, o)
		}}
}

// CostRows returns the rows of a document.
func CostRows(d *preview.SpentDocument) (rows []cost.Row) {
	for _, row := range d.Rows {
		if row != nil {
			rows = append(rows, *row)
		}
	}
	return rows
}

// snapshot asks for the queues and their unfinished jobs.
func snapshot(at target.Options) Question[*top.Snapshot] {
	o := jobs.Options{Given: cmdline.Given{Command: "top"}, Target: at}
	return Question[*top.Snapshot]{[]string{"top"},
		func(ctx context.Context, con *term.Console) (*top.Snapshot, error) { return top.Read(ctx, con, o) }}
}
