package explain

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/rpc"
)

// This file reads evidence from the services around Batch, which the local engine does not have.

// fleet reads what the environments' machines do: Auto Scaling groups with their activities,
// instances, and the instances that registered with ECS. Only a job that waits for a machine
// needs it.
func (g *Gatherer) fleet(ctx context.Context, b *Bundle) {
	if g.Local || b.Subject.waiting() == nil {
		return
	}
	var environments []types.ComputeEnvironmentDetail
	for _, e := range b.Environments {
		if c := e.ComputeResources; c != nil && !strings.HasPrefix(string(c.Type), "FARGATE") {
			environments = append(environments, e)
		}
	}
	if len(environments) == 0 {
		return
	}
	b.missing(evidenceScaling, g.groups(ctx, b, environments))
	g.instances(ctx, b)
	for _, e := range environments {
		if cluster := str(e.EcsClusterArn); cluster != "" {
			instances, err := g.rpc.ContainerInstances(ctx, cluster)
			b.missing(evidenceCluster, err)
			if err == nil {
				b.Clusters = append(b.Clusters, Cluster{str(e.ComputeEnvironmentName), cluster, instances})
			}
		}
	}
}

// groups finds the Auto Scaling groups that Batch created: their names contain the compute
// environment's name or its uuid. The longest matching name counts: one name may begin with
// another.
func (g *Gatherer) groups(ctx context.Context, b *Bundle, environments []types.ComputeEnvironmentDetail) error {
	owner := func(group string) string {
		best := ""
		for _, e := range environments {
			name := str(e.ComputeEnvironmentName)
			uuid := str(e.Uuid)
			if uuid != "" && strings.Contains(group, uuid) {
				return name
			}
			if (strings.HasPrefix(group, name+"-asg-") || strings.HasPrefix(group, "AWSBatch-"+name+"-asg-")) &&
				len(name) > len(best) {
				best = name
			}
		}
		return best
	}
	groups, err := g.rpc.ScalingGroups(ctx, func(name string) bool { return owner(name) != "" })
	if err != nil {
		return err
	}
	if len(groups) == 0 {
		return errors.New("no Auto Scaling group has the name of a compute environment")
	}
	for _, group := range groups {
		if group.Activities, err = g.rpc.Activities(ctx, group.Name); err != nil {
			return err
		}
		b.Groups = append(b.Groups, Group{owner(group.Name), group})
	}
	return nil
}

// instances describes the instances of the groups.
func (g *Gatherer) instances(ctx context.Context, b *Bundle) {
	var ids []string
	for _, group := range b.Groups {
		ids = append(ids, group.Group.Instances...)
	}
	if len(ids) == 0 {
		return
	}
	instances, err := g.rpc.Instances(ctx, ids)
	b.missing(evidenceInstances, err)
	b.Instances = append(b.Instances, instances...)
}

// lost describes the instances that failed attempts lost, and their Spot requests. Three are
// enough to show the cause.
func (g *Gatherer) lost(ctx context.Context, b *Bundle) {
	var ids []string
	for _, s := range []*Subject{&b.Subject, b.Root} {
		if s == nil {
			continue
		}
		for _, e := range s.ends() {
			if _, rest, found := strings.Cut(e.StatusReason, "Host EC2 (instance "); found {
				id, _, _ := strings.Cut(rest, ")")
				if strings.HasPrefix(id, "i-") && !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
		}
	}
	for _, id := range ids[:min(len(ids), 3)] {
		instances, err := g.rpc.Instances(ctx, []string{id})
		if rpc.Missing(err) {
			continue // EC2 forgets an instance within an hour of its end
		}
		b.missing(evidenceInstances, err)
		b.Instances = append(b.Instances, instances...)
		for _, i := range instances {
			if i.Spot == "" {
				continue
			}
			request, err := g.rpc.SpotRequest(ctx, i.Spot)
			b.missing(evidenceSpot, err)
			if request != nil {
				b.Spot = append(b.Spot, *request)
			}
		}
	}
}

// failure returns the end that images and roles may explain: the root's, or else the job's own.
func (b *Bundle) failure() *end {
	if b.Root != nil {
		return b.Root.end()
	}
	return b.Subject.end()
}

// image queries the image of a job if it could not be pulled, or was not built for the
// instance.
func (g *Gatherer) image(ctx context.Context, b *Bundle) {
	e := b.failure()
	if e == nil || !e.Mentions("CannotPull", "exec format error", "no matching manifest", "platform") &&
		!e.Exited(1, 126, 255) {
		return
	}
	i, ok := rpc.ParseImage(e.Image)
	if !ok {
		if e.Mentions("CannotPull") {
			b.missing(evidenceImage, errors.New("it is not in a private ECR registry"))
		}
		return
	}
	found, err := g.rpc.FindImage(ctx, i)
	b.missing(evidenceImage, err)
	if err == nil {
		b.Image = &found
	}
}

// roles queries the roles of a job if one of them could not be assumed.
func (g *Gatherer) roles(ctx context.Context, b *Bundle) {
	e := b.failure()
	if e == nil || !e.Mentions("assume", "AssumeRole", "Role is not valid") || e.job.Container == nil {
		return
	}
	for _, arn := range []string{str(e.job.Container.JobRoleArn), str(e.job.Container.ExecutionRoleArn)} {
		if arn == "" {
			continue
		}
		role, err := g.rpc.FindRole(ctx, arn)
		b.missing(evidenceRoles, err)
		if err == nil {
			b.Roles = append(b.Roles, role)
		}
	}
}
