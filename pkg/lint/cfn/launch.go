package cfn

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/userdata"
)

// Launch describes how an instance starts: the data of a launch template, an instance
// of a template, or only a script, which has no data.
type Launch struct {
	File *document.File
	Data *jsontree.Node
	// IsTemplate reports whether Data is the data of a launch template.
	IsTemplate bool
	Host       userdata.Host
	// Texts are the scripts, and Found the problems of each.
	Texts []*userdata.Text
	Found [][]userdata.Finding
}

// Launches returns the launches in the files. The function reports whether every instance type of an entry of
// instanceTypes has NVIDIA GPUs.
func Launches(files []*document.File, hasGPU func(entry string) bool) []Launch {
	l := launches{hasGPU: hasGPU}
	for _, f := range files {
		switch f.Kind {
		case document.KindUserData:
			l.add(Launch{File: f, Host: userdata.Host{Unknown: true}, Texts: []*userdata.Text{userdata.FromSource(f.Source)}})
		case document.KindLaunchTemplate:
			data := f.Root
			if inner := data.Get("LaunchTemplateData"); inner != nil {
				data = inner
			}
			l.add(Launch{File: f, Data: data, IsTemplate: true, Host: userdata.Host{Template: true}})
		case document.KindTemplate:
			l.addResources(f)
		}
	}
	return l.all
}

// launches collects the launches of the files.
type launches struct {
	all    []Launch
	hasGPU func(entry string) bool
}

// add completes a launch with its scripts and their problems. Its type and its image may show
// that a host has GPUs, in addition to what the caller knows.
func (l *launches) add(one Launch) {
	kind := one.Data.Get("InstanceType").Str()
	one.Host.GPU = one.Host.GPU || l.hasGPU(kind) || isGPUImage(one.Data.Get("ImageId"))
	if one.Data != nil {
		one.Texts = userdata.FromNode(one.Data.Get("UserData"), one.File.Root)
	}
	for _, t := range one.Texts {
		one.Found = append(one.Found, userdata.Check(t, one.Host))
	}
	l.all = append(l.all, one)
}

// isGPUImage recognises images with NVIDIA's driver by the parameter that names them.
func isGPUImage(n *jsontree.Node) bool {
	return strings.Contains(n.Str(), "/gpu/") && strings.Contains(n.Str(), "optimized-ami")
}

// addResources adds the launches of the resources of a template.
func (l *launches) addResources(f *document.File) {
	for r := range f.Root.Get("Resources").Children() {
		switch r.Get("Type").Str() {
		case "AWS::EC2::LaunchTemplate":
			l.add(Launch{File: f, Data: r.Get("Properties").Get("LaunchTemplateData"), IsTemplate: true, Host: l.hostOf(f, r)})
		case "AWS::EC2::Instance", "AWS::AutoScaling::LaunchConfiguration":
			l.add(Launch{File: f, Data: r.Get("Properties"), Host: userdata.Host{Other: true}})
		}
	}
}

// Resources calls visit for the resources of a type in the templates, with the template.
func Resources(files []*document.File, kind string, visit func(f *document.File, r *jsontree.Node)) {
	for _, f := range files {
		if f.Kind != document.KindTemplate {
			continue
		}
		for r := range f.Root.Get("Resources").Children() {
			if r.Get("Type").Str() == kind {
				visit(f, r)
			}
		}
	}
}

// hostOf describes the instances of a launch template from the compute environments that
// use it in its template. If nothing there uses it, its use is unknown.
func (l *launches) hostOf(f *document.File, r *jsontree.Node) (h userdata.Host) {
	others := false
	for other := range f.Root.Get("Resources").Children() {
		kind := other.Get("Type").Str()
		others = others || strings.HasPrefix(kind, "AWS::ECS::") || strings.HasPrefix(kind, "AWS::AutoScaling::") || kind == "AWS::EC2::Instance"
		if kind != "AWS::Batch::ComputeEnvironment" || !Uses(other.Get("Properties").Get("ComputeResources").Get("LaunchTemplate"), r) {
			continue
		}
		if strings.EqualFold(other.Get("Properties").Get("Type").Str(), "UNMANAGED") {
			others = true
			continue
		}
		h.Batch = true
		h.GPU = h.GPU || HasGPUs(f, other.Get("Properties").Get("ComputeResources").Get("InstanceTypes"), l.hasGPU)
	}
	h.Template, h.Other = !h.Batch && !others, !h.Batch && others
	return h
}

// Uses reports whether a compute environment's launchTemplate is the resource.
func Uses(specification, r *jsontree.Node) bool {
	if specification == nil {
		return false
	}
	name := r.Get("Properties").Get("LaunchTemplateName").Str()
	if namesResource(specification.Get("LaunchTemplateId"), r.Name) || namesResource(specification.Get("LaunchTemplateName"), r.Name) ||
		name != "" && specification.Get("LaunchTemplateName").Str() == name {
		return true
	}
	for o := range specification.Get("Overrides").Children() {
		if Uses(o, r) {
			return true
		}
	}
	return false
}

// namesResource reports whether a value is a Ref to a resource or an attribute of it.
func namesResource(n *jsontree.Node, resource string) bool {
	attribute := n.Get("Fn::GetAtt")
	return n.Get("Ref").Str() == resource || attribute.Index(0).Str() == resource || strings.HasPrefix(attribute.Str(), resource+".") ||
		strings.Contains(n.Get("Fn::Sub").Str(), "${"+resource+"}")
}

// HasGPUs reports whether a list of instance types of a template has entries, and the function is true of each.
func HasGPUs(f *document.File, list *jsontree.Node, hasGPU func(entry string) bool) bool {
	entries := instanceTypes(f, list)
	return len(entries) > 0 && !slices.ContainsFunc(entries, func(entry string) bool { return !hasGPU(entry) })
}

// instanceTypes returns the entries of a list; for a parameter, those of its default.
func instanceTypes(f *document.File, list *jsontree.Node) (out []string) {
	if name := list.Get("Ref").Str(); name != "" {
		return byComma(f, name)
	}
	for n := range list.Children() {
		if name := n.Get("Ref").Str(); name != "" {
			out = append(out, byComma(f, name)...)
		} else if n.Str() != "" {
			out = append(out, n.Str())
		}
	}
	return out
}

// byComma returns the entries of a parameter's default, a list with commas.
func byComma(f *document.File, parameter string) (out []string) {
	for entry := range strings.SplitSeq(f.Root.Get("Parameters").Get(parameter).Get("Default").Str(), ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			out = append(out, entry)
		}
	}
	return out
}
