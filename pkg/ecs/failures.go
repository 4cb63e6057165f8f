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
	return "see \"API failure reasons\" in the developer guide of ECS"
}

// meaning explains the reasons that begin with prefix.
type meaning struct{ prefix, text string }

// meanings returns the explanations, the longest prefixes first where they
// overlap.
func meanings() []meaning {
	const wait = "wait until a task ends, add instances, or name a capacity provider that does: --capacity-provider"
	return []meaning{
		{"RESOURCE:GPU", "no instance of the cluster has that many GPUs free; " + wait + ". An instance counts its GPUs only with ECS_ENABLE_GPU_SUPPORT=true"},
		{"RESOURCE:MEMORY", "no instance has that much memory free: it offers less than its instance type has; " + wait + ", or ask for less"},
		{"RESOURCE:CPU", "no instance has that many vCPUs free; " + wait + ", or ask for less"},
		{"RESOURCE:ENI", "no instance has a network interface free for the task; " + wait + ", or leave --subnets out"},
		{"RESOURCE:PORT", "a port of the host is taken on every instance; wait until that task ends"},
		{"RESOURCE", "the task fits on no instance; " + wait},
		{"AGENT", "the instance's container agent is not connected; check it on the instance: batchctl doctor, or sudo systemctl status ecs"},
		{"ATTRIBUTE", "no instance has an attribute that the task definition needs, such as a log driver, a GPU driver or a newer agent; " +
			"compare: aws ecs describe-container-instances and requiresAttributes of aws ecs describe-task-definition"},
		{"LOCATION", "the instance is in another Availability Zone than the subnets; name subnets of its zone"},
		{"EMPTY CAPACITY PROVIDER", "the capacity provider has no instance on which the task fits, and starts none; check its Auto Scaling group"},
		{"NO ACTIVE INSTANCES", "the capacity provider has no ACTIVE instance; check its Auto Scaling group"},
		{"MEMBEROF", "no instance meets the placement constraint of the task definition"},
		{"INACTIVE", "the instance is being taken out of the cluster; name another one, or add instances"},
		{"MISSING", "it is not in this cluster and Region; check --cluster and --region"},
		{"CAPACITY IS UNAVAILABLE", "Fargate has no capacity in these zones now; try later, or name subnets of other zones"},
	}
}
