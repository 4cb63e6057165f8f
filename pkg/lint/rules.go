package lint

import (
	"sync"

	"github.com/batchctl/batchctl/pkg/document"
)

// Rules returns every rule, in the order of the topics. To add a rule, add it to the list
// in its topic's file. The list is shared: do not change it.
func Rules() []Rule { return all() }

// all is the list of Rules. The order of topics is the order of the pages, and the rules
// of a topic are in the order of their files.
var all = sync.OnceValue(func() []Rule {
	rules := make([]Rule, 0, 512)
	add := func(topic string, lists ...[]*Rule) {
		for _, list := range lists {
			for _, r := range list {
				r.Scope = topic
				rules = append(rules, r.withEvidence())
			}
		}
	}
	add("naming", nameRules(), imageRules(), otherNameRules())
	add("jobdef", schemaRules(), jobdefRules(), resourceRules(), environmentRules(), parameterRules(), timeoutRules(),
		retryRules(), volumeRules(), loggingRules(), consumableRules())
	add("ec2", linuxRules())
	add("fargate", fargateRules(), fargateRowRules(), windowsRules())
	add("ecsProperties", ecsRules())
	allOnlyWith(rules, "ecsProperties", "ecsProperties", "ecsPropertiesOverride")
	add("eks", eksRules(), podRules())
	allOnlyWith(rules, "eks", "podProperties")
	add("multinode", multinodeRules())
	add("submit", submitRules())
	add("array", arrayRules())
	add("staging", stagingRules(), checkpointRules())
	add("ladder", ladderRules())
	add("dependencies", dependencyRules())
	add("tags", tagRules())
	add("queue", jobQueueRules())
	// One of them counts environments too.
	allOnlyWith(rules, "queue", ofKind(document.KindJobQueue), ofKind(document.KindComputeEnvironment))
	add("compute-env", environmentFileRules(), eksEnvironmentRules(), launchTemplateRules())
	allOnlyWith(rules, "compute-env", ofKind(document.KindComputeEnvironment))
	add("scheduling-policy", sharingRules())
	allOnlyWith(rules, "scheduling-policy", ofKind(document.KindSchedulingPolicy))
	add("cross-file", crossRules())
	add(placementTopic, queueRules(), stuckRules())
	add(policyTopic, policyRules())
	add("platform", platformRules())
	add("secrets", secretRules())
	add("hosts", hostRules(), hostResourceRules(), roleRules())
	allOnlyWith(rules, "hosts", hostMark)
	add("user-data", userDataRules())
	allOnlyWith(rules, "user-data", hostMark)
	forUpdates(rules)
	add(waiverTopic, waiverRules()) // last: they read the problems of the others
	return rules
})

// ofKind returns the path that only files with a request of that kind have.
func ofKind(k document.Kind) path { return path(kindMark(k)) }
