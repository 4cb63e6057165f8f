package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// ec2Digits ends the pattern of an id of EC2. Ids have 17 hexadecimal digits, and old ones 8 (EC2 User Guide, resource
// IDs). It also accepts a placeholder, which another program fills in.
const ec2Digits = `-[0-9a-f]{8}([0-9a-f]{9})?|.*(\$\{|\{\{|<|^\$).*)$`

var (
	subnetPattern = lazy(`^(subnet` + ec2Digits)
	groupPattern  = lazy(`^(sg` + ec2Digits)
	imageID       = lazy(`^(|ami` + ec2Digits)
	templateID    = lazy(`^(|lt` + ec2Digits)
	versionForm   = lazy(`^([0-9]+|\$Default|\$Latest|)$`)
	profileARN    = lazy(`^(arn:aws[a-z-]*:iam::[0-9]{12}:instance-profile/\S+|.*(\$[{A-Za-z_]|\{\{|<).*)$`)
	clusterARN    = lazy(`^(arn:aws[a-z-]*:eks:[a-z0-9-]+:[0-9]{12}:cluster/\S+|.*(\$[{A-Za-z_]|\{\{|<).*)$`)
)

// hexDigits is the hint for ids of EC2.
const hexDigits = "an id has 8 or 17 hexadecimal digits; names and tags are not ids"

// runsInstances reports whether the environment's type is EC2 or SPOT.
func runsInstances(s Site) bool {
	t := s.Node.Get("computeResources").Get("type").Str()
	return t == "EC2" || t == "SPOT"
}

// isManagedInstances reports whether compute resources are an ECS Managed Instances capacity
// provider. Network and instance types are in its managedInstancesProvider.
func isManagedInstances(resources *jsontree.Node) bool {
	return resources.Get("type").Str() == "ECS_MANAGED_INSTANCES"
}

// checkUpdateChanges reports updates of environments that change nothing.
func checkUpdateChanges(p *Pass) {
	for _, f := range p.Files {
		if f.Kind != document.KindUpdateComputeEnvironment || !f.Root.Is(jsontree.Object) ||
			len(f.Unknown)+len(f.Unreadable) > 0 {
			continue
		}
		changes := false
		for m := range f.Root.Children() {
			changes = changes || !slices.Contains([]string{"computeEnvironment", "updatePolicy", "context"}, m.Name) &&
				!strings.HasPrefix(m.Name, "$")
		}
		if !changes {
			p.topLevel(f).Report("the update changes nothing: it needs state, computeResources, serviceRole or unmanagedvCpus", "add the member that you want to change", f.Root)
		}
	}
}

// isOtherCapacity reports whether an environment has a type of capacity other than ECS Managed Instances.
func isOtherCapacity(s Site) bool {
	resources := s.Node.Get(resourcesOf)
	return resources.Get("type").Str() != "" && !isManagedInstances(resources)
}

// prefixed returns the paths of members of an object.
func prefixed(object string, members ...string) (paths []string) {
	for _, m := range members {
		paths = append(paths, object+"."+m)
	}
	return paths
}

// checkResourceMembers requires the members that the type of the resources needs.
func checkResourceMembers(s Site, n *jsontree.Node, label string) {
	if isManagedInstances(n) {
		needs(`type: "ECS_MANAGED_INSTANCES"`, "maxvCpus: 256",
			`managedInstancesProvider: { "infrastructureRoleArn": "...", "instanceLaunchTemplate": { ... } }`)(s, n,
			label)
		return
	}
	needs(`type: "EC2"`, "maxvCpus: 256", `subnets: ["subnet-..."]`)(s, n, label)
}

// isFargateEnvironment reports whether the environment's type is FARGATE or FARGATE_SPOT.
func isFargateEnvironment(s Site) bool {
	return strings.HasPrefix(s.Node.Get("computeResources").Get("type").Str(), "FARGATE")
}

var (
	// The scopes of rules that apply to one kind of environment only. An environment
	// without a type is in none of the first two.
	onInstances       = where(environments, runsInstances)
	fargateResources  = where(environments, isFargateEnvironment)
	environmentsOnEKS = where(environments, func(s Site) bool { return s.Node.Get("eksConfiguration") != nil })
	unmanaged         = where(environments, func(s Site) bool { return s.Node.Get("type").Str() == "UNMANAGED" })
	unmanagedOnECS    = where(unmanaged, func(s Site) bool { return s.Node.Get("eksConfiguration") == nil })
)

