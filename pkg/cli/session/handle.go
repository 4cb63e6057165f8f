package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/ladder"
	"github.com/batchctl/batchctl/pkg/target"
)

// Resolver finds the jobs that a handle means, for every command that takes jobs. A handle is
//   - of a job: its name, short id, complete id, ARN or submission id, with the index of a child
//     or node if only that is meant;
//   - of a submission: its id, the workflow's name, or its file.
//
// Each of them means the whole chain of a job: the job of the plan, and those that run it again. Where several jobs or
// submissions have one name, the newest is meant, and the Resolver prints the others.
type Resolver struct {
	Con    *term.Console
	Target *target.Target
	// Command is the command's name, for hints.
	Command string
	// Queues are searched at the service; none means all.
	Queues []string
	// Exact means that the command changes jobs. A file then stands only for a submission of exactly its jobs, if the
	// ledger does not have the path of the file.
	Exact bool
	// Resolved are the handles so far with their chains.
	Resolved []Resolved
	// Elsewhere are the jobs of the chains that a rung moved to another target.
	Elsewhere []client.Known
}

// Resolved is a handle with the chains that it means.
type Resolved struct {
	Handle string
	Chains []client.Chain
}

// Extent is how many jobs a handle may mean.
type Extent int

const (
	// AnyJobs is the chain of one job, or those of a submission.
	AnyJobs Extent = iota
	// OneJob is one job without those that run it again. The handle of a submission means its only job.
	OneJob
	// WholeSubmission is the chains of a submission. A job means the submission that it belongs to.
	WholeSubmission
	// Newest is the newest job of each chain. An id means the job itself.
	Newest
)

// Resolve returns the chains of the jobs that a handle means. Its errors have the next step.
func (r *Resolver) Resolve(ctx context.Context, handle string, extent Extent) ([]client.Chain, error) {
	chains, err := r.resolve(ctx, handle, extent)
	if err == nil {
		r.Resolved = append(r.Resolved, Resolved{handle, chains})
	}
	return chains, err
}

// resolve is Resolve.
func (r *Resolver) resolve(ctx context.Context, handle string, extent Extent) ([]client.Chain, error) {
	if looksLikeFile(handle) && isFile(handle) {
		return r.resolveFile(ctx, handle, extent)
	}
	m, err := r.Target.Client.Find(ctx, handle, r.Queues)
	if isMissing(err) && isFile(handle) {
		return r.resolveFile(ctx, handle, extent)
	}
	if err != nil {
		return nil, r.explain(handle, extent, err)
	}
	if !m.ByID() && !m.AtService() {
		named := func(run once.OpenRun) bool {
			return slices.ContainsFunc(run.Known, func(k client.Known) bool {
				return k.ID == "" &&
					(k.Name == handle || k.Workflow == handle)
			})
		}
		newest, _ := m.Newest()
		if err := r.newerOpen(handle, newest, named); err != nil {
			return nil, err
		}
	}
	if extent == WholeSubmission {
		jobs, err := r.Target.Client.Submission(ctx, m, r.Queues)
		if err != nil {
			return nil, err
		}
		r.noteOthers(handle, jobs, true, m)
		return r.chains(ctx, jobs, extent, m.AtService())
	}
	jobs, whole := m.Newest()
	if extent == OneJob && len(m.Jobs) > 0 {
		jobs, whole = m.Jobs[:1], false
	}
	if extent != OneJob && whole {
		r.noteOthers(handle, jobs, true, m)
		return r.chains(ctx, jobs, extent, m.AtService())
	}
	id, err := r.Target.Client.OnlyJob(ctx, m)
	if err != nil {
		return nil, r.explain(handle, extent, err)
	}
	r.noteOthers(handle, jobs, whole, m)
	if extent == OneJob || extent == Newest && m.ByID() || strings.Contains(id, "#") {
		return []client.Chain{{{ID: id, Name: jobs[0].Name}}}, nil
	}
	chains, err := r.chains(ctx, jobs, AnyJobs, m.AtService())
	if err != nil {
		return nil, err
	}
	if array, index, isChild := batch.SplitChildID(id); isChild {
		if chains, err = r.partOf(ctx, chains, array, index); err != nil {
			return nil, err
		}
	}
	return newestOf(chains, extent), nil
}

