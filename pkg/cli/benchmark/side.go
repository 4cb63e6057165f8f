package benchmark

import (
	"bytes"
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

	"github.com/batchctl/batchctl/pkg/bench"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/submit"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/explain"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/results"
	"github.com/batchctl/batchctl/pkg/text"
)

// benchSide is one side of a benchmark, with one part per workload.
type benchSide struct {
	Name, kind string // "CPU" and cpu, "GPU" and cuda
	Parts      []*BenchPart
	logs       []*bench.Log // of all runs
}

// BenchPart is the job of one workload on one side.
type BenchPart struct {
	side     *benchSide
	workload string // "" for a job file from the command line
	file     string
	document []byte
	Input    *input.Input
	Plan     *plan.Plan
	// Jobs are the jobs of the last submission. Before the first one, they are the jobs of an
	// earlier process that the benchmark continues.
	Jobs []once.Submitted
	// absent is why the part cannot be measured; "" if it can.
	absent string
	// others are the metrics of its log that are not compared.
	others []string
	// ran is the total run time of its jobs, from the times of the service.
	ran time.Duration
}

// Label names a part: "GPU", or "GPU image" if the side has several parts.
func (part *BenchPart) Label() string {
	if len(part.side.Parts) < 2 {
		return part.side.Name
	}
	return part.side.Name + " " + part.workload
}

// partNames joins the labels of parts.
func partNames(parts []*BenchPart) string {
	var names []string
	for _, part := range parts {
		names = append(names, part.Label())
	}
	return strings.Join(names, ", ")
}

// side returns the measurements of all runs, or the reasons why there are none.
func (s *benchSide) side() *bench.Side {
	var whys []string
	for _, part := range s.Parts {
		if part.absent != "" && !slices.Contains(whys, part.absent) {
			whys = append(whys, part.absent)
		}
	}
	if len(s.logs) == 0 && len(whys) > 0 {
		return bench.AbsentSide(s.Name, strings.Join(whys, "; "))
	}
	return bench.NewSide(s.Name, s.kind, s.logs...)
}

// job returns the job file that a recommendation can change. With several parts
// there is no single file.
func (s *benchSide) job() bench.Job {
	if len(s.Parts) > 1 {
		return bench.Job{}
	}
	return bench.Job{Name: s.Parts[0].Plan.Name, File: s.Parts[0].file, Document: s.Parts[0].document}
}

// partNotes returns notes about parts without figures, and how long the jobs ran.
func (b *Benchmark) partNotes() (notes []string) {
	for _, s := range b.Sides {
		var ran []string
		for _, part := range s.Parts {
			if part.absent != "" && len(s.logs) > 0 {
				notes = append(notes, part.Label()+": "+part.absent)
			}
			if part.absent == "" && len(part.others) > 0 {
				notes = append(notes, fmt.Sprintf("%s: not compared: %s; bench compares the first metric that is a rate or a time", part.Label(), strings.Join(part.others, ", ")))
			}
			if part.ran > 0 {
				ran = append(ran, part.Plan.Name+" "+text.Duration(part.ran))
			}
		}
		if len(ran) > 0 {
			notes = append(notes, fmt.Sprintf("%s job time, from start to end: %s", s.Name, strings.Join(ran, ", ")))
		}
	}
	return notes
}

// rounds returns the parts that can be measured, grouped by what may run at the
// same time: the same workload on both sides, which have their own machines. Two
// jobs of one side may share a machine, and on the local engine all jobs do, so
// they run one after the other.
func (b *Benchmark) rounds() (rounds [][]*BenchPart) {
	for i := range b.Sides[0].Parts {
		var round []*BenchPart
		for _, s := range b.Sides {
			if part := s.Parts[i]; part.absent == "" {
				round = append(round, part)
			}
		}
		if b.Target.IsLocal() || slices.ContainsFunc(round, func(part *BenchPart) bool {
			return (&submit.Sending{Console: b.Console, Target: b.Target, Plan: part.Plan}).HoldsBack()
		}) {
			for _, part := range round {
				rounds = append(rounds, []*BenchPart{part})
			}
		} else if len(round) > 0 {
			rounds = append(rounds, round)
		}
	}
	return rounds
}

// once submits jobs, follows them and reads their logs. If a job cannot be placed
// or fails, its part has no time, and absent is the reason.
func (b *Benchmark) once(ctx context.Context, parts []*BenchPart) error {
	// the side was given up after an earlier round
	parts = slices.DeleteFunc(slices.Clone(parts), func(part *BenchPart) bool { return part.absent != "" })
	var err error
	if len(parts) == 1 && len(parts[0].Jobs) == 0 {
		err = b.runAlone(ctx, parts[0])
	} else {
		err = b.runTogether(ctx, parts)
	}
	if err == nil {
		for _, part := range parts {
			for _, job := range session.WithID(part.Jobs) {
				if err := b.readPart(ctx, part, job.ID); err != nil {
					return err
				}
			}
			part.Jobs = nil
		}
		return nil
	}
	if ctx.Err() != nil && b.Options.Keeps {
		return err
	}
	for _, part := range parts {
		err = errors.Join(err, submit.EndAll(b.Console, b.Target, session.WithID(part.Jobs), "the benchmark ended"))
	}
	return err
}

