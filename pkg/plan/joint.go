package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Settings of an inserted step, which only succeeds.
const (
	joinTimeout   = 3600 // seconds
	joinAttempts  = 3
	joinMemoryMiB = 128
)

// joinCommand returns a command that succeeds.
func joinCommand(platform *types.RuntimePlatform) []string {
	if isWindows(platform) {
		return []string{"cmd", "/c", "exit 0"}
	}
	return []string{"true"}
}

// isWindows reports whether containers of the platform run Windows.
func isWindows(platform *types.RuntimePlatform) bool {
	return platform != nil && strings.HasPrefix(strings.ToUpper(aws.ToString(platform.OperatingSystemFamily)),
		"WINDOWS")
}

// joint is what the inserted steps before one group have in common.
type joint struct {
	// register is the definition that the next step registers; nil if there is none, or if an
	// earlier step registers it.
	register *awsbatch.RegisterJobDefinitionInput
	submit   awsbatch.SubmitJobInput
	queue    Choice
}

// step returns the next step.
func (m *joint) step(name string) *Job {
	if m.register != nil {
		m.register.JobDefinitionName = aws.String(name)
		m.submit.JobDefinition = aws.String(name)
	}
	submit := m.submit
	submit.JobName = aws.String(name)
	j := &Job{Name: name, Group: name, Join: true, Register: m.register, Submit: &submit, Queue: m.queue}
	m.register = nil
	return j
}

// joints builds the steps that are inserted before groups.
type joints struct {
	*converter
	queues *queues
}

// joint returns what the steps before a group run: the image of the group's jobs, which exists
// and can be pulled in their environment. It returns false after a problem.
func (js *joints) joint(g *group) (*joint, bool) {
	in := g.parts[0].Submit
	m := &joint{queue: g.ownQueue(), submit: awsbatch.SubmitJobInput{JobDefinition: in.JobDefinition, Tags: in.Tags,
		PropagateTags:   in.PropagateTags,
		ShareIdentifier: in.ShareIdentifier, SchedulingPriorityOverride: in.SchedulingPriorityOverride}}
	d := js.definition(g.parts[0], g.known)
	switch {
	case d == nil && overridesSeveral(g.parts[0]):
		js.fail(nameOf(g.Job), "dep-max-20",
			fmt.Sprintf("a job waits for at most %d others, and batchctl cannot build an intermediate job from a registered definition with several containers", maxWaits),
			"add an intermediate job, or combine the others into one array")
		return nil, false
	case d == nil:
		m.submit.ContainerOverrides = &types.ContainerOverrides{Command: joinCommand(nil)}
	default:
		m.register = joinDefinition(d)
		m.queue = js.joinQueue(g, m.register)
	}
	m.submit.JobQueue = aws.String(m.queue.Queue)
	return m, true
}

// joinDefinition returns a definition of one small container with the first image of d, and the
// members that such a container needs to be placed and started.
func joinDefinition(d *awsbatch.RegisterJobDefinitionInput) *awsbatch.RegisterJobDefinitionInput {
	out := &awsbatch.RegisterJobDefinitionInput{
		Type: types.JobDefinitionTypeContainer, PlatformCapabilities: d.PlatformCapabilities,
		PropagateTags:      d.PropagateTags,
		SchedulingPriority: d.SchedulingPriority, Tags: d.Tags,
		RetryStrategy: &types.RetryStrategy{Attempts: aws.Int32(joinAttempts)},
		Timeout:       &types.JobTimeout{AttemptDurationSeconds: aws.Int32(joinTimeout)},
	}
	container, ecs, eks := d.ContainerProperties, d.EcsProperties, d.EksProperties
	if nodes := d.NodeProperties; nodes != nil && len(nodes.NodeRangeProperties) > 0 {
		first := nodes.NodeRangeProperties[0]
		container, ecs, eks = first.Container, first.EcsProperties, first.EksProperties
	}
	isFargate := slices.Contains(d.PlatformCapabilities, types.PlatformCapabilityFargate)
	switch {
	case container != nil:
		out.ContainerProperties = joinContainer(container)
	case ecs != nil && len(ecs.TaskProperties) > 0 && len(ecs.TaskProperties[0].Containers) > 0:
		out.ContainerProperties = joinContainer(alone(ecs.TaskProperties[0]))
	case eks != nil && eks.PodProperties != nil && len(eks.PodProperties.Containers) > 0:
		out.EksProperties = joinPod(eks.PodProperties)
	}
	if out.ContainerProperties != nil {
		out.ContainerProperties.ResourceRequirements = joinResources(isFargate, out.ContainerProperties.RuntimePlatform)
	}
	return out
}