// environmentFileRules returns the rules about CreateComputeEnvironment requests. AWS
// Batch checks some of their values when it creates the environment, and others later: it
// then sets the environment to INVALID, and the jobs of its queues stay in RUNNABLE.
func environmentFileRules() []*Rule {
	return []*Rule{
		row("ce-name-charset", High, in(environments, "computeEnvironmentName"), like(namePattern, nameCharset, ""),
			"A compute environment's name contains only letters, digits, hyphens and underscores.",
			tried("CreateComputeEnvironment.computeEnvironmentName")),
		row("ce-name-length", High, in(environments, "computeEnvironmentName"), chars(1, 128),
			"A compute environment's name is 1 to 128 characters long.",
			tried("CreateComputeEnvironment.computeEnvironmentName")),
		row("ce-required", High, in(environments, ""), needed("a compute environment", "computeEnvironmentName",
			`type: "MANAGED"`),
			"A compute environment has a name and a type.", api("CreateComputeEnvironment")),
		row("ce-type-enum", High, in(environments, "type"), checkEnvironmentType,
			"AWS Batch manages the resources of an environment (MANAGED), or you do. EC2 and FARGATE are types of computeResources.", api("CEType")),
		check("ce-managed-needs-resources", High, environments, checkManagedResources,
			"A MANAGED environment needs computeResources, which describes the instances or Fargate capacity that AWS Batch starts.", tried("CreateComputeEnvironment.computeResources")),
		check("ce-unmanaged-no-fargate", High, unmanaged, checkUnmanagedFargate,
			"Fargate environments are always MANAGED.", tried("CreateComputeEnvironment.type")),
		row("ce-unmanagedvcpus", High,
			in(where(environments, func(s Site) bool { return s.Node.Get("type").Str() == "MANAGED" }),
				"unmanagedvCpus"),
			absent("is for UNMANAGED environments", "remove it; maxvCpus is the limit here"),
			"Only UNMANAGED environments have unmanagedvCpus, the number of their vCPUs.",
			tried("CreateComputeEnvironment.unmanagedvCpus")),
		warns(row("ce-unmanagedvcpus-nonnegative", Medium, in(unmanaged, "unmanagedvCpus"), atLeast(0, ""),
			"unmanagedvCpus, the number of vCPUs that fair-share scheduling counts on, is 0 or more.", derived)),
		row("ce-unmanaged-service-role", Medium, in(unmanagedOnECS, ""), checkUnmanagedServiceRole,
			"An UNMANAGED environment on Amazon ECS needs a service role of your own.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("ce-unmanaged-slr", Medium, in(unmanagedOnECS, "serviceRole"), checkUnmanagedLinkedRole,
			"On Amazon ECS, the role AWSServiceRoleForBatch works for MANAGED environments only.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("ce-state-enabled", Medium, in(environments, "state"), checkEnvironmentEnabled,
			"AWS Batch creates environments ENABLED. An update can disable one. In a file with lists of resources, DISABLED is allowed: batchctl apply creates the environment ENABLED and disables it.", "confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("ce-state-enum", Medium, in(environments, "state"), oneOf("ENABLED", "DISABLED"),
			"An environment is ENABLED or DISABLED.", api("CEState")),
		row("ce-resources-required", High, in(environments, resourcesOf), checkResourceMembers,
			"Compute resources need a type, a limit and subnets. With ECS Managed Instances, the subnets are in managedInstancesProvider.", api("ComputeResource")),
		row("ce-resources-type-enum", High, in(environments, resourcesOf+".type"),
			growing([]string{"EC2", "SPOT", "FARGATE", "FARGATE_SPOT", "ECS_MANAGED_INSTANCES"}),
			"The type is the type of capacity that jobs run on.", tried("CRType")).sometimesWarns(),
		row("ce-minvcpus-required", Medium, in(onInstances, resourcesOf), checkMinvCpus,
			"An environment on instances needs minvCpus, the number of vCPUs that always run. It can be 0.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("ce-minvcpus-nonnegative", Medium, in(environments, resourcesOf+".minvCpus"), atLeast(0, ""),
			"minvCpus is 0 or more.", "confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		check("ce-max-ge-min", Medium, environments, checkMaxvCpus,
			"maxvCpus is at least minvCpus, and never negative.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		check("ce-desired-between", High, environments, checkDesiredvCpus,
			"desiredvCpus is between minvCpus and maxvCpus.", tried("ComputeResource.desiredvCpus")),
		check("ce-instancetypes-required", Medium, onInstances, checkInstanceTypes,
			"An environment on instances lists instance types, families or a bundle such as optimal.",
			tried("ComputeResource.instanceTypes")),
		row("ce-instancetype-known", High, in(onInstances, resourcesOf+".instanceTypes"), checkInstanceTypesKnown,
			"An entry is an instance type, a family or a bundle. A type that may be newer than batchctl's catalogue is only a warning.", tried("ComputeResource.instanceTypes")).
			sometimesWarns(),
		check("ce-instancetypes-one-arch", High, onInstances, checkOneArchitecture,
			"An environment launches x86 or Arm instances, not both.", tried("ComputeResource.instanceTypes")),
		row("ce-instancerole-required", High, in(onInstances, resourcesOf), checkInstanceRole,
			"Instances need a role to join the cluster.", tried("ComputeResource.instanceRole")),
		check("ce-securitygroups-required", High, environments, checkSecurityGroups,
			"Compute resources need security groups, here or in the launch template.",
			tried("ComputeResource.securityGroupIds")),
		row("ce-subnets-nonempty", Low, in(environments, resourcesOf+".subnets",
			resourcesOf+".managedInstancesProvider.instanceLaunchTemplate.networkConfiguration.subnets"),
			filled("name at least one subnet"),
			"Compute resources need at least one subnet.", derived),
		row("ce-subnet-sg-format", Low, in(environments, resourcesOf), checkNetworkIDs,
			"Subnets and security groups are given by id.", api("ComputeResource.subnets and securityGroupIds")),
		row("ce-image-id-format", Low, in(environments, resourcesOf+".imageId",
			resourcesOf+".ec2Configuration[].imageIdOverride"),
			like(imageID, "an id such as ami-0123456789abcdef0", hexDigits), "AMIs are given by id.",
			api("ComputeResource.imageId and Ec2Configuration.imageIdOverride")),
		row("ce-launch-template-id-format", Low, in(environments, resourcesOf+".launchTemplate.launchTemplateId",
			resourcesOf+".launchTemplate.overrides[].launchTemplateId"),
			like(templateID, "an id such as lt-0123456789abcdef0", hexDigits),
			"launchTemplateId is an id; launchTemplateName takes a name.",
			api("LaunchTemplateSpecification.launchTemplateId")),
		row("ce-fargate-subnets-max", High, in(fargateResources, resourcesOf+".subnets"), atMost(16, ""),
			"A Fargate environment has at most 16 subnets.", tried("ComputeResource.subnets")),
		row("ce-fargate-sg-max", High, in(fargateResources, resourcesOf+".securityGroupIds"), atMost(5, ""),
			"A Fargate environment has at most 5 security groups.", tried("ComputeResource.securityGroupIds")),
		warns(row("ce-managed-instances-members", Medium,
			in(where(environments, func(s Site) bool { return isManagedInstances(s.Node.Get(resourcesOf)) }),
				prefixed(resourcesOf,
					"allocationStrategy", "bidPercentage", "desiredvCpus", "ec2Configuration", "ec2KeyPair", "imageId",
					"instanceRole", "instanceTypes", "launchTemplate", "minvCpus",
					"placementGroup", "scalingPolicy", "securityGroupIds", "spotIamFleetRole", "subnets")...),
			absent("is not a member of ECS Managed Instances",
				"remove it; networks, instance types and capacity are in managedInstancesProvider"),
			"An environment of ECS Managed Instances has its network, instance profile and instance types in managedInstancesProvider, and of the other members only type, maxvCpus and capacityTags.",
			guide("compute environments on Amazon ECS Managed Instances"))),
		warns(row("ce-managed-instances-only", Medium, in(where(environments, isOtherCapacity),
			prefixed(resourcesOf, "managedInstancesProvider", "capacityTags")...),
			absent("is only for ECS Managed Instances", `remove it, or write "type": "ECS_MANAGED_INSTANCES"`),
			"managedInstancesProvider and capacityTags are for environments of ECS Managed Instances.",
			api("ComputeResource.managedInstancesProvider"))),
		row("ce-managed-instances-arns", Low,
			in(environments, prefixed(resourcesOf+".managedInstancesProvider", "infrastructureRoleArn",
				"instanceLaunchTemplate.ec2InstanceProfileArn")...), func(s Site, n *jsontree.Node, label string) {
				if n.Name == "ec2InstanceProfileArn" {
					like(profileARN, "the ARN of an instance profile",
						`write "arn:aws:iam::<account>:instance-profile/<name>"`)(s, n, label)
					return
				}
				like(roleARN, "the ARN of an IAM role", `write "arn:aws:iam::<account>:role/<name>"`)(s, n, label)
			}, "ECS Managed Instances need the ARN of the infrastructure role, and that of an instance profile.",
			api("ManagedInstancesProvider.infrastructureRoleArn")),
		rule("ce-update-changes", High, checkUpdateChanges,
			"An update of an environment changes its state, resources, service role or vCPUs. updatePolicy only says how AWS Batch replaces instances, and does not suffice.",
			"the service's error quoted in hashicorp/terraform-provider-aws#43969").
			onlyWith(ofKind(document.KindUpdateComputeEnvironment)),
		// The members that only instances have, each with a rule of its own.
		noFargate("allocationStrategy", High), noFargate("bidPercentage", High), noFargate("desiredvCpus", High),
		noFargate("ec2KeyPair", High),
		noFargate("imageId", High), noFargate("instanceRole", High), noFargate("instanceTypes", High),
		noFargate("launchTemplate", High),
		noFargate("minvCpus", High), noFargate("placementGroup", High), noFargate("spotIamFleetRole", High),
		noFargate("tags", High),
		noFargate("ec2Configuration", High), noFargate("scalingPolicy", Medium),
		row("ce-allocation-enum", High, in(environments, resourcesOf+".allocationStrategy"),
			growing([]string{"BEST_FIT", "BEST_FIT_PROGRESSIVE", "SPOT_CAPACITY_OPTIMIZED",
				"SPOT_PRICE_CAPACITY_OPTIMIZED", "BEST_FIT_PROGRESSIVE_ORDERED",
				"SPOT_CAPACITY_OPTIMIZED_PRIORITIZED"}),
			"The strategy decides how AWS Batch chooses instances. The ordered and prioritized strategies are newer than the API reference, so they are only warnings.", tried("CRAllocationStrategy")).
			sometimesWarns(),
		row("ce-allocation-spot-only", High,
			in(where(environments, func(s Site) bool { return environment{s}.resourceType() == "EC2" }),
				resourcesOf+".allocationStrategy"), checkSpotStrategy,
			"Strategies that begin with SPOT are for Spot instances.", tried("ComputeResource.allocationStrategy")),
		row("ce-bid-range", Medium, in(environments, resourcesOf+".bidPercentage"), between(0, 100),
			"bidPercentage is 0 to 100 percent of the On-Demand price.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("ce-bid-spot-only", Low,
			in(where(environments, func(s Site) bool { return environment{s}.resourceType() == "EC2" }),
				resourcesOf+".bidPercentage"), absent("applies only to Spot instances", ""),
			"bidPercentage applies only to Spot Instances.", derived),
		check("ce-spot-fleet-role", High,
			where(environments, func(s Site) bool { return environment{s}.resourceType() == "SPOT" }),
			checkSpotFleetRole,
			"With BEST_FIT, AWS Batch requests Spot instances through a Spot Fleet, which needs a role.",
			tried("ComputeResource.spotIamFleetRole")),
		row("ce-scaling-delay-range", Medium, in(environments, resourcesOf+".scalingPolicy.minScaleDownDelayMinutes"),
			checkScaleDownDelay,
			"AWS Batch keeps instances for 20 minutes to a week after their last job, or not at all (0).",
			api("ComputeScalingPolicy.minScaleDownDelayMinutes")),
		row("ce-tags-max-50", Medium, in(environments, "tags", resourcesOf+".tags"), atMost(50, ""),
			"An environment has at most 50 tags.", api("CreateComputeEnvironment.tags")),
	}
}

