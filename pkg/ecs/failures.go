package ecs

import "strings"

// Meaning says what a reason of RunTask's failures means and what to do (developer
// guide of ECS, "API failure reasons").
func Meaning(reason string) string {
	word := strings.ToUpper(strings.TrimSpace(reason))
	for _, m := range meanings() {
		if strings.HasPrefix(word, m.prefix) {
			return m.text
		}
	}
	return "see \"API failure reasons\" in the developer guide of ECS"
}

type meaning struct{ prefix, text string }

// meanings are looked through in this order.
func meanings() []meaning {
	const wait = "wait until a task ends, add instances, or name a capacity provider that does: --capacity-provider"
	return []meaning{
		{"RESOURCE:GPU", "no instance of the cluster has that many GPUs free; " + wait + ". An instance counts its GPUs only with ECS_ENABLE_GPU_SUPPORT=true"},
		{"RESOURCE:MEMORY", "no instance has that much memory free: it offers less than its type's sheet says; " + wait + ", or ask for less"},
		{"RESOURCE:CPU", "no instance has that many vCPUs free; " + wait + ", or ask for less"},
		{"RESOURCE:ENI", "no instance has a network interface free for the task; " + wait + ", or leave --subnets out"},
		{"RESOURCE:PORT", "a port of the host is taken on every instance; wait until that task ends"},
		{"RESOURCE", "no instance has room for the task; " + wait},
		{"AGENT", "the instance's container agent is not connected; look at it there: batchctl doctor, or sudo systemctl status ecs"},
		{"ATTRIBUTE", "no instance has an attribute that the task definition needs, such as a log driver, a GPU driver or a newer agent; " +
			"compare: aws ecs describe-container-instances and requiresAttributes of aws ecs describe-task-definition"},
		{"LOCATION", "the instance is in another Availability Zone than the subnets; name subnets of its zone"},
		{"EMPTY CAPACITY PROVIDER", "the capacity provider has no instance that holds the task, and starts none; look at its Auto Scaling group"},
		{"NO ACTIVE INSTANCES", "the capacity provider has no ACTIVE instance; look at its Auto Scaling group"},
		{"MEMBEROF", "no instance meets the placement constraint of the task definition"},
		{"INACTIVE", "the instance is being taken out of the cluster; name another one, or add instances"},
		{"MISSING", "it is not in this cluster and Region; look at --cluster and --region"},
		{"CAPACITY IS UNAVAILABLE", "Fargate has no room in these zones now; try later, or name subnets of other zones"},
	}
}
