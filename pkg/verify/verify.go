// Package verify checks before the first submit that everything a plan's jobs need
// exists at the target. Each check passes, fails, or is reported as not checked.
package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/smithy-go"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/wire"
)

// Outcome is the result of a check. Its text appears in the output.
type Outcome string

// The outcomes of checks.
const (
	// Pass and Fail are the outcomes of a check that was done.
	Pass Outcome = "pass"
	Fail Outcome = "fail"
	// NotChecked is the outcome if the caller's permissions do not allow the check, or if no
	// request can answer it.
	NotChecked Outcome = "not checked"
)

// Result is the outcome of one check for one thing, with the names of all jobs that need it.
type Result struct {
	Check string `json:"check"`
	// What is the thing that was checked: a queue, an image, a role, ...
	What    string  `json:"what"`
	Outcome Outcome `json:"outcome"`
	// Why has the facts, or the reason why there are none.
	Why string `json:"why"`
	// Fix is the next step after a failure: a command or a change of the job file.
	Fix string `json:"fix,omitempty"`
	// Jobs are the names of the jobs that need the thing.
	Jobs []string `json:"jobs"`
	// unreached is why the target gave no answer: missing credentials, or the network.
	unreached error
}

// Unreached returns why the target could not answer some of the checks; nil if it answered all of them.
func Unreached(results []Result) error {
	for _, r := range results {
		if r.unreached != nil {
			return r.unreached
		}
	}
	return nil
}

// Check is one kind of thing that a job needs.
type Check struct {
	// Name is stable: it is Result.Check.
	Name string
	// Doc describes the check, for the documentation.
	Doc string
	// run checks everything of that kind that the job needs. It may change the job:
	// checkDefinition adds the registered definition for the checks after it.
	run func(context.Context, *Verifier, *job) []Result
}

// Checks returns all checks in their order. Later checks use the results of earlier ones.
func Checks() []Check {
	return []Check{
		{"definition", "A job definition that the file names but does not contain is registered and ACTIVE.",
			checkDefinition},
		{"queue", "The job queue exists, is ENABLED and VALID, and matches the job's share identifier.", checkQueue},
		{"environments", "The job fits a compute environment of the queue that is ENABLED and VALID.",
			checkEnvironments},
		{"instance-profile", "The instance profiles of those compute environments exist and have a role.",
			checkProfiles},
		{"image", "The image exists in its registry, for the CPU architecture of the job.", checkImages},
		{"roles", "The job role and the execution role exist, and ECS tasks may assume them.", checkRoles},
		{"secrets", "The secrets and parameters exist.", checkSecrets},
		{"log-group", "The log group exists, or will be created.", checkLogGroup},
		{"consumables", "The consumable resources exist, and their totals cover the job's requests.", checkConsumables},
		{"quota", "The account's quota of vCPUs allows at least one such job.", checkQuota},
	}
}

// Verifier runs checks at one target. It remembers what it has queried, so use a new one for each
// run.
type Verifier struct {
	// Types has the instance types; nil means the catalogue in batchctl.
	Types *catalog.Catalog

	// batch and rpc query the target; rpc is for the services besides Batch.
	batch *awsbatch.Client
	rpc   *rpc.Client

	// queues has the queues that were queried, by the name in the job.
	queues map[string]*queue
	// known has the results by check and thing, see once.
	known map[string]Result
}

// New returns a verifier for the account and Region of cfg.
func New(cfg aws.Config) *Verifier {
	return &Verifier{batch: awsbatch.NewFromConfig(cfg), rpc: rpc.New(cfg),
		queues: map[string]*queue{}, known: map[string]Result{}}
}

// Run runs all checks for all jobs of a plan. It queries things that several jobs need
// only once. It returns an error if a request of the plan cannot be read.
func (v *Verifier) Run(ctx context.Context, p *plan.Plan) ([]Result, error) {
	results := []Result{}
	at := map[string]int{}
	for _, planned := range p.Jobs {
		j, err := newJob(planned)
		if err != nil {
			return nil, err
		}
		for _, c := range Checks() {
			for _, r := range c.run(ctx, v, j) {
				r.Check = c.Name
				key := fmt.Sprint(r.Check, "\n", r.What, "\n", r.Outcome, "\n", r.Why)
				// Equal results of several jobs become one, with all their names.
				i, seen := at[key]
				if !seen {
					i = len(results)
					at[key] = i
					results = append(results, r)
				}
				if !slices.Contains(results[i].Jobs, j.Name) {
					results[i].Jobs = append(results[i].Jobs, j.Name)
				}
			}
		}
	}
	return results, ctx.Err()
}

// job is a planned job with its requests as trees, so that the same code reads the plan's own
// definitions and registered ones. The trees are nil if the plan has no such request.
type job struct {
	*plan.Job
	definition, submit *jsontree.Node // nil if absent
}

// newJob returns a job with its requests as trees.
func newJob(p *plan.Job) (*job, error) {
	j := &job{Job: p}
	var err error
	if p.Register != nil {
		j.definition, err = tree(p.Register)
	}
	if p.Submit != nil && err == nil {
		j.submit, err = tree(p.Submit)
	}
	return j, err
}

