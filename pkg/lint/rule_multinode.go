package lint

import (
	"fmt"
	"slices"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

var payloads = []string{"container", "ecsProperties", "eksProperties"}

func multinodeRules() []*Rule {
	return []*Rule{
		check("jobdef-multinode-needs-nodeproperties", High, definitions, checkNodeProperties,
			"A definition of type multinode says what its nodes run: nodeProperties.", tried("RegisterJobDefinition.nodeProperties")),
		check("jobdef-nodeproperties-needs-multinode", Medium, definitions, checkMultinodeType,
			"nodeProperties belongs to definitions of type multinode.", api("RegisterJobDefinition.nodeProperties")),
		row("mnp-no-top-containerproperties", Low, in(where(definitions, func(s Site) bool {
			return s.Node.Get("type").Str() == "multinode" || s.Node.Get("nodeProperties") != nil
		}), "containerProperties", "ecsProperties"), absent("stands beside nodeProperties", "each node range says what it runs; remove it"),
			"The containers of a multinode job stand in its node ranges.", api("RegisterJobDefinition.containerProperties")),
		row("mnp-members-required", High, in(nodes, ""), func(s Site, n *jsontree.Node, _ string) {
			needs("numNodes: 2", "mainNode: 0", "nodeRangeProperties: [...]")(s, n, "nodeProperties")
		}, "nodeProperties says how many nodes there are, which leads, and what each runs.", api("NodeProperties")),
		row("mnp-numnodes-range", High, in(nodes, "numNodes"), between(1, 1000),
			"A job has 1 to 1000 nodes.", tried("NodeProperties.numNodes")),
		check("mnp-mainnode-lt-numnodes", High, nodes, checkMainNode,
			"The main node is one of the nodes, which are counted from 0.", tried("NodeProperties.mainNode")),
		row("mnp-ranges-max-5", High, in(nodes, "nodeRangeProperties"), atMost(5, "join ranges, such as \"1:\""),
			"A job has at most 5 node ranges.", tried("NodeProperties.nodeRangeProperties")),
		row("mnp-targetnodes-required", High, in(groups, ""), checkTargetNodesRequired,
			"A node range says which nodes it is for.", api("NodeRangeProperty.targetNodes")),
		row("mnp-targetnodes-format", High, in(groups, "targetNodes"), checkTargetNodesFormat,
			"targetNodes is one index or a range of them.", tried("NodeRangeProperty.targetNodes")),
		check("mnp-targetnodes-in-range", High, nodes, checkTargetNodesInRange,
			"targetNodes stays below numNodes, since nodes are counted from 0.", tried("NodeRangeProperty.targetNodes")),
		check("mnp-targetnodes-order", Low, nodes, checkTargetNodesOrder,
			"A range runs from the lower to the higher index.", derived),
		check("mnp-coverage", High, nodes, checkNodeCoverage,
			"Every node is in a range.", tried("NodeRangeProperty.targetNodes")),
		check("mnp-payload-required", Medium, groups, checkNodePayload,
			"A node range says what its nodes run.", "answered so by the service in 2026-09 (cdk-preflight)"),
		row("mnp-payload-exclusive", Medium, in(groups, ""), exclusive(payloads...),
			"A node range runs one thing: container, ecsProperties or eksProperties.", "answered so by the service in 2026-09 (cdk-preflight)"),
		row("mnp-instancetypes-ecs-only", Medium, in(where(groups, func(s Site) bool { return s.Node.Get("ecsProperties") == nil }), "instanceTypes"),
			absent("of a node range goes with ecsProperties only", "write instanceType in the container"),
			"A range of containers names its instance type in the container; only ecsProperties has none.", "answered so by the service in 2026-09 (cdk-preflight)"),
		row("mnp-instancetypes-one", Medium, in(groups, "instanceTypes"), atMost(1, "keep one"),
			"A node range names one instance type.", api("NodeRangeProperty.instanceTypes")),
		check("mnp-same-instance-type", High, nodes, checkSameInstanceType,
			"All nodes of a job have the same instance type.", api("ContainerProperties.instanceType")),
		check("mnp-node-resources", Medium, nodeContainers, checkNodeResources,
			"Each node range says its vCPUs and memory.", api("ContainerProperties.resourceRequirements")),
		row("mnp-node-image-required", High, in(nodeContainers, ""), needs("image"),
			"The container of a node range names its image.", api("ContainerProperties.image")),
		check("mnp-eks-same-namespace", Medium, nodes, checkSameNamespace,
			"All nodes of a job run in the same namespace.", "answered so by the service in 2026-09 (cdk-preflight)"),
		row("mnp-env-reserved-prefix", Medium, in(nodeContainers, "environment"), func(s Site, n *jsontree.Node, _ string) { reservedNames(s.Job, n) },
			"Names that start with AWS_BATCH belong to AWS Batch, on every node.", api("ContainerProperties.environment")),
		row("submit-nodeoverride-targetnodes-required", High, in(submits, "nodeOverrides.nodePropertyOverrides[]"), needs(`targetNodes: "0:"`),
			"An override says for which nodes it is.", api("NodePropertyOverride.targetNodes")),
		check("submit-nodeoverride-targets-match", High, submits, checkOverriddenNodes,
			"An override is for a node range of the definition, written as there.", tried("NodePropertyOverride.targetNodes")).onlyWith("nodeOverrides"),
		check("submit-numnodes-open-range", Medium, submits, checkNumNodesOpenRange,
			"Another number of nodes needs a range without an end, which can grow.", api("NodeOverrides.numNodes")).onlyWith("nodeOverrides"),
		check("submit-numnodes-lower-bound", Medium, submits, checkNumNodesLowerBound,
			"The nodes are at least as many as the main node and the start of the open range need.", api("NodeOverrides.numNodes")).onlyWith("nodeOverrides"),
		check("submit-multinode-no-containeroverrides", Low, submits, checkMultinodeOverrides,
			"The containers of a multinode job are overridden by node range.", api("SubmitJob.containerOverrides")).onlyWith("containerOverrides"),
		check("submit-multinode-not-array", Low, submits, checkMultinodeArray,
			"A job is an array or has several nodes.", guide("multi-node parallel jobs")).onlyWith("arrayProperties"),
		check("stuck-mnp-on-spot", High, environmentsOfNodes, checkNodesOnSpot,
			"Multi-node jobs start on no Spot environment.", api("ComputeResource.type")),
		check("stuck-mnp-on-unmanaged", Medium, environmentsOfNodes, checkNodesOnUnmanaged,
			"Multi-node jobs start on managed environments only.", guide("multi-node parallel jobs")),
		check("stuck-mnp-maxvcpus", Medium, environmentsOfNodes, checkNodesFitMaxvCpus,
			"All nodes of a job start together, each on an instance of its own: maxvCpus has to hold them.", guide("multi-node parallel jobs")),
		check("stuck-mnp-instancetype", Medium, nodes, checkNodesInstanceType,
			"The instance type that a multi-node job names is one that its environment launches.", guide("multi-node parallel jobs")),
		check("stuck-mnp-security-groups", Medium, environmentsOfNodes, checkNodesSecurityGroups,
			"The network interface of a node takes 5 security groups.", guide("multi-node parallel jobs")),
		warns(check("stuck-mnp-public-subnet", Medium, nodes, checkNodesSubnets,
			"Nodes have network interfaces without public addresses, so in a public subnet they reach no registry. Said where a file asks for such an address.", guide("multi-node parallel jobs"))),
	}
}

func checkNodeProperties(s Site) {
	if s.Node.Get("type").Str() == "multinode" && s.lacks(s.Node, "nodeProperties") {
		s.Report("a multinode job needs nodeProperties", `add nodeProperties, or write "type": "container"`, s.Node.Get("type"))
	}
}

func checkMultinodeType(s Site) {
	if t := s.Node.Get("type"); s.Node.Get("nodeProperties") != nil && t.Str() == "container" {
		s.ReportFix(replace(t, "multinode"), "nodeProperties is for jobs of type multinode", `write "type": "multinode"`, t)
	}
}

func checkMainNode(s Site) {
	count, ok := s.Node.Get("numNodes").Int()
	main, okMain := s.Node.Get("mainNode").Int()
	if ok && okMain && (count > 0 && main >= count || main < 0) {
		s.Report(fmt.Sprintf("mainNode is 0 to %d, not %d: nodes are counted from 0", max(count-1, 0), main), "write 0 unless another node leads", s.Node.Get("mainNode"))
	}
}

func checkTargetNodesRequired(s Site, n *jsontree.Node, _ string) {
	if s.lacks(n, "targetNodes") {
		s.Report("a node range needs targetNodes", `add "targetNodes": "0:"`, n)
	}
}

func checkTargetNodesFormat(s Site, n *jsontree.Node, _ string) {
	if n.Is(jsontree.String) && (!targetNodes().MatchString(n.Text) || n.Text == "") {
		s.Report(`targetNodes is "n", "n:", ":m" or "n:m" in digits, not `+quote(n.Text), `for all nodes write "0:"`, n)
	}
}

func checkTargetNodesInRange(s Site) {
	count, ok := s.Node.Get("numNodes").Int()
	for n, r := range ranges(s.Node) {
		if ok && count > 0 && int64(max(r.first, r.last)) >= count {
			s.Report(fmt.Sprintf("the last of %d nodes is %d, and targetNodes is %s", count, count-1, quote(n.Text)), "raise numNodes, or end the range earlier", n)
		}
	}
}

func checkTargetNodesOrder(s Site) {
	for n, r := range ranges(s.Node) {
		if !r.open && r.first > r.last {
			value := fmt.Sprintf("%d:%d", r.last, r.first)
			s.ReportFix(replace(n, value), "the range "+quote(n.Text)+" ends before it starts", "write "+quote(value), n)
		}
	}
}

func checkNodeCoverage(s Site) {
	count, ok := s.Node.Get("numNodes").Int()
	list := s.Node.Get("nodeRangeProperties")
	if !ok || count < 1 || count > 1000 || !list.Is(jsontree.Array) {
		return
	}
	held, read := make([]bool, count), 0
	for _, r := range ranges(s.Node) {
		read++
		for i := r.first; i <= r.last && i < len(held); i++ {
			held[i] = true
		}
	}
	if i := slices.Index(held, false); i >= 0 && read == list.Len() {
		s.Report(fmt.Sprintf("no range covers node %d", i), `nested ranges are allowed: "0:" covers all`, firstOf(list.Index(list.Len()-1).Get("targetNodes"), key(list)))
	}
}

func checkNodePayload(s Site) {
	for _, m := range payloads {
		if !s.lacks(s.Node, m) {
			return
		}
	}
	s.Report("the node range has no container, ecsProperties or eksProperties", `add "container": { "image": "..." }`, s.Node)
}

func checkSameInstanceType(s Site) {
	first := ""
	for g := range each(s.Node, "nodeRangeProperties") {
		n := firstOf(g.Get("container").Get("instanceType"), g.Get("instanceTypes").Index(0))
		switch {
		case n.Str() == "":
		case first == "":
			first = n.Str()
		case n.Str() != first:
			s.ReportFix(replace(n, first), fmt.Sprintf("all nodes have one instance type: %s above, %s here", first, n.Str()), "write "+quote(first), n)
		}
	}
}

func checkNodeResources(s Site) {
	for _, kind := range []string{"VCPU", "MEMORY"} {
		if requirementOf(s.Node, kind) == nil && !s.asksUnread(kind) {
			s.Report("the nodes do not say how much "+kind+" each needs", fmt.Sprintf(`add { "type": %q, "value": "..." } to resourceRequirements`, kind), s.Node.Get("resourceRequirements"))
		}
	}
}

func checkSameNamespace(s Site) {
	first, seen := "", false
	for g := range each(s.Node, "nodeRangeProperties") {
		pod := g.Get("eksProperties").Get("podProperties")
		n := pod.Get("metadata").Get("namespace")
		if pod != nil && seen && n.Str() != first {
			s.Report(fmt.Sprintf("all nodes run in one namespace: %s above, %s here", quote(first), quote(n.Str())), "", n, pod)
		}
		if pod != nil && !seen {
			first, seen = n.Str(), true
		}
	}
}

func checkOverriddenNodes(s Site) {
	var targets []string
	for g := range each(s.Known().Get("nodeProperties"), "nodeRangeProperties") {
		targets = append(targets, g.Get("targetNodes").Str())
	}
	for o := range each(s.Node.Get("nodeOverrides"), "nodePropertyOverrides") {
		if n := o.Get("targetNodes"); len(targets) > 0 && n.Str() != "" && !slices.Contains(targets, n.Str()) {
			fix, hint := fixIf(len(targets) == 1, n, targets[0]), "the ranges of the definition are "+either(quoteAll(targets))
			s.ReportFix(fix, "the definition has no node range "+quote(n.Str()), hint, n)
		}
	}
}

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
	s.Report("numNodes can be changed only where the definition has an open range", `write "0:" or "n:" in the definition`, n)
}

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
		s.Report(fmt.Sprintf("the definition needs more than %d nodes, not %d", least, count), "its main node and the start of its open range have to be among them", n)
	}
}

