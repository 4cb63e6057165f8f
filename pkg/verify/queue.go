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

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// queue is a job queue with its compute environments, as the target describes them.
type queue struct {
	// detail is nil if the queue does not exist or could not be read.
	detail *types.JobQueueDetail
	// err is why the queue could not be read; nil also for a queue that does not exist.
	err error
	// environments are in the queue's order. environmentsErr is why they are unknown.
	environments    []types.ComputeEnvironmentDetail
	environmentsErr error
}

// queue describes a queue with its compute environments. It queries each queue once.
func (v *Verifier) queue(ctx context.Context, name string) *queue {
	if q := v.queues[name]; q != nil {
		return q
	}
	q := &queue{}
	v.queues[name] = q
	// Batch leaves unknown names out of its answer.
	out, err := v.batch.DescribeJobQueues(ctx, &awsbatch.DescribeJobQueuesInput{JobQueues: []string{name}})
	if err != nil || len(out.JobQueues) == 0 {
		q.err, q.environmentsErr = err, errors.New("the job queue is unknown")
		return q
	}
	q.detail = &out.JobQueues[0]
	var names []string
	for _, o := range q.detail.ComputeEnvironmentOrder {
		names = append(names, aws.ToString(o.ComputeEnvironment))
	}
	found, err := v.batch.DescribeComputeEnvironments(ctx,
		&awsbatch.DescribeComputeEnvironmentsInput{ComputeEnvironments: names})
	if q.environmentsErr = err; err == nil {
		q.environments = found.ComputeEnvironments
	}
	// The answer has its own order.
	slices.SortStableFunc(q.environments, func(a, b types.ComputeEnvironmentDetail) int {
		return slices.Index(names, aws.ToString(a.ComputeEnvironmentArn)) - slices.Index(names,
			aws.ToString(b.ComputeEnvironmentArn))
	})
	return q
}

// checkQueue checks the queue and the job's share identifier.
func checkQueue(ctx context.Context, v *Verifier, j *job) []Result {
	if j.Submit == nil {
		return nil
	}
	name := aws.ToString(j.Submit.JobQueue)
	r := v.queueResult(ctx, name, aws.ToString(j.Submit.ShareIdentifier))
	r.What = name
	return []Result{r}
}

// queueResult checks whether a queue accepts jobs with a share; "" means without a share.
func (v *Verifier) queueResult(ctx context.Context, name, share string) Result {
	q := v.queue(ctx, name)
	switch d := q.detail; {
	case q.err != nil:
		return unknown(q.err)
	case d == nil:
		return failed("list the queues: batchctl queues", "no job queue %s in this account and Region", name)
	case d.State != types.JQStateEnabled:
		return failed("aws batch update-job-queue --job-queue "+name+" --state ENABLED", "it is %s and accepts no jobs",
			d.State)
	case d.Status != types.JQStatusValid:
		return failed("ask the platform team to fix it", "its status is %s: %s", d.Status, aws.ToString(d.StatusReason))
	case d.SchedulingPolicyArn != nil && share == "":
		return failed("set shareIdentifier", "it has a fair-share policy, but the job has no shareIdentifier")
	case d.SchedulingPolicyArn == nil && share != "":
		return failed("remove shareIdentifier, or use a queue with a scheduling policy",
			"it has no scheduling policy, so AWS Batch rejects the job's shareIdentifier")
	}
	return pass("ENABLED and VALID")
}

// checkEnvironments passes if the job fits one usable environment.
func checkEnvironments(ctx context.Context, v *Verifier, j *job) []Result {
	if j.Submit == nil {
		return nil
	}
	q := v.queue(ctx, aws.ToString(j.Submit.JobQueue))
	if q.detail == nil {
		return nil // checkQueue reports it
	}
	r := v.placement(q, j)
	r.What = "of queue " + aws.ToString(q.detail.JobQueueName)
	return []Result{r}
}

