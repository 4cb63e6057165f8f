package document

import (
	"slices"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// description lists the members that a describe operation prints for a resource in
// addition to those of the request that creates it.
type description struct {
	kind      Kind // the request
	operation string
	// create is the operation of the request. It answers with the name, and marks other than the status.
	create string
	// list is the member of the output that contains all resources; "" if it prints one.
	list string
	// marks are the members that show that a resource was printed. surplus are further
	// members that the output has and the request does not have.
	marks, surplus []string
	// lost lists the members among them whose loss deserves a warning, since they are more
	// than a state.
	lost []string
}

var descriptions = [...]description{
	{KindJobDefinition, "describe-job-definitions", "register-job-definition", "jobDefinitions",
		[]string{"jobDefinitionArn", "revision", "status", "containerOrchestrationType"}, nil, nil},
	{KindJobQueue, "describe-job-queues", "create-job-queue", "jobQueues",
		[]string{"jobQueueArn"}, []string{"status", "statusReason"}, nil},
	{KindComputeEnvironment, "describe-compute-environments", "create-compute-environment", "computeEnvironments",
		[]string{"computeEnvironmentArn", "ecsClusterArn", "uuid"},
		[]string{"status", "statusReason", "containerOrchestrationType", "updatePolicy"},
		[]string{"updatePolicy"}},
	{KindSchedulingPolicy, "describe-scheduling-policies", "create-scheduling-policy", "schedulingPolicies",
		[]string{"arn"}, nil, nil},
	{KindConsumableResource, "describe-consumable-resource", "create-consumable-resource", "",
		[]string{"consumableResourceArn", "availableQuantity", "inUseQuantity", "createdAt"}, nil, nil},
	{KindSubmitJob, "describe-jobs", "submit-job", "jobs",
		[]string{"jobId", "jobArn", "status"},
		[]string{"statusReason", "createdAt", "startedAt", "stoppedAt", "isCancelled", "isTerminated",
			"attempts", "eksAttempts", "nodeDetails", "platformCapabilities", "container",
			"consumableResourceProperties",
			"ecsProperties", "eksProperties", "nodeProperties", "schedulingPriority"},
		[]string{"ecsProperties", "eksProperties", "nodeProperties", "schedulingPriority"}},
}

// extra returns all members that the output has and the request does not have.
func (d *description) extra() []string { return slices.Concat(d.marks, d.surplus) }

// describedIn recognises the output of a describe operation: the list, or one resource of
// it. It returns nil for any other document.
func describedIn(root *jsontree.Node) (d *description, listed bool) {
	for i := range descriptions {
		d := &descriptions[i]
		// A list of names is a request of the describe operation.
		if list := root.Get(d.list); list.Is(jsontree.Array) && !list.Index(0).
			Is(jsontree.String) && (d.printed(list.Index(0)) || d.kind != KindSubmitJob && !d.requested(root)) {
			return d, true
		}
		if d.printed(root) {
			return d, false
		}
	}
	return nil, false
}

// requested reports whether the list has requests, as a document of KindResources has. An empty list has some if
// another list of the document has, and belongs to one if the document has its name.
func (d *description) requested(root *jsontree.Node) bool {
	list := root.Get(d.list)
	for r := range list.Children() {
		if d.printed(r) {
			return false
		}
	}
	if list.Len() > 0 {
		return d.kind != KindJobDefinition
	}
	for _, l := range ResourceLists {
		if first := root.Get(l.Member).Index(0); first.Is(jsontree.Object) && l.Kind.shared(first) > 0 {
			return true
		}
	}
	return slices.ContainsFunc(descriptions[:],
		func(d description) bool { return root.Get(d.kind.NameMember()) != nil })
}

// answered reports whether the node, which was printed, has only what the request is answered with.
func (d *description) answered(n *jsontree.Node) bool {
	for m := range n.Children() {
		if m.Name == "status" || m.Name != d.kind.NameMember() && !slices.Contains(d.marks, m.Name) {
			return false
		}
	}
	return true
}

// printed reports whether the node is a resource with members that the operation adds.
func (d *description) printed(n *jsontree.Node) bool {
	if d.kind == KindSchedulingPolicy && n.Get("fairsharePolicy") == nil && n.Get("quotaSharePolicy") == nil {
		return false // other outputs also have a name and an ARN
	}
	return n.Get(d.kind.NameMember()) != nil && slices.ContainsFunc(d.marks,
		func(name string) bool { return n.Get(name) != nil })
}
