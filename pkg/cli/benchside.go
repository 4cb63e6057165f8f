package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/bench"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/explain"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/plan"
)

// benchSide is one side of a benchmark.
type benchSide struct {
	name, kind string // "CPU" and cpu, "GPU" and cuda
	parts      []*benchPart
	logs       []*bench.Log
}

// benchPart is a job of a side.
type benchPart struct {
	side     *benchSide
	workload string // "" for a file of the user's
	file     string
	document []byte
	input    *input
	made     *plan.Plan
	// jobs are those of the last submission; before the first one, those of an earlier
	// process that are to be gone on with.
	jobs []once.Submitted
	// absent says why it cannot be measured; "" while it can.
	absent string
	// ran is how long its jobs ran, by the service's clock.
	ran time.Duration
}

// label names a part beside others: "GPU", and with several of a side "GPU image".
func (part *benchPart) label() string {
	if len(part.side.parts) < 2 {
		return part.side.name
	}
	return part.side.name + " " + part.workload
}

func partNames(parts []*benchPart) string {
	var names []string
	for _, part := range parts {
		names = append(names, part.label())
	}
	return strings.Join(names, ", ")
}

func (s *benchSide) side() *bench.Side {
	var whys []string
	for _, part := range s.parts {
		if part.absent != "" && !slices.Contains(whys, part.absent) {
			whys = append(whys, part.absent)
		}
	}
	if len(s.logs) == 0 && len(whys) > 0 {
		return bench.AbsentSide(s.name, strings.Join(whys, "; "))
	}
	return bench.NewSide(s.name, s.kind, s.logs...)
}

// why says why no row of the side has a time; "" where one has.
func (s *benchSide) why(side *bench.Side) string {
	why := cmp.Or(side.Absent, "there is no result line")
	for _, row := range side.Rows {
		if row.Summary != nil {
			return ""
		}
		why = row.Name() + ": " + row.Problem
	}
	return why
}

// job is what a change of the job file is made of; with several parts there is no one
// file to change.
func (s *benchSide) job() bench.Job {
	if len(s.parts) > 1 {
		return bench.Job{}
	}
	return bench.Job{Name: s.parts[0].made.Name, File: s.parts[0].file, Document: s.parts[0].document}
}

// partNotes say what of a side is missing that has other figures, and how long jobs ran.
func (b *benchmark) partNotes() (notes []string) {
	for _, s := range b.sides {
		var ran []string
		for _, part := range s.parts {
			if part.absent != "" && len(s.logs) > 0 {
				notes = append(notes, part.label()+": "+part.absent)
			}
			if part.ran > 0 {
				ran = append(ran, part.made.Name+" "+term.Short(part.ran))
			}
		}
		if len(ran) > 0 {
			notes = append(notes, fmt.Sprintf("%s job time, from start to end: %s", s.name, strings.Join(ran, ", ")))
		}
	}
	return notes
}

// rounds are the parts that can be measured, those together that may run at the same
// time: the same work of both sides, which have machines of their own. Two jobs of a side may come to share a
// machine, and on the local engine all do.
func (b *benchmark) rounds() (rounds [][]*benchPart) {
	for i := range b.sides[0].parts {
		var round []*benchPart
		for _, s := range b.sides {
			if part := s.parts[i]; part.absent == "" {
				round = append(round, part)
			}
		}
		if b.t.isLocal() || slices.ContainsFunc(round, func(part *benchPart) bool { return (&sending{b.Console, b.t, part.made}).holdsBack() }) {
			for _, part := range round {
				rounds = append(rounds, []*benchPart{part})
			}
		} else if len(round) > 0 {
			rounds = append(rounds, round)
		}
	}
	return rounds
}

// once submits jobs, follows them and reads their logs. One that cannot be placed or that
// fails leaves its part without a time, with the reason.
func (b *benchmark) once(ctx context.Context, parts []*benchPart) error {
	parts = slices.DeleteFunc(slices.Clone(parts), func(part *benchPart) bool { return part.absent != "" }) // its side was given up
	var err error
	if len(parts) == 1 && len(parts[0].jobs) == 0 {
		err = b.alone(ctx, parts[0])
	} else {
		err = b.together(ctx, parts)
	}
	if err == nil {
		for _, part := range parts {
			for _, job := range withID(part.jobs) {
				if err := b.readPart(ctx, part, job.ID); err != nil {
					return err
				}
			}
			part.jobs = nil
		}
		return nil
	}
	if ctx.Err() != nil && b.o.keeps {
		return err
	}
	for _, part := range parts {
		err = errors.Join(err, endAll(b.Console, b.t, withID(part.jobs), "the benchmark ended"))
	}
	return err
}

// alone submits the jobs of a part, which may wait for each other in the client, and
// follows them.
func (b *benchmark) alone(ctx context.Context, part *benchPart) error {
	if err := b.tellSubmitting(part); err != nil {
		return err
	}
	sending := &sending{b.Console, b.t, part.made}
	jobs, _, err := sending.following(ctx, func(some []once.Submitted) (int, error) {
		part.jobs = append(part.jobs, some...)
		if err := b.tellSubmitted(part); err != nil {
			return 0, err
		}
		return b.follow(ctx, []*benchPart{part}, some)
	})
	part.jobs = withID(jobs)
	stuck, ok := errors.AsType[*errStuck](err)
	if !ok {
		return err
	}
	part.absent = "this machine can never hold the job"
	if known, describeErr := b.t.Describe(ctx, stuck.job.ID); describeErr == nil {
		part.absent = unplaced(known[0])
	}
	err = endAll(b.Console, b.t, part.jobs, stuck.reason())
	part.jobs = nil // nothing to read
	return err
}

