package client

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// stateTries limits the tries of a call for a plan, because the user waits for it.
const stateTries = 2

// stateCalls limits the concurrent calls for job definitions.
const stateCalls = 8

// TargetState reads the job definitions, queues and compute environments of the target that a
// plan names, to compare them with the plan. What it cannot read it reports in its result,
// without an error: an account that may submit need not be allowed to describe.
func (c *Client) TargetState(ctx context.Context, p *plan.Plan) *plan.TargetState {
	w := &plan.TargetState{Definitions: map[string]plan.Registered{}}
	r := stateReader{c.API, c.JobQueues}
	var all sync.WaitGroup
	all.Go(func() { r.readQueues(ctx, p, w) })
	all.Go(func() { w.Definitions = r.registered(ctx, p) })
	all.Go(func() { w.Consumables = r.consumables(ctx) })
	all.Wait()
	w.Region = c.API.Options().Region
	w.Unreached = unreached(p, w)
	return w
}

// stateReader reads what a plan names, with few retries.
type stateReader struct {
	api    *awsbatch.Client
	queues *JobQueues
}

// unreached returns the common reason, if nothing at all could be read.
func unreached(p *plan.Plan, w *plan.TargetState) (reason string) {
	if len(p.QueueNames()) > 0 && w.QueuesErr == "" {
		return ""
	}
	for _, d := range w.Definitions {
		if d.Err == "" {
			return ""
		}
		reason = d.Err
	}
	return cmp.Or(w.QueuesErr, reason)
}

// readQueues reads the queues of the plan and the environments of those queues.
func (r stateReader) readQueues(ctx context.Context, p *plan.Plan, w *plan.TargetState) {
	names := p.QueueNames()
	if len(names) == 0 {
		return
	}
	queues := awsbatch.NewDescribeJobQueuesPaginator(r.api, &awsbatch.DescribeJobQueuesInput{JobQueues: names})
	for queues.HasMorePages() {
		page, err := queues.NextPage(ctx, briefly)
		if err != nil {
			w.QueuesErr = unread(ctx, "describe job queues", err)
			return
		}
		w.Queues = append(w.Queues, page.JobQueues...)
	}
	environments := w.EnvironmentNames()
	if r.api.Options().Region == batch.LocalRegion {
		environments = append(environments, batch.LocalEnvironment) // that of the queues that submit creates
	}
	if len(environments) == 0 {
		return
	}
	pages := awsbatch.NewDescribeComputeEnvironmentsPaginator(r.api,
		&awsbatch.DescribeComputeEnvironmentsInput{ComputeEnvironments: environments})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, briefly)
		if err != nil {
			w.EnvironmentsErr = unread(ctx, "describe compute environments", err)
			return
		}
		w.Environments = append(w.Environments, page.ComputeEnvironments...)
	}
	var err error
	if w.Machines, err = r.queues.FixedMachines(ctx, w.Environments); err != nil {
		w.MachinesErr = err.Error()
	}
}

// consumables returns the total quantity of each consumable resource of the local engine; nil if they are unknown.
func (r stateReader) consumables(ctx context.Context) map[string]int64 {
	if r.api.Options().Region != batch.LocalRegion {
		return nil // an account may have many, and need not allow to list them
	}
	totals := map[string]int64{}
	pages := awsbatch.NewListConsumableResourcesPaginator(r.api, &awsbatch.ListConsumableResourcesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, briefly)
		if err != nil {
			return nil
		}
		for _, c := range page.ConsumableResources {
			totals[aws.ToString(c.ConsumableResourceName)] = aws.ToInt64(c.TotalQuantity)
		}
	}
	return totals
}

// registered reads the plan's job definitions, several concurrently.
func (r stateReader) registered(ctx context.Context, p *plan.Plan) map[string]plan.Registered {
	content := map[string]*awsbatch.RegisterJobDefinitionInput{}
	for _, j := range p.Jobs {
		if j.Register != nil {
			content[aws.ToString(j.Register.JobDefinitionName)] = j.Register
		}
	}
	names := p.DefinitionNames()
	found := make([]plan.Registered, len(names))
	free := make(chan struct{}, stateCalls)
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			found[i] = r.revisions(ctx, name, content[name])
		})
	}
	all.Wait()
	byName := map[string]plan.Registered{}
	for i, name := range names {
		byName[name] = found[i]
	}
	return byName
}

// revisions reads the ACTIVE revisions of a definition, given as name or name:revision. content
// is the request that would be registered; nil if none would.
func (r stateReader) revisions(ctx context.Context, definition string,
	content *awsbatch.RegisterJobDefinitionInput) (found plan.Registered) {
	name, wanted, exact := strings.Cut(definition, ":")
	hash := ""
	if content != nil {
		var err error
		if hash, err = ContentHash(content); err != nil {
			return plan.Registered{Err: err.Error()}
		}
	}
	pages := awsbatch.NewDescribeJobDefinitionsPaginator(r.api,
		&awsbatch.DescribeJobDefinitionsInput{JobDefinitionName: &name, Status: aws.String("ACTIVE")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, briefly)
		if err != nil {
			return plan.Registered{Err: unread(ctx, "describe job definitions "+name, err)}
		}
		for _, d := range page.JobDefinitions {
			newest(&found.Newest, d)
			if hash != "" && d.Tags[ContentTag] == hash {
				newest(&found.Same, d)
			}
			if content == nil && (!exact || revisionText(d) == wanted) {
				newest(&found.Named, d)
			}
		}
	}
	return found
}

// newest replaces *latest if d has a higher revision.
func newest(latest **types.JobDefinition, d types.JobDefinition) {
	if *latest == nil || aws.ToInt32(d.Revision) > aws.ToInt32((*latest).Revision) {
		*latest = &d
	}
}

// revisionText returns the number of a revision, from its ARN.
func revisionText(d types.JobDefinition) string {
	arn := aws.ToString(d.JobDefinitionArn)
	return arn[strings.LastIndexByte(arn, ':')+1:]
}

// briefly limits the retries of a call: a person waits for the result.
func briefly(o *awsbatch.Options) { o.RetryMaxAttempts = stateTries }

// unread returns the reason why something could not be read.
func unread(ctx context.Context, action string, err error) string {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return action + ": no answer in time"
	}
	if login := rpc.Login(err); login != nil {
		return login.Error() + "; " + login.Remedy()
	}
	return Failed(action, err).Error()
}
