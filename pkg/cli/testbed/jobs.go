package testbed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/benchmark"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/testbed"
)

// jobs sets the benchmark's jobs: the reference jobs with the sizes of the
// published table. platform is the path of the platform file that names their
// queues.
func (q *sequence) jobs(isLocal bool, platform string) {
	o := &q.bench.Options
	o.Workloads, o.Platform = testbed.Workloads(), platform
	o.IsLocal = func(*input.Input) bool { return isLocal }
	o.ParametersOf = func(workload string) []string {
		if workload == "matrix" {
			sizes := string(q.o.Sizes)
			if isLocal && !q.o.IsSet("sizes") {
				sizes = testbed.LocalSizes
			}
			return []string{"sizes=" + sizes, "type=float32"}
		}
		return []string{"sizes=" + q.o.ImageSizes, "batch=" + q.o.Batch}
	}
	o.SettingsOf = func(side, workload string) []string {
		if isLocal {
			return nil
		}
		return testbed.Settings(q.stacks.Prefix, side, workload, q.images.Of(side))
	}
}

// measure runs the benchmark, or continues it, and writes the reports. It records
// each job before and after its submission, so that an interrupted benchmark
// finds its jobs again.
func (q *sequence) measure(ctx context.Context) error {
	b := q.bench
	b.Target = q.t
	q.jobs(false, q.o.platformFile())
	// An interrupted benchmark finds its jobs again, so they may continue.
	b.Options.Keeps = true
	if err := b.Load(ctx); err != nil {
		return err
	}
	work := map[*benchmark.BenchPart]string{}
	for _, s := range b.Sides {
		for _, part := range s.Parts {
			hash, err := workOf(part.Plan)
			if err != nil {
				return err
			}
			work[part] = hash
			if part.Jobs, err = q.earlier(ctx, part, hash); err != nil {
				return err
			}
		}
	}
	b.Options.Submitting = func(part *benchmark.BenchPart) error {
		return q.memory.Note(part.Label(), testbed.Jobs{Work: work[part], Asked: time.Now().UTC()})
	}
	b.Options.Submitted = func(part *benchmark.BenchPart) error {
		jobs := testbed.Jobs{Work: work[part], Asked: q.memory.Jobs[part.Label()].Asked}
		for _, j := range part.Jobs {
			jobs.Jobs = append(jobs.Jobs, testbed.Job{Name: j.Name, ID: j.ID})
		}
		return q.memory.Note(part.Label(), jobs)
	}
	note, err := b.Repeat(ctx)
	if ctx.Err() != nil {
		return exit.Fail(exit.Interrupted, "interrupted; everything created so far is kept, and jobs continue").
			Try("continue: %s    delete everything: %s", q.o.again(""), q.o.again("destroy"))
	}
	if err != nil {
		return err
	}
	if err := b.Report(note); err != nil {
		return err
	}
	q.memory.Measured = time.Now().UTC().Truncate(time.Second)
	if err := q.memory.Keep(); err != nil {
		return err
	}
	return b.Verdict()
}

// workOf returns a hash of a plan's requests, to recognize jobs of the same work.
func workOf(planned *plan.Plan) (string, error) {
	text, err := json.Marshal(planned.Requests())
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), err
}

// earlier returns the jobs of a part that an earlier process submitted for the
// same work and that have not failed. It returns nil if the part must be
// submitted.
func (q *sequence) earlier(ctx context.Context, part *benchmark.BenchPart, work string) ([]once.Submitted, error) {
	noted, ok := q.memory.Jobs[part.Label()]
	if !ok || noted.Work != work {
		return nil, nil
	}
	var jobs []once.Submitted
	for _, j := range noted.Jobs {
		jobs = append(jobs, once.Submitted{Name: j.Name, ID: j.ID, Queue: q.stacks.Prefix})
	}
	if len(jobs) == 0 {
		var err error
		if jobs, err = q.lost(ctx, part, noted.Asked); err != nil {
			return nil, err
		}
	}
	for _, j := range jobs {
		// A job that failed or is forgotten has no result, so its part is
		// submitted again.
		known, err := q.t.Client.Recall(ctx, j.ID)
		if err != nil {
			return nil, err
		}
		if len(known) == 0 || known[0].Forgotten || known[0].Status == types.JobStatusFailed {
			fmt.Fprintf(q.Err, "%s: job %s of the previous run is not usable; submitting it again\n", part.Label(),
				batch.ShortID(j.ID))
			return nil, nil
		}
		fmt.Fprintf(q.Err, "%s: continuing with job %s\n", diag.Printable(part.Label()), batch.ShortID(j.ID))
	}
	return jobs, nil
}

// lost finds the job of an earlier process that ended before it recorded the
// answer. It first resumes open submissions, so that the ledger contains the job.
// asked is when that process began to submit.
func (q *sequence) lost(ctx context.Context, part *benchmark.BenchPart, asked time.Time) ([]once.Submitted, error) {
	open, err := q.t.Submissions.OpenRuns()
	if err != nil {
		return nil, err
	}
	for _, r := range open {
		if r.Target != q.t.Submissions.Target || r.Damage != nil || r.Began.Before(asked.Add(-time.Second)) {
			continue
		}
		if _, err := q.t.Client.Resume(ctx, r.Name); err != nil {
			return nil, session.SubmitFailure(ctx, q.t, err)
		}
	}
	entries, err := q.t.Submissions.Entries()
	if err != nil {
		return nil, err
	}
	for _, e := range slices.Backward(entries) {
		if e.Target == q.t.Submissions.Target && client.DisplayName(e.Name) == part.Plan.Name &&
			!e.Time.Before(asked.Add(-time.Second)) {
			return []once.Submitted{{Name: e.Name, ID: e.ID, Queue: e.Queue, Definition: e.Definition}}, nil
		}
	}
	return nil, nil
}
