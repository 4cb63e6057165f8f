package cfn

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/intrinsic"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/userdata"
)

// Concerns reports whether the rules apply to a document: not to a template, a launch template, a state machine or a
// script that has nothing to do with AWS Batch and Amazon ECS, unless --kind asks for the check. The others are the
// files that are checked with it.
func Concerns(f *document.File, files []*document.File) bool {
	switch f.Kind {
	case document.KindTemplate:
		return f.Forced || startsContainers(f) || usedElsewhere(f, files)
	case document.KindStateMachine:
		return f.Forced || document.StartsJobs(f.Root)
	case document.KindUserData:
		found, unknown := documentsIn(f)
		return forHost(f) || len(found)+len(unknown) > 0
	case document.KindLaunchTemplate:
		return f.Forced || launchUsed(f, f.Root, files)
	}
	return true
}

// startsContainers reports whether a template has a resource of Amazon ECS, one of AWS Batch that batchctl knows, or
// one that starts jobs.
func startsContainers(f *document.File) bool {
	for r := range f.Root.Get("Resources").Children() {
		kind := r.Get("Type").Str()
		if _, isBatch := batchResources[kind]; isBatch || strings.HasPrefix(kind, "AWS::ECS::") || sends(f, r) {
			return true
		}
	}
	return false
}

// usedElsewhere reports whether another file uses a launch template of this one.
func usedElsewhere(f *document.File, files []*document.File) bool {
	for r := range f.Root.Get("Resources").Children() {
		if r.Get("Type").Str() == "AWS::EC2::LaunchTemplate" && launchUsed(f, r, files) {
			return true
		}
	}
	return false
}

// launchUsed reports whether an environment in another file uses the launch template of this file: by its name, or
// by an export of the template that refers to it.
func launchUsed(f *document.File, r *jsontree.Node, files []*document.File) bool {
	name := r.Get("LaunchTemplateName").Str()
	var exports []string
	if f.Kind == document.KindTemplate {
		name = r.Get("Properties").Get("LaunchTemplateName").Str()
		for o := range f.Root.Get("Outputs").Children() {
			if export := o.Get("Export").Get("Name"); export != nil && namesResource(o.Get("Value"), r.Name) {
				exports = append(exports, string(export.AppendJSON(nil)))
			}
		}
	}
	if name == "" && len(exports) == 0 {
		return false
	}
	takes := func(specification *jsontree.Node, idMember, nameMember string) bool {
		imported := specification.Get(idMember).Get("Fn::ImportValue")
		if imported == nil {
			imported = specification.Get(nameMember).Get("Fn::ImportValue")
		}
		return name != "" && specification.Get(nameMember).Str() == name ||
			imported != nil && slices.Contains(exports, string(imported.AppendJSON(nil)))
	}
	for _, other := range files {
		for _, request := range other.Requests {
			if request.Kind == document.KindComputeEnvironment && takes(request.Get("computeResources").
				Get("launchTemplate"), "launchTemplateId", "launchTemplateName") {
				return true
			}
		}
	}
	found := false
	Resources(files, "AWS::Batch::ComputeEnvironment", func(_ *document.File, e *jsontree.Node) {
		found = found || takes(e.Get("Properties").Get("ComputeResources").Get("LaunchTemplate"), "LaunchTemplateId",
			"LaunchTemplateName")
	})
	return found
}

// concerns reports whether the instances of a resource in a template run containers: an environment or a capacity
// provider uses it, or its image or its script is for hosts of Amazon ECS.
func (l *launches) concerns(f *document.File, r *jsontree.Node) bool {
	data := r.Get("Properties")
	if inner := data.Get("LaunchTemplateData"); inner != nil {
		data = inner
	}
	if f.Forced || providesCapacity(f, r) || launchUsed(f, r, l.files) {
		return true
	}
	if !startsContainers(f) {
		return false
	}
	return isECSImage(f, data.Get("ImageId")) ||
		slices.ContainsFunc(userdata.FromNode(data.Get("UserData"), f.Root), userdata.MentionsAgent)
}

// providesCapacity reports whether an environment of AWS Batch or a capacity provider of Amazon ECS starts the
// instances of a resource of the same template.
func providesCapacity(f *document.File, r *jsontree.Node) bool {
	resources := f.Root.Get("Resources")
	for other := range resources.Children() {
		properties := other.Get("Properties")
		switch other.Get("Type").Str() {
		case "AWS::Batch::ComputeEnvironment":
			if Uses(properties.Get("ComputeResources").Get("LaunchTemplate"), r) {
				return true
			}
		case "AWS::ECS::CapacityProvider":
			name, _ := intrinsic.Target(properties.Get("AutoScalingGroupProvider").Get("AutoScalingGroupArn"))
			group := resources.Get(name).Get("Properties")
			if Uses(group.Get("LaunchTemplate"), r) || Uses(group.Get("MixedInstancesPolicy").Get("LaunchTemplate").
				Get("LaunchTemplateSpecification"), r) ||
				namesResource(group.Get("LaunchConfigurationName"), r.Name) {
				return true
			}
		}
	}
	return false
}

// isECSImage reports whether an ImageId, or the parameter to which it refers, names an ECS-optimised image of
// Amazon Linux.
func isECSImage(f *document.File, image *jsontree.Node) bool {
	const parameter = "/aws/service/ecs/optimized-ami/amazon-linux-2"
	if name := image.Get("Ref").Str(); name != "" {
		image = f.Root.Get("Parameters").Get(name).Get("Default")
	}
	return strings.Contains(image.Str(), parameter) || strings.Contains(image.Get("Fn::Sub").Str(), parameter)
}

// chosenByBatch reports whether AWS Batch chooses an ECS-optimised image for every environment of the template
// that uses the launch template, because nothing names another image.
func chosenByBatch(f *document.File, r *jsontree.Node) bool {
	chosen := false
	for e := range f.Root.Get("Resources").Children() {
		properties := e.Get("Properties")
		resources := properties.Get("ComputeResources")
		if e.Get("Type").Str() != "AWS::Batch::ComputeEnvironment" || !Uses(resources.Get("LaunchTemplate"), r) {
			continue
		}
		choices := resources.Get("Ec2Configuration")
		if properties.Get("EksConfiguration") != nil || resources.Get("ImageId") != nil || choices != nil &&
			!choices.Is(jsontree.Array) ||
			strings.EqualFold(properties.Get("Type").Str(), "UNMANAGED") {
			return false
		}
		for c := range choices.Children() {
			if kind := c.Get("ImageType"); c.Get("ImageIdOverride") != nil || c.Get("Fn::If") != nil || kind != nil &&
				!strings.HasPrefix(kind.Str(), "ECS_") {
				return false
			}
		}
		chosen = true
	}
	return chosen
}
