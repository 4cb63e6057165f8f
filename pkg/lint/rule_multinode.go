package lint

import (
	"fmt"
	"slices"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
)

// payloads are the members of a node range that describe its containers.
var payloads = []string{"container", "ecsProperties", "eksProperties"}

// multinodeRules returns the rules about multi-node parallel jobs: the node ranges of
// definitions, the overrides of submissions, and the environments that can run them.
func multinodeRules() []*Rule {
	return []*Rule{
		check("jobdef-multinode-needs-nodeproperties", High, definitions, checkNodeProperties,
			"A definition of type multinode needs nodeProperties, which says what its nodes run.",
			tried("RegisterJobDefinition.nodeProperties")),
		check("jobdef-nodeproperties-needs-multinode", Medium, definitions, checkMultinodeType,
			"nodeProperties belongs to definitions of type multinode.", tried("RegisterJobDefinition.nodeProperties")),
		row("mnp-no-top-containerproperties", Low, in(where(definitions, func(s Site) bool {
			return s.Node.Get("type").Str() == "multinode" || s.Node.Get("nodeProperties") != nil
		}), "containerProperties", "ecsProperties"), absent("cannot be combined with nodeProperties",
			"remove it, and describe the containers in the node ranges"),
			"The containers of a multinode job are in its node ranges.",
			api("RegisterJobDefinition.containerProperties")),
		// The nodes, and the ranges that say what each of them runs.
		row("mnp-members-required", High, in(nodes, ""),
			needed("nodeProperties", "numNodes: 2", "mainNode: 0", "nodeRangeProperties: [...]"),
			"nodeProperties needs the number of nodes, the main node and the node ranges.", api("NodeProperties")),
		row("mnp-numnodes-range", High, in(nodes, "numNodes"), between(1, 1000),
			"A job has 1 to 1000 nodes.", tried("NodeProperties.numNodes")),
		check("mnp-mainnode-lt-numnodes", High, nodes, checkMainNode,
			"The main node is one of the nodes, which are numbered from 0.", tried("NodeProperties.mainNode")),
		row("mnp-ranges-max-5", High, in(nodes, "nodeRangeProperties"), atMost(5, "merge ranges, such as \"1:\""),
			"A job has at most 5 node ranges.", tried("NodeProperties.nodeRangeProperties")),
		row("mnp-targetnodes-required", High, in(groups, ""), checkTargetNodesRequired,
			"A node range needs targetNodes.", api("NodeRangeProperty.targetNodes")),
		row("mnp-targetnodes-format", High, in(groups, "targetNodes"), checkTargetNodesFormat,
			"targetNodes is an index or a range of indexes.", tried("NodeRangeProperty.targetNodes")),
		check("mnp-targetnodes-in-range", High, nodes, checkTargetNodesInRange,
			"targetNodes is below numNodes, since nodes are numbered from 0.", tried("NodeRangeProperty.targetNodes")),
		check("mnp-targetnodes-order", Low, nodes, checkTargetNodesOrder,
			"A range goes from the lower to the higher index.", derived),
		check("mnp-coverage", High, nodes, checkNodeCoverage,
			"Every node is in a range.", tried("NodeRangeProperty.targetNodes")),
		// The containers of a node range.
		check("mnp-payload-required", Medium, groups, checkNodePayload,
			"A node range needs container, ecsProperties or eksProperties.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("mnp-payload-exclusive", Medium, in(groups, ""), exclusive(payloads...),
			"A node range has only one of container, ecsProperties and eksProperties.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("mnp-instancetypes-ecs-only", Medium,
			in(where(groups, func(s Site) bool { return s.Node.Get("ecsProperties") == nil }), "instanceTypes"),
			absent("of a node range needs ecsProperties", "write instanceType in the container"),
			"A node range with a container has its instance type there. Only a range with ecsProperties has instanceTypes.", "confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("mnp-instancetypes-one", Medium, in(groups, "instanceTypes"), atMost(1, "keep one"),
			"A node range has one instance type.", api("NodeRangeProperty.instanceTypes")),
		check("mnp-same-instance-type", High, nodes, checkSameInstanceType,
			"All nodes of a job have the same instance type.", api("ContainerProperties.instanceType")).
			quoting("All node groups in a multi-node parallel job must use the same instance type."),
		check("mnp-node-resources", Medium, nodeContainers, checkNodeResources,
			"Each node range requests vCPUs and memory.", api("ResourceRequirement.value")).
			quoting("It must be specified for each node at least once."),
		row("mnp-node-image-required", High, in(nodeContainers, ""), needs("image"),
			"The container of a node range needs an image.", api("ContainerProperties.image")),
		check("mnp-eks-same-namespace", Medium, nodes, checkSameNamespace,
			"All nodes of a job run in the same namespace.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		warns(row("mnp-env-reserved-prefix", Medium, in(nodeContainers, "environment[].name"), unreserved,
			"Names that start with AWS_BATCH belong to AWS Batch, on every node. Reports of other jobs say that the job does not get such a variable.", api("ContainerProperties.environment")+lostVariables)),
		// Submissions that change the nodes of their definition.
		row("submit-nodeoverride-targetnodes-required", High, in(submits, "nodeOverrides.nodePropertyOverrides[]"),
			needs(`targetNodes: "0:"`),
			"An override needs targetNodes.", api("NodePropertyOverride.targetNodes")),
		check("submit-nodeoverride-targets-match", High, submits, checkOverriddenNodes,
			"targetNodes of an override is written exactly as in the definition.",
			tried("NodePropertyOverride.targetNodes")).onlyWith("nodeOverrides"),
		check("submit-numnodes-open-range", Medium, submits, checkNumNodesOpenRange,
			"A submission can change the number of nodes only if the definition has a range without an end.",
			api("NodeOverrides.numNodes")).
			quoting("There must be at least one node range in your job definition that has an open upper boundary, such as : or n:.").onlyWith("nodeOverrides"),
		check("submit-numnodes-lower-bound", Medium, submits, checkNumNodesLowerBound,
			"The number of nodes has to include the main node and the start of the open range.",
			api("NodeOverrides.numNodes")).
			quoting("The lower boundary of the node range that's specified in the job definition must be fewer than the number of nodes specified in the override.").onlyWith("nodeOverrides"),
		check("submit-multinode-no-containeroverrides", Low, submits, checkMultinodeOverrides,
			"A multinode job needs nodeOverrides, which has overrides for each node range.",
			api("SubmitJob.containerOverrides")).onlyWith("containerOverrides"),
		check("submit-multinode-not-array", Low, submits, checkMultinodeArray,
			"A job is an array or a multi-node job, not both.", guide("multi-node parallel jobs")).
			onlyWith("arrayProperties"),
		// AWS Batch accepts the job in these cases, and the job stays in RUNNABLE.
		orUnplaceable(check("stuck-mnp-on-spot", High, environmentsOfNodes, checkNodesOnSpot,
			"Multi-node jobs do not start on Spot Instances or on Amazon ECS Managed Instances.",
			api("ComputeResource.type")).
			quoting("Multi-node parallel jobs aren't supported on Spot Instances."), catalog.NodesOnSpot),
		check("stuck-mnp-on-unmanaged", Medium, environmentsOfNodes, checkNodesOnUnmanaged,
			"Multi-node jobs start only on managed environments.", guide("compute environments of multi-node jobs")).
			quoting("Multi-node parallel jobs aren't supported on UNMANAGED compute environments."),
		orUnplaceable(check("stuck-mnp-maxvcpus", Medium, environmentsOfNodes, checkNodesFitMaxvCpus,
			"All nodes of a job start together, each on an instance of its own, so maxvCpus has to be large enough for all.", guide("compute environments of multi-node jobs")).
			quoting("Your compute environment must have enough maximum vCPUs to support your multi-node parallel job."),
			catalog.NodesOverMaxvCpus),
		check("stuck-mnp-instancetype", Medium, nodes, checkNodesInstanceType,
			"A compute environment has to launch the instance type that a multi-node job names.",
			guide("compute environments of multi-node jobs")).
			quoting("If you specify an instance type for a node group in a multi-node parallel job, your compute environment must launch that instance type."),
		check("stuck-mnp-security-groups", Medium, environmentsOfNodes, checkNodesSecurityGroups,
			"The network interface of a node has at most 5 security groups.",
			ecsAPI+"AwsVpcConfiguration.securityGroups; "+guide("multi-node parallel jobs")).
			quoting("There's a limit of 5 security groups that can be specified."),
		warns(check("stuck-mnp-public-subnet", Medium, nodes, checkNodesSubnets,
			"The network interfaces of nodes have no public addresses, so nodes in a public subnet cannot reach a registry. batchctl reports this if a file "+
				"requests a public address.", guide("multi-node parallel jobs"))),
	}
}