// chains returns the chains of jobs, without the jobs at other targets.
func (r *Resolver) chains(ctx context.Context, jobs []client.Known, extent Extent,
	atService bool) ([]client.Chain, error) {
	ledger := r.Target.Client.Ledger
	if atService || ledger == nil {
		chains, err := r.chainsAtService(ctx, jobs)
		return newestOf(chains, extent), err
	}
	chains, err := ledger.Chains(jobs)
	if err == nil {
		chains, err = r.withStateMachine(ctx, chains)
	}
	if err != nil {
		return nil, err
	}
	var here []client.Chain
	for _, chain := range chains {
		var own client.Chain
		for _, k := range chain {
			if k.At == "" {
				own = append(own, k)
				continue
			}
			r.Elsewhere = append(r.Elsewhere, k)
			fmt.Fprintf(r.Con.Err, "note: %s (%s) of the same chain is at another target: %s\n", diag.Printable(k.Name),
				batch.ShortID(k.ID), diag.Printable(k.At))
		}
		if own != nil {
			here = append(here, own)
		}
	}
	return newestOf(here, extent), nil
}

// chainsAtService returns the chains of jobs that the service has. Without an answer, or the permission to list queues
// and jobs, each job is its own chain: a handle means at least the job itself.
func (r *Resolver) chainsAtService(ctx context.Context, jobs []client.Known) ([]client.Chain, error) {
	chains, err := r.Target.Client.Chains(ctx, jobs, r.Queues)
	if err == nil || ctx.Err() != nil {
		return chains, cmp.Or(ctx.Err(), err)
	}
	fmt.Fprintf(r.Con.Err, "note: batchctl could not check whether other jobs run these again: %s\n",
		diag.Printable(err.Error()))
	return client.ChainsOf(jobs, nil), nil
}

// withStateMachine adds to chains the jobs that the state machine of `infra deploy --with ladder` submitted. The ledger
// does not have them.
func (r *Resolver) withStateMachine(ctx context.Context, chains []client.Chain) ([]client.Chain, error) {
	if r.Target.IsLocal() {
		return chains, nil
	}
	var ids []string
	for _, chain := range chains {
		ids = append(ids, chain[0].ID)
	}
	described, err := r.Target.Client.ByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i, chain := range chains {
		job := described[chain[0].ID]
		if job.Tags[ladder.Tag] != ladder.ByStateMachine || job.Status != types.JobStatusFailed {
			continue
		}
		found, err := r.chainsAtService(ctx, chain)
		if err != nil {
			return nil, err
		}
		chains[i] = client.ChainsOf(chain[len(chain)-1:], slices.Concat(append([]client.Chain{chain}, found...)...))[0]
	}
	return chains, nil
}

// partOf returns the chain of a child. Older ledgers do not have the cells of the jobs that run it again.
func (r *Resolver) partOf(ctx context.Context, chains []client.Chain, array string, index int) ([]client.Chain, error) {
	chain := chains[0]
	if len(chain) > 1 {
		var ids []string
		for _, k := range chain {
			ids = append(ids, k.ID)
		}
		described, err := r.Target.Client.ByID(ctx, ids)
		if err != nil {
			return nil, err
		}
		chain = chain.Described(described)
	}
	return []client.Chain{chain.Part(array, index)}, nil
}

// newestOf returns only the newest job of each chain, if the command compares single jobs.
func newestOf(chains []client.Chain, extent Extent) []client.Chain {
	if extent != Newest && extent != OneJob {
		return chains
	}
	newest := make([]client.Chain, len(chains))
	for i, chain := range chains {
		newest[i] = client.Chain{chain[0]}
		newest[i][0].Name = chain.Root().Name
	}
	return newest
}

// Jobs returns the jobs of chains, in their order and each once.
func Jobs(chains []client.Chain) (all []once.Submitted) {
	for _, chain := range chains {
		for _, k := range chain {
			if !slices.ContainsFunc(all, func(j once.Submitted) bool { return j.ID == k.ID }) {
				all = append(all, once.Submitted{ID: k.ID, Name: k.Name, Queue: k.Queue, ArraySize: k.Size,
					Again: k.Again})
			}
		}
	}
	return all
}

// looksLikeFile reports whether a handle has the form of a path, which no job's name has.
func looksLikeFile(handle string) bool {
	if batch.IsARN(handle) {
		return false
	}
	switch filepath.Ext(handle) {
	case ".json", ".yaml", ".yml":
		return true
	}
	return strings.ContainsRune(handle, filepath.Separator)
}

// isFile reports whether a file has this path.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// NamesFile reports whether an argument of a command that takes files and handles is a file: it
// exists, is "-", or has the form of a path.
func NamesFile(arg string) bool { return arg == "-" || looksLikeFile(arg) || isFile(arg) }

// known returns the ledger's jobs of this target, and prints damaged lines.
func (r *Resolver) known() (all []client.Known, err error) {
	entries, err := Entries(r.Con, r.Target)
	for _, e := range entries {
		all = append(all, e.Known())
	}
	return all, err
}

