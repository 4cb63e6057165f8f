package forecast

import (
	"context"
	"fmt"
	"slices"

	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	simulate "github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/forecast/observe"
	"github.com/batchctl/batchctl/pkg/target"
)

// Accuracy compares the earlier forecasts for the queues of the options, or for all queues, with what happened.
func Accuracy(ctx context.Context, con *term.Console, o Options) ([]simulate.Accuracy, error) {
	call, err := jobs.OpenFor(ctx, con, o.Options, target.ToRead)
	if err != nil {
		return nil, err
	}
	defer call.Close()
	store := observe.Store{Dir: call.Submissions.Dir}
	all, err := store.All()
	if err != nil {
		return nil, err
	}
	// Jobs that the target still has tell when they started.
	var ids []string
	for _, p := range all {
		if p.Started == 0 && p.Target == call.Submissions.Target {
			ids = append(ids, p.Job)
		}
	}
	started := map[string]int64{}
	for part := range slices.Chunk(ids, 100) {
		found, err := call.Client.ByID(ctx, part)
		if err != nil {
			return nil, err
		}
		for id, d := range found {
			if d.StartedAt != nil {
				started[id] = *d.StartedAt
			}
		}
	}
	if all, err = store.Learn(call.Submissions.Target, started); err != nil {
		return nil, err
	}
	list := simulate.AccuracyOf(call.Submissions.Target, all)
	if len(o.Args) > 0 {
		list = slices.DeleteFunc(list, func(a simulate.Accuracy) bool { return !slices.Contains(o.Args, a.Queue) })
	}
	return list, nil
}

// printAccuracy prints how good forecasts were, in a format.
func printAccuracy(con *term.Console, format string, list []simulate.Accuracy) error {
	if format == "json" {
		return con.MaskedJSON(list)
	}
	if len(list) == 0 {
		fmt.Fprintln(con.Err, "no forecasts yet: batchctl submit records one for each job that has to wait")
		return nil
	}
	t := con.Table("QUEUE", "FORECASTS", "OPEN", "IN 80 % INTERVAL", "LATER THAN MEDIAN", "VERDICT")
	for _, a := range list {
		t.Row(append([]string{diag.Printable(a.Queue)}, a.Cells()...)...)
	}
	return t.Flush()
}