// eksEnvironmentRules returns the rules about environments on EKS, which AWS Batch attaches to a
// cluster and a namespace of yours, and about the roles of all environments.
func eksEnvironmentRules() []*Rule {
	return []*Rule{
		row("ce-eks-members", High, in(environments, "eksConfiguration"),
			needs(`eksClusterArn: "arn:aws:eks:..."`, "kubernetesNamespace"),
			"An environment on EKS names its cluster and its namespace.", api("EksConfiguration")),
		row("ce-eks-cluster-arn", High, in(environments, "eksConfiguration.eksClusterArn"),
			like(clusterARN, "the ARN of an EKS cluster", `such as "arn:aws:eks:us-east-1:123456789012:cluster/main"`),
			"The EKS cluster is given by its ARN.", tried("EksConfiguration.eksClusterArn")),
		row("ce-eks-namespace-default", High, in(environments, "eksConfiguration.kubernetesNamespace"),
			checkNamespaceDefault,
			"AWS Batch does not use the default namespace of Kubernetes.",
			tried("EksConfiguration.kubernetesNamespace")),
		row("ce-eks-namespace-kube", High, in(environments, "eksConfiguration.kubernetesNamespace"),
			checkNamespaceReserved,
			"AWS Batch does not use the namespaces of Kubernetes itself.",
			tried("EksConfiguration.kubernetesNamespace")),
		row("ce-eks-namespace-format", High, in(environments, "eksConfiguration.kubernetesNamespace"),
			checkNamespaceFormat,
			"A namespace is a DNS label.", tried("EksConfiguration.kubernetesNamespace")),
		row("ce-eks-no-fargate", Medium, in(environmentsOnEKS, resourcesOf+".type"), checkEKSFargate,
			"AWS Batch runs EKS jobs on instances only.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("ce-eks-allocation-required", Medium, in(environmentsOnEKS, resourcesOf), checkEKSAllocation,
			"On EKS, allocationStrategy has no default.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("ce-eks-no-best-fit", Low, in(environmentsOnEKS, resourcesOf+".allocationStrategy"), checkEKSBestFit,
			"BEST_FIT does not exist on EKS; use BEST_FIT_PROGRESSIVE.", api("ComputeResource.allocationStrategy")),
		{
			Name: "ce-eks-per-cluster-quota", Severity: diag.Warning, Confidence: Medium,
			Doc:    "An EKS cluster can have at most 5 compute environments.",
			Source: guide("service quotas"),
			Run:    checkEKSPerCluster,
		},
		row("ce-role-kind", Low, in(environments, "serviceRole", resourcesOf+".spotIamFleetRole",
			resourcesOf+".instanceRole"), checkRoleKind,
			"instanceRole is an instance profile, and serviceRole and spotIamFleetRole are roles. With the ARN of the other kind, the environment becomes INVALID.", api("ComputeResource.instanceRole")),
		warns(row("ce-service-role-name", High, in(environments, "serviceRole", resourcesOf+".spotIamFleetRole"),
			checkServiceRolePath,
			"AWS Batch does not find a role by its bare name if the role has a path. The environment then becomes INVALID.", api("CreateComputeEnvironment.serviceRole"))),
	}
}

