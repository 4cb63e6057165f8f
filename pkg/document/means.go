package document

import (
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// means is the way in which a job states what runs. A member can have a set of them.
type means uint8

const (
	// Each layer of defaults may use another one of these ways.
	byNothing means = 0
	// byImage is a container of its own: image, or jobDefinition.containerProperties.
	byImage means = 1 << iota
	// byName is definition, which is registered.
	byName
	// byFragment is jobDefinition with ecsProperties, eksProperties or nodeProperties.
	byFragment
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
