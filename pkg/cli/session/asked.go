package session

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/target"
)

// Asked is what the ledger adds to the description of jobs: the jobs that they
// wait for in the client. If all jobs of one submission are shown, it also has
// the submission's name and its other steps.
type Asked struct {
	// Steps are the jobs with a When and the steps in Unsubmitted, by key.
	Steps map[string]step
	// Title is the workflow's name.
	Title string
	// Unsubmitted are the steps that are not needed or that batchctl has yet to submit.
	Unsubmitted []step
}

// step is a job as its submission defined it.
type step struct {
	once.RunJob
	// Key is the job's id, or a unique text if it has none.
	Key string
	// WaitsFor are the keys of the jobs that it waits for.
	WaitsFor []string
}

// Statuses of steps that are not submitted. AWS Batch does not know these steps.
const (
	statusSkipped types.JobStatus = "SKIPPED"
	statusWaiting types.JobStatus = "WAITING"
)

// Status is SKIPPED or WAITING, for a step that is not submitted.
func (s step) Status() types.JobStatus {
	if s.Skipped != "" {
		return statusSkipped
	}
	return statusWaiting
}

// Note explains the status.
func (s step) Note() string {
	if s.Skipped != "" {
		return "not needed: " + s.Skipped
	}
	return "not submitted yet"
}

// AskedOf reads what the ledger knows about the jobs that are shown. Without a
// ledger it returns the zero Asked.
func AskedOf(t *target.Target, jobs []once.Recalled) (Asked, error) {
	var all, shown []string
	var planned []once.Recalled // the others run these again
	for _, job := range jobs {
		all = append(all, aws.ToString(job.JobId))
		if job.Tags[client.RetryTag] == "" {
			shown, planned = append(shown, aws.ToString(job.JobId)), append(planned, job)
		}
	}
	if t.Client.Ledger == nil {
		return Asked{}, nil
	}
	runs, err := t.Client.Ledger.RunsOf(all...)
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
	runs = slices.DeleteFunc(runs, func(r once.Run) bool {
		return !slices.ContainsFunc(r.Jobs, func(j once.RunJob) bool {
			return j.ID != "" &&
				slices.Contains(shown, j.ID)
		})
	})
	if title := taggedTitle(planned); len(runs) == 0 && title != "" && !isRecorded(t, shown) {
		a.Title = title
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

// isRecorded reports whether the ledger has one of the jobs.
func isRecorded(t *target.Target, ids []string) bool {
	entries, err := t.Client.Ledger.Own()
	return err != nil || slices.ContainsFunc(entries, func(e once.Entry) bool { return slices.Contains(ids, e.ID) })
}

// taggedTitle returns the name of the workflow that another machine submitted, if all jobs belong
// to one submission of it.
func taggedTitle(jobs []once.Recalled) string {
	if len(jobs) == 0 {
		return ""
	}
	title, run := jobs[0].Tags[client.WorkflowTag], jobs[0].Tags[client.RunTag]
	for _, job := range jobs {
		if job.Tags[client.WorkflowTag] != title || job.Tags[client.RunTag] != run {
			return ""
		}
	}
	return title
}

// isWhole reports whether the ids are exactly those of the run's submitted jobs, without steps of onFailure.
func isWhole(r once.Run, ids []string) bool {
	shown := map[string]bool{}
	for _, id := range ids {
		shown[id] = true
	}
	for _, j := range r.Jobs {
		if j.ID != "" && j.Again == "" && !shown[j.ID] {
			return false
		}
		delete(shown, j.ID)
	}
	return len(shown) == 0
}

// ConditionsOf is AskedOf without a title and unsubmitted steps, for jobs that
// are still being submitted. It ignores errors of the ledger, which other calls
// report.
func ConditionsOf(t *target.Target, ids []string) Asked {
	var jobs []once.Recalled
	for _, id := range ids {
		jobs = append(jobs, once.Recalled{JobDetail: types.JobDetail{JobId: &id}})
	}
	a, _ := AskedOf(t, jobs)
	return Asked{Steps: a.Steps}
}

// stepOf returns the step of job number at of a run.
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

// keyOf returns the key of that step.
func keyOf(r once.Run, at int) string {
	if id := r.Jobs[at].ID; id != "" {
		return id
	}
	return fmt.Sprintf("%s/%d", r.ID, at)
}
