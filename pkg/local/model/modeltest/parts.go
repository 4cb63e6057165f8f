package modeltest

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// NodeRange returns nodes of one vCPU whose command is an argument for Engine.
func NodeRange(target, word string) types.NodeRangeProperty {
	return types.NodeRangeProperty{TargetNodes: &target,
		Container: &types.ContainerProperties{Image: aws.String("busybox:1"), Command: []string{word},
			ResourceRequirements: amounts("1", "64")}}
}

// Nodes returns a multi-node definition with the name multi.
func Nodes(nodes, main int32, ranges ...types.NodeRangeProperty) *awsbatch.RegisterJobDefinitionInput {
	return &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("multi"),
		Type:           types.JobDefinitionTypeMultinode,
		NodeProperties: &types.NodeProperties{NumNodes: &nodes, MainNode: &main, NodeRangeProperties: ranges}}
}

// TaskNodes returns nodes of several containers.
func TaskNodes(target string, parts ...types.TaskContainerProperties) types.NodeRangeProperty {
	return types.NodeRangeProperty{TargetNodes: &target, EcsProperties: Task(parts...)}
}

// Tasks returns a job definition of several containers.
func Tasks(name string, parts ...types.TaskContainerProperties) *awsbatch.RegisterJobDefinitionInput {
	return &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: &name, Type: types.JobDefinitionTypeContainer,
		EcsProperties: Task(parts...)}
}

// PodNodes returns nodes that are pods; Engine runs the first argument of a container.
func PodNodes(target string, containers ...types.EksContainer) types.NodeRangeProperty {
	return types.NodeRangeProperty{TargetNodes: &target,
		EksProperties: &types.EksProperties{PodProperties: &types.EksPodProperties{Containers: containers}}}
}

// Part returns a container that needs half a vCPU; Engine runs its command.
func Part(name, word string, essential bool, after ...string) types.TaskContainerProperties {
	p := types.TaskContainerProperties{Name: &name, Image: aws.String("busybox:1"), Command: []string{word},
		Essential:            &essential,
		ResourceRequirements: amounts("0.5", "64")}
	for _, text := range after {
		on, condition, _ := strings.Cut(text, " ")
		p.DependsOn = append(p.DependsOn, types.TaskContainerDependency{ContainerName: &on, Condition: &condition})
	}
	return p
}

// Task returns the properties of a task with containers.
func Task(parts ...types.TaskContainerProperties) *types.EcsProperties {
	return &types.EcsProperties{TaskProperties: []types.EcsTaskProperties{{Containers: parts}}}
}

// PodSize returns resources of a container of a pod.
func PodSize(cpu, memory string) *types.EksContainerResourceRequirements {
	return &types.EksContainerResourceRequirements{Requests: map[string]string{"cpu": cpu, "memory": memory}}
}

// InPod returns a container of half a CPU; Engine runs its argument.
func InPod(name, word string) types.EksContainer {
	return types.EksContainer{Name: &name, Image: aws.String("busybox:1"), Args: []string{word}, Resources: PodSize("0.5",
		"64Mi")}
}

// Pod returns a change that turns a definition into one of a pod.
func Pod(p types.EksPodProperties) func(*awsbatch.RegisterJobDefinitionInput) {
	return func(in *awsbatch.RegisterJobDefinitionInput) {
		in.ContainerProperties = nil
		in.EksProperties = &types.EksProperties{PodProperties: &p}
	}
}

// PodOverride returns a change of a request that overrides containers of a pod.
func PodOverride(containers ...types.EksContainerOverride) Edit {
	return func(in *awsbatch.SubmitJobInput) {
		in.EksPropertiesOverride = &types.EksPropertiesOverride{
			PodProperties: &types.EksPodPropertiesOverride{Containers: containers}}
	}
}