// checkEnvironmentType reports a type other than MANAGED and UNMANAGED. The fix replaces a
// type of computeResources by MANAGED.
func checkEnvironmentType(s Site, n *jsontree.Node, label string) {
	if contains([]string{"EC2", "SPOT", "FARGATE", "FARGATE_SPOT"}, n.Str()) {
		s.ReportFix(replace(n, "MANAGED"), "the type of a compute environment must be MANAGED or UNMANAGED, not "+
			quote(n.Str()), `write "MANAGED", and `+n.Str()+" in computeResources.type", n)
		return
	}
	oneOf("MANAGED", "UNMANAGED")(s, n, label)
}

// checkManagedResources reports a MANAGED environment without computeResources. An
// UNMANAGED environment needs none, because you start its instances yourself.
func checkManagedResources(s Site) {
	if n := s.Node.Get("type"); n.Str() == "MANAGED" && s.lacks(s.Node, resourcesOf) {
		s.Report("a MANAGED compute environment needs computeResources",
			`add "computeResources": { "type": "EC2", ... }`, s.Node)
	}
}

// checkUnmanagedFargate reports an UNMANAGED environment on Fargate, which has no
// instances that you could start yourself.
func checkUnmanagedFargate(s Site) {
	if isFargateEnvironment(s) {
		n := s.Node.Get("type")
		s.ReportFix(replace(n, "MANAGED"), "a Fargate environment must be MANAGED", `write "MANAGED"`, n)
	}
}

