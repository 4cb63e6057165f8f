package lint

import (
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/cfn"
)

// The sizes of root volumes in GiB: EC2 rejects less than the snapshot of the
// ECS-optimised images of Amazon Linux; the driver, CUDA and images of several GB
// each need more.
const (
	leastRoot    = 30
	leastGPURoot = 100
)

// launchRule returns a rule about launch templates.
func launchRule(name string, c Confidence, checkLaunch func(p *Pass, l cfn.Launch), doc, source string) *Rule {
	return warns(rule(name, c, func(p *Pass) {
		for _, l := range launches.of(p) {
			if l.IsTemplate && l.Data.Is(jsontree.Object) {
				checkLaunch(p, l)
			}
		}
	}, doc, source))
}

// cfnRule returns a rule about the resources of a type in templates.
func cfnRule(name string, c Confidence, kind string, checkResource func(p *Pass, f *document.File, r *jsontree.Node),
	doc, source string) *Rule {
	return warns(rule(name, c, func(p *Pass) {
		cfn.Resources(p.Files, kind, func(f *document.File, r *jsontree.Node) { checkResource(p, f, r) })
	}, doc, source))
}

// isYes reads a boolean, which templates may have as a string.
func isYes(n *jsontree.Node) bool {
	return n != nil && (n.Is(jsontree.Bool) || n.Is(jsontree.String)) && strings.EqualFold(n.Text, "true")
}

// launches holds the launch templates of the files.
var launches = newFact(func(p *Pass, _ []cfn.Launch) []cfn.Launch {
	return cfn.Launches(p.Files, p.instanceTypes().
		hasGPU)
})

// hostRules returns the rules about launch templates. They warn, because EC2 accepts such hosts:
// the rules are about security, and about hosts that join no cluster or lack a driver.
func hostRules() []*Rule {
	return []*Rule{
		launchRule("launch-imdsv2", High, func(p *Pass, l cfn.Launch) {
			// Without a version 2 token, a request to 169.254.169.254 is enough to get
			// credentials.
			options := l.Data.Get("MetadataOptions")
			tokens := options.Get("HttpTokens")
			switch {
			case options == nil:
				p.Report(l.Data, "the instances answer metadata requests without a token",
					`add "MetadataOptions": { "HttpTokens": "required" }`)
			case !options.Is(jsontree.Object) || options.Get("Fn::If") != nil || options.Get("HttpEndpoint").
				Str() == "disabled":
			case tokens == nil:
				p.Report(options, "the instances answer metadata requests without a token",
					`add "HttpTokens": "required"`)
			case cfn.IsKnown(tokens) && tokens.Str() != "required":
				p.Report(tokens, "the instances answer metadata requests without a token", `write "required"`)
			}
		}, "Instance metadata contains the credentials of the instance's role. With HttpTokens \"required\" (IMDSv2 only), an attacker who makes a program fetch a URL does not get them.", imdsGuide),
		launchRule("launch-hop-limit", Low, func(p *Pass, l cfn.Launch) {
			limit := l.Data.Get("MetadataOptions").Get("HttpPutResponseHopLimit")
			if n, ok := number(limit); ok && n > 1 {
				p.Report(limit, "containers on a bridge network can reach the host's metadata, and with it the role of the instance", `write 1, unless a container needs it`)
			}
		}, "With a hop limit of 1, containers with bridge networking cannot use the instance metadata service. They should use their job role instead.", imdsGuide),
		launchRule("launch-ebs-encrypted", Medium, func(p *Pass, l cfn.Launch) {
			for _, m := range each(l.Data, "BlockDeviceMappings") {
				ebs := m.Get("Ebs")
				encrypted := ebs.Get("Encrypted")
				if ebs.Is(jsontree.Object) && ebs.Get("Fn::If") == nil &&
					(encrypted == nil || cfn.IsKnown(encrypted) && !isYes(encrypted)) {
					at := ebs
					if encrypted != nil {
						at = encrypted
					}
					p.Report(at, "this volume is encrypted only if the account encrypts every new volume",
						`write "Encrypted": true`)
				}
			}
		}, "Volumes contain scratch data and images of jobs. Without \"Encrypted\", the default of the account and Region decides.", ec2API+"LaunchTemplateEbsBlockDeviceRequest"),
		rootSizeRule(),
		launchRule("launch-id-format", Low, func(p *Pass, l cfn.Launch) {
			reportID := func(n *jsontree.Node, form pattern, prefix string) {
				if n.Is(jsontree.String) && !form().MatchString(n.Text) && !strings.HasPrefix(n.Text, "resolve:") &&
					!isPlaceholder(n.Text) {
					p.Report(n, fmt.Sprintf("this must be an id such as %s-0123456789abcdef0, not %s", prefix,
						quote(n.Text)), hexDigits)
				}
			}
			reportID(l.Data.Get("ImageId"), imageID, "ami")
			for _, holder := range append(each(l.Data, "NetworkInterfaces"), l.Data) {
				for _, member := range [...]string{"SecurityGroupIds", "Groups"} {
					// The child of a function is not a group.
					if groups := holder.Get(member); groups.Is(jsontree.Array) {
						for group := range groups.Children() {
							reportID(group, groupPattern, "sg")
						}
					}
				}
			}
		}, "AMIs and security groups are given by id. ImageId may also name a parameter: resolve:ssm:PARAMETER.",
			ec2API+"RequestLaunchTemplateData"),
		launchRule("launch-public-ip", Medium, func(p *Pass, l cfn.Launch) {
			for _, i := range each(l.Data, "NetworkInterfaces") {
				if public := i.Get("AssociatePublicIpAddress"); isYes(public) {
					p.Report(public, "the instances get public addresses",
						"write false, and give the subnets a NAT gateway or endpoints")
				}
			}
		}, "Instances pull images and call ECS, but need no connections from outside. Use private subnets with a NAT gateway or endpoints.", ec2API+"LaunchTemplateInstanceNetworkInterfaceSpecificationRequest"),
		launchRule("launch-key-pair", Low, func(p *Pass, l cfn.Launch) {
			if key := l.Data.Get("KeyName"); cfn.IsKnown(key) && key.Str() != "" {
				p.Report(key, "anyone with this key pair can log in to the instances over SSH",
					"remove it, and use Session Manager")
			}
		}, "Everyone with the key pair can log in to every instance, and no log shows who did. Session Manager checks IAM permissions and logs sessions.", "AWS Systems Manager User Guide, Session Manager"),
	}
}

