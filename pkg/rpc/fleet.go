package rpc

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/batchctl/batchctl/pkg/batch"
)

// ScalingGroup is an Auto Scaling group with its latest activities, newest first.
type ScalingGroup struct {
	Name string
	// Desired is the desired capacity: a number of instances, or of their weights.
	Desired    int64
	Instances  []string // ids
	Activities []Activity
}

// Activity is an attempt of an Auto Scaling group to change its instances.
type Activity struct {
	// At is when it began, in epoch milliseconds.
	At     int64
	Status string // Successful, Failed, InProgress, ...
	// Description is what the group tried, Message the result.
	Description, Message string
}

// Instance is an EC2 instance.
type Instance struct {
	Id, Type, State string // Id as AWS writes it: these are read from JSON by name
	// LaunchedAt is in epoch milliseconds.
	LaunchedAt int64
	// Reason is the cause of its last change of state, such as "Server.SpotInstanceTermination".
	Reason string
	// Spot is the id of its Spot request; "" for an On-Demand instance.
	Spot string
}

// SpotRequest is the state of a Spot request.
type SpotRequest struct {
	Id, Instance string
	// Code is for example "instance-terminated-no-capacity".
	Code, Message string
	At            int64
}

// ContainerInstance is an instance in an ECS cluster.
type ContainerInstance struct {
	Instance string
	// Status is ACTIVE, DRAINING, REGISTERING, ...
	Status         string
	AgentConnected bool
	// Running counts its tasks.
	Running int64
	// Machine is its capacity, as registered with ECS.
	Machine batch.Machine
}

// maxPages bounds the pages that are read of a list.
const maxPages = 20

// ScalingGroups returns the Auto Scaling groups that match keeps, without their
// activities.
func (c *Client) ScalingGroups(ctx context.Context, match func(name string) bool) (all []ScalingGroup, err error) {
	api := autoscaling.NewFromConfig(c.inRegion())
	in := &autoscaling.DescribeAutoScalingGroupsInput{MaxRecords: aws.Int32(100)}
	for range maxPages {
		page, err := Again(ctx, api.DescribeAutoScalingGroups, in)
		if err != nil {
			return nil, err
		}
		for _, g := range page.AutoScalingGroups {
			name := aws.ToString(g.AutoScalingGroupName)
			if !match(name) {
				continue
			}
			group := ScalingGroup{Name: name, Desired: int64(aws.ToInt32(g.DesiredCapacity))}
			for _, i := range g.Instances {
				group.Instances = append(group.Instances, aws.ToString(i.InstanceId))
			}
			all = append(all, group)
		}
		if in.NextToken = page.NextToken; aws.ToString(in.NextToken) == "" {
			return all, nil
		}
	}
	return all, nil
}

// Activities returns the latest activities of a group, newest first.
func (c *Client) Activities(ctx context.Context, group string) (all []Activity, err error) {
	out, err := Again(ctx, autoscaling.NewFromConfig(c.inRegion()).DescribeScalingActivities,
		&autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: &group, MaxRecords: aws.Int32(20)})
	if err != nil {
		return nil, err
	}
	for _, a := range out.Activities {
		activity := Activity{Status: string(a.StatusCode), Description: aws.ToString(a.Description),
			Message: aws.ToString(a.StatusMessage)}
		if a.StartTime != nil {
			activity.At = a.StartTime.UnixMilli()
		}
		all = append(all, activity)
	}
	return all, nil
}

// maxInstances bounds the instances in one call.
const maxInstances = 100

// Instances describes EC2 instances, at most maxInstances of them.
func (c *Client) Instances(ctx context.Context, ids []string) (all []Instance, err error) {
	in := url.Values{}
	for i, id := range ids[:min(len(ids), maxInstances)] {
		in.Set(fmt.Sprintf("InstanceId.%d", i+1), id)
	}
	return c.instances(ctx, in)
}

// instances calls DescribeInstances.
func (c *Client) instances(ctx context.Context, in url.Values) (all []Instance, err error) {
	var out struct {
		Instances []struct {
			ID     string `xml:"instanceId"`
			Type   string `xml:"instanceType"`
			State  string `xml:"instanceState>name"`
			Launch string `xml:"launchTime"`
			Code   string `xml:"stateReason>code"`
			Text   string `xml:"stateReason>message"`
			Spot   string `xml:"spotInstanceRequestId"`
		} `xml:"reservationSet>item>instancesSet>item"`
	}
	if err := c.Query(ctx, EC2, "DescribeInstances", in, &out); err != nil {
		return nil, err
	}
	for _, i := range out.Instances {
		reason := strings.TrimPrefix(i.Text, i.Code+": ")
		if i.Code != "" {
			reason = i.Code + ": " + reason
		}
		all = append(all, Instance{i.ID, i.Type, i.State, millis(i.Launch), reason, i.Spot})
	}
	return all, nil
}

// SpotRequest returns the state of a Spot request; nil if AWS no longer has it.
func (c *Client) SpotRequest(ctx context.Context, id string) (*SpotRequest, error) {
	var out struct {
		Requests []struct {
			ID       string `xml:"spotInstanceRequestId"`
			Instance string `xml:"instanceId"`
			Code     string `xml:"status>code"`
			Message  string `xml:"status>message"`
			At       string `xml:"status>updateTime"`
		} `xml:"spotInstanceRequestSet>item"`
	}
	err := c.Query(ctx, EC2, "DescribeSpotInstanceRequests", url.Values{"SpotInstanceRequestId.1": {id}}, &out)
	if Missing(err) || err == nil && len(out.Requests) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := out.Requests[0]
	return &SpotRequest{r.ID, r.Instance, r.Code, r.Message, millis(r.At)}, nil
}

// ContainerInstances returns the instances that have registered with a cluster, at most
// maxInstances of them. A cluster that does not exist has none.
func (c *Client) ContainerInstances(ctx context.Context, cluster string) (all []ContainerInstance, err error) {
	api := awsecs.NewFromConfig(c.inRegion())
	list, err := Again(ctx, api.ListContainerInstances, &awsecs.ListContainerInstancesInput{Cluster: &cluster,
		MaxResults: aws.Int32(maxInstances)})
	if Missing(err) || err == nil && len(list.ContainerInstanceArns) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out, err := Again(ctx, api.DescribeContainerInstances, &awsecs.DescribeContainerInstancesInput{Cluster: &cluster,
		ContainerInstances: list.ContainerInstanceArns})
	if err != nil {
		return nil, err
	}
	for _, i := range out.ContainerInstances {
		machine := batch.Machine{Total: capacity(i.RegisteredResources), Free: capacity(i.RemainingResources)}
		all = append(all, ContainerInstance{aws.ToString(i.Ec2InstanceId), aws.ToString(i.Status), i.AgentConnected,
			int64(i.RunningTasksCount), machine})
	}
	return all, nil
}

// capacity converts amounts of ECS, which counts 1024 CPU units for a vCPU.
func capacity(resources []ecstypes.Resource) (c batch.Capacity) {
	for _, r := range resources {
		switch aws.ToString(r.Name) {
		case "CPU":
			c.VCPUs = math.Ceil(float64(r.IntegerValue)*1000/1024) / 1000 // the engine rounds down
		case "MEMORY":
			c.MemoryMiB = int64(r.IntegerValue)
		case "GPU":
			c.GPUs = int64(len(r.StringSetValue))
		}
	}
	return c
}

// millis parses a time of an XML answer, as epoch milliseconds; 0 for an empty text.
func millis(text string) int64 {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0
	}
	return at.UnixMilli()
}
