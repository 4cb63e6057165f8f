package document

import (
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// containerMembers are the members that a job and ContainerProperties have under the same name
// and in the same form.
var containerMembers = [...]string{
	"jobRoleArn", "executionRoleArn", "user", "privileged", "readonlyRootFilesystem",
	"volumes", "mountPoints", "ulimits", "linuxParameters", "logConfiguration",
	"networkConfiguration", "fargatePlatformConfiguration", "ephemeralStorage",
	"runtimePlatform", "repositoryCredentials", "enableExecuteCommand",
}

// means is the way in which a job states what runs.
type means uint8

const (
	// Each layer of defaults may use another one of these ways.
	byNothing  means = iota
	byImage          // a container of its own: image, or jobDefinition.containerProperties
	byName           // definition, which is registered
	byFragment       // jobDefinition with ecsProperties, eksProperties or nodeProperties
)

// meansOf returns the way that one layer uses; byNothing if it does not state what runs.
func meansOf(layer *jsontree.Node) means {
	fragment := layer.Get("jobDefinition")
	switch {
	case layer.Get("definition") != nil:
		return byName
	case fragmentName(fragment) != "":
		return byFragment
	case layer.Get("image") != nil, fragment.Get("containerProperties").Get("image") != nil:
		return byImage
	}
	return byNothing
}

// fragmentName returns the member of a job definition that describes several containers, a
// pod or nodes; "" for a single container.
func fragmentName(jobDefinition *jsontree.Node) string {
	for _, name := range [...]string{"ecsProperties", "eksProperties", "nodeProperties"} {
		if jobDefinition.Get(name) != nil {
			return name
		}
	}
	return ""
}

// foreign returns the members that have no effect in a job that uses this way.
func (m means) foreign() []string {
	switch m {
	case byName:
		return append([]string{"image", "secrets", "platformCapabilities", "jobDefinition"}, containerMembers[:]...)
	case byFragment:
		return append([]string{"image", "definition", "command", "environment", "secrets", "resources", "inputs",
			"outputs", "checkpoint", "metrics", "onFailure"}, containerMembers[:]...)
	case byImage:
		return []string{"definition"} // of the defaults
	}
	return nil
}