// checkNodeProperties reports a definition of type multinode without nodeProperties.
func checkNodeProperties(s Site) {
	if s.Node.Get("type").Str() == "multinode" && s.lacks(s.Node, "nodeProperties") {
		s.Report("a multinode job needs nodeProperties", `add nodeProperties, or write "type": "container"`,
			s.Node.Get("type"))
	}
}

// checkMultinodeType reports nodeProperties in a definition of type container.
func checkMultinodeType(s Site) {
	if t := s.Node.Get("type"); s.Node.Get("nodeProperties") != nil && t.Str() == "container" {
		s.ReportFix(replace(t, "multinode"), "nodeProperties is for jobs of type multinode",
			`write "type": "multinode"`, t)
	}
}

// checkMainNode reports a main node that is not one of the nodes.
func checkMainNode(s Site) {
	count, ok := s.Node.Get("numNodes").Int()
	main, okMain := s.Node.Get("mainNode").Int()
	if ok && okMain && (count > 0 && main >= count || main < 0) {
		s.Report(fmt.Sprintf("mainNode must be 0 to %d, not %d: nodes are numbered from 0", max(count-1, 0), main),
			"write 0 unless another node is the main node", s.Node.Get("mainNode"))
	}
}

// checkTargetNodesRequired reports a node range without targetNodes.
func checkTargetNodesRequired(s Site, n *jsontree.Node, _ string) {
	if s.lacks(n, "targetNodes") {
		s.Report("a node range needs targetNodes", `add "targetNodes", such as "0:"`, n)
	}
}