// hostResourceRules returns the rules about CloudFormation resources of AWS Batch and the hosts that
// they start.
func hostResourceRules() []*Rule {
	const environment = "AWS::Batch::ComputeEnvironment"
	return []*Rule{
		cfnRule("cfn-launch-template-version", Medium, environment, func(p *Pass, f *document.File, r *jsontree.Node) {
			// Only a launch template of the same stack changes together with the
			// environment.
			lt := r.Get("Properties").Get("ComputeResources").Get("LaunchTemplate")
			version := lt.Get("Version")
			own := false
			for other := range f.Root.Get("Resources").Children() {
				own = own || other.Get("Type").Str() == "AWS::EC2::LaunchTemplate" && cfn.Uses(lt, other)
			}
			if !own || version != nil && version.Str() != "$Latest" && version.Str() != "$Default" {
				return
			}
			at, problem := lt, "without a version, $Default applies"
			if version != nil {
				at, problem = version, version.Str()
			}
			p.Report(at, problem+": the environment keeps its first version even if the stack changes the launch template", `write "Version": { "Fn::GetAtt": [ "...", "LatestVersionNumber" ] }`)
		}, "AWS Batch resolves $Latest and $Default only when it creates an environment or updates its infrastructure. A version number changes the environment's properties, so CloudFormation updates it together with the launch template.", cfnReference+"AWS::Batch::ComputeEnvironment LaunchTemplateSpecification"),
		cfnRule("cfn-gpu-image", Medium, environment, func(p *Pass, f *document.File, r *jsontree.Node) {
			resources := r.Get("Properties").Get("ComputeResources")
			if !cfn.HasGPUs(f, resources.Get("InstanceTypes"), p.instanceTypes().hasGPU) {
				return
			}
			var plain *jsontree.Node
			for _, c := range each(resources, "Ec2Configuration") {
				kind := c.Get("ImageType")
				if strings.HasSuffix(kind.Str(), "_NVIDIA") || !cfn.IsKnown(kind) || c.Get("ImageIdOverride") != nil {
					return
				}
				plain = kind
			}
			if plain != nil {
				p.Report(plain, fmt.Sprintf("all instances have GPUs, but images of type %s have no NVIDIA driver",
					plain.Str()), "write "+quote(gpuImage(plain.Str())))
			}
		}, "Images of type ECS_AL2023_NVIDIA contain the driver. Without it the agent offers no GPUs, and GPU jobs stay in RUNNABLE.", api("Ec2Configuration.imageType")),
		cfnRule("cfn-instance-role", High, environment, func(p *Pass, _ *document.File, r *jsontree.Node) {
			resources := r.Get("Properties").Get("ComputeResources")
			kind := resources.Get("Type").Str()
			if (kind == "EC2" || kind == "SPOT") && resources.Get("InstanceRole") == nil &&
				resources.Get("Fn::If") == nil && r.Get("Properties").Get("EksConfiguration") == nil {
				p.report(diag.Error, nil, resources, "an environment on instances needs InstanceRole",
					`add "InstanceRole": { "Fn::GetAtt": [ "...", "Arn" ] } of an AWS::IAM::InstanceProfile`)
			}
		}, "Instances need the role of an instance profile to join the cluster. AWS Batch rejects an environment without one.", tried("ComputeResource.instanceRole")),
		roleKindRule(),
		logicalIDRule(),
		cfnRule("cfn-consumable-arn", Low, "AWS::Batch::JobDefinition",
			func(p *Pass, _ *document.File, r *jsontree.Node) {
				for _, c := range each(r.Get("Properties").Get("ConsumableResourceProperties"),
					"ConsumableResourceList") {
					if n := c.Get("ConsumableResource"); n.Is(jsontree.String) && n.Text != "" &&
						!batch.IsARN(n.Text) &&
						!isPlaceholder(n.Text) {
						p.Report(n, "CloudFormation may require the ARN of a consumable resource here, not its name",
							`write { "Ref": "..." } of an AWS::Batch::ConsumableResource, or its ARN`)
					}
				}
			}, "The AWS CDK's template checks require an ARN in ConsumableResource. The API reference also accepts a name, so this is only a warning.", cfnReference+"AWS::Batch::JobDefinition ConsumableResourceRequirement; rule F3031 of the AWS CDK's template checks"),
		cfnRule("cfn-queue-time-limit", Low, "AWS::Batch::JobQueue", func(p *Pass, _ *document.File, r *jsontree.Node) {
			properties := r.Get("Properties")
			kind := properties.Get("JobQueueType")
			if properties.Is(jsontree.Object) && properties.Get("JobStateTimeLimitActions") == nil &&
				properties.Get("Fn::If") == nil && (kind == nil || cfn.IsKnown(kind)) &&
				kind.Str() != "SAGEMAKER_TRAINING" {
				p.Report(properties, "a job that can never start blocks this queue indefinitely",
					`add "JobStateTimeLimitActions": [ { "Reason": "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT", "State": "RUNNABLE", "MaxTimeSeconds": 3600, "Action": "CANCEL" } ]`)
			}
		}, "With jobStateTimeLimitActions, a queue cancels its first job if no environment can run it.",
			guide("job state time limit actions")),
	}
}

