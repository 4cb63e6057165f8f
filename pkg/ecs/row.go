package ecs

import (
	"cmp"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// Row is a task in the JSON output of ecs status.
type Row struct {
	Name       string `json:"name"`
	Task       string `json:"task"`    // the ARN
	ShortID    string `json:"shortId"` // the first 8 characters of its id, as in the text output
	Cluster    string `json:"cluster"`
	Status     string `json:"lastStatus"` // lastStatus of DescribeTasks
	LaunchType string `json:"launchType,omitempty"`
	// StopCode is ECS's category of the stop, such as EssentialContainerExited.
	// It is empty while the task runs.
	StopCode      string         `json:"stopCode,omitempty"`
	StoppedReason string         `json:"stoppedReason,omitempty"`
	Containers    []ContainerRow `json:"containers"`
}

// ContainerRow is a container of a task. ExitCode is null until the container
// has stopped, and if it never started.
type ContainerRow struct {
	Name     string   `json:"name"`
	Status   string   `json:"lastStatus"`
	ExitCode *int32   `json:"exitCode"`
	GPUIDs   []string `json:"gpuIds"` // as nvidia-smi prints them; empty before the start
	Reason   string   `json:"reason,omitempty"`
}

// RowOf merges what the record knows about a task with what ECS answers. Lists
// are never nil, so that JSON shows [].
func RowOf(e Entry, s *types.Task) Row {
	arn := cmp.Or(aws.ToString(s.TaskArn), e.Task)
	r := Row{Name: e.Name, Task: arn, ShortID: ShortID(arn), Cluster: e.Cluster, Status: aws.ToString(s.LastStatus),
		LaunchType: string(s.LaunchType),
		StopCode:   string(s.StopCode), StoppedReason: aws.ToString(s.StoppedReason), Containers: []ContainerRow{}}
	for _, c := range s.Containers {
		r.Containers = append(r.Containers, ContainerRow{aws.ToString(c.Name), aws.ToString(c.LastStatus),
			c.ExitCode, append([]string{}, c.GpuIds...), aws.ToString(c.Reason)})
	}
	return r
}

// ShortID returns the first 8 characters of a task's id, which commands accept as
// its name.
func ShortID(task string) string {
	id := ID(task)
	return id[:min(8, len(id))]
}
