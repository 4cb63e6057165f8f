package submit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/container"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
)

// parseDrill reads --drill; "" has no failures.
func parseDrill(text string) ([]attempt.Blow, error) {
	if text == "" {
		return nil, nil
	}
	blows, err := attempt.ParseDrill(text)
	if err != nil {
		return nil, exit.Usage("--drill: %v", err).Try("batchctl run FILE --drill reclaim@40%%,oom@70%%")
	}
	return blows, nil
}

// checkRetried refuses a drill that a job cannot survive, whatever its program does: its retry strategy ends it.
func checkRetried(planned *plan.Plan, blows []attempt.Blow) error {
	for _, j := range planned.Jobs {
		strategy, known := strategyOf(j)
		n := attempt.Retried(strategy, blows)
		if !known || n == len(blows) {
			continue
		}
		attempts := int32(1)
		if strategy != nil && strategy.Attempts != nil {
			attempts = *strategy.Attempts
		}
		hint := fmt.Sprintf(`add "retryStrategy": %d`, len(blows)+1)
		if int(attempts) > n+1 {
			hint = `add { "onStatusReason": "Host EC2*", "action": "RETRY" } before the rule of evaluateOnExit that matches`
			if errors.Is(blows[n].Cause, attempt.ErrOutOfMemory) {
				hint = `add { "onReason": "OutOfMemoryError*", "action": "RETRY" } before the rule of evaluateOnExit that matches`
			}
		}
		return exit.Fail(exit.Problem,
			"job %s would not survive %s: its retry strategy allows %s, and then the job fails", diag.Printable(j.Name),
			blows[n], text.Count(int(attempts), "attempt")).Try("%s", hint)
	}
	return nil
}

// strategyOf returns the retry strategy of a job. known is false if it is in a definition that the plan does not
// have.
func strategyOf(j *plan.Job) (s *types.RetryStrategy, known bool) {
	switch {
	case j.Submit != nil && j.Submit.RetryStrategy != nil:
		return j.Submit.RetryStrategy, true
	case j.Register != nil:
		return j.Register.RetryStrategy, true
	}
	return nil, false
}

// drillPlan runs the plan with failures, and prints whether it survived. If a failure is at a percentage, it runs the
// plan without failures first, to measure it and to compare the outputs.
func drillPlan(ctx context.Context, con *term.Console, t *target.Target, planned *plan.Plan, blows []attempt.Blow,
	log io.Writer) ([]once.Submitted, error) {
	if t.Engine == nil {
		return nil, exit.Fail(exit.NotDone,
			"a drill needs an engine of its own, but another batchctl command has just started one").Try("run it again")
	}
	var before []once.Submitted
	var reference map[local.RunKey]time.Duration
	if slices.ContainsFunc(blows, func(b attempt.Blow) bool { return b.Percent != 0 }) {
		fmt.Fprintln(con.Err, "drill: this run measures the job, without failures")
		list, err := runJobs(ctx, con, t, planned, log)
		if err != nil {
			fmt.Fprintln(con.Err, "drill: not done: the job fails even without the drill")
			return list, err
		}
		before = session.WithID(list)
		reference = t.Engine.RunningTimes(session.IDs(before)...)
	}
	t.Engine.Drill(blows, reference)
	fmt.Fprintf(con.Err, "drill: this run has the failures %s\n", drillText(blows))
	list, err := runJobs(ctx, con, t, planned, log)
	if err != nil {
		if ctx.Err() == nil {
			fmt.Fprintf(con.Err, "drill: the job did not survive %s\n", drillText(blows))
		}
		return list, err
	}
	return list, printVerdict(con, t, blows, reference, before, session.WithID(list))
}

// drillText is the drill as its flag has it.
func drillText(blows []attempt.Blow) string {
	var all []string
	for _, b := range blows {
		all = append(all, b.String())
	}
	return strings.Join(all, ",")
}

// printVerdict prints what the failures cost, and whether the outputs are those of the run without failures. before
// has its jobs, if there was one.
func printVerdict(con *term.Console, t *target.Target, blows []attempt.Blow, reference map[local.RunKey]time.Duration,
	before, list []once.Submitted) error {
	if early := t.Engine.Unharmed(session.IDs(list)...); len(early) > 0 && early[0].Outlived {
		return exit.Fail(exit.Problem,
			"drill: %s exited with status 0 within %v after SIGTERM, so no attempt failed and the drill proves nothing",
			early[0].RunKey, attempt.StopTimeout).
			Try("let the program exit with an error on SIGTERM (a shell that is the first process of a container ignores it); or use oom, which kills immediately")
	} else if len(early) > 0 {
		return exit.Fail(exit.Problem, "drill: %s finished before all failures happened, so the drill proves nothing",
			early[0].RunKey).
			Try("use an earlier time, or a percentage: --drill reclaim@40%%")
	}
	fmt.Fprintf(con.Err, "drill: the job survived %s\n", drillText(blows))
	if before == nil {
		fmt.Fprintln(con.Err, "drill: there was no run without failures to compare with; use a percentage to get one")
		return nil
	}
	for key, ran := range t.Engine.RunningTimes(session.IDs(list)...) {
		if was := reference[key]; was > 0 {
			fmt.Fprintf(con.Err, "drill: %s ran for %.1f s in all attempts, and for %.1f s without failures: it repeated %.1f s of work\n",
				key, ran.Seconds(), was.Seconds(), max(0, ran-was).Seconds())
		}
	}
	files, different, err := compareOutputs(filepath.Join(t.Submissions.Dir, container.StagedDir, container.OutputsDir),
		before, list)
	switch {
	case err != nil:
		return exit.Fail(exit.NotDone, "drill: compare the outputs: %v", err)
	case len(different) > 0:
		return exit.Fail(exit.Problem, "drill: the outputs differ from those of the run without failures: %s",
			strings.Join(different, ", ")).
			Try("save everything that the result depends on in the checkpoint, such as the state of the random number generator")
	case files == 0:
		fmt.Fprintln(con.Err, "drill: there are no outputs with a local path to compare")
	default:
		fmt.Fprintf(con.Err, "drill: the outputs are identical: %s\n", text.Count(files, "file"))
	}
	return nil
}

// compareOutputs compares the staged outputs of two runs of the same plan. It returns the number of files, and the
// names of those that differ or exist only once.
func compareOutputs(dir string, before, after []once.Submitted) (files int, different []string, err error) {
	for i := range min(len(before), len(after)) {
		ids := []string{""}
		for child := range max(before[i].ArraySize, after[i].ArraySize) {
			ids = append(ids, fmt.Sprintf(":%d", child))
		}
		for _, suffix := range ids {
			a, errA := sumsBelow(filepath.Join(dir, before[i].ID+suffix))
			b, errB := sumsBelow(filepath.Join(dir, after[i].ID+suffix))
			if err := errors.Join(errA, errB); err != nil {
				return files, different, err
			}
			files += len(b)
			for name, sum := range b {
				if !bytes.Equal(a[name], sum) {
					different = append(different, name)
				}
				delete(a, name)
			}
			for name := range a {
				different = append(different, name)
			}
		}
	}
	slices.Sort(different)
	return files, slices.Compact(different), nil
}

// sumsBelow returns the hashes of the files below a directory, which need not exist.
func sumsBelow(dir string) (map[string][]byte, error) {
	sums := map[string][]byte{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name == dir {
			return fs.SkipAll
		}
		if err != nil || e.IsDir() {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		h := sha256.New()
		if _, err := io.Copy(h, f); err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		sums[filepath.ToSlash(rel)] = h.Sum(nil)
		return err
	})
	return sums, err
}
