package submit

import (
	"cmp"
	"context"
	"fmt"
	"os"
	slash "path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/container"
	"github.com/batchctl/batchctl/pkg/objects"
	"github.com/batchctl/batchctl/pkg/plan"
)

// Local files and directories that a job file names as inputs are uploaded to the target's
// staging location before a job is submitted. Their URLs contain a hash of the content: the
// plan knows them, and the same content is uploaded only once.

// publish uploads the local inputs of the plan's jobs. For the local engine, it
// copies them.
func (s *Sending) publish(ctx context.Context) error {
	done := map[string]bool{}
	for _, j := range s.Plan.Jobs {
		for _, local := range j.Published {
			if done[local.Path] {
				continue
			}
			done[local.Path] = true
			location := slash.Dir(local.URL)
			if bucket, ok := strings.CutPrefix(local.URL, "s3://"); ok {
				location = "s3://" + slash.Dir(bucket)
			} else if err := os.MkdirAll(filepath.FromSlash(location), 0o700); err != nil {
				return exit.Fail(exit.NotDone, "create the directory for inputs: %v", err)
			}
			in, moved, err := s.Target.Objects().Publish(ctx, location, local.Path)
			switch {
			case err != nil && ctx.Err() != nil:
				return exit.Fail(exit.Interrupted, "interrupted while uploading %s; no job was accepted", local.Path).
					Try("nothing was created; submit again")
			case err != nil && objects.Missing(err):
				return exit.Fail(exit.NotDone, "publish %s: %v", local.Path, err).
					Try(`create the bucket, or give the target another "staging" in the platform file`)
			case err != nil:
				return exit.Fail(exit.NotDone, "publish %s: %v", local.Path, err)
			case in.From != local.URL:
				return exit.Fail(exit.Problem, "%s changed during the submission", local.Path).
					Try("submit again once the file no longer changes")
			}
			if s.Target.IsLocal() {
				// gc deletes staged files by their age; this one is in use again.
				if err := os.Chtimes(local.URL, time.Time{}, time.Now()); err != nil {
					return exit.Fail(exit.NotDone, "publish %s: %v", local.Path, err)
				}
			}
			if moved.Kept >= local.Files {
				continue // nothing was uploaded
			}
			sent := ""
			if moved.Kept > 0 {
				sent = fmt.Sprintf(", %d of which already existed", moved.Kept)
			}
			fmt.Fprintf(s.Err, "published: %s, %s%s\n", diag.Printable(local.Path), preview.DescribePublished(local),
				sent)
		}
	}
	return nil
}

// checkStagePaths refuses absolute container paths of jobs that run as processes.
// They would be paths of the host.
func (s *Sending) checkStagePaths() error {
	var problems diag.List
	for _, j := range s.Plan.Jobs {
		if j.Places == nil || s.executorOf(j) != container.Process {
			continue
		}
		refuse := func(path string, src *diag.Source, span diag.Span) {
			if strings.HasPrefix(path, "/") {
				problems = append(problems, diag.Diagnostic{Severity: diag.Error, Rule: "stage-process-path",
					Source: src, Span: span,
					Message: fmt.Sprintf("%q would be a path on this machine, because the job runs as a process", path),
					Hint: "run it in a container: --executor " + attempt.Containers() +
						"; or write a relative path, which is below the job's working directory"})
			}
		}
		for _, in := range j.Places.Inputs {
			refuse(in.Path, in.Node.Source, in.Node.Key)
		}
		for _, out := range j.Places.Outputs {
			refuse(out.Path, out.Node.Source, out.Node.Key)
		}
		if c := j.Places.Checkpoint; c != nil {
			refuse(c.Path.Text, c.Path.Source, c.Path.Span)
		}
	}
	problems.Sort()
	return input.Complain(s.Console,
		slices.CompactFunc(problems, func(a, b diag.Diagnostic) bool {
			return a.Source == b.Source &&
				a.Span == b.Span
		}))
}

// executorOf returns how the local engine runs a job: as the job's tag says, or
// else as the engine was started.
func (s *Sending) executorOf(j *plan.Job) string {
	chosen := ""
	if j.Submit != nil {
		chosen = j.Submit.Tags[attempt.ExecutorTag]
	}
	if chosen == "" && j.Register != nil {
		chosen = j.Register.Tags[attempt.ExecutorTag]
	}
	name, _, _ := strings.Cut(s.Target.Executor, " ")
	return cmp.Or(chosen, name, container.Process)
}

// printOutputs prints how to download the results, if a job of the plan names local paths for its outputs. id is a job
// id with the flags of the target. err is how the command ended: after a failure there is nothing to download.
func printOutputs(con *term.Console, planned *plan.Plan, id string, waited bool, err error) {
	when := ""
	switch {
	case !waited, err != nil && slices.Contains([]int{exit.Interrupted, exit.TimedOut}, exit.From(err).Code):
		when = " when it has finished"
	case err != nil:
		return
	}
	for _, j := range planned.Jobs {
		if j.Stage == nil {
			continue
		}
		for _, out := range j.Stage.Outputs {
			if out.Local != "" {
				fmt.Fprintf(con.Err, "get its outputs%s: batchctl results %s --fetch\n", when, id)
				return
			}
		}
	}
}