// joinContainer copies the members that decide where and how a container starts.
func joinContainer(c *types.ContainerProperties) *types.ContainerProperties {
	return &types.ContainerProperties{
		Image: c.Image, Command: joinCommand(c.RuntimePlatform), ExecutionRoleArn: c.ExecutionRoleArn,
		RepositoryCredentials: c.RepositoryCredentials,
		NetworkConfiguration:  c.NetworkConfiguration, FargatePlatformConfiguration: c.FargatePlatformConfiguration,
		RuntimePlatform: c.RuntimePlatform, LogConfiguration: c.LogConfiguration,
	}
}

// alone returns the first container of a task as a task of its own.
func alone(task types.EcsTaskProperties) *types.ContainerProperties {
	first := task.Containers[0]
	c := &types.ContainerProperties{Image: first.Image, ExecutionRoleArn: task.ExecutionRoleArn,
		RepositoryCredentials: first.RepositoryCredentials,
		NetworkConfiguration:  task.NetworkConfiguration, RuntimePlatform: task.RuntimePlatform,
		LogConfiguration: first.LogConfiguration}
	if task.PlatformVersion != nil {
		c.FargatePlatformConfiguration = &types.FargatePlatformConfiguration{PlatformVersion: task.PlatformVersion}
	}
	return c
}

// joinPod returns a pod with one small container.
func joinPod(p *types.EksPodProperties) *types.EksProperties {
	first := p.Containers[0]
	size := map[string]string{"cpu": "1", "memory": fmt.Sprintf("%dMi", joinMemoryMiB)}
	return &types.EksProperties{PodProperties: &types.EksPodProperties{
		HostNetwork: p.HostNetwork, DnsPolicy: p.DnsPolicy, ImagePullSecrets: p.ImagePullSecrets, Metadata: p.Metadata,
		Containers: []types.EksContainer{{Image: first.Image, ImagePullPolicy: first.ImagePullPolicy,
			Command: joinCommand(nil), SecurityContext: first.SecurityContext,
			Resources: &types.EksContainerResourceRequirements{Limits: size, Requests: size}}},
	}}
}

// joinResources returns small requirements. On Fargate it is the smallest size, which is 1 vCPU
// for Windows (Amazon ECS Developer Guide, task size).
func joinResources(isFargate bool, platform *types.RuntimePlatform) []types.ResourceRequirement {
	vcpus, memory := "1", strconv.Itoa(joinMemoryMiB)
	switch {
	case isFargate && isWindows(platform):
		memory = "2048"
	case isFargate:
		vcpus, memory = "0.25", "512"
	}
	return []types.ResourceRequirement{
		{Type: types.ResourceTypeVcpu, Value: aws.String(vcpus)},
		{Type: types.ResourceTypeMemory, Value: aws.String(memory)},
	}
}

// joinQueue returns the best queue of the platform file for a step, with the
// architecture of the group's instances. If that is unknown, or the group has a
// fair-share identifier, it is the group's queue.
func (js *joints) joinQueue(g *group, register *awsbatch.RegisterJobDefinitionInput) Choice {
	own := g.ownQueue()
	placement := g.parts[0].Queue.Placement
	definition, err := tree(register)
	r, ok := RequestOf(definition, nil)
	if err != nil || !ok || placement == nil {
		return own
	}
	if r.Arch == "" {
		r.Arch = placement.Instance.Arch
	}
	c, err := ChooseQueue(js.queues.platform, OneMachine(r))
	if err == nil && g.parts[0].Submit.ShareIdentifier == nil {
		return c
	}
	if q, ok := js.queues.platform.Queue(own.Queue); ok {
		p := FindPlacement(js.queues.platform.Catalog, q, OneMachine(r))
		own.Placement = &p
	}
	return own
}
