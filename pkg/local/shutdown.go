package local

import (
	"context"
	"fmt"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// ReasonShutdown is the status reason of jobs that EndJobs ended.
const ReasonShutdown = "The local engine was stopped (batchctl serve --stop, Ctrl-C or SIGTERM)."

// EndJobs ends every unfinished job, as TerminateJob does, with ReasonShutdown. None of them starts
// again with the next engine on this directory, whatever its retry strategy. From then on SubmitJob
// returns an error. EndJobs returns the number of jobs (an array counts as one) when all have
// ended, or ctx's error; Close then kills those that still run.
func (e *Engine) EndJobs(ctx context.Context) (jobs int, err error) {
	err = e.change(func(m *model.Model) (events []model.Event, err error) {
		e.shutdown = true
		for _, j := range m.Unfinished() {
			jobs++
			events = append(events, j.Stop(true, ReasonShutdown)...)
		}
		return events, nil
	})
	if err != nil {
		return jobs, fmt.Errorf("end jobs: %w", err)
	}
	if err := e.waiters.wait(ctx, 0, func() bool { return e.model.Active == 0 }); err != nil {
		return jobs, fmt.Errorf("end jobs: %w", err)
	}
	return jobs, nil
}