// checkUnmanagedServiceRole reports an UNMANAGED environment without a service role, or
// with an empty one.
func checkUnmanagedServiceRole(s Site, n *jsontree.Node, _ string) {
	needs(`serviceRole: "arn:aws:iam::<account>:role/AWSBatchServiceRole"`)(s, n, "an UNMANAGED compute environment")
	s.filledIn(n.Get("serviceRole"), `"arn:aws:iam::<account>:role/AWSBatchServiceRole"`)
}

// checkUnmanagedLinkedRole reports the service-linked role in an UNMANAGED environment.
func checkUnmanagedLinkedRole(s Site, n *jsontree.Node, _ string) {
	if strings.Contains(n.Str(), "AWSServiceRoleForBatch") {
		s.Report("UNMANAGED environments cannot use the service-linked role", "name a role of your own", n)
	}
}

// checkEnvironmentEnabled reports an environment that is created DISABLED. batchctl apply, which alone takes files with
// lists of resources, creates it ENABLED and disables it.
func checkEnvironmentEnabled(s Site, n *jsontree.Node, _ string) {
	if n.Str() == "DISABLED" && s.File.Kind != document.KindResources {
		s.ReportFix(replace(n, "ENABLED"), "a compute environment must be created ENABLED",
			`write "ENABLED", and disable it afterwards`, n)
	}
}