// tree converts an SDK request to a tree, as if it had been read from a file.
func tree(request any) (*jsontree.Node, error) {
	text, err := wire.Marshal(request)
	if err != nil {
		return nil, err
	}
	// The text comes from the SDK's encoder, so problems are not expected.
	node, problems := jsontree.Parse(diag.NewSource("request", string(text)))
	if problems.HasErrors() {
		return nil, errors.New(problems[0].Message)
	}
	return node, nil
}

// containers returns the containers of a definition's tasks, and the objects with the roles of
// whole tasks. A multi-node job has those of every node range.
func (j *job) containers() (containers, tasks []*jsontree.Node) {
	if c := j.definition.Get("containerProperties"); c != nil {
		return []*jsontree.Node{c}, []*jsontree.Node{c}
	}
	for t := range j.definition.Get("ecsProperties").Get("taskProperties").Children() {
		tasks = append(tasks, t)
		containers = slices.AppendSeq(containers, t.Get("containers").Children())
	}
	for n := range j.definition.Get("nodeProperties").Get("nodeRangeProperties").Children() {
		if c := n.Get("container"); c != nil {
			containers, tasks = append(containers, c), append(tasks, c)
		}
		for t := range n.Get("ecsProperties").Get("taskProperties").Children() {
			tasks = append(tasks, t)
			containers = slices.AppendSeq(containers, t.Get("containers").Children())
		}
	}
	return containers, tasks
}

// once returns the earlier result for a thing, or calls query now. All jobs of a plan that use
// one image share one query.
func (v *Verifier) once(check, what string, query func() Result) Result {
	key := check + "\n" + what
	r, ok := v.known[key]
	if !ok {
		r = query()
		r.What = what
		v.known[key] = r
	}
	return r
}

// pass returns the result of a successful check.
func pass(format string, args ...any) Result {
	return Result{Outcome: Pass, Why: fmt.Sprintf(format, args...)}
}

// failed returns the result of a failed check with the next step.
func failed(fix, format string, args ...any) Result {
	return Result{Outcome: Fail, Why: fmt.Sprintf(format, args...), Fix: fix}
}

// notChecked returns the result of a check that could not be done.
func notChecked(format string, args ...any) Result {
	return Result{Outcome: NotChecked, Why: fmt.Sprintf(format, args...)}
}

// unknown returns the result for a query that failed. It names the missing permission, if that is
// the cause.
func unknown(err error) Result {
	r := unanswered(err)
	if login := rpc.Login(err); login != nil {
		r.unreached = login
	} else if rpc.Unreached(err) {
		r.unreached = errors.New(r.Why)
	}
	return r
}

// unanswered is unknown without the cause as an error.
func unanswered(err error) Result {
	if login := rpc.Login(err); login != nil {
		return notChecked("%s", login.Error())
	}
	api, ok := errors.AsType[smithy.APIError](err)
	switch {
	case ok && strings.HasPrefix(api.ErrorCode(), "AccessDenied"):
		if op, isOp := errors.AsType[*smithy.OperationError](err); isOp {
			return notChecked("not allowed: %s:%s", strings.ToLower(op.Service()), op.Operation())
		}
		return notChecked("not allowed")
	case ok && api.ErrorCode() != "UnknownError":
		return notChecked("%s: %s", api.ErrorCode(), api.ErrorMessage())
	}
	if op, ok := errors.AsType[*smithy.OperationError](err); ok {
		return notChecked("%s:%s: %s", strings.ToLower(op.Service()), op.Operation(), rpc.Cause(op.Err))
	}
	return notChecked("%v", err)
}

// checkDefinition queries a definition that the file only names, and gives it to the checks after
// it.
func checkDefinition(ctx context.Context, v *Verifier, j *job) []Result {
	if j.Register != nil || j.Submit == nil {
		return nil
	}
	name := aws.ToString(j.Submit.JobDefinition)
	found, err := v.definition(ctx, name)
	var r Result
	switch {
	case err != nil:
		r = unknown(err)
	case found == nil:
		r = failed("register it first: batchctl submit with its file, or correct the name",
			"no active job definition %s", name)
	default:
		r = pass("revision %d is ACTIVE", aws.ToInt32(found.Revision))
		if j.definition, err = tree(found); err != nil {
			r = unknown(err)
		}
	}
	r.What = name
	return []Result{r}
}

// definition returns the active definition with an ARN, a name:revision, or a name, which means
// the newest revision. It is nil if there is none.
func (v *Verifier) definition(ctx context.Context, id string) (*types.JobDefinition, error) {
	base, revision := batch.SplitRevision(id)
	in := &awsbatch.DescribeJobDefinitionsInput{JobDefinitionName: &base, Status: aws.String("ACTIVE")}
	var newest *types.JobDefinition
	for {
		out, err := v.batch.DescribeJobDefinitions(ctx, in)
		if err != nil {
			return nil, err
		}
		for i, d := range out.JobDefinitions {
			if revision != "" && fmt.Sprint(aws.ToInt32(d.Revision)) == revision {
				return &out.JobDefinitions[i], nil
			}
			// The pages are in no documented order.
			if revision == "" && (newest == nil || aws.ToInt32(d.Revision) > aws.ToInt32(newest.Revision)) {
				newest = &out.JobDefinitions[i]
			}
		}
		if in.NextToken = out.NextToken; in.NextToken == nil {
			return newest, nil
		}
	}
}
