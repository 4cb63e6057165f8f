package jobs

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
)

// Waves are the jobs of a submission in the groups in which they are accepted.
type Waves struct {
	accepted chan once.Submitted
	// done is closed when the submission has ended; jobs and err are set then.
	done chan struct{}
	// first is how many jobs the first wave has: those that wait for nothing in the client.
	first int
	jobs  []once.Submitted
	err   error
}

// Start submits in the background. first is how many jobs the first wave has.
func Start(t *target.Target, first int, submit func() ([]once.Submitted, error)) *Waves {
	w := &Waves{accepted: make(chan once.Submitted, 1000), done: make(chan struct{}), first: first}
	t.Client.Accepted = func(j once.Submitted) {
		if j.ID != "" {
			w.accepted <- j
		}
	}
	go func() {
		defer close(w.done)
		w.jobs, w.err = submit()
	}()
	return w
}

// Next returns the next jobs that were accepted: first all that wait for nothing, then at least one
// at a time. It returns nil when the submission has ended.
func (w *Waves) Next() (wave []once.Submitted) {
	least := max(1, w.first)
	w.first = 0
	for len(wave) < least {
		select {
		case j := <-w.accepted:
			wave = append(wave, j)
			continue
		default:
		}
		select {
		case j := <-w.accepted:
			wave = append(wave, j)
		case <-w.done:
			return w.rest(wave)
		}
	}
	return w.rest(wave)
}

// rest adds the jobs that are accepted already, without waiting.
func (w *Waves) rest(wave []once.Submitted) []once.Submitted {
	for {
		select {
		case j := <-w.accepted:
			wave = append(wave, j)
		default:
			return wave
		}
	}
}

// End waits for the submission and returns its result. It drops the jobs that Next has not
// returned.
func (w *Waves) End() ([]once.Submitted, error) {
	for {
		select {
		case <-w.accepted:
		case <-w.done:
			return w.jobs, w.err
		}
	}
}

// NotHealed returns the jobs without those that FAILED and then SUCCEEDED in the jobs that ran them
// again.
func NotHealed(jobs []once.Submitted) []once.Submitted {
	return slices.DeleteFunc(slices.Clone(jobs), func(j once.Submitted) bool { return j.Healed })
}

// VerdictOf returns the exit status of a submission from that of its waves: a job that FAILED does
// not count if the jobs that ran it again SUCCEEDED.
func VerdictOf(ctx context.Context, t *target.Target, jobs []once.Submitted, code int) (int, error) {
	if code != exit.Problem || !slices.ContainsFunc(jobs, func(j once.Submitted) bool { return j.Healed }) {
		return code, nil
	}
	left := NotHealed(session.WithID(jobs))
	at := map[string]string{}
	for _, j := range left {
		at[j.ID] = j.At
	}
	known, err := t.RecallAt(ctx, session.IDs(left), at)
	if err != nil {
		return code, err
	}
	if slices.ContainsFunc(known, func(j once.Recalled) bool { return j.Status != types.JobStatusSucceeded }) {
		return exit.Problem, nil
	}
	return exit.OK, nil
}
