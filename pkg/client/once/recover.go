package once

import (
	"context"
	"fmt"
	"time"

	"github.com/batchctl/batchctl/pkg/batch"
)

// retention is how long AWS certainly keeps a job that has ended. AWS documents 7 days (user
// guide, job states), but sometimes keeps jobs for a shorter time.
const retention = 24 * time.Hour

// ForgottenError reports a job that is not at the service, which may have forgotten it.
type ForgottenError struct {
	Job  string
	When time.Time
}

// Error names the job and the time.
func (e *ForgottenError) Error() string {
	return fmt.Sprintf("job %s may have been accepted on %s, have ended, and been deleted by the service",
		e.Job, e.When.Local().Format(time.DateTime))
}

// recover searches for a job that another process may have sent. That process ended before this one
// locked the run, so the listing settles once for all its jobs.
func (s sender) recover(ctx context.Context, t *plannedJob) (bool, error) {
	began := time.Now()
	found, err := s.finder.search(ctx, t, s.run.taken)
	if err != nil {
		return false, err
	}
	if len(found) == 0 {
		if since := t.since; !since.IsZero() && !s.client.SubmitAgain && time.Since(since) > retention &&
			!s.client.TakesOnce {
			return false, &ForgottenError{t.name, since}
		}
		t.hidden = s.mayLeaveDuplicates() && began.Sub(s.run.taken) < lateCheck
		return false, nil
	}
	why := ""
	switch {
	case len(found) > 1:
		why = "the job exists twice"
	case s.mayLeaveDuplicates():
		why = "another process sent it"
	}
	if why != "" { // recorded before the id, so that a crash in between does not lose it
		if err := s.run.doubt(t, s.run.taken, why); err != nil {
			return true, err
		}
	}
	if err := s.run.accepted(t, t.submitted(found[0].id, found[0].definition)); err != nil {
		return true, err
	}
	t.last = s.run.taken
	s.client.progress("job %s: accepted as %s", t.name, batch.ShortID(found[0].id))
	return true, nil
}