// checkMinvCpus reports computeResources without minvCpus. The fix adds 0, so that no
// instance runs without a job.
func checkMinvCpus(s Site, n *jsontree.Node, label string) {
	if n.Is(jsontree.Object) && s.lacks(n, "minvCpus") {
		s.ReportFix(s.insert(n, `"minvCpus": 0`), "computeResources on instances needs minvCpus", `add "minvCpus": 0`,
			n)
	}
}

// checkMaxvCpus reports a maxvCpus below minvCpus, which is 0 without this member, as on Fargate.
func checkMaxvCpus(s Site) {
	c := s.Node.Get(resourcesOf)
	least, okL := c.Get("minvCpus").Int()
	most, okM := c.Get("maxvCpus").Int()
	switch {
	case okM && most < 0:
		s.Report(fmt.Sprintf("maxvCpus must be 0 or more, not %d", most), "", c.Get("maxvCpus"))
	case okL && okM && most < least:
		s.Report(fmt.Sprintf("maxvCpus %d is below minvCpus %d", most, least), "raise maxvCpus", c.Get("maxvCpus"))
	}
}

// checkDesiredvCpus reports a desiredvCpus outside of minvCpus and maxvCpus. AWS Batch
// changes the number itself with the jobs that wait, so the fix removes it.
func checkDesiredvCpus(s Site) {
	c := s.Node.Get(resourcesOf)
	n := c.Get("desiredvCpus")
	least, _ := c.Get("minvCpus").Int()
	most, okM := c.Get("maxvCpus").Int()
	if d, ok := n.Int(); ok && !isFargateEnvironment(s) && (d < least || okM && d > most) {
		s.ReportFix(s.remove(n), fmt.Sprintf("desiredvCpus must be between minvCpus and maxvCpus, %d to %d, not %d",
			least, most, d), "remove it: AWS Batch sets it", n)
	}
}

// checkInstanceTypes reports absent or empty instanceTypes. A value of the wrong type has
// a rule of its own.
func checkInstanceTypes(s Site) {
	c := s.Node.Get(resourcesOf)
	if n := c.Get("instanceTypes"); n.Len() == 0 && (n != nil || s.lacks(c, "instanceTypes")) {
		s.Report("computeResources needs instanceTypes, the instances that it can start",
			`add "instanceTypes", such as ["optimal"]`, n, c)
	}
}

// checkInstanceTypesKnown reports the entries of instanceTypes that the catalogue does not
// have.
func checkInstanceTypesKnown(s Site, list *jsontree.Node, _ string) {
	types := s.pass.instanceTypes()
	for _, entries := range types.unknownIn(list) {
		severity := diag.Error
		if types.MayBeNewer(entries[0].Text) {
			severity = diag.Warning
		}
		message, hint := types.unknown(entries)
		s.reportAs(severity, nil, message, hint, entries[0])
	}
}