// checkTargetNodesFormat reports targetNodes that are neither an index nor a range.
func checkTargetNodesFormat(s Site, n *jsontree.Node, _ string) {
	if n.Is(jsontree.String) && (!targetNodes().MatchString(n.Text) || n.Text == "") {
		s.Report(`targetNodes must be "n", "n:", ":m" or "n:m" in digits, not `+quote(n.Text),
			`write "0:" for all nodes`, n)
	}
}

// checkTargetNodesInRange reports targetNodes beyond the last node.
func checkTargetNodesInRange(s Site) {
	count, ok := s.Node.Get("numNodes").Int()
	for n, r := range ranges(s.Node) {
		if ok && count > 0 && int64(max(r.first, r.last)) >= count {
			s.Report(fmt.Sprintf("the last of %d nodes has index %d, but targetNodes is %s", count, count-1,
				quote(n.Text)), "raise numNodes, or end the range earlier", n)
		}
	}
}

// checkTargetNodesOrder reports a range from a higher to a lower index. The fix swaps
// them.
func checkTargetNodesOrder(s Site) {
	for n, r := range ranges(s.Node) {
		if !r.open && r.first > r.last {
			value := fmt.Sprintf("%d:%d", r.last, r.first)
			s.ReportFix(replace(n, value), "the range "+quote(n.Text)+" ends before it starts", "write "+quote(value),
				n)
		}
	}
}

// checkNodeCoverage reports the first node that no range covers. It finds nothing if a
// range is unreadable, since that range may cover the node.
func checkNodeCoverage(s Site) {
	count, ok := s.Node.Get("numNodes").Int()
	list := s.Node.Get("nodeRangeProperties")
	if !ok || count < 1 || count > 1000 || !list.Is(jsontree.Array) {
		return
	}
	// held marks the nodes in a range, and read counts the readable ranges.
	held, read := make([]bool, count), 0
	for _, r := range ranges(s.Node) {
		read++
		for i := r.first; i <= r.last && i < len(held); i++ {
			held[i] = true
		}
	}
	if i := slices.Index(held, false); i >= 0 && read == list.Len() {
		s.Report(fmt.Sprintf("no range covers node %d", i), `"0:" covers all nodes; ranges may overlap`,
			firstOf(list.Index(list.Len()-1).Get("targetNodes"), key(list)))
	}
}

