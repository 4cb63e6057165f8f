package lint

import (
	"fmt"
	"iter"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
)

// requirement is a value in resourceRequirements.
type requirement struct {
	Job
	value *jsontree.Node
}

// requirements holds the values in resourceRequirements of the definitions and of the
// overrides of submissions, by resource type.
type requirements struct{ vcpus, memory, gpus []requirement }

// required holds the requirements of all requests.
var required = newFact(func(p *Pass, all *requirements) *requirements {
	if all == nil {
		all = &requirements{}
	}
	*all = requirements{all.vcpus[:0], all.memory[:0], all.gpus[:0]}
	for _, s := range allSites.of(p).requirers {
		for r := range s.Node.Get("resourceRequirements").Children() {
			one := requirement{s.Job, r.Get("value")}
			switch kind := r.Get("type").Str(); {
			case one.value == nil:
			case kind == "VCPU":
				all.vcpus = append(all.vcpus, one)
			case kind == "MEMORY":
				all.memory = append(all.memory, one)
			case kind == "GPU":
				all.gpus = append(all.gpus, one)
			}
		}
	}
	return all
})

// requires reports whether a container lists a requirement of that type, with or without a
// value.
func requires(container *jsontree.Node, kind string) bool {
	return container.Get("resourceRequirements").With("type", kind) != nil
}

// modernize replaces the deprecated members by entries of resourceRequirements.
func (s Site) modernize(old []*jsontree.Node, entries string) *diag.Fix {
	if s.Node.Get("resourceRequirements") == nil && !s.lacks(s.Node, "resourceRequirements") {
		return nil // it exists, but has the wrong type
	}
	f := &diag.Fix{Message: "write resourceRequirements"}
	for i, n := range old {
		span, ok := removal(n)
		if !ok || s.compact() && n.Source == nil {
			return nil
		}
		if _, whole := n.Int(); !whole {
			return nil
		}
		text := ""
		if i == 0 && s.Node.Get("resourceRequirements") == nil {
			span, text = diag.Span{Start: n.Key.Start, End: n.Span.End}, `"resourceRequirements": [`+entries+`]`
		}
		f.Edits = append(f.Edits, diag.Edit{Span: span, Text: text})
	}
	if list := s.Node.Get("resourceRequirements"); list != nil {
		added := s.insert(list, entries)
		if added == nil {
			return nil
		}
		f.Edits = append(f.Edits, added.Edits...)
	}
	return disjoint(f)
}

// vcpusOnEC2 yields the vCPUs of the containers that are a whole job or node on EC2,
// and of their overrides in submissions if the definition is known. A definition that only lacks platformCapabilities
// for Fargate is left out.
func (p *Pass) vcpusOnEC2() iter.Seq2[Site, *jsontree.Node] {
	return func(yield func(Site, *jsontree.Node) bool) {
		for _, s := range wholes(p) {
			if n := requirementOf(s.Node, "VCPU"); n != nil && !s.Fargate && !s.ownDefinition().onManagedInstances() && s.meantForFargate() == "" && !yield(s, n) {
				return
			}
		}
		for _, s := range overrides(p) {
			if n := requirementOf(s.Node, "VCPU"); n != nil && !s.Fargate && !s.ownDefinition().onManagedInstances() && s.Node.Name == "containerOverrides" && s.Known() != nil && !yield(s, n) {
				return
			}
		}
	}
}

// lacking reports a container that requests none of a resource, if its submission does
// not either. Containers on EKS have their own rules. A value that cannot be read is
// not missing.
func lacking(p *Pass, kind, what, short, value string) {
	for _, c := range p.Containers() {
		list := c.Node.Get("resourceRequirements")
		if !c.Single || plan.Requirement(c.Node, c.Submit.Get("containerOverrides"), kind) != nil ||
			c.Job.Node.Get("resources").Get(short) != nil || c.hasUnreadRequest(kind) || c.compact() && c.requestsElsewhere(short) {
			continue
		}
		hint := fmt.Sprintf(`add "resources": { %q: %s }`, short, value)
		if !c.compact() {
			hint = fmt.Sprintf(`add { "type": %q, "value": %q } to resourceRequirements`, kind, value)
		}
		c.Report("the container does not request "+what, hint, list)
	}
}

// hasUnreadRequest reports whether another rule reports the container's request for the
// resource: the value is missing, its type is unknown or is not that of the API.
func (s Site) hasUnreadRequest(kind string) bool {
	list := s.Node.Get("resourceRequirements")
	if list == nil && !s.lacks(s.Node, "resourceRequirements") || list != nil && s.raw(list).Len() > list.Len() || !s.lacks(s.Node, legacyOf(kind)) {
		return true
	}
	for r := range list.Children() {
		switch t := r.Get("type").Str(); {
		case t == kind && r.Get("value") == nil, t != "VCPU" && t != "MEMORY" && t != "GPU":
			return true
		}
	}
	return false
}

// requestsElsewhere reports whether a compact job requests a resource by another name or
// outside of its resources, which another rule reports.
func (s Site) requestsElsewhere(short string) bool {
	job := s.Job.Node
	return job.Get(short) != nil || document.Meant(job, short) || document.Meant(job.Get("resources"), short) || document.Meant(job, "resources")
}

// requirementOf returns a container's request for one resource type.
func requirementOf(container *jsontree.Node, kind string) *jsontree.Node {
	return plan.Requirement(container, nil, kind)
}