// together submits the jobs of parts that have not been, and follows all of them.
func (b *benchmark) together(ctx context.Context, parts []*benchPart) error {
	var all []once.Submitted
	for _, part := range parts {
		if len(part.jobs) == 0 {
			if err := b.tellSubmitting(part); err != nil {
				return err
			}
			sending := &sending{b.Console, b.t, part.made}
			jobs, err := sending.now(ctx)
			part.jobs = withID(jobs)
			if err = errors.Join(err, b.tellSubmitted(part)); err != nil {
				return err
			}
		}
		all = append(all, part.jobs...)
	}
	if len(all) == 0 {
		return nil
	}
	_, err := b.follow(ctx, parts, all)
	return err
}

func (b *benchmark) tellSubmitting(part *benchPart) error {
	if b.o.submitting == nil {
		return nil
	}
	return b.o.submitting(part)
}

func (b *benchmark) tellSubmitted(part *benchPart) error {
	if b.o.submitted == nil || len(part.jobs) == 0 {
		return nil
	}
	return b.o.submitted(part)
}

// verdict is the exit code of who wants all jobs to succeed.
func (b *benchmark) verdict() error {
	switch {
	case b.gaveUp:
		return exit.Silent(exit.Unplaceable)
	case b.failed:
		return exit.Silent(exit.Problem)
	}
	return nil
}

// follow watches jobs to their end. Their logs are data here, and no story. A part whose job
// does not start in time has no time, and neither have the other parts of its side.
func (b *benchmark) follow(ctx context.Context, parts []*benchPart, jobs []once.Submitted) (int, error) {
	f := newFollower(b.Console, b.t, jobs, nil)
	f.untilStuck = b.t.isLocal()
	stop := f.losePatience(ctx, b.o.startLimit, func(job once.Submitted, why string) {
		for _, part := range parts {
			if !slices.ContainsFunc(part.jobs, func(j once.Submitted) bool { return j.ID == job.ID }) {
				continue
			}
			b.gaveUp = true
			for _, other := range part.side.parts {
				if other.absent == "" {
					other.absent = why
				}
			}
		}
	})
	code, err := f.run(ctx)
	stop()
	return code, err
}

// readPart reads the result lines of a job that has ended.
func (b *benchmark) readPart(ctx context.Context, part *benchPart, id string) error {
	known, err := b.t.Describe(ctx, id)
	if err != nil {
		return err
	}
	job := known[0]
	if job.Status != types.JobStatusSucceeded && part.absent != "" {
		return nil // it was given up, and had not begun
	}
	if from, to := aws.ToInt64(job.StartedAt), aws.ToInt64(job.StoppedAt); from > 0 && to > from {
		part.ran += time.Duration(to-from) * time.Millisecond
	}
	var text strings.Builder
	last := ""
	for line, err := range b.t.Logs(ctx, id, client.LogOptions{Follow: true}) {
		if err != nil {
			return err
		}
		text.WriteString(line.Text + "\n")
		if trimmed := strings.TrimSpace(line.Text); trimmed != "" {
			last = trimmed
		}
	}
	log, err := bench.ReadLog(strings.NewReader(text.String()))
	if err != nil {
		return err
	}
	succeeded := job.Status == types.JobStatusSucceeded
	if len(log.Results)+len(log.Damaged) > 0 {
		part.side.logs = append(part.side.logs, log)
	}
	if !succeeded {
		b.failed = true
		part.absent = term.JoinClauses("the job failed", outcome(job), last)
		b.tellWhyFailed(ctx, id)
	} else if len(log.Results) == 0 {
		part.absent = "the job printed no result line: have it print JSON, as --format json of the workloads does"
	}
	return nil
}

// tellWhyFailed tells the verdict on a job that failed.
func (b *benchmark) tellWhyFailed(ctx context.Context, id string) {
	evidence, err := evidenceOf(ctx, b.t, id)
	if err != nil {
		fmt.Fprintf(b.Err, "why it failed is not known: %s\n", diag.Printable(err.Error()))
		return
	}
	fmt.Fprint(b.Err, b.Redacted(answerText(explain.Explain(evidence))))
}

// prices are those of the instances on which the sides' jobs run, where that is known.
func (b *benchmark) prices(c *cli.Context) (bench.Prices, error) {
	table, err := pricesFor(c, b.sides[0].parts[0].input)
	if err != nil || b.t.isLocal() {
		return bench.Prices{}, err
	}
	return bench.Prices{Base: b.price(b.sides[0], table), Other: b.price(b.sides[1], table)}, nil
}

func (b *benchmark) price(s *benchSide, table *catalog.Prices) *bench.Price {
	made := s.parts[0].made
	if len(made.Jobs) == 0 || made.Jobs[0].Queue.Placement == nil {
		return nil
	}
	name, region := made.Jobs[0].Queue.Placement.Instance.Name, b.t.config.Region
	usd, ok := table.Instance(region, name)
	if !ok {
		return nil
	}
	return &bench.Price{USDPerHour: usd, What: name + " in " + region + ", on demand", Source: table.String()}
}

// reportDir is the directory of a report. It is made, and written to once, before
// anything is submitted.
type reportDir struct{ path string }

func beginReport(path string) (*reportDir, error) {
	err := os.MkdirAll(path, 0o755)
	var probe *os.File
	if err == nil {
		probe, err = os.CreateTemp(path, ".batchctl-*")
	}
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		return nil, exit.Fail(exit.NotDone, "write the report to %s: %v", path, exit.Cause(err)).Try("name another directory: --out DIRECTORY")
	}
	return &reportDir{path}, nil
}

func (d *reportDir) keep(files []bench.File) error {
	for _, f := range files {
		if err := newfile.Write(filepath.Join(d.path, f.Name), newfile.ForAll, newfile.Bytes(f.Data)); err != nil {
			return err
		}
	}
	return nil
}
