package lint

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/userdata"
)

// hostMark stands in a file's names if it is about hosts: its own members are not
// looked at for that.
const hostMark = "UserData"

func isHosts(k document.Kind) bool {
	return k == document.KindTemplate || k == document.KindLaunchTemplate || k == document.KindUserData
}

// launch is what an instance starts from: the data of a launch template, an instance
// of a template, or a script alone, which has no data.
type launch struct {
	file *document.File
	data *jsontree.Node
	// template says that it is a launch template, whose members the rules know.
	template bool
	host     userdata.Host
	texts    []*userdata.Text
	found    [][]userdata.Finding // by text
}

// hosts returns what the files start instances from.
func (p *Pass) hosts() []launch {
	if p.index.read {
		return p.index.launches
	}
	p.index.read = true
	for _, f := range p.Files {
		switch f.Kind {
		case document.KindUserData:
			p.addLaunch(launch{file: f, texts: []*userdata.Text{userdata.FromSource(f.Source)}})
		case document.KindLaunchTemplate:
			data := f.Root
			if inner := data.Get("LaunchTemplateData"); inner != nil {
				data = inner
			}
			p.addLaunch(launch{file: f, data: data, template: true, host: userdata.Host{Template: true}})
		case document.KindTemplate:
			p.addTemplate(f)
		}
	}
	return p.index.launches
}

func (p *Pass) addLaunch(l launch) {
	l.host.GPU = l.host.GPU || p.hasGPU([]string{l.data.Get("InstanceType").Str()}) || gpuImage(l.data.Get("ImageId"))
	if l.data != nil {
		l.texts = userdata.FromNode(l.data.Get("UserData"), l.file.Root)
	}
	for _, t := range l.texts {
		l.found = append(l.found, userdata.Check(t, l.host))
	}
	p.index.launches = append(p.index.launches, l)
}

// gpuImage knows the images with NVIDIA's driver by the parameter that names them.
func gpuImage(n *jsontree.Node) bool {
	return strings.Contains(n.Str(), "/gpu/") && strings.Contains(n.Str(), "optimized-ami")
}

// addTemplate adds what the resources of a template start instances from.
func (p *Pass) addTemplate(f *document.File) {
	for r := range f.Root.Get("Resources").Children() {
		switch r.Get("Type").Str() {
		case "AWS::EC2::LaunchTemplate":
			host := p.hostOf(f, r)
			p.addLaunch(launch{file: f, data: r.Get("Properties").Get("LaunchTemplateData"), template: true, host: host})
		case "AWS::EC2::Instance", "AWS::AutoScaling::LaunchConfiguration":
			p.addLaunch(launch{file: f, data: r.Get("Properties")})
		}
	}
}

// cfn visits the resources of a type in the templates, with the template.
func (p *Pass) cfn(kind string, visit func(f *document.File, r *jsontree.Node)) {
	for _, f := range p.Files {
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

// hostOf says what the instances of a launch template are, as far as its template
// tells: which compute environments name it. Where none does and nothing else there
// starts instances, others do.
func (p *Pass) hostOf(f *document.File, r *jsontree.Node) (h userdata.Host) {
	others := false
	for other := range f.Root.Get("Resources").Children() {
		kind := other.Get("Type").Str()
		others = others || strings.HasPrefix(kind, "AWS::ECS::") || strings.HasPrefix(kind, "AWS::AutoScaling::") || kind == "AWS::EC2::Instance"
		if kind != "AWS::Batch::ComputeEnvironment" || !uses(other.Get("Properties").Get("ComputeResources").Get("LaunchTemplate"), r) {
			continue
		}
		if strings.EqualFold(other.Get("Properties").Get("Type").Str(), "UNMANAGED") {
			others = true
			continue
		}
		h.Batch = true
		h.GPU = h.GPU || p.gpuEnvironment(f, other.Get("Properties").Get("ComputeResources"))
	}
	h.Template = !h.Batch && !others
	return h
}

// uses reports whether a compute environment's launchTemplate is the resource.
func uses(specification, r *jsontree.Node) bool {
	if specification == nil {
		return false
	}
	name := r.Get("Properties").Get("LaunchTemplateName").Str()
	if namesResource(specification.Get("LaunchTemplateId"), r.Name) || namesResource(specification.Get("LaunchTemplateName"), r.Name) ||
		name != "" && specification.Get("LaunchTemplateName").Str() == name {
		return true
	}
	for o := range specification.Get("Overrides").Children() {
		if uses(o, r) {
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

// gpuEnvironment reports whether all instances of a compute environment have NVIDIA
// GPUs.
func (p *Pass) gpuEnvironment(f *document.File, resources *jsontree.Node) bool {
	return p.hasGPU(instanceTypes(f, resources.Get("InstanceTypes")))
}

// hasGPU reports whether there are instance types and all of them have NVIDIA GPUs.
func (p *Pass) hasGPU(entries []string) bool {
	if len(entries) == 0 {
		return false
	}
	return !slices.ContainsFunc(entries, func(entry string) bool {
		types := p.catalog().Expand(entry)
		for _, t := range types {
			if !t.RunsGPUJobs() {
				return true
			}
		}
		return len(types) == 0
	})
}

// instanceTypes returns the entries of a list; those of a parameter are its default.
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

func byComma(f *document.File, parameter string) (out []string) {
	for word := range strings.SplitSeq(f.Root.Get("Parameters").Get(parameter).Get("Default").Str(), ",") {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, word)
		}
	}
	return out
}
