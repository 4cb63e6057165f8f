package lint

import "strings"

// Link is a part of a rule's source, and the page about it; URL is empty if there is no
// page.
type Link struct{ Text, URL string }

// Links returns the parts of the rule's source.
func (r Rule) Links() []Link {
	var links []Link
	for part := range strings.SplitSeq(r.Source, "; ") {
		links = append(links, Link{part, pageOf(part)})
	}
	return links
}

// pageOf returns the address of what a source names.
func pageOf(source string) string {
	if rest, ok := strings.CutPrefix(source, apiReference+", "); ok {
		return apiPage(rest)
	}
	if page, ok := strings.CutPrefix(source, userGuide+", "); ok {
		return guidePage(page)
	}
	if _, issue, ok := strings.Cut(source, " quoted in "); ok && strings.Contains(issue, "#") {
		return "https://github.com/" + strings.Replace(issue, "#", "/issues/", 1)
	}
	return otherPage(source)
}

// apiPage returns the page of the operation or structure that a member belongs to.
// Scalars have none of their own.
func apiPage(member string) string {
	shape := member[:len(member)-len(strings.TrimLeft(member, letters))]
	switch shape {
	// These shapes are enumerations and strings, which the reference describes where they
	// are used.
	case "ArrayJobDependency", "AssignPublicIp", "CEState", "CEType", "CRAllocationStrategy", "CRType",
		"DeviceCgroupPermission", "EFSTransitEncryption",
		"JQState", "JobDefinitionType", "JobQueueType", "LogDriver", "PlatformCapability", "Quantity", "TagKey",
		"TagValue", "TagrisTagsMap", "UserdataType":
		return ""
	}
	return "https://docs.aws.amazon.com/batch/latest/APIReference/API_" + shape + ".html"
}

// letters are the characters of a shape's name. A dot or a space ends the name.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// guidePage returns the address of a page of the user guide.
func guidePage(title string) string {
	file := ""
	switch title, _, _ = strings.Cut(title, ": "); title {
	case "Amazon EKS compute resource memory management":
		file = "memory-cpu-batch-eks"
	case "Fargate":
		file = "fargate"
	case "GPU jobs":
		file = "gpu-jobs"
	case "array jobs":
		file = "array_jobs"
	case "automated job retries":
		file = "job_retries"
	case "compute environments of multi-node jobs":
		file = "mnp-ce"
	case "compute environments on Amazon ECS Managed Instances":
		file = "ecs-managed-instances-compute-environments"
	case "compute resource AMIs":
		file = "compute_resource_AMIs"
	case "compute resource memory management":
		file = "memory-management"
	case "consumable resources":
		file = "resource-aware-scheduling"
	case "job definition parameters":
		file = "job_definition_parameters"
	case "job dependencies":
		file = "job_dependencies"
	case "job environment variables":
		file = "job_env_vars"
	case "job queues":
		file = "job_queues"
	case "job state time limit actions":
		file = "job_stuck_in_runnable_time_limit_actions"
	case "launch templates":
		file = "launch-templates"
	case "job timeouts":
		file = "job_timeouts"
	case "jobs stuck in RUNNABLE":
		file = "job_stuck_in_runnable"
	case "multi-node parallel jobs":
		file = "multi-node-parallel-jobs"
	case "quota shares":
		file = "quota-shares"
	case "service quotas":
		file = "service_limits"
	case "specifying sensitive data":
		file = "specifying-sensitive-data"
	case "tag restrictions":
		file = "using-tags"
	default:
		return ""
	}
	return "https://docs.aws.amazon.com/batch/latest/userguide/" + file + ".html"
}

// otherPage returns the address of a source outside of AWS Batch.
func otherPage(source string) string {
	switch source {
	case jsonStandard, jsonStandard + ", section 4":
		return "https://www.rfc-editor.org/rfc/rfc8259"
	case ourSchemas:
		return "https://github.com/batchctl/batchctl/tree/main/schemas"
	case "AWS Fargate service quotas":
		return "https://docs.aws.amazon.com/general/latest/gr/ecs-service.html#service-quotas-fargate"
	case cfnReference + "AWS::Batch::JobDefinition ConsumableResourceRequirement":
		return "https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-batch-jobdefinition-consumableresourcerequirement.html"
	case "Go documentation, syscall.SlicePtrFromStrings":
		return "https://pkg.go.dev/syscall#SlicePtrFromStrings"
	case mimeStandard:
		return "https://www.rfc-editor.org/rfc/rfc2046#section-5.1"
	case ecsAPI + "ContainerDefinition.name":
		return "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html"
	case ecsAPI + "AwsVpcConfiguration.securityGroups":
		return "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_AwsVpcConfiguration.html"
	case "Amazon ECS Developer Guide, GPU workloads":
		return "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu.html"
	case "Amazon ECS Developer Guide, task size":
		return "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_definition_parameters.html#task_size"
	case ec2UserData:
		return "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html"
	case imdsGuide:
		return "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html"
	case ecsImageDocs:
		return "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-optimized_AMI.html"
	case ecsBootstrap:
		return "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/bootstrap_container_instance.html"
	case ecsInstall:
		return "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-install.html"
	case ecsAgentConfig:
		return "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-config.html"
	case cloudInit:
		return "https://cloudinit.readthedocs.io/en/latest/explanation/format.html"
	case dockerConfig:
		return "https://docs.docker.com/reference/cli/dockerd/"
	case "Kubernetes documentation, security context":
		return "https://kubernetes.io/docs/tasks/configure-pod-container/security-context/"
	case "Kubernetes documentation, volumes":
		return "https://kubernetes.io/docs/concepts/storage/volumes/"
	case "setrlimit(2)":
		return "https://man7.org/linux/man-pages/man2/setrlimit.2.html"
	}
	return ""
}
