package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/wire"
)

// The commands that name jobs: status, list, logs, wait, stop. A job is named by
// its short id, its name, or its whole id; array children by short:index.

// Call is a command that names jobs, once its words are understood.
type Call struct {
	*target.Target
	Format   string // text or json
	Platform *document.Platform
	Jobs     []once.Submitted
	// Known is what was known of the jobs when the command began.
	Known []once.Recalled
}

// OpenFor opens the target for a command that names jobs and no files.
func OpenFor(ctx context.Context, con *term.Console, o Options, why target.Need) (*Call, error) {
	in := &input.Input{PlacesNothing: true}
	if err := in.FindPlatform(o.Target); err != nil {
		return nil, err
	}
	if in.Problems.HasErrors() {
		return nil, input.Complain(con, in.Problems)
	}
	if why == target.ToRead && o.Target.NameFrom(in.Platform) == target.Local {
		if err := wasUsed(o.Target); err != nil {
			return nil, err
		}
	}
	t, err := session.OpenTarget(ctx, con, o.Target, in.Platform, why)
	if err != nil {
		return nil, err
	}
	return &Call{Target: t, Format: o.Format, Platform: in.Platform}, nil
}

// wasUsed tells a local engine that has never been from one that can be read.
func wasUsed(o target.Options) error {
	dir, err := o.Dir()
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return exit.Fail(exit.NotDone, "the local engine was never used: there is no state directory %s", dir).
			Try("run a job first: batchctl run FILE; or name another directory or target: --state-dir, --target")
	}
	return nil
}

// OpenJobs opens the target and finds the jobs that the words name, with the
// ledger's help where Batch has forgotten them.
func OpenJobs(ctx context.Context, con *term.Console, o Options, why target.Need) (*Call, error) {
	call, err := OpenFor(ctx, con, o, why)
	if err != nil {
		return nil, err
	}
	call.Warn = warnOnce(con, func(text string) { fmt.Fprintf(con.Err, "%s\n", diag.Printable(text)) })
	if call.Jobs, err = Resolve(ctx, con, o, call.Target, call.Platform); err == nil {
		call.Known, err = call.Recall(ctx, session.IDs(call.Jobs)...)
	}
	if err != nil {
		return nil, errors.Join(err, call.Close())
	}
	for i, job := range call.Known {
		call.Jobs[i].Name, call.Jobs[i].Queue = aws.ToString(job.JobName), aws.ToString(job.JobQueue)
	}
	keepEnds(call.Target, details(call.Known)...)
	return call, nil
}

// keepEnds writes down how jobs ended. It is for a day when Batch has forgotten them,
// and no reason to fail today.
func keepEnds(t *target.Target, jobs ...types.JobDetail) { _ = t.Keep(jobs...) }

// releaseEnded removes what bounded jobs that have ended. What is left, because others need
// it or a call failed, is gc's.
func releaseEnded(ctx context.Context, t *target.Target, jobs []types.JobDetail) {
	var bounded []string
	for _, job := range jobs {
		if p := job.ConsumableResourceProperties; p != nil && len(p.ConsumableResourceList) > 0 {
			bounded = append(bounded, aws.ToString(job.JobId))
		}
	}
	if len(bounded) > 0 {
		_, _ = t.ReleaseResources(ctx, bounded...)
	}
}

func details(jobs []once.Recalled) []types.JobDetail {
	all := make([]types.JobDetail, len(jobs))
	for i, j := range jobs {
		all[i] = j.JobDetail
	}
	return all
}

// Resolve turns the words of the command line into job ids. Without words it
// takes the last submission.
func Resolve(ctx context.Context, con *term.Console, o Options, t *target.Target, platform *document.Platform) ([]once.Submitted, error) {
	words, submission := o.Args, o.Submission
	switch {
	case submission != "" && len(words) > 0:
		return nil, exit.Usage("--submission already names the jobs; do not name %s", words[0]).Try("use one of them: batchctl %s --submission %s", o.Command, submission)
	case submission != "":
		return session.SubmissionCalled(con, t, submission)
	case len(words) == 0:
		return session.LastSubmission(con, o.Command, t)
	}
	queues := QueueNames(t, platform)
	var jobs []once.Submitted
	for _, word := range words {
		id, err := ResolveFor(ctx, t, o.Command, word, queues)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(jobs, func(j once.Submitted) bool { return j.ID == id }) {
			jobs = append(jobs, once.Submitted{ID: id, Name: word})
		}
	}
	return jobs, nil
}

// ResolveFor is Resolve for a command whose argument names a job. It answers a word such as
// train:3#2, an attempt, with the way in which that command takes one.
func ResolveFor(ctx context.Context, t *target.Target, command, word string, queues []string) (string, error) {
	id, err := t.Client.Resolve(ctx, word, queues)
	part, ok := errors.AsType[*client.NoSuchPartError](err)
	switch {
	case !ok:
		return id, session.LeadOn(t, err)
	case part.Attempt > 0 && command == "logs":
		return "", exit.Fail(exit.NotDone, "%v", part).Try("read the log of an attempt: batchctl logs %s --attempt %d%s", part.Use, part.Attempt, t.Flags)
	}
	return "", exit.Fail(exit.NotDone, "%v", part).Try("name one that exists: batchctl %s %s%s", command, part.Use, t.Flags)
}

// QueueNames are the queues to look for jobs in: the platform file's; none stands for all.
func QueueNames(t *target.Target, platform *document.Platform) (names []string) {
	if !t.IsLocal() && platform != nil {
		for _, q := range platform.Queues {
			names = append(names, q.Name)
		}
	}
	return names
}

// WriteShapes prints SDK shapes under their AWS names, as the aws CLI does.
func WriteShapes(con *term.Console, shapes any) error {
	data, err := wire.Marshal(shapes)
	if err != nil {
		return err
	}
	return con.JSON(json.RawMessage(data))
}
