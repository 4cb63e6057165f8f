package once

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/document"
)

// AWS Batch starts a job when its dependencies have succeeded, and fails it when one has failed. A
// job with another condition waits in the client: the client sends it, without dependencies, when
// the jobs before it have ended. Jobs after it wait in the client only until it has an id. Then
// Batch handles the dependency.

// EndForgottenError reports a job that runs only if another failed, where the outcome of that other
// job is forgotten.
type EndForgottenError struct{ Job, On, ID string }

// Error names the job and its dependency.
func (e *EndForgottenError) Error() string {
	return fmt.Sprintf("job %s runs only if one of its dependencies failed, and the target has deleted the outcome of %s (%s): drop the rest of the run, and submit the job on its own if you need it",
		e.Job, e.On, batch.ShortID(e.ID))
}

// Step is a job of a plan that waits in the client.
type Step struct {
	Name string
	// When is the plan's document.WhenAlways or document.WhenFailure, or "" for a job after one of
	// those.
	When string
	// For are the jobs that have not ended, or have no id yet.
	For []Submitted
}

// Waiting lists the jobs of a run that are not submitted yet, because other jobs have to end first.
// Resume waits for those and then submits the rest.
type Waiting struct {
	// Run is the run's name in the ledger.
	Run   string
	Steps []Step
	// Followed are the accepted jobs that the client follows until they end: it executes their rungs
	// or sends a message.
	Followed []Submitted
}

// String lists the jobs that wait, and the jobs that they wait for.
func (w *Waiting) String() string {
	if len(w.Steps) == 1 {
		return "1 step runs when its dependencies have finished"
	}
	return fmt.Sprintf("%d steps run when their dependencies have finished", len(w.Steps))
}

// nextStep is the decision about a job that waits in the client.
type nextStep struct {
	due     bool
	skipped string // why the job is not needed
	// waits are the jobs that it still waits for.
	waits []Submitted
}

// nextStepOf decides about a job, given the known outcomes of the jobs that it waits for.
func nextStepOf(r *run, t *plannedJob, known *ends) (f nextStep, err error) {
	var over []Submitted // jobs that have ended, or will never start
	for _, e := range t.after {
		on := r.tasks[e.Job]
		switch id := on.result.ID; {
		case on.phase == jobSkipped && t.when == "":
			return nextStep{skipped: on.name + " was not needed"}, nil
		case on.phase == jobSkipped:
		case id == "" || (t.when != "" || on.laddered()) && known.outcome(on) == "":
			f.waits = append(f.waits, Submitted{Name: on.name, ID: id})
		case t.when == "" && on.laddered() && known.outcome(on) != types.JobStatusSucceeded:
			return nextStep{skipped: on.name + " FAILED"}, nil
		default:
			over = append(over, on.result)
		}
	}
	if t.when == "" {
		f.due = len(f.waits) == 0
		return f, nil
	}
	for _, e := range t.earlier {
		s := Submitted{Name: e.Name, ID: e.ID}
		if known.status[e.ID] == "" {
			f.waits = append(f.waits, s)
		} else {
			over = append(over, s)
		}
	}
	if len(f.waits) > 0 {
		return f, nil
	}
	return judge(r, t, over, known)
}

// judge decides about a job when all jobs before it have ended.
func judge(r *run, t *plannedJob, over []Submitted, known *ends) (nextStep, error) {
	status := func(s Submitted) types.JobStatus {
		if at := slices.IndexFunc(r.tasks, func(t *plannedJob) bool { return t.isAccepted() && t.result.ID == s.ID }); at >= 0 {
			return known.outcome(r.tasks[at])
		}
		return known.status[s.ID]
	}
	failed := func(s Submitted) bool { return status(s) == types.JobStatusFailed }
	expired := slices.IndexFunc(over, func(s Submitted) bool { return status(s) == StatusExpired })
	switch {
	case t.when == document.WhenAlways, slices.ContainsFunc(over, failed):
		return nextStep{due: true}, nil
	case expired >= 0:
		return nextStep{}, &EndForgottenError{t.name, over[expired].Name, over[expired].ID}
	}
	var names []string
	for _, s := range over {
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return nextStep{skipped: "no job before it ran"}, nil
	}
	return nextStep{skipped: "no failure of " + strings.Join(names, ", ")}, nil
}

// ladderedID reports whether the job of an id has rungs.
func ladderedID(r *run, id string) bool {
	return slices.ContainsFunc(r.tasks, func(t *plannedJob) bool { return t.result.ID == id && t.laddered() })
}

// waitingOf returns the jobs of the run that wait in the client; nil for none.
func waitingOf(r *run, known *ends) *Waiting {
	w := &Waiting{Run: r.name}
	for _, t := range r.tasks {
		if t.followed() {
			w.Followed = append(w.Followed, t.result)
		}
		if !t.held() {
			continue
		}
		f, _ := nextStepOf(r, t, known) // decide has already reported an error
		w.Steps = append(w.Steps, Step{t.name, t.when, f.waits})
	}
	if len(w.Steps)+len(w.Followed) == 0 {
		return nil
	}
	return w
}
