package lint

import (
	"cmp"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// environment is a compute environment that a request creates.
type environment struct{ Site }

// resourceType returns the type of the environment's resources, such as FARGATE.
func (e environment) resourceType() string {
	return cmp.Or(e.Node.Get("computeResources").Get("type").Str(), "EC2")
}

// orchestration returns where the environment runs its containers: "EKS" or "ECS".
func (e environment) orchestration() string {
	if e.Node.Get("eksConfiguration") != nil {
		return "EKS"
	}
	return "ECS"
}

// isInvalid reports whether the environment will become INVALID for a
// reason that is in its file.
func (e environment) isInvalid() bool {
	// These images and families exclude each other (user guide, compute resource AMIs).
	c := e.Node.Get(resourcesOf)
	for _, cfg := range each(c, "ec2Configuration") {
		t := cfg.Get("imageType").Str()
		for _, entry := range entriesOf(c.Get("instanceTypes")) {
			family := familyOf(entry)
			if strings.Contains(t, "AL2023") && family == "a1" || strings.HasSuffix(t, "AL2023_NVIDIA") &&
				(family == "p3" || family == "g3") {
				return true
			}
		}
	}
	return false
}

// definitions returns the definitions that may run on the environment.
func (e environment) definitions() []Site {
	if len(queues(e.pass)) == 0 { // all that no file submits
		return unsubmittedIn.of(e.pass)[e.directory()]
	}
	return definitionsByEnvironment.of(e.pass)[e.Node]
}

// multinode yields the multinode definitions that run on the environment.
func (e environment) multinode() func(yield func(Site) bool) {
	return func(yield func(Site) bool) {
		for _, d := range e.definitions() {
			if (d.Register.Get("nodeProperties") != nil || d.Register.Get("type").Str() == "multinode") && !yield(d) {
				return
			}
		}
	}
}

// definitionsByEnvironment inverts Job.environments if the files create queues: it holds the definitions that may
// run on an environment.
var definitionsByEnvironment = newFact(func(p *Pass, _ map[*jsontree.Node][]Site) map[*jsontree.Node][]Site {
	by := map[*jsontree.Node][]Site{}
	for _, d := range definitions(p) {
		for e := range d.environments() {
			on := by[e.Node]
			if len(on) == 0 || on[len(on)-1].Node != d.Node {
				by[e.Node] = append(on, d)
			}
		}
	}
	return by
})

// environmentsOfNodes returns the environments on which multinode jobs may run.
var environmentsOfNodes = where(environments, func(s Site) bool {
	for range (environment{s}).multinode() {
		return true
	}
	return false
})