// checkOneArchitecture reports the first entry of instanceTypes whose architecture differs
// from that of the entries above it. Unknown entries are skipped.
func checkOneArchitecture(s Site) {
	list := s.Node.Get(resourcesOf).Get("instanceTypes")
	first, name := "", ""
	for n := range list.Children() {
		switch a := s.pass.instanceTypes().ArchOf([]string{n.Str()}); {
		case a == "":
		case first == "":
			first, name = a, n.Str()
		case a != first:
			s.Report(fmt.Sprintf("%s is %s and %s is %s: all instances of an environment must have the same architecture", name, first, n.Str(), a), "create a separate environment for each", n)
			return
		}
	}
}

// checkInstanceRole reports instances without an instance profile, or with an empty one.
func checkInstanceRole(s Site, n *jsontree.Node, _ string) {
	if n.Is(jsontree.Object) && s.lacks(n, "instanceRole") {
		s.Report("computeResources on instances needs instanceRole", `add "instanceRole", such as "ecsInstanceRole"`, n)
	}
	s.filledIn(n.Get("instanceRole"), `"ecsInstanceRole"`)
}

// checkSecurityGroups reports computeResources without security groups. A launch template
// may contain them, so an environment with a launch template is not reported.
func checkSecurityGroups(s Site) {
	c := s.Node.Get(resourcesOf)
	n := c.Get("securityGroupIds")
	if !c.Is(jsontree.Object) || isManagedInstances(c) || n.Len() > 0 || c.Get("launchTemplate") != nil || n == nil &&
		!s.lacks(c, "securityGroupIds") {
		return
	}
	s.Report("computeResources needs securityGroupIds, or a launch template that has them",
		`add "securityGroupIds": ["sg-..."]`, n, c)
}

// checkNetworkIDs reports entries of subnets and securityGroupIds that are not ids.
func checkNetworkIDs(s Site, n *jsontree.Node, _ string) {
	for c := range n.Get("subnets").Children() {
		like(subnetPattern, "an id such as subnet-0123456789abcdef0", hexDigits)(s, c, "an entry of subnets")
	}
	for c := range n.Get("securityGroupIds").Children() {
		like(groupPattern, "an id such as sg-0123456789abcdef0", hexDigits)(s, c, "an entry of securityGroupIds")
	}
}

// checkSpotStrategy reports a Spot strategy in an environment of type EC2.
func checkSpotStrategy(s Site, n *jsontree.Node, _ string) {
	if strings.HasPrefix(n.Str(), "SPOT_") {
		s.ReportFix(replace(n, "BEST_FIT_PROGRESSIVE"), n.Str()+" is for environments of type SPOT",
			`write "BEST_FIT_PROGRESSIVE", or "type": "SPOT"`, n)
	}
}

// checkSpotFleetRole reports a SPOT environment without spotIamFleetRole whose strategy is
// BEST_FIT, explicitly or by default.
func checkSpotFleetRole(s Site) {
	c := s.Node.Get(resourcesOf)
	strategy := c.Get("allocationStrategy")
	if (strategy == nil || strategy.Str() == "BEST_FIT") && s.lacks(c, "spotIamFleetRole") {
		s.Report("Spot instances with BEST_FIT, the default, need spotIamFleetRole",
			`add it, or "allocationStrategy": "SPOT_PRICE_CAPACITY_OPTIMIZED"`, strategy, c)
	}
}

// checkScaleDownDelay reports a delay that is neither 0 nor 20 minutes to 7 days.
func checkScaleDownDelay(s Site, n *jsontree.Node, _ string) {
	if v, ok := n.Int(); ok && v != 0 && (v < 20 || v > 10080) {
		s.Report("minScaleDownDelayMinutes must be 0, or 20 to 10080, not "+n.Text, "", n)
	}
}

// checkNamespaceDefault, checkNamespaceReserved and checkNamespaceFormat report namespaces
// in which AWS Batch does not run pods. In an environment, only the prefix "kube-" is
// reserved; metadata of a job reserves all names that start with "kube".
func checkNamespaceDefault(s Site, n *jsontree.Node, _ string) {
	if n.Str() == "default" {
		s.Report("jobs do not run in the namespace default", "create a namespace for AWS Batch", n)
	}
}

// checkNamespaceReserved reports a namespace with the prefix of Kubernetes.
func checkNamespaceReserved(s Site, n *jsontree.Node, _ string) {
	if strings.HasPrefix(n.Str(), "kube-") {
		s.Report("namespaces that start with kube- belong to Kubernetes", "create a namespace for AWS Batch", n)
	}
}

