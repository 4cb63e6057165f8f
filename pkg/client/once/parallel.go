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

// A bound on how many children of an array run at once is a consumable resource of
// Batch: there are as many of it as may run, and each attempt holds one from STARTING
// to its end. The run makes it before the first job that asks for it.

const (
	// RunTag is the tag of a consumable resource that holds the run which made it.
	RunTag = "batchctl:run"
	// MaxParallelTag is the tag of a job that holds how many children of its group
	// may run at once: the resource that says so is removed after them.
	MaxParallelTag = "batchctl:max-parallel"

	resourcePrefix = "batchctl-"
	// maxResourceName is what other names of Batch may have (API reference); that of
	// consumable resources names no limit.
	maxResourceName = 128
	// maxResources is how many consumable resources a job may ask for (user guide,
	// resource-aware scheduling).
	maxResources = 5
	// replenishable is the type of a resource that comes back at a job's end.
	replenishable = "REPLENISHABLE"
)

// resourceName is the name for a group of a run: all of the group, or as much as there
// is room for and a hash that tells it from others.
func resourceName(run, group string) string {
	prefix := resourcePrefix + run + "-"
	if len(prefix)+len(group) <= maxResourceName {
		return prefix + group
	}
	sum := sha256.Sum256([]byte(group))
	end := "-" + hex.EncodeToString(sum[:4])
	return prefix + group[:maxResourceName-len(prefix)-len(end)] + end
}

// group are the jobs of a plan that share a bound.
type group struct {
	name     string
	children int // of all its jobs
	tasks    []*task
}

// groups sorts the jobs that have a bound. The arrays of one sweep have names of their
// own: where one comes again another file's group of the same name begins.
func groups(p *plan.Plan, tasks []*task) (all []*group) {
	latest, times := map[string]*group{}, map[string]int{}
	for i, t := range tasks {
		if t.maxParallel == 0 || t.submit == nil {
			continue
		}
		name := cmp.Or(p.Jobs[i].Group, t.name)
		g := latest[name]
		if g == nil || slices.ContainsFunc(g.tasks, func(o *task) bool { return o.name == t.name }) {
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

func arraySize(in *awsbatch.SubmitJobInput) int {
	if in.ArrayProperties == nil {
		return 0
	}
	return int(aws.ToInt32(in.ArrayProperties.Size))
}

// boundGroups has the jobs of each group ask for its resource, besides what they ask
// for anyway. A group that is no larger than its bound needs none.
func (c *Client) boundGroups(ctx context.Context, r *run, p *plan.Plan) error {
	for _, g := range groups(p, r.tasks) {
		for _, t := range g.tasks {
			if g.children <= t.maxParallel {
				continue
			}
			t.resource = resourceName(r.name, g.name)
			if err := c.bound(ctx, r, t); err != nil {
				return fmt.Errorf("submit job %s: %w", t.name, err)
			}
		}
	}
	return nil
}

// bound adds the group's resource to the request of a job. The list of a request takes
// the place of the definition's, so what that asks for is in it too.
func (c *Client) bound(ctx context.Context, r *run, t *task) error {
	asked := t.submit.ConsumableResourcePropertiesOverride
	if asked == nil {
		var err error
		if asked, err = c.resourcesOf(ctx, r, t); err != nil {
			return err
		}
	}
	var list []types.ConsumableResourceRequirement
	if asked != nil {
		list = slices.Clone(asked.ConsumableResourceList)
	}
	if len(list) >= maxResources {
		return fmt.Errorf("it asks for %d consumable resources, and its maxParallel is one more: AWS Batch takes %d; ask for less, or leave maxParallel out",
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

// resourcesOf is what the job's definition asks for: that of the plan, or a registered
// one, which the service is asked for.
func (c *Client) resourcesOf(ctx context.Context, r *run, t *task) (*types.ConsumableResourceProperties, error) {
	if t.definer >= 0 {
		return r.tasks[t.definer].register.ConsumableResourceProperties, nil
	}
	d, err := c.RegisteredDefinition(ctx, aws.ToString(t.submit.JobDefinition))
	if err != nil {
		return nil, err
	}
	return d.ConsumableResourceProperties, nil
}

// makeResource makes the resource of the job's group, once in this process. One that
// is there is another process's of this run.
func (c *Client) makeResource(ctx context.Context, r *run, t *task, done *onceEach) (fresh bool, err error) {
	if t.resource == "" {
		return false, nil
	}
	return true, done.do(t.resource, func() error {
		if err := r.noteResource(t.resource, t.maxParallel); err != nil {
			return err
		}
		_, err := c.API.CreateConsumableResource(ctx, &awsbatch.CreateConsumableResourceInput{ConsumableResourceName: &t.resource,
			ResourceType: aws.String(replenishable), TotalQuantity: aws.Int64(int64(t.maxParallel)), Tags: map[string]string{RunTag: r.name}})
		if err == nil {
			return nil
		}
		if client.Refused(err) && !client.Throttled(err) {
			there, describeErr := c.API.DescribeConsumableResource(ctx, &awsbatch.DescribeConsumableResourceInput{ConsumableResource: &t.resource})
			if describeErr == nil && there.Tags[RunTag] == r.name {
				return nil
			}
		}
		return client.Failed(client.ActionCreateResource+t.resource+" for maxParallel of job "+t.name, err)
	})
}

// noteResource writes down that a resource is about to be made.
func (r *run) noteResource(name string, quantity int) error {
	r.mu.Lock()
	if r.resources == nil {
		r.resources = map[string]bool{}
	}
	known := r.resources[name]
	r.resources[name] = true
	r.mu.Unlock()
	if known || r.log == nil {
		return nil
	}
	return r.log.write(line{Time: stamp(), What: lineResource, Resource: name, MaxParallel: quantity})
}