// runAlone submits the jobs of one part and follows them. They may wait for each
// other in the client.
func (b *Benchmark) runAlone(ctx context.Context, part *BenchPart) error {
	if err := b.notifySubmitting(part); err != nil {
		return err
	}
	sending := &submit.Sending{Console: b.Console, Target: b.Target, Plan: part.Plan}
	list, _, err := sending.Following(ctx, func(accepted []once.Submitted) (int, error) {
		part.Jobs = append(part.Jobs, accepted...)
		if err := b.notifySubmitted(part); err != nil {
			return 0, err
		}
		return b.follow(ctx, []*BenchPart{part}, accepted)
	})
	part.Jobs = session.WithID(list)
	stuck, ok := errors.AsType[*jobs.ErrStuck](err)
	if !ok {
		return err
	}
	part.absent = stuck.Why
	err = submit.EndAll(b.Console, b.Target, part.Jobs, stuck.Reason())
	part.Jobs = nil // nothing to read
	return err
}

// runTogether submits the jobs of parts that are not submitted yet, and follows
// all of them.
func (b *Benchmark) runTogether(ctx context.Context, parts []*BenchPart) error {
	var all []once.Submitted
	for _, part := range parts {
		if len(part.Jobs) == 0 {
			if err := b.notifySubmitting(part); err != nil {
				return err
			}
			sending := &submit.Sending{Console: b.Console, Target: b.Target, Plan: part.Plan}
			jobs, err := sending.Now(ctx)
			part.Jobs = session.WithID(jobs)
			if err = errors.Join(err, b.notifySubmitted(part)); err != nil {
				return err
			}
		}
		all = append(all, part.Jobs...)
	}
	if len(all) == 0 {
		return nil
	}
	_, err := b.follow(ctx, parts, all)
	return err
}

// notifySubmitting calls Options.Submitting.
func (b *Benchmark) notifySubmitting(part *BenchPart) error {
	if b.Options.Submitting == nil {
		return nil
	}
	return b.Options.Submitting(part)
}

// notifySubmitted calls Options.Submitted if the part has jobs.
func (b *Benchmark) notifySubmitted(part *BenchPart) error {
	if b.Options.Submitted == nil || len(part.Jobs) == 0 {
		return nil
	}
	return b.Options.Submitted(part)
}

// Verdict returns the exit status: exit.Unplaceable if a job was given up,
// exit.Problem if one failed.
func (b *Benchmark) Verdict() error {
	switch {
	case b.gaveUp:
		return exit.Silent(exit.Unplaceable)
	case b.failed:
		return exit.Silent(exit.Problem)
	}
	return nil
}

// rowProgress prints a line for each measurement in the logs that it gets. Their text is data for the report.
type rowProgress struct{ *term.Console }

// Write reads lines of a log.
func (p rowProgress) Write(lines []byte) (int, error) {
	log, err := bench.ReadLog(bytes.NewReader(lines))
	if err != nil {
		return 0, err
	}
	for _, r := range log.Results {
		fmt.Fprintf(p.Err, "measured: %s\n", diag.Printable(strings.Join([]string{r.Title, r.Size, r.Type}, " ")))
	}
	return len(lines), nil
}

// follow watches jobs until they finish, and prints what they have measured. If a job does not start in time, its
// part has no time, and neither have the other parts of its side, which wait for the same machines.
func (b *Benchmark) follow(ctx context.Context, parts []*BenchPart, list []once.Submitted) (int, error) {
	f := jobs.NewFollower(b.Console, b.Target, list, rowProgress{b.Console})
	f.UntilStuck = b.Target.IsLocal()
	stop := f.LosePatience(ctx, b.Options.StartLimit, func(job once.Submitted, why string) {
		for _, part := range parts {
			if !slices.ContainsFunc(part.Jobs, func(j once.Submitted) bool { return j.ID == job.ID }) {
				continue
			}
			b.gaveUp = true
			for _, other := range part.side.Parts {
				if other.absent == "" {
					other.absent = why
				}
			}
		}
	})
	code, err := f.Run(ctx)
	stop()
	return code, err
}

