package cfn

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/intrinsic"
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
	// ECSImage reports whether the instances start from an ECS-optimised image of Amazon Linux. It is false for an
	// unknown image.
	ECSImage bool
	// Texts are the scripts, and Found the problems of each.
	Texts []*userdata.Text
	Found [][]userdata.Finding
}

// Launches returns the launches in the files that run containers, and those of files that --kind names. The
// function reports whether every instance type of an entry of instanceTypes has NVIDIA GPUs.
func Launches(files []*document.File, hasGPU func(entry string) bool) []Launch {
	l := launches{files: files, hasGPU: hasGPU}
	for _, f := range files {
		switch f.Kind {
		case document.KindUserData:
			if !forHost(f) {
				continue
			}
			l.add(Launch{File: f, Host: userdata.Host{Unknown: true},
				Texts: []*userdata.Text{userdata.FromSource(f.Source)}})
		case document.KindLaunchTemplate:
			if !Concerns(f, files) {
				continue
			}
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
	files  []*document.File
	all    []Launch
	hasGPU func(entry string) bool
}

// add completes a launch with its scripts and their problems. Its type and its image may show
// that a host has GPUs, in addition to what the caller knows.
func (l *launches) add(one Launch) {
	kind := one.Data.Get("InstanceType").Str()
	one.Host.GPU = one.Host.GPU || l.hasGPU(kind) || isGPUImage(one.Data.Get("ImageId"))
	one.ECSImage = one.ECSImage || isECSImage(one.File, one.Data.Get("ImageId"))
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
		kind := r.Get("Type").Str()
		if !slices.Contains([]string{"AWS::EC2::LaunchTemplate", "AWS::EC2::Instance",
			"AWS::AutoScaling::LaunchConfiguration"}, kind) || !l.concerns(f, r) {
			continue
		}
		if kind == "AWS::EC2::LaunchTemplate" {
			data := r.Get("Properties").Get("LaunchTemplateData")
			l.add(Launch{File: f, Data: data, IsTemplate: true, Host: l.hostOf(f, r),
				ECSImage: data.Get("ImageId") == nil && chosenByBatch(f, r)})
		} else {
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
		others = others || strings.HasPrefix(kind, "AWS::ECS::") || strings.HasPrefix(kind, "AWS::AutoScaling::") ||
			kind == "AWS::EC2::Instance"
		if kind != "AWS::Batch::ComputeEnvironment" || !Uses(other.Get("Properties").Get("ComputeResources").
			Get("LaunchTemplate"), r) {
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
	if namesResource(specification.Get("LaunchTemplateId"), r.Name) ||
		namesResource(specification.Get("LaunchTemplateName"), r.Name) ||
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
	name, _ := intrinsic.Target(n)
	return name == resource || strings.Contains(n.Get("Fn::Sub").Str(), "${"+resource+"}")
}

// HasGPUs reports whether a list of instance types of a template has entries, and the function is true of each.
func HasGPUs(f *document.File, list *jsontree.Node, hasGPU func(entry string) bool) bool {
	entries := instanceTypes(f, list)
	return len(entries) > 0 && !slices.ContainsFunc(entries, func(entry string) bool { return !hasGPU(entry) })
}

// instanceTypes returns the known entries of a list. A text, such as the default of a parameter, can be several with
// commas.
func instanceTypes(f *document.File, list *jsontree.Node) (out []string) {
	values := intrinsic.New(f.Root).With(defaults(f.Root), nil)
	var add func(n *jsontree.Node)
	add = func(n *jsontree.Node) {
		v := values.Value(n)
		if v.Result != intrinsic.Known {
			return
		}
		for entry := range strings.SplitSeq(v.Node.Str(), ",") {
			if entry = strings.TrimSpace(entry); entry != "" {
				out = append(out, entry)
			}
		}
		if v.Node.Is(jsontree.Array) {
			for c := range v.Node.Children() {
				add(c)
			}
		}
	}
	add(list)
	return out
}