// checkNodePayload reports a node range that describes no containers.
func checkNodePayload(s Site) {
	for _, m := range payloads {
		if !s.lacks(s.Node, m) {
			return
		}
	}
	s.Report("the node range has no container, ecsProperties or eksProperties", `add "container": { "image": "..." }`,
		s.Node)
}

// checkSameInstanceType reports a node range whose instance type differs from an earlier
// one. A range without an instance type is allowed.
func checkSameInstanceType(s Site) {
	first := ""
	for _, g := range each(s.Node, "nodeRangeProperties") {
		n := firstOf(g.Get("container").Get("instanceType"), g.Get("instanceTypes").Index(0))
		switch {
		case n.Str() == "":
		case first == "":
			first = n.Str()
		case n.Str() != first:
			s.ReportFix(replace(n, first), fmt.Sprintf("all nodes need the same instance type: %s above, %s here",
				first, n.Str()), "write "+quote(first), n)
		}
	}
}

// checkNodeResources reports a node range that does not request vCPUs or memory.
func checkNodeResources(s Site) {
	s.reportRequests("the node range")
}

// checkSameNamespace reports a pod in another namespace than that of the first node range.
// An absent namespace differs from any that is given.
func checkSameNamespace(s Site) {
	first, seen := "", false
	for _, g := range each(s.Node, "nodeRangeProperties") {
		pod := g.Get("eksProperties").Get("podProperties")
		n := pod.Get("metadata").Get("namespace")
		if pod != nil && seen && n.Str() != first {
			s.Report(fmt.Sprintf("all nodes need the same namespace: %s above, %s here", quote(first), quote(n.Str())),
				"", n, pod)
		}
		if pod != nil && !seen {
			first, seen = n.Str(), true
		}
	}
}

// checkOverriddenNodes reports an override for nodes that are no range of the definition.
// AWS Batch compares targetNodes as text.
func checkOverriddenNodes(s Site) {
	var targets []string
	for _, g := range each(s.Known().Get("nodeProperties"), "nodeRangeProperties") {
		targets = append(targets, g.Get("targetNodes").Str())
	}
	for _, o := range each(s.Node.Get("nodeOverrides"), "nodePropertyOverrides") {
		if n := o.Get("targetNodes"); len(targets) > 0 && n.Str() != "" && !slices.Contains(targets, n.Str()) {
			fix, hint := fixIf(len(targets) == 1, n, targets[0]), "the ranges of the definition are "+
				text.Or(quoteAll(targets))
			s.ReportFix(fix, "the definition has no node range "+quote(n.Str()), hint, n)
		}
	}
}

// checkNumNodesOpenRange reports a submission that changes numNodes although no range of
// the definition can grow.
func checkNumNodesOpenRange(s Site) {
	n, node := s.Node.Get("nodeOverrides").Get("numNodes"), s.Known().Get("nodeProperties")
	if n == nil || node.Get("nodeRangeProperties").Len() == 0 {
		return
	}
	for _, r := range ranges(node) {
		if r.open {
			return
		}
	}
	s.Report("numNodes can change only if the definition has an open range", `write "0:" or "n:" in the definition`, n)
}

// checkNumNodesLowerBound reports a numNodes without the main node, or without any node of
// the open range.
func checkNumNodesLowerBound(s Site) {
	n, node := s.Node.Get("nodeOverrides").Get("numNodes"), s.Known().Get("nodeProperties")
	count, ok := n.Int()
	least, _ := node.Get("mainNode").Int()
	for _, r := range ranges(node) {
		if r.open {
			least = max(least, int64(r.first))
		}
	}
	if ok && node != nil && count <= least {
		s.Report(fmt.Sprintf("the definition needs more than %d nodes, not %d", least, count),
			"include the main node and the start of the open range", n)
	}
}

// checkMultinodeOverrides reports containerOverrides for a multi-node definition.
func checkMultinodeOverrides(s Site) {
	if n := s.Node.Get("containerOverrides"); n != nil && s.Known().Get("nodeProperties") != nil {
		s.Report("a multinode job needs nodeOverrides, not containerOverrides",
			`write "nodeOverrides": { "nodePropertyOverrides": [...] }`, key(n))
	}
}

// checkMultinodeArray reports a multi-node job that is also an array.
func checkMultinodeArray(s Site) {
	if n := s.Node.Get("arrayProperties"); n != nil && (s.Known().Get("nodeProperties") != nil ||
		s.Node.Get("nodeOverrides") != nil) {
		s.ReportFix(s.remove(n), "a multinode job cannot be an array", "remove one of them", key(n))
	}
}