// gpuImage returns the image type with the NVIDIA driver beside an image type. Those of Amazon
// Linux 2 are no longer offered.
func gpuImage(plain string) string {
	if strings.HasPrefix(plain, "EKS_") {
		return "EKS_AL2023_NVIDIA"
	}
	return "ECS_AL2023_NVIDIA"
}

// roleMembers are the members of templates that want a role, or an instance profile, by the
// type of the resource.
var roleMembers = []struct {
	kind    string
	of      path
	members []string
	profile bool
}{
	{"AWS::Batch::ComputeEnvironment", "ComputeResources", []string{"InstanceRole"}, true},
	{"AWS::Batch::ComputeEnvironment", "ComputeResources", []string{"SpotIamFleetRole"}, false},
	{"AWS::Batch::ComputeEnvironment", "", []string{"ServiceRole"}, false},
	{"AWS::Batch::JobDefinition", "ContainerProperties", []string{"JobRoleArn", "ExecutionRoleArn"}, false},
	{"AWS::Batch::JobDefinition", "EcsProperties.TaskProperties[]", []string{"TaskRoleArn", "ExecutionRoleArn"}, false},
	{"AWS::Batch::JobDefinition", "NodeProperties.NodeRangeProperties[].Container",
		[]string{"JobRoleArn", "ExecutionRoleArn"}, false},
	{"AWS::Batch::JobDefinition", "NodeProperties.NodeRangeProperties[].EcsProperties.TaskProperties[]",
		[]string{"TaskRoleArn", "ExecutionRoleArn"}, false},
}

