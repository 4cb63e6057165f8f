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

// Files and directories of this machine that a job file names as inputs are published at
// the target's staging place before anything is submitted. Where they come to lie follows
// from their content, so it is known to the plan, and they are sent once.

// publish puts what the plan's jobs need from this machine to its places.
func (s *Sending) publish(ctx context.Context) error {
	done := map[string]bool{}
	for _, j := range s.Plan.Jobs {
		for _, want := range j.Published {
			if done[want.Path] {
				continue
			}
			done[want.Path] = true
			place := slash.Dir(want.URL)
			if bucket, ok := strings.CutPrefix(want.URL, "s3://"); ok {
				place = "s3://" + slash.Dir(bucket)
			} else if err := os.MkdirAll(filepath.FromSlash(place), 0o700); err != nil {
				return exit.Fail(exit.NotDone, "create the directory for inputs: %v", err)
			}
			in, moved, err := s.Target.Objects().Publish(ctx, place, want.Path)
			switch {
			case err != nil && ctx.Err() != nil:
				return exit.Fail(exit.Interrupted, "interrupted while uploading %s; no job was accepted", want.Path).Try("nothing was created; submit again")
			case err != nil && objects.Missing(err):
				return exit.Fail(exit.NotDone, "publish %s: %v", want.Path, err).Try(`make the bucket, or give the target another "staging" in the platform file`)
			case err != nil:
				return exit.Fail(exit.NotDone, "publish %s: %v", want.Path, err)
			case in.From != want.URL:
				return exit.Fail(exit.Problem, "%s changed during the submission", want.Path).Try("submit again when it no longer changes")
			}
			if s.Target.IsLocal() {
				if err := os.Chtimes(want.URL, time.Time{}, time.Now()); err != nil { // it is in use again
					return exit.Fail(exit.NotDone, "publish %s: %v", want.Path, err)
				}
			}
			sent := ""
			switch {
			case moved.Kept >= want.Files:
				sent = ", there already"
			case moved.Kept > 0:
				sent = fmt.Sprintf(", %d of them there already", moved.Kept)
			}
			fmt.Fprintf(s.Err, "published: %s, %s%s\n", diag.Printable(want.Path), preview.DescribePublished(want), sent)
		}
	}
	return nil
}

// mayPlace refuses paths of containers that jobs as processes on this machine cannot have:
// they would be this machine's own.
func (s *Sending) mayPlace() error {
	var problems diag.List
	for _, j := range s.Plan.Jobs {
		if j.Places == nil || s.executorOf(j) != container.Process {
			continue
		}
		refuse := func(path string, src *diag.Source, span diag.Span) {
			if strings.HasPrefix(path, "/") {
				problems = append(problems, diag.Diagnostic{Severity: diag.Error, Rule: "stage-process-path", Source: src, Span: span,
					Message: fmt.Sprintf("%q would be a path on this machine, because the job runs as a process", path),
					Hint:    "run it in a container: --executor podman; or write a relative path, below the directory in which the job runs"})
			}
		}
		for _, in := range j.Places.Inputs {
			refuse(in.Path, in.Node.Source, in.Node.Key)
		}
		for _, out := range j.Places.Outputs {
			refuse(out.Path, out.Node.Source, out.Node.Key)
		}
	}
	problems.Sort()
	return input.Complain(s.Console, slices.CompactFunc(problems, func(a, b diag.Diagnostic) bool { return a.Source == b.Source && a.Span == b.Span }))
}

// executorOf is how the local engine runs a job: as the job chose, else as the engine was
// started.
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

// printOutputs says how results come to this machine.
func printOutputs(con *term.Console, made *plan.Plan, id string) {
	for _, j := range made.Jobs {
		if j.Stage == nil {
			continue
		}
		for _, out := range j.Stage.Outputs {
			if out.Local != "" {
				fmt.Fprintf(con.Err, "get its outputs when it has finished: batchctl results %s --fetch\n", id)
				return
			}
		}
	}
}