// placement compares the job with each environment. One that fits is enough. If an environment
// may fit, the result is NotChecked rather than Fail.
func (v *Verifier) placement(q *queue, j *job) Result {
	if q.environmentsErr != nil {
		return unknown(q.environmentsErr)
	}
	need, known := plan.QueueNeed(j.definition, j.submit)
	var refused, doubts []string
	hint := ""
	for _, e := range q.environments {
		name := aws.ToString(e.ComputeEnvironmentName)
		p := fit(e, need, v.Types)
		switch {
		case e.State != types.CEStateEnabled:
			refused = append(refused, name+" is "+string(e.State))
		case e.Status != types.CEStatusValid:
			refused = append(refused, fmt.Sprintf("%s is %s: %s", name, e.Status, aws.ToString(e.StatusReason)))
		// Multi-node jobs and pods have no request for a single machine.
		case !known:
			doubts = append(doubts, "the job's request for one machine is unknown")
		case p == nil:
			doubts = append(doubts, name+" does not list its instance types")
		case p.Fits && p.Reason == "":
			return pass("%s fits in %s%s", need, name, on(*p))
		case p.Fits:
			doubts = append(doubts, name+": "+p.Reason)
		default:
			refused = append(refused, name+": "+p.Reason)
			if hint == "" {
				hint = p.Hint(need.Parts[0].Request)
			}
		}
	}
	if len(doubts) > 0 {
		return notChecked("%s", strings.Join(append(doubts, refused...), "; "))
	}
	if hint == "" {
		hint = "use another queue, or ask the platform team to fix the compute environments"
	}
	return failed(hint, "the job fits none: %s", strings.Join(refused, "; "))
}

// on names the instance type of a placement, as a suffix for a message.
func on(p catalog.Placement) string {
	if proof := plan.Proof(p); proof != "" {
		return ": " + proof
	}
	return ""
}

// fit compares a need with an environment. It returns nil if the environment does not list its
// machines.
func fit(e types.ComputeEnvironmentDetail, need plan.Need, list *catalog.Catalog) *catalog.Placement {
	c := e.ComputeResources
	if c == nil {
		return nil
	}
	p := need.Place(catalog.Environment{Name: aws.ToString(e.ComputeEnvironmentName), Type: string(c.Type),
		InstanceTypes: c.InstanceTypes,
		MaxvCpus:      int(aws.ToInt32(c.MaxvCpus)), Catalog: list})
	return &p
}

// checkProfiles checks the instance profile of each environment. Instances without a role cannot
// register with ECS, so no job ever starts there.
func checkProfiles(ctx context.Context, v *Verifier, j *job) (results []Result) {
	if j.Submit == nil {
		return nil
	}
	for _, e := range v.queue(ctx, aws.ToString(j.Submit.JobQueue)).environments {
		if e.ComputeResources == nil || aws.ToString(e.ComputeResources.InstanceRole) == "" {
			continue
		}
		profile := rpc.RoleName(*e.ComputeResources.InstanceRole)
		results = append(results, v.once("instance-profile", profile, func() Result {
			found, roles, err := v.rpc.FindProfile(ctx, profile)
			switch {
			case err != nil:
				return unknown(err)
			case !found:
				return failed("create it, with a role that has AmazonEC2ContainerServiceforEC2Role",
					"no instance profile %s, which compute environment %s names", profile,
					aws.ToString(e.ComputeEnvironmentName))
			case len(roles) == 0:
				return failed("add a role that has AmazonEC2ContainerServiceforEC2Role",
					"the instance profile has no role, so its instances cannot register with ECS")
			}
			return pass("it has role %s", strings.Join(roles, ", "))
		}))
	}
	return results
}

// checkConsumables compares the job's requests with the totals of the resources, not with what is
// free now: a job waits for that.
func checkConsumables(ctx context.Context, v *Verifier, j *job) (results []Result) {
	list := j.definition.Get("consumableResourceProperties").Get("consumableResourceList")
	// As in Batch, the list of the request replaces that of the definition.
	if over := j.submit.Get("consumableResourcePropertiesOverride").Get("consumableResourceList"); over != nil {
		list = over
	}
	for c := range list.Children() {
		name := c.Get("consumableResource").Str()
		asked, _ := c.Get("quantity").Int()
		out, err := v.batch.DescribeConsumableResource(ctx,
			&awsbatch.DescribeConsumableResourceInput{ConsumableResource: &name})
		r := Result{}
		switch {
		case err != nil && strings.Contains(err.Error(), "not exist"):
			r = failed("create it, or correct its name", "no such consumable resource")
		case err != nil:
			r = unknown(err)
		case aws.ToInt64(out.TotalQuantity) < asked:
			r = failed("request less of it", "its total is %d, but the job requests %d", aws.ToInt64(out.TotalQuantity),
				asked)
		default:
			r = pass("its total is %d; the job requests %d", aws.ToInt64(out.TotalQuantity), asked)
		}
		r.What = name
		results = append(results, r)
	}
	return results
}
