package lint

import (
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
)

// jobdefRules returns the rules about RegisterJobDefinition requests as a whole, and about
// their members that no other file covers.
func jobdefRules() []*Rule {
	return []*Rule{
		row("jobdef-name-required", High, in(definitions, ""), unlessMeant("name",
			needed("a job definition", "jobDefinitionName")),
			"A job definition is registered under its name, so it needs one.",
			api("RegisterJobDefinition.jobDefinitionName")),
		row("jobdef-type-required", High, in(definitions, ""), needed("a job definition", `type: "container"`),
			"The type of a job definition is container or multinode.", api("RegisterJobDefinition.type")),
		row("jobdef-type-enum", High, in(definitions, "type"), oneOf("container", "multinode"),
			"The type of a job definition is container or multinode, in lower case.", api("JobDefinitionType")),
		// A definition describes its containers in one of four members.
		check("jobdef-container-needs-block", High, definitions, func(s Site) {
			if s.Node.Get("type").Str() != "container" {
				return
			}
			for _, block := range []string{"containerProperties", "ecsProperties", "eksProperties", "nodeProperties"} {
				if !s.lacks(s.Node, block) {
					return
				}
			}
			s.Report("a container job needs containerProperties, ecsProperties or eksProperties",
				`add "containerProperties": { "image": ... }`, s.Node)
		}, "A definition of type container needs containerProperties, ecsProperties or eksProperties.",
			tried("RegisterJobDefinition.type")),
		row("jobdef-container-and-ecs", Medium, in(definitions, ""), exclusive("containerProperties", "ecsProperties"),
			"A definition has containerProperties for one container or ecsProperties for several, not both.",
			tried("RegisterJobDefinition")),
		row("jobdef-container-and-eks", High, in(definitions, ""), exclusive("containerProperties", "eksProperties"),
			"A job runs on ECS (containerProperties) or on EKS (eksProperties), not on both.",
			tried("RegisterJobDefinition.eksProperties")),
		row("jobdef-ecs-and-eks", Medium, in(definitions, ""), exclusive("ecsProperties", "eksProperties"),
			"A job runs on ECS (ecsProperties) or on EKS (eksProperties), not on both.",
			tried("RegisterJobDefinition")),
		row("jobdef-eks-and-node", High, in(definitions, ""), exclusive("eksProperties", "nodeProperties"),
			"Nodes on EKS are described in nodeProperties.nodeRangeProperties[].eksProperties, not beside nodeProperties.", tried("RegisterJobDefinition.eksProperties")),
		check("jobdef-size-max", Medium, definitions, func(s Site) {
			if src := s.File.Source; src != nil && len(src.Text) < catalog.MaxRegisterBytes/2 {
				return // in AWS's form it is hardly longer
			}
			if n := len(s.Node.AppendJSON(nil)); n > catalog.MaxRegisterBytes {
				s.Report(fmt.Sprintf("a job definition can have at most %d bytes, and this one has %d",
					catalog.MaxRegisterBytes, n),
					"keep long scripts in the image or in S3", s.NameNode())
			}
		}, "The request that registers a definition is at most 24 KiB.", guide("service quotas")).
			quoting("The following table provides the service quotas for AWS Batch that can't be changed."),
		// The members of containers, and their deprecated forms.
		row("container-image-required", High, in(containersIn("containerProperties"), ""),
			unlessMeant("image", needs("image")),
			"containerProperties names the image that runs.", tried("ContainerProperties.image")),
		row("resource-type-value-required", High, in(requirers, "resourceRequirements[]"),
			needs(`type: "VCPU"`, `value: "1"`),
			"A resource requirement has a type and a value.", api("ResourceRequirement")),
		check("legacy-vcpus-and-resource", Medium, wholes, func(s Site) { checkBothForms(s, "vcpus", "VCPU") },
			"AWS Batch rejects the deprecated member vcpus together with a VCPU requirement.",
			tried("ContainerProperties.vcpus")).onlyWith("vcpus"),
		check("legacy-memory-and-resource", Medium, wholes, func(s Site) { checkBothForms(s, "memory", "MEMORY") },
			"AWS Batch rejects the deprecated member memory together with a MEMORY requirement.",
			tried("ContainerProperties.memory")).onlyWith("memory"),
		warns(check("legacy-fields-deprecated", Medium, wholes, checkDeprecated,
			"vcpus and memory of a container are deprecated and do not exist on Fargate; resourceRequirements replaces them. Submissions that override vcpus or memory then have to override resourceRequirements.", api("ContainerProperties.vcpus and memory"))).keepingMeaning(),
		check("job-instance-type-single-node", Low, containersIn("containerProperties"), func(s Site) {
			if n := s.Node.Get("instanceType"); n != nil && !s.Fargate {
				s.ReportFix(s.remove(n), "instanceType is documented for the nodes of a multi-node job only",
					"remove it; the queue's compute environments choose the instances", key(n))
			}
		}, "Only the nodes of a multi-node job can have an instance type.", api("ContainerProperties.instanceType")).
			onlyWith("instanceType"),
		warns(row("ref-outside-command", Low, in(allContainers, "environment[].value", "env[].value", "image",
			"jobRoleArn", "executionRoleArn", "user",
			"logConfiguration.options.*", "secrets[].valueFrom"), func(s Site, n *jsontree.Node, _ string) {
			if refers(n.Str()) {
				s.Report("Ref:: is documented for command only; here the container may see the text unchanged",
					"pass it in the command, or set the value with an override", n)
			}
		}, "AWS Batch replaces Ref:: placeholders in the command. The documentation mentions no other member.",
			guide("job definition parameters"))),
		// Where and how the job runs.
		row("platform-capability-enum", High, in(definitions, "platformCapabilities[]"),
			growing([]string{"EC2", "FARGATE", "MANAGED_INSTANCES"}),
			"A job definition is for EC2 or FARGATE. The service has accepted MANAGED_INSTANCES since 2026, which only warns; it rejects other values.", tried("PlatformCapability")).
			sometimesWarns(),
		check("platform-capability-single", Medium, definitions, func(s Site) {
			if list := s.Node.Get("platformCapabilities"); list.Is(jsontree.Array) && list.Len() != 1 {
				at := list
				if list.Len() > 1 {
					at = list.Index(1)
				}
				s.Report("platformCapabilities must contain exactly one value", `write ["EC2"] or ["FARGATE"]`, at)
			}
		}, "A definition is for one platform, so the list has exactly one entry.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("scheduling-priority-range", High, in(jobs, "schedulingPriority", "schedulingPriorityOverride"),
			once("schedulingPriority", between(0, catalog.MaxPriority)),
			"A scheduling priority is 0 to 9999, in a definition and in a submission.",
			tried("RegisterJobDefinition.schedulingPriority")),
		row("retry-evaluate-action-required", High, in(retries, "evaluateOnExit[]"), needs(`action: "EXIT"`),
			"An evaluateOnExit entry needs an action: RETRY or EXIT.", api("EvaluateOnExit.action")),
	}
}

