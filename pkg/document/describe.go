package document

import (
	"slices"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// description is what one of the describe operations prints of a thing, beside
// the request that made it.
type description struct {
	kind      Kind // the request
	operation string
	// list is the member of the output that holds all things; "" if it prints one.
	list string
	// marks are the members that show a thing to be printed, and surplus the
	// others that the output has and the request has not.
	marks, surplus []string
	// lost is what of those says more than how things stand.
	lost []string
}

var descriptions = [...]description{
	{KindJobDefinition, "describe-job-definitions", "jobDefinitions",
		[]string{"jobDefinitionArn", "revision", "status", "containerOrchestrationType"}, nil, nil},
	{KindJobQueue, "describe-job-queues", "jobQueues",
		[]string{"jobQueueArn"}, []string{"status", "statusReason"}, nil},
	{KindComputeEnvironment, "describe-compute-environments", "computeEnvironments",
		[]string{"computeEnvironmentArn", "ecsClusterArn", "uuid"},
		[]string{"status", "statusReason", "containerOrchestrationType", "updatePolicy"},
		[]string{"updatePolicy"}},
	{KindSchedulingPolicy, "describe-scheduling-policies", "schedulingPolicies", []string{"arn"}, nil, nil},
	{KindConsumableResource, "describe-consumable-resource", "",
		[]string{"consumableResourceArn", "availableQuantity", "inUseQuantity", "createdAt"}, nil, nil},
	{KindSubmitJob, "describe-jobs", "jobs",
		[]string{"jobId", "jobArn", "status"},
		[]string{"statusReason", "createdAt", "startedAt", "stoppedAt", "isCancelled", "isTerminated",
			"attempts", "eksAttempts", "nodeDetails", "platformCapabilities", "container", "consumableResourceProperties",
			"ecsProperties", "eksProperties", "nodeProperties", "schedulingPriority"},
		[]string{"ecsProperties", "eksProperties", "nodeProperties", "schedulingPriority"}},
}

// extra returns what the output has and the request has not.
func (d *description) extra() []string { return slices.Concat(d.marks, d.surplus) }

// describedIn recognises what a describe operation printed: the list, or one
// thing out of it. It returns nil for any other document.
func describedIn(root *jsontree.Node) (d *description, listed bool) {
	for i := range descriptions {
		d := &descriptions[i]
		if list := root.Get(d.list); list.Is(jsontree.Array) && (d.kind != KindSubmitJob || d.printed(list.Index(0))) {
			return d, true
		}
		if d.printed(root) {
			return d, false
		}
	}
	return nil, false
}

// printed reports whether the node is a thing with what the operation adds.
func (d *description) printed(n *jsontree.Node) bool {
	if d.kind == KindSchedulingPolicy && n.Get("fairsharePolicy") == nil && n.Get("quotaSharePolicy") == nil {
		return false // others have a name and an arn too
	}
	return n.Get(d.kind.name()) != nil && slices.ContainsFunc(d.marks, func(name string) bool { return n.Get(name) != nil })
}

// refuse says that this is no request, and what to remove. It also returns the
// members that are too many, so that they are named only once.
func (d *description) refuse(root *jsontree.Node, listed bool) (out diag.Diagnostic, surplus []*jsontree.Node) {
	const orElse = `; --from-describe does it for you`
	out = diag.Diagnostic{
		Rule: RuleDocumentKind, Source: root.Source,
		Message: "this is the output of " + d.operation + ", not a request",
	}
	if listed {
		out.Span = root.Get(d.list).Key
		out.Hint = "keep one element of the list, without its " + quoted(d.extra()) + orElse
		return out, nil
	}
	var present []string
	for _, name := range d.extra() {
		if m := root.Get(name); m != nil {
			present, surplus = append(present, name), append(surplus, m)
		}
	}
	out.Span = surplus[0].Key
	out.Hint = "remove " + quoted(present) + orElse
	return out, surplus
}

// fromDescribe takes what a describe operation printed as the requests that
// would make the same things again.
func (f *File) fromDescribe(d *description, listed bool, o Options) (diags diag.List) {
	f.Kind = d.kind
	things := []*jsontree.Node{f.Root}
	if listed {
		things = slices.Collect(f.Root.Get(d.list).Children())
	}
	for _, thing := range things {
		request, lost := d.request(thing)
		c := check(request, d.kind)
		diags = append(append(diags, lost...), c.diags...)
		if !c.overflow && request.Is(jsontree.Object) {
			f.take(request, c.clean(request), o)
		}
	}
	if len(things) == 0 {
		diags = append(diags, diag.Diagnostic{Rule: RuleDocumentKind, Source: f.Root.Source, Span: f.Root.Get(d.list).Span,
			Message: d.operation + " found nothing", Hint: "ask for a name that exists"})
	}
	return diags
}

// request returns the request that makes such a thing, with a warning for each
// member that means something and has no place in it.
func (d *description) request(thing *jsontree.Node) (request *jsontree.Node, lost diag.List) {
	if !thing.Is(jsontree.Object) {
		return thing.Clone(), nil
	}
	request = without(thing, d.extra())
	if d.kind == KindSubmitJob {
		request = submitAgain(thing, request)
	}
	for _, name := range d.lost {
		if m := thing.Get(name); m != nil {
			lost = append(lost, diag.Diagnostic{Rule: RuleDocumentKind, Severity: diag.Warning, Source: m.Source, Span: m.Key,
				Message: name + " is left out: " + string(d.kind) + " does not accept it",
				Hint:    "check whether you need to set it another way"})
		}
	}
	return request, lost
}

// submitAgain gives the request what of the job stands elsewhere in it, or
// says more there.
func submitAgain(job, request *jsontree.Node) *jsontree.Node {
	if array := job.Get("arrayProperties"); array != nil {
		request = without(request, []string{"arrayProperties"})
		if size := array.Get("size"); size != nil { // a child has none
			request.Set("arrayProperties", only(array, []string{"size"}))
		}
	}
	overrides := only(job.Get("container"), []string{"command", "environment", "resourceRequirements"})
	overrides = filter(overrides, func(m *jsontree.Node) bool { return m.Len() > 0 })
	if overrides.Len() > 0 {
		request.Set("containerOverrides", overrides)
	}
	request.Set("consumableResourcePropertiesOverride", job.Get("consumableResourceProperties").Clone())
	return request
}