// roleKindRule is the rule for members of a template that refer to a role of the same
// template where an instance profile belongs, and the reverse.
func roleKindRule() *Rule {
	const role, profile = "AWS::IAM::Role", "AWS::IAM::InstanceProfile"
	return warns(rule("cfn-role-kind", Medium, func(p *Pass) {
		for _, m := range roleMembers {
			wanted, wrong := role, profile
			if m.profile {
				wanted, wrong = profile, role
			}
			cfn.Resources(p.Files, m.kind, func(f *document.File, r *jsontree.Node) {
				m.of.walk(r.Get("Properties"), func(holder *jsontree.Node) {
					for _, member := range m.members {
						p.rolesOf(f).Mistaken(holder.Get(member), m.profile, func(n *jsontree.Node, name string) {
							p.Report(n, fmt.Sprintf("%s needs an %s, but %s is an %s", member, wanted, quote(name),
								wrong), "refer to an "+wanted)
						})
					}
				})
			})
		}
	}, "InstanceRole is an instance profile, and all other members are roles. If you refer to the other kind, AWS Batch does not find it, and the environment becomes INVALID.",
		api("ComputeResource.instanceRole")))
}

// logicalIDRule is the rule for the names of parameters, resources and outputs in templates. Only AWS's own macros are
// known to keep them.
func logicalIDRule() *Rule {
	return rule("cfn-logical-id", High, func(p *Pass) {
		for _, f := range p.Files {
			if f.Kind != document.KindTemplate || hasOwnMacro(f.Root) {
				continue
			}
			for _, section := range [...]string{"Parameters", "Resources", "Outputs"} {
				for n := range f.Root.Get(section).Children() {
					name := alphanumeric(n.Name)
					if name == n.Name || !n.Is(jsontree.Object) || strings.HasPrefix(n.Name, "Fn::") ||
						isPlaceholder(n.Name) {
						continue
					}
					help := "use only letters and digits"
					if name != "" {
						help = fmt.Sprintf("write %s, also where the template refers to it", quote(name))
					}
					p.Report(key(n), fmt.Sprintf("CloudFormation rejects the name %s: only letters and digits are allowed",
						quote(n.Name)), help)
				}
			}
		}
	}, "The names of parameters, resources and outputs have only the letters A to Z and a to z and digits. Otherwise CloudFormation rejects the whole template.",
		"AWS CloudFormation User Guide, Resources; the service's error quoted in aws-cloudformation/cfn-lint#160")
}

// hasOwnMacro reports whether a template has a transform that is not one of AWS. It may rename anything.
func hasOwnMacro(template *jsontree.Node) bool {
	t := template.Get("Transform")
	if t == nil {
		return false
	}
	if t.Is(jsontree.String) {
		return !strings.HasPrefix(t.Text, "AWS::")
	}
	for name := range t.Children() {
		if !strings.HasPrefix(name.Str(), "AWS::") {
			return true
		}
	}
	return !t.Is(jsontree.Array)
}

// alphanumeric returns the ASCII letters and digits of a name, with a capital after each other character.
func alphanumeric(name string) string {
	var b strings.Builder
	capital := false
	for _, c := range name {
		switch {
		case 'a' <= c && c <= 'z' && capital:
			b.WriteRune(c - 'a' + 'A')
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			b.WriteRune(c)
		default:
			capital = true
			continue
		}
		capital = false
	}
	return b.String()
}

// rootSizeRule is the rule for the size of root volumes. It finds nothing for an image other than the
// ECS-optimised ones of Amazon Linux. Too small for the image is an error; too small for GPU jobs, a warning.
func rootSizeRule() *Rule {
	r := launchRule("launch-root-size", High, func(p *Pass, l cfn.Launch) {
		for _, m := range each(l.Data, "BlockDeviceMappings") {
			size := m.Get("Ebs").Get("VolumeSize")
			n, ok := number(size)
			if m.Get("DeviceName").Str() != "/dev/xvda" || !ok || !l.ECSImage {
				continue
			}
			switch {
			case n < leastRoot:
				p.Report(size, fmt.Sprintf("the ECS-optimised images need a root volume of at least %d GiB, and EC2 rejects a smaller one", leastRoot), "write 30 or more")
			case n < leastGPURoot && l.Host.GPU:
				p.report(diag.Warning, nil, size,
					"images with CUDA take 10 GB and more each, and a full root volume stops the agent",
					fmt.Sprintf("write %d or more", leastGPURoot))
			}
		}
	}, "The root volume is at least as large as the image's snapshot: 30 GiB for the ECS-optimised images of Amazon Linux. Less than 100 GiB on GPU hosts is a warning, because the volume also holds the images of jobs.", ecsImageDocs+"; the service's error quoted in scylladb/scylladb#6999; the size quoted in amazonlinux/amazon-linux-2023#268").
		sometimesWarns()
	r.Severity = diag.Error
	return r
}