func checkMultinodeOverrides(s Site) {
	if n := s.Node.Get("containerOverrides"); n != nil && s.Known().Get("nodeProperties") != nil {
		s.Report("a multinode job takes nodeOverrides, not containerOverrides", `write "nodeOverrides": { "nodePropertyOverrides": [...] }`, key(n))
	}
}

func checkMultinodeArray(s Site) {
	if n := s.Node.Get("arrayProperties"); n != nil && (s.Known().Get("nodeProperties") != nil || s.Node.Get("nodeOverrides") != nil) {
		s.ReportFix(s.remove(n), "a multinode job cannot be an array too", "remove one of them", key(n))
	}
}

func checkNodesOnSpot(s Site) {
	if n := s.Node.Get("computeResources").Get("type"); n.Str() == "SPOT" {
		s.Report("multi-node jobs do not run on Spot instances", `give them a queue of "type": "EC2"`, n)
	}
}

func checkNodesOnUnmanaged(s Site) {
	if n := s.Node.Get("type"); n.Str() == "UNMANAGED" {
		s.Report("multi-node jobs do not run on an unmanaged compute environment", `give them a queue of "type": "MANAGED"`, n)
	}
}

func checkNodesFitMaxvCpus(s Site) {
	c := s.Node.Get("computeResources")
	most, ok := c.Get("maxvCpus").Int()
	if !ok || c.Get("instanceTypes").Len() == 0 {
		return
	}
	least := 0
	for _, entry := range entriesOf(c.Get("instanceTypes")) {
		types := s.pass.catalog().Expand(entry)
		if len(types) == 0 {
			return // not known
		}
		for _, t := range types {
			if least == 0 || t.VCPUs < least {
				least = t.VCPUs
			}
		}
	}
	for d := range s.pass.multinode(s) {
		count, ok := d.Register.Get("nodeProperties").Get("numNodes").Int()
		if ok && count*int64(least) > most {
			s.Report(fmt.Sprintf("%d nodes take at least %d vCPUs at once, and maxvCpus is %d", count, count*int64(least), most),
				fmt.Sprintf("write %d or more", count*int64(least)), c.Get("maxvCpus"))
			return
		}
	}
}

func checkNodesInstanceType(s Site) {
	for g := range each(s.Node, "nodeRangeProperties") {
		n := firstOf(g.Get("container").Get("instanceType"), g.Get("instanceTypes").Index(0))
		if n.Str() == "" || !s.pass.someEnvironment(s, func(types []string) bool { return s.pass.launches(types, n.Str()) }) {
			continue
		}
		s.Report(fmt.Sprintf("no compute environment of these files launches %s", n.Str()), "add it to the instanceTypes of one", n)
		return
	}
}

func checkNodesSecurityGroups(s Site) {
	if list := s.Node.Get("computeResources").Get("securityGroupIds"); list.Len() > 5 {
		s.Report(fmt.Sprintf("for multi-node jobs a compute environment has at most 5 security groups, not %d", list.Len()), "", list.Index(5))
	}
}

func checkNodesSubnets(s Site) {
	for g := range each(s.Node, "nodeRangeProperties") {
		n := g.Get("container").Get("networkConfiguration").Get("assignPublicIp")
		if n.Str() == "ENABLED" {
			s.Report("the nodes of a multi-node job get no public IP address", "put them into a private subnet with a NAT gateway", n)
		}
	}
}

// nodeContainers is the container members of node ranges.
var nodeContainers = containersIn("container")
