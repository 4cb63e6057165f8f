package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// Arguments are handles of jobs and submissions: see session.Resolver.

// Call is a command with its target open and the jobs of its arguments found.
type Call struct {
	*target.Target
	Format   string // text or json
	Platform *document.Platform
	// Chains are what the arguments name, and Jobs are the jobs of the chains.
	Chains []client.Chain
	Jobs   []once.Submitted
	// Known describes Jobs, in the same order, at the time when the command began.
	Known []once.Recalled
	// elsewhere are the jobs of the chains at other targets.
	elsewhere []client.Known
	// resolved are the arguments with what each of them names.
	resolved []session.Resolved
}

// OpenFor opens the target for a command about jobs, without resolving its
// arguments. The caller closes the result. Reading from a local engine that was
// never used is an error.
func OpenFor(ctx context.Context, con *term.Console, o Options, why target.Need) (*Call, error) {
	platform, err := platformFor(con, o)
	if err != nil {
		return nil, err
	}
	return openWith(ctx, con, o, platform, why)
}

// platformFor returns the platform file of a command about jobs; nil if there is none.
func platformFor(con *term.Console, o Options) (*document.Platform, error) {
	in := &input.Input{PlacesNothing: true}
	if err := in.FindPlatform(o.Target); err != nil {
		return nil, err
	}
	if in.Problems.HasErrors() {
		return nil, input.Complain(con, in.Problems)
	}
	return in.Platform, nil
}

// openWith is OpenFor with the platform file found.
func openWith(ctx context.Context, con *term.Console, o Options, platform *document.Platform,
	why target.Need) (*Call, error) {
	if why == target.ToRead && o.Target.NameFrom(platform) == target.Local {
		if err := wasUsed(o.Target); err != nil {
			return nil, err
		}
	}
	t, err := session.OpenTarget(ctx, con, o.Target, platform, why)
	if err != nil {
		return nil, err
	}
	return &Call{Target: t, Format: o.Format, Platform: platform}, nil
}

// wasUsed returns an error if the local engine has no state directory: there is nothing to
// read.
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

// OpenJobs opens the target and finds the jobs that the arguments name. The
// ledger describes those that the service has forgotten.
func OpenJobs(ctx context.Context, con *term.Console, o Options, why target.Need) (*Call, error) {
	platform, err := platformFor(con, o)
	if err != nil {
		return nil, err
	}
	if why == target.ToChange && o.Target.NameFrom(platform) == target.Local {
		if err := checkNames(ctx, con, o, platform); err != nil {
			return nil, err
		}
	}
	call, err := openWith(ctx, con, o, platform, why)
	if err != nil {
		return nil, err
	}
	call.Client.Warn = warnOnce(con, func(text string) { fmt.Fprintf(con.Err, "%s\n", diag.Printable(text)) })
	if err := call.find(ctx, con, o); err != nil {
		return nil, errors.Join(err, call.Close())
	}
	return call, nil
}

// find finds the jobs that the arguments name, and describes them.
func (call *Call) find(ctx context.Context, con *term.Console, o Options) (err error) {
	r := NewResolver(con, o.Command, call.Target, call.Platform)
	if call.Chains, err = Resolve(ctx, r, o); err != nil {
		return err
	}
	call.Jobs, call.elsewhere, call.resolved = session.Jobs(call.Chains), r.Elsewhere, r.Resolved
	if call.Known, err = call.Client.Recall(ctx, session.IDs(call.Jobs)...); err != nil {
		return err
	}
	for i, job := range call.Known {
		call.Jobs[i].Name, call.Jobs[i].Queue = aws.ToString(job.JobName), aws.ToString(job.JobQueue)
	}
	for i, chain := range call.Chains {
		call.Chains[i] = chain.Described(byID(call.Known))
	}
	keepEnds(call.Target, details(call.Known)...)
	return nil
}

