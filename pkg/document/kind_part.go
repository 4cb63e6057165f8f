package document

import (
	"slices"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// requestPart is a member of a request whose content can be a file of its own: the AWS CLI reads it with
// --container-properties file://container.json, and Terraform with file("container.json").
type requestPart struct {
	kind   Kind
	member string
	// typeAround is the type of the job definition or compute environment.
	typeAround string
	// marks distinguish the content from a job file and from documents of other tools. Each is enough.
	marks []string
	// needs is a member that it has too; "" if the mark is enough.
	needs string
}

var requestParts = []requestPart{
	{KindJobDefinition, "containerProperties", "container", []string{"resourceRequirements", "vcpus", "jobRoleArn",
		"executionRoleArn", "linuxParameters", "logConfiguration",
		"mountPoints", "fargatePlatformConfiguration", "readonlyRootFilesystem"}, "image"},
	{KindJobDefinition, "ecsProperties", "container", []string{"taskProperties"}, ""},
	{KindJobDefinition, "eksProperties", "container", []string{"podProperties"}, ""},
	{KindJobDefinition, "nodeProperties", "multinode", []string{"nodeRangeProperties"}, "numNodes"},
	{KindComputeEnvironment, "computeResources", "MANAGED", []string{"maxvCpus"}, "subnets"},
}

// partOf returns the part of a request that the object is; ok is false for anything else. It has no member of a job or
// a request besides, which would be the author's document.
func partOf(root *jsontree.Node) (p requestPart, ok bool) {
	if !root.Is(jsontree.Object) || root.Len() > mostMembers || kindOfSchema(root.Get("$schema").Str()) != "" {
		return requestPart{}, false
	}
	for m := range root.Children() {
		if p, ok = partMarks()[plain(m.Name)]; ok {
			break
		}
	}
	if !ok {
		return requestPart{}, false
	}
	inside := membersOf[p.kind]()[plain(p.member)].memberNames()
	complete, strangers := p.needs == "", 0
	for m := range root.Children() {
		name := plain(m.Name)
		complete = complete || name == plain(p.needs)
		switch {
		case strings.HasPrefix(m.Name, "$") || inside[name]:
		case isMember()[name]:
			return requestPart{}, false
		default:
			strangers++
		}
	}
	return p, complete && 2*strangers < root.Len()
}

// partMarks returns the parts by their marks, as plain returns them.
var partMarks = sync.OnceValue(func() map[string]requestPart {
	all := map[string]requestPart{}
	for _, p := range requestParts {
		for _, m := range p.marks {
			all[plain(m)] = p
		}
	}
	return all
})

// overridesOf names the member of a submission whose content the object is, such as containerOverrides, which the AWS
// CLI reads with --container-overrides file://overrides.json; "" for anything else. Containers of a definition have
// images, and those that a submission overrides do not.
func overridesOf(root *jsontree.Node) string {
	member := ""
	switch {
	case isNamedList(root.Get("environment")), root.Get("resourceRequirements").Index(0) != nil:
		member = "containerOverrides"
	case root.Get("nodePropertyOverrides").Is(jsontree.Array):
		member = "nodeOverrides"
	case root.Get("taskProperties").Index(0).Get("containers").Len() > 0 && !hasImage(root, 0):
		member = "ecsPropertiesOverride"
	case root.Get("podProperties").Get("containers").Len() > 0 && !hasImage(root, 0):
		member = "eksPropertiesOverride"
	default:
		return ""
	}
	inside := membersOf[KindSubmitJob]()[plain(member)].memberNames()
	for m := range root.Children() {
		if !inside[plain(m.Name)] {
			return ""
		}
	}
	return member
}

// requestLists are lists of a request that the AWS CLI reads from a file of their own, such as with
// --compute-environment-order file://order.json, by the members of their entries.
var requestLists = [...]struct {
	what           string
	member, beside string
}{
	{"computeEnvironmentOrder of a job queue", "computeEnvironment", "order"},
	{"serviceEnvironmentOrder of a job queue", "serviceEnvironment", "order"},
	{"jobStateTimeLimitActions of a job queue", "maxTimeSeconds", "reason"},
}

// listOf names the list of a request that the array is; "" for anything else.
func listOf(root *jsontree.Node) string {
	for _, l := range requestLists {
		if first := root.Index(0); first.Get(l.member) != nil && first.Get(l.beside) != nil {
			return l.what
		}
	}
	return ""
}

// isNamedList reports whether a list has entries with a name and a value, as AWS writes variables.
func isNamedList(n *jsontree.Node) bool {
	return n.Index(0).Get("name") != nil && n.Index(0).Get("value") != nil
}

// deepestContainer bounds the levels between such an object and an image of a container.
const deepestContainer = 6

// hasImage reports whether a container below the node has an image, even a misspelt one.
func hasImage(n *jsontree.Node, depth int) bool {
	for child := range n.Children() {
		if n.Is(jsontree.Object) && diag.Near(child.Name, slices.Values([]string{"image"})) != "" {
			return true
		}
		if depth < deepestContainer && hasImage(child, depth+1) {
			return true
		}
	}
	return false
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

// around returns a request with the content. What the file does not say is chosen such that no rule misses it: the
// platform is the one that the content is for, and the name is the member's.
func (p requestPart) around(root *jsontree.Node) *jsontree.Node {
	request := jsontree.NewObject(root)
	request.Set(p.kind.NameMember(), jsontree.NewString(p.member, root))
	request.Set("type", jsontree.NewString(p.typeAround, root))
	if p.kind == KindJobDefinition {
		if p.forFargate(root) {
			capabilities := jsontree.NewArray(root)
			capabilities.Append(jsontree.NewString("FARGATE", root))
			request.Set("platformCapabilities", capabilities)
		}
		timeout := jsontree.NewObject(root)
		timeout.Set("attemptDurationSeconds", jsontree.NewInt(3600, root))
		request.Set("timeout", timeout)
	}
	request.Set(p.member, root.Clone())
	return request
}

// forFargate reports whether the content has a member that only jobs on Fargate may have, or a part of a vCPU with the
// role that Fargate needs.
func (p requestPart) forFargate(root *jsontree.Node) bool {
	if p.member == "ecsProperties" {
		root = root.Get("taskProperties").Index(0)
	}
	for _, m := range []string{"fargatePlatformConfiguration", "networkConfiguration", "ephemeralStorage",
		"runtimePlatform", "platformVersion"} {
		if root.Get(m) != nil {
			return true
		}
	}
	for r := range root.Get("resourceRequirements").Children() {
		if v := r.Get("value").Str(); r.Get("type").Str() == "VCPU" && (v == "0.25" || v == "0.5") &&
			root.Get("executionRoleArn") != nil {
			return true
		}
	}
	return false
}

// loadPart is load for the content of one member of a request.
func (f *File) loadPart(p requestPart, o Options) diag.List {
	f.Part = p.member
	// The request around the part has them.
	f.Unreadable = append(f.Unreadable, UnknownMember{Name: "parameters"}, UnknownMember{Name: "tags"})
	request := p.around(f.Root)
	c := check(request, f.Kind)
	f.Unreadable = append(f.Unreadable, c.unknown...)
	if !c.overflow {
		f.take(request, c.clean(request), o)
	}
	return c.diags
}