// readPart reads the result lines of a job that has ended.
func (b *Benchmark) readPart(ctx context.Context, part *BenchPart, id string) error {
	known, err := b.Target.Client.Describe(ctx, id)
	if err != nil {
		return err
	}
	job := known[0]
	if job.Status != types.JobStatusSucceeded && part.absent != "" {
		return nil // it was given up before it started
	}
	if from, to := aws.ToInt64(job.StartedAt), aws.ToInt64(job.StoppedAt); from > 0 && to > from {
		part.ran += time.Duration(to-from) * time.Millisecond
	}
	var text strings.Builder
	found, last := results.NewOutput(false), ""
	if job.Container != nil {
		if found.Metrics, err = results.ParseMetrics(session.ValueIn(job.Container.Environment,
			results.MetricsVariable)); err != nil {
			fmt.Fprintf(b.Err, "batchctl: job %s: %s; its metrics are left out\n",
				diag.Printable(aws.ToString(job.JobName)), diag.Printable(err.Error()))
		}
	}
	for line, err := range b.Target.Client.Logs(ctx, id, client.LogOptions{Follow: true}) {
		if err != nil {
			return err
		}
		text.WriteString(line.Text + "\n")
		found.Line(line.Text)
		if trimmed := strings.TrimSpace(line.Text); trimmed != "" {
			last = trimmed
		}
	}
	log, err := bench.ReadLog(strings.NewReader(text.String()))
	if err != nil {
		return err
	}
	if len(log.Results)+len(log.Damaged) == 0 {
		log, part.others = bench.ReadMetrics(found, part.side.kind)
	}
	succeeded := job.Status == types.JobStatusSucceeded
	if len(log.Results)+len(log.Damaged) > 0 {
		part.side.logs = append(part.side.logs, log)
	}
	if !succeeded {
		b.failed = true
		part.absent = term.JoinClauses("the job failed", jobs.Outcome(job), last)
		b.printVerdict(ctx, id)
	} else if len(log.Results) == 0 {
		part.absent = whyNoResults(found, part.others)
	}
	return nil
}

// whyNoResults returns why a job that succeeded has no time. others are the metrics in its log that are not times.
func whyNoResults(found *results.Output, others []string) string {
	switch {
	case len(others) > 0:
		return fmt.Sprintf("the name of the metric %s has no unit: name a rate NAME_per_sec, or a time NAME_seconds or NAME_ms", others[0])
	case len(found.Metrics.Names()) > 0:
		return "the job printed neither a result line nor a number for its metrics " +
			strings.Join(found.Metrics.Names(), " ")
	}
	return "the job printed no result line: make it print JSON, as the workloads do with --format json, or add \"metrics\" to the job"
}

// printVerdict explains why a job failed.
func (b *Benchmark) printVerdict(ctx context.Context, id string) {
	evidence, err := jobs.EvidenceOf(ctx, b.Target, id)
	if err != nil {
		fmt.Fprintf(b.Err, "the cause of the failure is unknown: %s\n", diag.Printable(err.Error()))
		return
	}
	fmt.Fprint(b.Err, b.Redacted(explain.Explain(evidence).Text()))
}

// prices returns the prices of the instances that run the jobs, as far as they
// are known. The local engine has none.
func (b *Benchmark) prices() (bench.Prices, error) {
	table, err := preview.PricesFor(string(b.Options.Prices), b.Sides[0].Parts[0].Input)
	if err != nil || b.Target.IsLocal() {
		return bench.Prices{}, err
	}
	return bench.Prices{Base: b.price(b.Sides[0], table), Other: b.price(b.Sides[1], table)}, nil
}

// price returns the price of a side's instance; nil if the instance or its price
// is unknown.
func (b *Benchmark) price(s *benchSide, table *catalog.Prices) *bench.Price {
	planned := s.Parts[0].Plan
	if len(planned.Jobs) == 0 || planned.Jobs[0].Queue.Placement == nil {
		return nil
	}
	name, region := planned.Jobs[0].Queue.Placement.Instance.Name, b.Target.Config.Region
	usd, ok := table.Instance(region, name)
	if !ok {
		return nil
	}
	return &bench.Price{USDPerHour: usd, What: name + " in " + region + ", on demand", Source: table.String()}
}

// BeginReport creates the directory of a report and writes to it once. It is
// called before a job is submitted, so that an unwritable directory costs
// nothing.
func BeginReport(path string) error {
	err := os.MkdirAll(path, 0o755)
	var probe *os.File
	if err == nil {
		probe, err = os.CreateTemp(path, ".batchctl-*")
	}
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		return exit.Fail(exit.NotDone, "write the report to %s: %v", path, exit.Cause(err)).
			Try("name another directory: --out DIRECTORY")
	}
	return nil
}

// keepReport writes the files of a report.
func keepReport(dir string, files []bench.File) error {
	for _, f := range files {
		if err := newfile.Write(filepath.Join(dir, f.Name), newfile.ForAll, newfile.Bytes(f.Data)); err != nil {
			return err
		}
	}
	return nil
}
