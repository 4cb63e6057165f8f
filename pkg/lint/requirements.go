package lint

import (
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/text"
)

// requirement is a value in resourceRequirements.
type requirement struct {
	Job   Job
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
		span, ok := jsontree.Removal(n)
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

// vcpusOnEC2 yields the vCPUs of the containers on EC2, and of the overrides in submissions of those that are a whole
// job, if the definition is known. A definition that only lacks platformCapabilities for Fargate is left out.
func (p *Pass) vcpusOnEC2() func(yield func(Site, *jsontree.Node) bool) {
	return func(yield func(Site, *jsontree.Node) bool) {
		for _, s := range containers(p) {
			if n := requirementOf(s.Node, "VCPU"); n != nil && !s.Fargate && !s.ownDefinition().
				onManagedInstances() && s.meantForFargate() == "" && !yield(s, n) {
				return
			}
		}
		for _, s := range overrides(p) {
			if n := requirementOf(s.Node, "VCPU"); n != nil && !s.Fargate && !s.ownDefinition().
				onManagedInstances() && s.Node.Name == "containerOverrides" && s.Known() != nil && !yield(s, n) {
				return
			}
		}
	}
}

// amount is a resource that every container requests, with the request that hints propose.
type amount struct{ kind, what, short, compact, native string }

var amounts = [...]amount{{"VCPU", "vCPUs", "vcpus", "1", "1"}, {"MEMORY", "memory", "memory", `"2 GiB"`, "2048"}}

// lacking reports a container that does not request the first of the amounts, if its submission does not either, and
// with it those after it. A container that requests none of several is one problem, because one edit solves it.
// Containers on EKS have their own rules. A value that cannot be read is not missing.
func lacking(p *Pass, wanted []amount) {
	for _, c := range p.Containers() {
		if !c.lacksAmount(wanted[0]) || len(wanted) == 1 && c.lacksAmount(amounts[0]) {
			continue
		}
		what, compact, native := wanted[0].what, "", ""
		for i, a := range wanted {
			if i > 0 {
				if !c.lacksAmount(a) {
					continue
				}
				what, compact, native = what+" or "+a.what, compact+", ", native+", "
			}
			compact += fmt.Sprintf("%q: %s", a.short, a.compact)
			native += fmt.Sprintf(`{ "type": %q, "value": %q }`, a.kind, a.native)
		}
		hint, fix := c.addRequests(compact, native)
		c.ReportFix(fix, "the container does not request "+what, hint, c.Node.Get("resourceRequirements"))
	}
}

// reportRequests reports a container in a task or a node range that does not request vCPUs, memory or both.
func (s Site) reportRequests(what string) {
	var lacks, entries []string
	for _, a := range amounts {
		if requirementOf(s.Node, a.kind) == nil && !s.hasUnreadRequest(a.kind) {
			lacks, entries = append(lacks, a.kind),
				append(entries, fmt.Sprintf(`{ "type": %q, "value": "..." }`, a.kind))
		}
	}
	if len(lacks) == 0 {
		return
	}
	hint := `add ` + strings.Join(entries, ", ") + ` to resourceRequirements`
	if s.Node.Get("resourceRequirements") == nil {
		hint = `add "resourceRequirements": [` + strings.Join(entries, ", ") + "]"
	}
	s.Report(what+" does not request "+text.Or(lacks), hint, s.Node.Get("resourceRequirements"))
}

// lacksAmount reports whether neither the container nor its submission requests the resource.
func (s Site) lacksAmount(a amount) bool {
	return s.Single && plan.Requirement(s.Node, s.Submit.Get("containerOverrides"), a.kind) == nil &&
		s.Job.Node.Get("resources").Get(a.short) == nil && !s.hasUnreadRequest(a.kind) &&
		!(s.compact() && s.requestsElsewhere(a.short))
}

// addRequests returns the hint and the fix that add requests, in the form of the file.
func (s Site) addRequests(compact, native string) (hint string, fix *diag.Fix) {
	if !s.compact() {
		list := s.Node.Get("resourceRequirements")
		if list == nil {
			text := `"resourceRequirements": [` + native + `]`
			return "add " + text, s.insert(s.Node, text)
		}
		return "add " + native + " to resourceRequirements", s.insert(list, native)
	}
	job := s.raw(s.Job.Node)
	if resources := job.Get("resources"); resources.Is(jsontree.Object) {
		return "add " + compact + ` to "resources"`, insertion(resources, compact)
	}
	text := `"resources": { ` + compact + " }"
	return "add " + text, insertion(job, text)
}

// hasUnreadRequest reports whether another rule reports the container's request for the
// resource: the value is missing, its type is unknown or is not that of the API.
func (s Site) hasUnreadRequest(kind string) bool {
	list := s.Node.Get("resourceRequirements")
	if list == nil && !s.lacks(s.Node, "resourceRequirements") || list != nil && s.raw(list).
		Len() > list.Len() || !s.lacks(s.Node, legacyOf(kind)) {
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
	return job.Get(short) != nil || document.Meant(job, short) || document.Meant(job.Get("resources"), short) ||
		document.Meant(job, "resources")
}

// requirementOf returns a container's request for one resource type.
func requirementOf(container *jsontree.Node, kind string) *jsontree.Node {
	return plan.Requirement(container, nil, kind)
}