// isMissing reports whether a handle fits nothing.
func isMissing(err error) bool {
	_, missing := errors.AsType[*client.NoSuchJobError](err)
	return missing
}

// explain adds the next step to an error about a handle.
func (r *Resolver) explain(handle string, extent Extent, err error) error {
	if several, ok := errors.AsType[*client.SeveralJobsError](err); ok {
		return exit.Fail(exit.NotDone, "%v", several).Try("choose one of them: batchctl %s %s%s", r.use(),
			batch.ShortID(several.Jobs[0].ID), r.Target.Flags)
	}
	if part, ok := errors.AsType[*client.NoSuchPartError](err); ok {
		if part.Attempt > 0 && r.Command == "logs" {
			return exit.Fail(exit.NotDone, "%v", part).
				Try("read the log of an attempt: batchctl logs %s --attempt %d%s", part.Use, part.Attempt,
					r.Target.Flags)
		}
		return exit.Fail(exit.NotDone, "%v", part).Try("name one that exists: batchctl %s %s%s", r.use(), part.Use,
			r.Target.Flags)
	}
	missing, ok := errors.AsType[*client.NoSuchJobError](err)
	if !ok || r.Command == "top" { // top takes queues, too
		return err
	}
	if looksLikeFile(handle) {
		if _, err := os.Stat(handle); errors.Is(err, fs.ErrNotExist) {
			return exit.Fail(exit.NotDone, "read %s: %v", handle, exit.Cause(err)).
				Try("name a job or the workflow instead: batchctl list%s shows them", r.Target.Flags)
		}
	}
	if missing.Near != "" && extent == WholeSubmission {
		return exit.Fail(exit.NotDone, "%v", &client.NoSuchJobError{Argument: handle, Unsearched: missing.Unsearched}).
			Try("did you mean --submission %s?", missing.Near)
	}
	return LeadOn(r.Target, err)
}

// use is the command as it takes one job.
func (r *Resolver) use() string {
	if r.Command == "list" {
		return "list --array"
	}
	return r.Command
}

// oneJobCommands take one job, and have no --submission.
var oneJobCommands = [...]string{"explain", "replay", "list", "top"}

// noteOthers prints that other jobs or submissions have the handle, if the newest may not be the one that is meant.
func (r *Resolver) noteOthers(handle string, chosen []client.Known, whole bool, m *client.Matches) {
	if !whole {
		if len(m.Jobs) > 1 {
			r.noteNewest(fmt.Sprintf("%d jobs are named %s", len(m.Jobs), handle), m.Jobs,
				func(k client.Known) string { return batch.ShortID(k.ID) })
		}
		if run := m.Members; len(run) > 0 && run[0].Run == chosen[0].Run &&
			!slices.Contains(oneJobCommands[:], r.Command) {
			fmt.Fprintf(r.Con.Err, "note: %s is also the workflow of this job; for all its jobs: batchctl %s --submission %[1]s%[3]s\n",
				diag.Printable(handle), r.Command, diag.Printable(r.Target.Flags))
		}
		return
	}
	from := m.Members
	if len(from) == 0 {
		from = m.Jobs
	}
	runs := oneOfEach(from)
	if len(runs) < 2 {
		return
	}
	named := "are named"
	if len(m.Members) == 0 {
		named = "have a job"
	}
	r.noteNewest(fmt.Sprintf("%d submissions %s %s", len(runs), named, handle), runs, runID)
}

// closeTogether is the time between two submissions of one name below which you may mean either.
const closeTogether = 10 * time.Second

// noteNewest prints that the newest of several jobs or submissions is meant, and which one came before it. In a loop of
// edits and runs the newest is always meant, so it prints nothing. It prints the note if the command changes jobs, if
// the others are of another workflow, or if the two came close together.
func (r *Resolver) noteNewest(text string, all []client.Known, id func(client.Known) string) {
	newest, before := all[0], all[1]
	ofAnother := slices.ContainsFunc(all, func(k client.Known) bool { return k.Workflow != newest.Workflow })
	if r.Exact || ofAnother || newest.Submitted.Sub(before.Submitted) < closeTogether {
		r.printNewest(text, all, id)
	}
}

// printNewest prints the newest and the one before it.
func (r *Resolver) printNewest(text string, all []client.Known, id func(client.Known) string) {
	fmt.Fprintf(r.Con.Err, "note: %s; this is the newest, %s; the one before is %s, %s\n", diag.Printable(text),
		id(all[0]), id(all[1]), ago(all[1].Submitted))
}

// runID returns the id of a job's submission.
func runID(k client.Known) string { return k.Run }

// ago formats the time of a submission.
func ago(at time.Time) string { return term.Ago(aws.Int64(at.UnixMilli()), time.Now()) }
