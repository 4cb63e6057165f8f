package document

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// definitionPart is a member of a job definition whose content can be a file of its own: the AWS CLI reads it with
// --container-properties file://container.json, and Terraform with file("container.json").
type definitionPart struct {
	member, jobType string
	// marks distinguish the content from a job file and from documents of other tools. Each is enough.
	marks []string
	// needs is a member that it has too; "" if the mark is enough.
	needs string
}

var definitionParts = []definitionPart{
	{"containerProperties", "container", []string{"resourceRequirements", "vcpus", "jobRoleArn", "executionRoleArn", "linuxParameters", "logConfiguration",
		"mountPoints", "fargatePlatformConfiguration", "readonlyRootFilesystem"}, "image"},
	{"ecsProperties", "container", []string{"taskProperties"}, ""},
	{"eksProperties", "container", []string{"podProperties"}, ""},
	{"nodeProperties", "multinode", []string{"nodeRangeProperties"}, "numNodes"},
}

// partOf returns the part of a job definition that the object is; ok is false for anything else. It has no member of
// a job or a definition besides, which would be the author's document.
func partOf(root *jsontree.Node) (p definitionPart, ok bool) {
	if !root.Is(jsontree.Object) || root.Len() > mostMembers || kindOfSchema(root.Get("$schema").Str()) != "" {
		return definitionPart{}, false
	}
	i := slices.IndexFunc(definitionParts, func(p definitionPart) bool {
		return (p.needs == "" || root.Get(p.needs) != nil) && slices.ContainsFunc(p.marks, func(m string) bool { return root.Get(m) != nil })
	})
	if i < 0 {
		return definitionPart{}, false
	}
	inside := membersOf[KindJobDefinition]()[definitionParts[i].member].memberNames()
	strangers := 0
	for m := range root.Children() {
		switch name := plain(m.Name); {
		case strings.HasPrefix(m.Name, "$") || inside[name]:
		case isMember()[m.Name] || isMember()[name]:
			return definitionPart{}, false
		default:
			strangers++
		}
	}
	return definitionParts[i], 2*strangers < root.Len()
}

// isOverrides reports whether the object is the content of containerOverrides, which the AWS CLI reads with
// --container-overrides file://overrides.json.
func isOverrides(root *jsontree.Node) bool {
	if root.Get("resourceRequirements").Index(0) == nil {
		return false
	}
	inside := membersOf[KindSubmitJob]()["containerOverrides"].memberNames()
	for m := range root.Children() {
		if !inside[plain(m.Name)] {
			return false
		}
	}
	return true
}

// memberNames returns the plain names of the members of a shape.
func (s *shape) memberNames() map[string]bool {
	all := map[string]bool{}
	s.each(func(s *shape) {
		for name := range s.members {
			all[plain(name)] = true
		}
	})
	return all
}

// around returns a job definition with the content. What the file does not say is chosen such that no rule misses it:
// the platform is the one that the content is for, and the name is the member's.
func (p definitionPart) around(root *jsontree.Node) *jsontree.Node {
	definition := jsontree.NewObject(root)
	definition.Set("jobDefinitionName", jsontree.NewString(p.member, root))
	definition.Set("type", jsontree.NewString(p.jobType, root))
	if p.forFargate(root) {
		capabilities := jsontree.NewArray(root)
		capabilities.Append(jsontree.NewString("FARGATE", root))
		definition.Set("platformCapabilities", capabilities)
	}
	timeout := jsontree.NewObject(root)
	timeout.Set("attemptDurationSeconds", jsontree.NewInt(3600, root))
	definition.Set("timeout", timeout)
	definition.Set(p.member, root.Clone())
	return definition
}

// forFargate reports whether the content has a member that only jobs on Fargate may have, or a vCPU that only Fargate
// divides.
func (p definitionPart) forFargate(root *jsontree.Node) bool {
	if p.member == "ecsProperties" {
		root = root.Get("taskProperties").Index(0)
	}
	for _, m := range []string{"fargatePlatformConfiguration", "networkConfiguration", "ephemeralStorage", "runtimePlatform"} {
		if root.Get(m) != nil {
			return true
		}
	}
	for r := range root.Get("resourceRequirements").Children() {
		if v := r.Get("value").Str(); r.Get("type").Str() == "VCPU" && (v == "0.25" || v == "0.5") {
			return true
		}
	}
	return false
}

// loadPart is load for the content of one member of a job definition.
func (f *File) loadPart(p definitionPart, o Options) diag.List {
	f.Part = p.member
	definition := p.around(f.Root)
	c := check(definition, f.Kind)
	f.Unreadable = append(f.Unreadable, c.unknown...)
	if !c.overflow {
		f.take(definition, c.clean(definition), o)
	}
	return c.diags
}