// byID returns the descriptions of jobs by their ids.
func byID(jobs []once.Recalled) map[string]types.JobDetail {
	all := make(map[string]types.JobDetail, len(jobs))
	for _, job := range jobs {
		all[aws.ToString(job.JobId)] = job.JobDetail
	}
	return all
}

// checkNames returns an error if an argument names no job of the local engine. It starts no engine.
func checkNames(ctx context.Context, con *term.Console, o Options, platform *document.Platform) error {
	quiet := &term.Console{Streams: term.Streams{In: con.In, Out: con.Out, Err: io.Discard}, Sources: con.Sources}
	call, err := openWith(ctx, quiet, o, platform, target.ToRead)
	if err != nil {
		return err
	}
	if call.Engine != nil { // the state on disk: no engine runs
		_, err = Resolve(ctx, NewResolver(quiet, o.Command, call.Target, call.Platform), o)
	}
	return errors.Join(err, call.Close())
}

// keepEnds records in the ledger how jobs ended, because AWS Batch forgets jobs
// after 7 days or more. Errors do not matter to the command that runs now.
func keepEnds(t *target.Target, jobs ...types.JobDetail) { _ = t.Client.Keep(jobs...) }

// releaseEnded deletes the consumable resources that limited jobs which have
// ended. Resources that other jobs need, or whose deletion failed, are left to
// gc.
func releaseEnded(ctx context.Context, t *target.Target, jobs []types.JobDetail) {
	var bounded []string
	for _, job := range jobs {
		if p := job.ConsumableResourceProperties; p != nil && len(p.ConsumableResourceList) > 0 {
			bounded = append(bounded, aws.ToString(job.JobId))
		}
	}
	if len(bounded) > 0 {
		_, _ = t.Client.ReleaseResources(ctx, bounded...)
	}
}

// details returns the descriptions of jobs as types of the SDK.
func details(jobs []once.Recalled) []types.JobDetail {
	all := make([]types.JobDetail, len(jobs))
	for i, j := range jobs {
		all[i] = j.JobDetail
	}
	return all
}

// Resolve returns the chains of the jobs that the arguments name, each once. Without arguments
// it returns those of --submission, or of the last submission.
func Resolve(ctx context.Context, r *session.Resolver, o Options) ([]client.Chain, error) {
	args, submission := o.Args, o.Submission
	switch {
	case submission != "" && len(args) > 0:
		return nil, exit.Usage("--submission already selects the jobs; omit %s", args[0]).
			Try("use one of them: batchctl %s --submission %s", o.Command, submission)
	case submission != "":
		return r.Resolve(ctx, submission, session.WholeSubmission)
	case len(args) == 0:
		return r.LastSubmission(ctx)
	}
	var chains []client.Chain
	for _, arg := range args {
		found, err := r.Resolve(ctx, arg, session.AnyJobs)
		if err != nil {
			return nil, err
		}
		for _, chain := range found {
			if !slices.ContainsFunc(chains, func(o client.Chain) bool { return o.Root().ID == chain.Root().ID }) {
				chains = append(chains, chain)
			}
		}
	}
	return chains, nil
}

// NewResolver returns the resolver of a command's handles.
func NewResolver(con *term.Console, command string, t *target.Target, platform *document.Platform) *session.Resolver {
	return &session.Resolver{Con: con, Target: t, Command: command, Queues: QueueNames(t, platform),
		Exact: command == "stop" || command == "retry"}
}

// QueueNames returns the queues in which jobs are searched: those of the platform
// file. nil means all queues.
func QueueNames(t *target.Target, platform *document.Platform) (names []string) {
	if !t.IsLocal() && platform != nil {
		for _, q := range platform.Queues {
			names = append(names, q.Name)
		}
	}
	return names
}

// WriteShapes prints SDK shapes as JSON with the member names of the AWS API, as
// the aws CLI does.
func WriteShapes(con *term.Console, shapes any) error {
	data, err := wire.Marshal(shapes)
	if err != nil {
		return err
	}
	return con.JSON(json.RawMessage(data))
}
