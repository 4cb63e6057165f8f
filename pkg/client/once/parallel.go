package once

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/plan"
)

// A limit on concurrent children of an array is a consumable resource of Batch. Its quantity is the
// limit, and each attempt holds one unit from STARTING until it finishes. The run creates the
// resource before the first job that requests it.

const (
	// RunTag is the tag of a consumable resource with the id of the run that created it.
	RunTag = "batchctl:run"
	// MaxParallelTag is the tag of a job with the limit on concurrent children of its group. The
	// group's resource is removed after the jobs.
	MaxParallelTag = "batchctl:max-parallel"

	resourcePrefix = "batchctl-"
	// maxResourceName is the limit for other names in Batch (API reference). The API reference has
	// no limit for names of consumable resources.
	maxResourceName = 128
	// maxResources is how many consumable resources a job may request (user guide, resource-aware
	// scheduling).
	maxResources = 5
	// replenishable is the type of a resource that becomes available again when a job finishes.
	replenishable = "REPLENISHABLE"
)

// resourceName returns the resource name for a group of a run. A long name is cut and gets a hash.
func resourceName(run, group string) string {
	prefix := resourcePrefix + run + "-"
	if len(prefix)+len(group) <= maxResourceName {
		return prefix + group
	}
	sum := sha256.Sum256([]byte(group))
	end := "-" + hex.EncodeToString(sum[:4])
	return prefix + group[:maxResourceName-len(prefix)-len(end)] + end
}

// group contains the jobs of a plan that share a limit.
type group struct {
	name     string
	children int // of all its jobs
	tasks    []*plannedJob
}

// groups sorts the jobs that have a limit. The arrays of one sweep have different names. A repeated
// name starts a new group: it belongs to another file.
func groups(p *plan.Plan, tasks []*plannedJob) (all []*group) {
	latest, times := map[string]*group{}, map[string]int{}
	for i, t := range tasks {
		if t.maxParallel == 0 || t.submit == nil {
			continue
		}
		name := cmp.Or(p.Jobs[i].Group, t.name)
		g := latest[name]
		if g == nil || slices.ContainsFunc(g.tasks, func(o *plannedJob) bool { return o.name == t.name }) {
			g = &group{name: name}
			if times[name]++; times[name] > 1 {
				g.name += "-" + strconv.Itoa(times[name])
			}
			latest[name], all = g, append(all, g)
		}
		g.tasks = append(g.tasks, t)
		g.children += max(1, arraySize(t.submit))
	}
	return all
}

// boundGroups adds the resource of its group to each job's request. A group that is no larger than
// its limit needs none.
func boundGroups(ctx context.Context, c *client.Client, r *run, p *plan.Plan) error {
	for _, g := range groups(p, r.tasks) {
		for _, t := range g.tasks {
			if g.children <= t.maxParallel {
				continue
			}
			t.resource = resourceName(r.name, g.name)
			if err := bound(ctx, c, r, t); err != nil {
				return fmt.Errorf("submit job %s: %w", t.name, err)
			}
		}
	}
	return nil
}

// bound adds the group's resource to the request of a job. The request's list replaces that of the
// definition, so the definition's resources are added too.
func bound(ctx context.Context, c *client.Client, r *run, t *plannedJob) error {
	asked := t.submit.ConsumableResourcePropertiesOverride
	if asked == nil {
		var err error
		if asked, err = resourcesOf(ctx, c, r, t); err != nil {
			return err
		}
	}
	var list []types.ConsumableResourceRequirement
	if asked != nil {
		list = slices.Clone(asked.ConsumableResourceList)
	}
	if len(list) >= maxResources {
		return fmt.Errorf("it requests %d consumable resources and maxParallel adds one, but AWS Batch accepts at most %d: request fewer, or remove maxParallel",
			len(list), maxResources)
	}
	in := *t.submit
	in.ConsumableResourcePropertiesOverride = &types.ConsumableResourceProperties{ConsumableResourceList: append(list,
		types.ConsumableResourceRequirement{ConsumableResource: &t.resource, Quantity: aws.Int64(1)})}
	if len(in.Tags) < client.TagLimit {
		in.Tags = maps.Clone(in.Tags)
		if in.Tags == nil {
			in.Tags = map[string]string{}
		}
		in.Tags[MaxParallelTag] = strconv.Itoa(t.maxParallel)
	}
	t.submit = &in
	return nil
}

// resourcesOf returns the resources in the job's definition: that of the plan, or a registered one.
func resourcesOf(ctx context.Context, c *client.Client, r *run,
	t *plannedJob) (*types.ConsumableResourceProperties, error) {
	if t.definer >= 0 {
		return r.tasks[t.definer].register.ConsumableResourceProperties, nil
	}
	d, err := c.RegisteredDefinition(ctx, aws.ToString(t.submit.JobDefinition))
	if err != nil {
		return nil, err
	}
	return d.ConsumableResourceProperties, nil
}

// makeResource creates the resource of the job's group, once in this process. If it exists,
// another process of this run created it. fresh means that it is so new that the service may not
// know it everywhere.
func makeResource(ctx context.Context, c *client.Client, r *run, t *plannedJob,
	done *onceEach) (fresh bool, err error) {
	if t.resource == "" {
		return false, nil
	}
	return true, done.do(t.at+" "+t.resource, func() error {
		if err := r.noteResource(t.resource, t.maxParallel); err != nil {
			return err
		}
		_, err := c.API.CreateConsumableResource(ctx,
			&awsbatch.CreateConsumableResourceInput{ConsumableResourceName: &t.resource,
				ResourceType: aws.String(replenishable), TotalQuantity: aws.Int64(int64(t.maxParallel)),
				Tags: map[string]string{RunTag: r.name}})
		if err == nil {
			return nil
		}
		if client.Refused(err) && !client.Throttled(err) {
			existing, describeErr := c.API.DescribeConsumableResource(ctx,
				&awsbatch.DescribeConsumableResourceInput{ConsumableResource: &t.resource})
			if describeErr == nil && existing.Tags[RunTag] == r.name {
				return nil
			}
		}
		return client.Failed(client.ActionCreateResource+t.resource+" for maxParallel of job "+t.name, err)
	})
}