// checkNamespaceFormat reports a namespace that is not a DNS label (RFC 1123).
func checkNamespaceFormat(s Site, n *jsontree.Node, _ string) {
	if n.Is(jsontree.String) && !dnsLabel().MatchString(n.Text) && !isPlaceholder(n.Text) {
		s.ReportFix(lowerFix(n, dnsLabel), "a namespace must be 1 to 63 lower-case letters, digits and hyphens, not "+
			quote(n.Text), lowerHint(n.Text), n)
	}
}

// checkEKSFargate reports Fargate as the type of an environment on EKS.
func checkEKSFargate(s Site, n *jsontree.Node, _ string) {
	if strings.HasPrefix(n.Str(), "FARGATE") {
		s.Report("an environment on EKS must be of type EC2 or SPOT, not "+n.Str(), "", n)
	}
}

// checkEKSAllocation reports an environment on EKS without allocationStrategy. One on
// Fargate is reported for its type.
func checkEKSAllocation(s Site, n *jsontree.Node, label string) {
	if !isFargateEnvironment(s) && s.Node.Get("type").Str() != "UNMANAGED" {
		needs(`allocationStrategy: "BEST_FIT_PROGRESSIVE"`)(s, n, "computeResources on EKS")
	}
}

// checkEKSBestFit reports BEST_FIT, which exists only for environments on ECS.
func checkEKSBestFit(s Site, n *jsontree.Node, _ string) {
	if n.Str() == "BEST_FIT" {
		s.ReportFix(replace(n, "BEST_FIT_PROGRESSIVE"), "BEST_FIT does not exist on EKS",
			`write "BEST_FIT_PROGRESSIVE"`, n)
	}
}

// checkEKSPerCluster reports the sixth environment of the files for one EKS cluster. The
// account may have others, which the files do not show.
func checkEKSPerCluster(p *Pass) {
	// Only the sixth environment is reported, not every further one.
	count := map[string]int{}
	for _, s := range environmentsOnEKS(p) {
		n := s.Node.Get("eksConfiguration").Get("eksClusterArn")
		if count[n.Str()]++; n.Str() != "" && count[n.Str()] == 6 {
			s.Report("an EKS cluster can have at most 5 compute environments, and this is the sixth",
				"merge some of them", n)
		}
	}
}

// checkServiceRolePath reports a role by its bare name. It warns only, since AWS Batch
// finds such a role if its path is "/".
func checkServiceRolePath(s Site, n *jsontree.Node, label string) {
	if n.Str() != "" && !batch.IsARN(n.Str()) && !isPlaceholder(n.Str()) {
		s.Report(label+" is a bare name: if the role has a path, AWS Batch does not find it",
			`write "arn:aws:iam::<account>:role/`+n.Str()+`"`, n)
	}
}

// filledIn reports a text that is present but empty, as in a skeleton.
func (s Site) filledIn(n *jsontree.Node, example string) {
	if n.Is(jsontree.String) && n.Text == "" {
		s.Report(n.Name+" is empty", "write "+example, n)
	}
}

// filledMember is filledIn for a member of the value.
func filledMember(member, example string) condition {
	return func(s Site, n *jsontree.Node, _ string) { s.filledIn(n.Get(member), example) }
}

// noFargate is the rule for a member of computeResources that only instances have.
func noFargate(member string, c Confidence) *Rule {
	return row("ce-fargate-no-"+strings.ToLower(member), c, in(fargateResources, resourcesOf+"."+member),
		absent("does not exist for Fargate environments", ""),
		"A Fargate environment has no instances, so "+member+" does not apply.", tried("ComputeResource."+member))
}

// checkRoleKind reports the ARN of a role for an instance profile, and the reverse. A bare
// name can be of both.
func checkRoleKind(s Site, n *jsontree.Node, label string) {
	wrong, kind := ":instance-profile/", "the ARN of a role"
	if n.Name == "instanceRole" {
		wrong, kind = ":role/", "the name or the ARN of an instance profile"
	}
	if batch.IsARN(n.Str()) && strings.Contains(n.Str(), wrong) {
		s.Report(fmt.Sprintf("%s must be %s, not %s", label, kind, quote(n.Str())), "", n)
	}
}
