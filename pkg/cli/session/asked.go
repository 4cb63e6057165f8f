package session

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/target"
)

// Asked is what the ledger adds to jobs at a service: the jobs that they wait for in the
// client, and, if all jobs of one submission are shown, its name and its other steps.
type Asked struct {
	// Steps are the jobs with a When and those in unsubmitted, by key.
	Steps map[string]step
	// Title is the workflow's name.
	Title string
	// Unsubmitted are the steps that are not needed or that batchctl has yet to submit.
	Unsubmitted []step
}

// step is a job as it was asked for.
type step struct {
	once.RunJob
	// Key is the job's id, or a text that only this step has.
	Key string
	// WaitsFor are the keys of the jobs that it waits for.
	WaitsFor []string
}

// Statuses of steps that were not submitted; AWS Batch has none for them.
const (
	statusSkipped types.JobStatus = "SKIPPED"
	statusWaiting types.JobStatus = "WAITING"
)

func (s step) Status() types.JobStatus {
	if s.Skipped != "" {
		return statusSkipped
	}
	return statusWaiting
}

func (s step) Note() string {
	if s.Skipped != "" {
		return "not needed: " + s.Skipped
	}
	return "not submitted yet"
}

// AskedOf reads what the ledger knows about the jobs that are shown.
func AskedOf(t *target.Target, jobs []once.Recalled) (Asked, error) {
	var shown []string
	for _, job := range jobs {
		shown = append(shown, aws.ToString(job.JobId))
	}
	if t.Ledger == nil {
		return Asked{}, nil
	}
	runs, err := t.Ledger.RunsOf(shown...)
	if err != nil {
		return Asked{}, err
	}
	a := Asked{Steps: map[string]step{}}
	for _, r := range runs {
		for i, j := range r.Jobs {
			if j.ID != "" && j.When != "" {
				a.Steps[j.ID] = stepOf(r, i)
			}
		}
	}
	if len(runs) != 1 || !isWhole(runs[0], shown) {
		return a, nil
	}
	a.Title = runs[0].Name
	for i, j := range runs[0].Jobs {
		if j.ID == "" && (j.Skipped != "" || j.Pending) {
			s := stepOf(runs[0], i)
			a.Unsubmitted = append(a.Unsubmitted, s)
			a.Steps[s.Key] = s
		}
	}
	return a, nil
}

// isWhole reports whether the ids are those of all submitted jobs of the run, and no others.
func isWhole(r once.Run, ids []string) bool {
	shown := map[string]bool{}
	for _, id := range ids {
		shown[id] = true
	}
	for _, j := range r.Jobs {
		if j.ID != "" && !shown[j.ID] {
			return false
		}
		delete(shown, j.ID)
	}
	return len(shown) == 0
}

// ConditionsOf is asked without a name and without other steps, for a view of jobs that are
// still being submitted. A ledger that cannot be read is reported by other calls.
func ConditionsOf(t *target.Target, ids []string) Asked {
	var jobs []once.Recalled
	for _, id := range ids {
		jobs = append(jobs, once.Recalled{JobDetail: types.JobDetail{JobId: &id}})
	}
	a, _ := AskedOf(t, jobs)
	return Asked{Steps: a.Steps}
}

func stepOf(r once.Run, at int) step {
	s := step{RunJob: r.Jobs[at], Key: keyOf(r, at)}
	for _, e := range s.After {
		switch {
		case e.Job >= 0 && e.Job < len(r.Jobs):
			s.WaitsFor = append(s.WaitsFor, keyOf(r, e.Job))
		case e.ID != "":
			s.WaitsFor = append(s.WaitsFor, e.ID)
		}
	}
	return s
}

func keyOf(r once.Run, at int) string {
	if id := r.Jobs[at].ID; id != "" {
		return id
	}
	return fmt.Sprintf("%s/%d", r.ID, at)
}