// allContainers returns the containers of ECS and of pods.
func allContainers(p *Pass) []Site { return allSites.of(p).allContainers }

// containersIn returns the containers that are the member of that name.
func containersIn(member string) scope {
	return where(wholes, func(s Site) bool { return s.Node.Name == member })
}

// checkBothForms reports a deprecated member next to the requirement that replaces it.
func checkBothForms(s Site, legacy, kind string) {
	n := s.Node.Get(legacy)
	if n == nil || !requires(s.Node, kind) {
		return
	}
	s.ReportFix(s.remove(n), fmt.Sprintf("%s and the requirement %s have the same meaning", legacy, kind),
		"remove "+legacy, key(n))
}

// checkDeprecated reports vcpus and memory without a replacement, with the rewrite.
func checkDeprecated(s Site) {
	// kept holds the deprecated members, entries the requirements that replace them.
	var kept []*jsontree.Node
	var entries []string
	for _, m := range [][2]string{{"vcpus", "VCPU"}, {"memory", "MEMORY"}} {
		if n := s.Node.Get(m[0]); n != nil && !requires(s.Node, m[1]) {
			kept = append(kept, n)
			entries = append(entries, fmt.Sprintf(`{ "type": %q, "value": %q }`, m[1], n.Text))
		}
	}
	if len(kept) == 0 || s.Fargate {
		return
	}
	var names []string
	for _, n := range kept {
		names = append(names, n.Name)
	}
	list := strings.Join(entries, ", ")
	is := " is"
	if len(names) > 1 {
		is = " are"
	}
	s.ReportFix(s.modernize(kept, list), text.And(names)+is+" deprecated", `write "resourceRequirements": [ `+list+` ]`,
		key(kept[0]))
}
