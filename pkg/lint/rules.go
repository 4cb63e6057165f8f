package lint

import (
	"slices"
	"sync"
)

// Rules returns every rule, in the order of the topics. A rule is added by
// adding it to the list of its topic's file. The list is made once.
func Rules() []Rule { return slices.Clone(all()) }

var all = sync.OnceValue(func() []Rule {
	return slices.Concat(
		about("naming", nameRules, imageRules, otherNameRules),
		about("jobdef", schemaRules, jobdefRules, resourceRules, environmentRules, parameterRules, timeoutRules, retryRules, volumeRules, loggingRules, consumableRules),
		about("ec2", linuxRules),
		about("fargate", fargateRules, fargateSizeRules(), fargateRowRules),
		allOnlyWith(about("ecsProperties", ecsRules), "ecsProperties", "ecsPropertiesOverride"),
		allOnlyWith(about("eks", eksRules, podRules), "podProperties"),
		about("multinode", multinodeRules),
		about("submit", submitRules),
		about("array", arrayRules),
		about("dependencies", dependencyRules),
		about("tags", tagRules),
		about("queue", jobQueueRules),
		about("compute-env", environmentFileRules, launchTemplateRules),
		about("scheduling-policy", sharingRules),
		about("cross-file", crossRules),
		about("stuck-runnable", queueRules(), stuckRules),
		about("policy", policyRules),
		about("platform", platformRules),
		about("secrets", secretRules),
	)
})

// about gives the rules of some lists their topic.
func about(topic string, lists ...[]Rule) []Rule {
	rules := slices.Concat(lists...)
	for i := range rules {
		rules[i].Scope = topic
	}
	return rules
}
