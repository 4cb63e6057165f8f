package ecs

import "strings"

// Meaning returns what a failure reason of RunTask means and what to do (Amazon
// ECS Developer Guide, "API failure reasons").
func Meaning(reason string) string {
	upper := strings.ToUpper(strings.TrimSpace(reason))
	for _, m := range meanings() {
		if strings.HasPrefix(upper, m.prefix) {
			return m.text
		}
	}
	return "see \"API failure reasons\" in the Amazon ECS Developer Guide"
}

// meaning explains the reasons that begin with prefix.
type meaning struct{ prefix, text string }

// meanings returns the explanations, the longest prefixes first where they
// overlap.
func meanings() []meaning {
	const wait = "wait until a task ends, add instances, or let a capacity provider add them: --capacity-provider NAME"
	return []meaning{
		{"RESOURCE:GPU", "no instance of the cluster has enough free GPUs; " + wait +
			". An instance offers its GPUs only with ECS_ENABLE_GPU_SUPPORT=true"},
		{"RESOURCE:MEMORY", "no instance has enough free memory (an instance offers less than the nominal memory of its type); " + wait + ", or request less"},
		{"RESOURCE:CPU", "no instance has enough free vCPUs; " + wait + ", or request less"},
		{"RESOURCE:ENI", "no instance has a free network interface for the task; " + wait + ", or omit --subnets"},
		{"RESOURCE:PORT", "on every instance, another task uses a host port that this one needs; wait until one of those tasks ends"},
		{"RESOURCE", "the task does not fit on any instance; " + wait},
		{"AGENT", "the instance's container agent is not connected; check it on the instance: batchctl doctor, or sudo systemctl status ecs"},
		{"ATTRIBUTE", "no instance has all attributes that the task definition requires, such as a log driver, a GPU driver or a newer agent; " +
			"compare the attributes in aws ecs describe-container-instances with requiresAttributes in aws ecs describe-task-definition"},
		{"LOCATION", "the instance is not in the Availability Zone of the subnets; name subnets in its zone"},
		{"EMPTY CAPACITY PROVIDER",
			"the capacity provider has no instance that fits the task, and is not starting one; check its Auto Scaling group"},
		{"NO ACTIVE INSTANCES", "the capacity provider has no ACTIVE instance; check its Auto Scaling group"},
		{"MEMBEROF", "no instance meets the placement constraint of the task definition"},
		{"INACTIVE", "the instance is leaving the cluster; use another one, or add instances"},
		{"MISSING", "not found in this cluster and Region; check --cluster and --region"},
		{"CAPACITY IS UNAVAILABLE",
			"Fargate has no capacity in these zones now; try again later, or name subnets in other zones"},
	}
}
