package rpc

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
)

// Machine is the instance behind a container instance of ECS.
type Machine struct {
	// Type is the instance type; "" is unknown.
	Type string
	// Spot is whether it is a Spot instance; nil is unknown.
	Spot *bool
}

// typeAttribute is an attribute that the agent sets (ECS developer guide, "Amazon ECS container instance attributes").
const typeAttribute = "ecs.instance-type"

// maxTasks is how many tasks DescribeTasks takes (API reference of ECS).
const maxTasks = 100

// ImageDigests returns the digests of the images that the containers of ECS tasks run, by the task's ARN and the
// container's name. ECS describes a task for about an hour after its end.
func (c *Client) ImageDigests(ctx context.Context, arns []string) (map[string]map[string]string, error) {
	clusters := map[string][]string{}
	for _, arn := range arns {
		_, path, _ := strings.Cut(arn, ":task/")
		if cluster, _, ok := strings.Cut(path, "/"); ok { // older ARNs have no cluster
			clusters[cluster] = append(clusters[cluster], arn)
		}
	}
	api := awsecs.NewFromConfig(c.inRegion())
	digests := map[string]map[string]string{}
	for cluster, arns := range clusters {
		for some := range slices.Chunk(arns, maxTasks) {
			out, err := Again(ctx, api.DescribeTasks, &awsecs.DescribeTasksInput{Cluster: &cluster, Tasks: some})
			if Missing(err) {
				break
			}
			if err != nil {
				return digests, err
			}
			for _, t := range out.Tasks {
				found := map[string]string{}
				for _, c := range t.Containers {
					if digest := aws.ToString(c.ImageDigest); digest != "" {
						found[aws.ToString(c.Name)] = digest
					}
				}
				if len(found) > 0 {
					digests[aws.ToString(t.TaskArn)] = found
				}
			}
		}
	}
	return digests, nil
}

// mostFiltered is how many values a filter of EC2 takes (API reference, DescribeInstances).
const mostFiltered = 200

// Machines returns what is known of container instances, by their ARNs: at most maxInstances of each cluster. ECS
// describes an instance for a while after its end, EC2 for about an hour.
func (c *Client) Machines(ctx context.Context, arns []string) (map[string]Machine, error) {
	clusters := map[string][]string{}
	for _, arn := range arns {
		_, path, _ := strings.Cut(arn, ":container-instance/")
		cluster, _, ok := strings.Cut(path, "/") // older ARNs have no cluster
		if ok && len(clusters[cluster]) < maxInstances && !slices.Contains(clusters[cluster], arn) {
			clusters[cluster] = append(clusters[cluster], arn)
		}
	}
	api := awsecs.NewFromConfig(c.inRegion())
	machines, hosts := map[string]Machine{}, map[string]string{} // hosts: the EC2 instance of each
	for cluster, arns := range clusters {
		out, err := Again(ctx, api.DescribeContainerInstances,
			&awsecs.DescribeContainerInstancesInput{Cluster: &cluster, ContainerInstances: arns})
		if Missing(err) {
			continue
		}
		if err != nil {
			return machines, err
		}
		for _, i := range out.ContainerInstances {
			var m Machine
			for _, a := range i.Attributes {
				if aws.ToString(a.Name) == typeAttribute {
					m.Type = aws.ToString(a.Value)
				}
			}
			arn := aws.ToString(i.ContainerInstanceArn)
			machines[arn] = m
			if id := aws.ToString(i.Ec2InstanceId); id != "" {
				hosts[arn] = id
			}
		}
	}
	// A filter, because EC2 rejects a list of ids if one of them is gone.
	filter := url.Values{"Filter.1.Name": {"instance-id"}}
	for i, id := range slices.Compact(slices.Sorted(maps.Values(hosts))) {
		if i < mostFiltered {
			filter.Set(fmt.Sprintf("Filter.1.Value.%d", i+1), id)
		}
	}
	if len(filter) == 1 {
		return machines, nil
	}
	found, err := c.instances(ctx, filter)
	if err != nil {
		return machines, nil // the types are of use without it
	}
	for arn, id := range hosts {
		if at := slices.IndexFunc(found, func(i Instance) bool { return i.Id == id }); at >= 0 {
			m, spot := machines[arn], found[at].Spot != ""
			m.Spot = &spot
			machines[arn] = m
		}
	}
	return machines, nil
}
