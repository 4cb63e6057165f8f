package lint

import (
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// definition is a RegisterJobDefinition request. Its Node is nil if the files do not have it.
type definition struct{ *jsontree.Node }

// ownDefinition returns the definition in the job's own file.
func (j Job) ownDefinition() definition { return definition{j.Register} }

// onEC2 reports whether the definition is for EC2, which is the default of AWS
// Batch.
func (d definition) onEC2() bool {
	if d.Node == nil || d.Get("eksProperties") != nil {
		return false
	}
	list := d.Get("platformCapabilities")
	for c := range list.Children() {
		if c.Str() == "EC2" {
			return true
		}
	}
	return list.Len() == 0
}

// onManagedInstances reports whether the definition is for ECS Managed Instances only, whose
// tasks have sizes of their own.
func (d definition) onManagedInstances() bool {
	list := d.Get("platformCapabilities")
	for c := range list.Children() {
		if c.Str() != "MANAGED_INSTANCES" {
			return false
		}
	}
	return list.Len() > 0
}

// onEKS reports whether the definition is for EKS, on one node or several.
func (d definition) onEKS() bool {
	if d.Get("eksProperties") != nil {
		return true
	}
	for g := range d.Get("nodeProperties").Get("nodeRangeProperties").Children() {
		if g.Get("eksProperties") != nil {
			return true
		}
	}
	return false
}

// pods yields the podProperties of an EKS job definition.
func (d definition) pods(yield func(*jsontree.Node) bool) {
	if pod := d.Get("eksProperties").Get("podProperties"); pod != nil && !yield(pod) {
		return
	}
	for group := range d.Get("nodeProperties").Get("nodeRangeProperties").Children() {
		if pod := group.Get("eksProperties").Get("podProperties"); pod != nil && !yield(pod) {
			return
		}
	}
}

// podContainers yields the containers and init containers of an EKS definition.
func (d definition) podContainers(yield func(*jsontree.Node) bool) {
	for pod := range d.pods {
		for _, member := range []string{"initContainers", "containers"} {
			for c := range pod.Get(member).Children() {
				if c.Is(jsontree.Object) && !yield(c) {
					return
				}
			}
		}
	}
}