// checkNodesOnSpot, checkNodesOnUnmanaged, checkNodesFitMaxvCpus and
// checkNodesSecurityGroups check environments on which multi-node jobs of the files run.
func checkNodesOnSpot(s Site) {
	if n := s.Node.Get("computeResources").Get("type"); n.Str() == "SPOT" {
		s.Report("multi-node jobs do not run on Spot instances", `use an environment of "type": "EC2" for them`, n)
	} else if isManagedInstances(s.Node.Get("computeResources")) {
		s.Report("multi-node jobs do not run on ECS Managed Instances", `use an environment of "type": "EC2" for them`,
			n)
	}
}

// checkNodesOnUnmanaged reports an environment whose instances AWS Batch does not start.
func checkNodesOnUnmanaged(s Site) {
	if n := s.Node.Get("type"); n.Str() == "UNMANAGED" {
		s.Report("multi-node jobs do not run on an unmanaged compute environment",
			`use an environment of "type": "MANAGED" for them`, n)
	}
}

// checkNodesFitMaxvCpus reports an environment that cannot start all nodes of a job at
// once. It assumes one instance of the smallest type for each node.
func checkNodesFitMaxvCpus(s Site) {
	c := s.Node.Get("computeResources")
	most, ok := c.Get("maxvCpus").Int()
	if !ok || c.Get("instanceTypes").Len() == 0 {
		return
	}
	// least is the number of vCPUs of the smallest instance type.
	least := 0
	for _, entry := range entriesOf(c.Get("instanceTypes")) {
		types := s.pass.instanceTypes().Expand(entry)
		if len(types) == 0 {
			return // an unknown type
		}
		for _, t := range types {
			if least == 0 || t.VCPUs < least {
				least = t.VCPUs
			}
		}
	}
	for d := range (environment{s}).multinode() {
		count, ok := d.Register.Get("nodeProperties").Get("numNodes").Int()
		if ok && count*int64(least) > most {
			s.Report(fmt.Sprintf("%d nodes need at least %d vCPUs at once, but maxvCpus is %d", count,
				count*int64(least), most),
				fmt.Sprintf("write %d or more", count*int64(least)), c.Get("maxvCpus"))
			return
		}
	}
}

// checkNodesInstanceType reports an instance type that no environment of the job launches.
func checkNodesInstanceType(s Site) {
	for _, g := range each(s.Node, "nodeRangeProperties") {
		n := firstOf(g.Get("container").Get("instanceType"), g.Get("instanceTypes").Index(0))
		if n.Str() == "" || !hasEnvironmentsWithout(s.Job, func(types []string) bool {
			return s.pass.instanceTypes().
				launches(types, n.Str())
		}) {
			continue
		}
		s.Report(fmt.Sprintf("no compute environment of these files launches %s", n.Str()),
			"add it to the instanceTypes of one", n)
		return
	}
}

// hasEnvironmentsWithout reports whether the job has environments, and none of them has
// suitable instance types.
func hasEnvironmentsWithout(j Job, will func(types []string) bool) bool {
	some := false
	for e := range j.environments() {
		some = true
		if will(entriesOf(e.Node.Get("computeResources").Get("instanceTypes"))) {
			return false
		}
	}
	return some
}

// checkNodesSecurityGroups reports more security groups than the network interface of a
// node can have.
func checkNodesSecurityGroups(s Site) {
	if list := s.Node.Get("computeResources").Get("securityGroupIds"); list.Len() > 5 {
		s.Report(fmt.Sprintf("a compute environment for multi-node jobs has at most 5 security groups, not %d",
			list.Len()), "", list.Index(5))
	}
}

// checkNodesSubnets reports a request for public addresses, which nodes do not get.
func checkNodesSubnets(s Site) {
	for _, g := range each(s.Node, "nodeRangeProperties") {
		n := g.Get("container").Get("networkConfiguration").Get("assignPublicIp")
		if n.Str() == "ENABLED" {
			s.Report("the nodes of a multi-node job get no public IP address",
				"put them into a private subnet with a NAT gateway", n)
		}
	}
}

// nodeContainers returns the container members of node ranges.
var nodeContainers = containersIn("container")
