package model

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Part is one container of a job with ecsProperties, of a pod, or of a node of a multi-node job.
type Part struct {
	Node int // index of its node; 0 if the job has no nodes
	// Task is the task that the container belongs to; nil for a container of a pod, and for a node with
	// only a container, which is named by the node's index.
	Task      *types.EcsTaskProperties
	Pod       *PodPart                      // nil for a container that is not in a pod
	Declared  types.TaskContainerProperties // with the overrides of the job
	Container *types.ContainerProperties    // the same, as an executor takes it
	After     []Dependency                  // what it waits for
}

// Dependency is a condition on another part of the job. It has an index and no name: containers of two
// nodes can have the same name.
type Dependency struct {
	Part      int
	Condition string
}

// PodPart is what a container of a pod has beyond other containers.
type PodPart struct {
	// Init means that it runs before the containers, until it ends.
	Init bool
	// Entrypoint is the command of the EksContainer, which replaces the image's ENTRYPOINT. Its args are
	// the Command of the Part.
	Entrypoint []string
	// NoNewPrivileges is allowPrivilegeEscalation false.
	NoNewPrivileges bool
	EmptyDirs       []EmptyDir
}

// EmptyDir is a mount of an emptyDir volume. The volume belongs to the pod.
type EmptyDir struct {
	Volume   string
	Path     string
	ReadOnly bool
	// InMemory is medium Memory, SizeMiB its sizeLimit; 0 for none.
	InMemory bool
	SizeMiB  int64
}

// Conditions of a dependency between containers.
const (
	OnStart    = "START"
	OnComplete = "COMPLETE"
	OnSuccess  = "SUCCESS"
)

// Commands returns the texts that may have parameters: the command, and for a pod also its entrypoint.
func (p *Part) Commands() [][]string {
	if p.Pod == nil {
		return [][]string{p.Container.Command}
	}
	return [][]string{p.Pod.Entrypoint, p.Container.Command}
}

// Name returns the container's name, or the index of a node with only a container.
func (p *Part) Name() string { return aws.ToString(p.Declared.Name) }

// Essential reports whether its task ends with the container. That is the default.
func (p *Part) Essential() bool { return p.Declared.Essential == nil || *p.Declared.Essential }

// FindPart returns the index of the container with a name; -1 if it does not exist.
func FindPart(all []Part, name string) int {
	return slices.IndexFunc(all, func(p Part) bool { return p.Name() == name })
}

// leading returns the index of the first essential container of a node, which represents the job where a
// single container is needed.
func leading(all []Part, node int) int {
	return slices.IndexFunc(all, func(p Part) bool { return p.Node == node && p.Essential() })
}

// Tasks returns the tasks of parts, each once.
func Tasks(all []Part) (tasks []*types.EcsTaskProperties) {
	for i := range all {
		if task := all[i].Task; task != nil && !slices.Contains(tasks, task) {
			tasks = append(tasks, task)
		}
	}
	return tasks
}
