package document

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
)

// refuse reports that the document is not a request, and which members to remove.
func (d *description) refuse(root *jsontree.Node, listed bool) diag.Diagnostic {
	const orElse = `; --from-describe does it for you`
	out := diag.Diagnostic{
		Rule: RuleDocumentKind, Source: root.Source,
		Message: "this is the output of " + d.operation + ", not a request",
	}
	if listed {
		out.Span = root.Get(d.list).Key
		out.Hint = "keep one element of the list, without its " + text.And(quoteAll(d.extra())) + orElse
		return out
	}
	surplus := d.surplusIn(root)
	out.Span = surplus[0].Key
	if d.answered(root) {
		out.Message, out.Hint = "this is the answer of "+d.create+", not a request", "check the file with the request"
		return out
	}
	var names []string
	for _, m := range surplus {
		names = append(names, m.Name)
	}
	out.Hint = "remove " + text.And(quoteAll(names)) + orElse
	return out
}

// surplusIn returns the members of a printed resource that the request does not have.
func (d *description) surplusIn(root *jsontree.Node) (surplus []*jsontree.Node) {
	for _, name := range d.extra() {
		if m := root.Get(name); m != nil {
			surplus = append(surplus, m)
		}
	}
	return surplus
}

// fromDescribe converts the output of a describe operation to the requests that would
// create the same resources again.
func (f *File) fromDescribe(d *description, listed bool, o Options) (diags diag.List) {
	f.Kind, f.Described = d.kind, true
	things := []*jsontree.Node{f.Root}
	if listed {
		things = slices.Collect(f.Root.Get(d.list).Children())
	}
	for _, thing := range things {
		request, lost := d.request(thing)
		c := check(request, d.kind)
		diags, f.Unreadable = append(append(diags, lost...), c.diags...), append(f.Unreadable, c.unknown...)
		if !c.overflow && request.Is(jsontree.Object) {
			f.take(request, c.clean(request), o)
		}
	}
	if len(things) == 0 {
		diags = append(diags, diag.Diagnostic{Rule: RuleDocumentKind, Source: f.Root.Source, Span: f.Root.Get(d.list).
			Span,
			Message: d.operation + " found nothing", Hint: "ask for a name that exists"})
	}
	return diags
}

// request returns the request that creates the resource, with a warning for each member
// that matters and that the request cannot have.
func (d *description) request(thing *jsontree.Node) (request *jsontree.Node, lost diag.List) {
	if !thing.Is(jsontree.Object) {
		return thing.Clone(), nil
	}
	thing = withoutUnset(thing, false)
	request = without(thing, d.extra())
	if d.kind == KindSubmitJob {
		request = submitAgain(thing, request)
	}
	for _, name := range d.lost {
		if m := thing.Get(name); m != nil && !isZero(m) {
			lost = append(lost, diag.Diagnostic{Rule: RuleDocumentKind, Severity: diag.Warning, Source: m.Source,
				Span:    m.Key,
				Message: name + " is left out: " + string(d.kind) + " does not accept it",
				Hint:    "check whether you need to set it another way"})
		}
	}
	return request, lost
}

// namedByUser are the members whose names and values are the user's own: an empty text is a value
// there.
var namedByUser = []string{"parameters", "tags", "options", "labels", "annotations", "matchLabels", "capacityTags"}

// zeroIsUnset are the members of which 0 means that they are not set: a request cannot have it, or it is the default.
var zeroIsUnset = []string{"bidPercentage", "vcpus", "memory", "attempts", "attemptDurationSeconds", "size", "index",
	"sharedMemorySize", "sizeInGiB",
	"unmanagedvCpus"}

// isZero reports whether a value is the number 0.
func isZero(n *jsontree.Node) bool { return n.Is(jsontree.Number) && n.Text == "0" }

// isUnset reports whether a describe operation prints the member of an object without the user having set it.
func isUnset(n, m *jsontree.Node) bool {
	switch m.Name {
	case "minvCpus", "desiredvCpus":
		return isZero(m) && strings.HasPrefix(n.Get("type").Str(), "FARGATE")
	case "nodeProperties":
		return isZero(m.Get("numNodes"))
	case "swappiness", "maxSwap":
		return isZero(n.Get("maxSwap")) && isZero(n.Get("swappiness")) // alone, 0 turns swap off
	}
	return isZero(m) && slices.Contains(zeroIsUnset, m.Name)
}

// withoutUnset returns a copy of an object without what a describe operation prints for members that are not set:
// null, empty lists, empty objects and empty texts, and 0 where it says nothing. An object such as emptyDir says
// something by being there, and the value of a variable may be empty.
func withoutUnset(n *jsontree.Node, own bool) *jsontree.Node {
	out := jsontree.NewObject(n)
	for m := range n.Children() {
		switch {
		case m.Is(jsontree.Null), own && m.Is(jsontree.String):
			if !m.Is(jsontree.Null) {
				out.Append(m.Clone())
			}
		case m.Name == "emptyDir", m.Name == "value":
			out.Append(m.Clone())
		case m.Is(jsontree.String) && m.Text == "", isUnset(n, m):
		case m.Is(jsontree.Array):
			if list := elementsSet(m); list.Len() > 0 {
				out.Append(list)
			}
		case m.Is(jsontree.Object):
			below := withoutUnset(m, slices.Contains(namedByUser, m.Name))
			below.Name, below.Key = m.Name, m.Key
			if below.Len() > 0 {
				out.Append(below)
			}
		default:
			out.Append(m.Clone())
		}
	}
	return out
}

// elementsSet is withoutUnset for the objects of a list. The elements themselves stay: their
// number and order are part of the value.
func elementsSet(list *jsontree.Node) *jsontree.Node {
	out := list.Clone()
	for i := range out.Len() {
		if e := out.Index(i); e.Is(jsontree.Object) {
			below := withoutUnset(e, false)
			below.Name, below.Key = e.Name, e.Key
			out.SetIndex(i, below)
		}
	}
	return out
}

const (
	// ownNames begin the tags with which a submission marks its jobs, and the parameter with the directory of a local
	// job's file. executorTag is the user's.
	ownNames, executorTag = "batchctl:", "batchctl:executor"
	// submissionVariable has the id of a submission.
	submissionVariable = "BATCHCTL_SUBMISSION_ID"
)

// withoutSubmission removes what the submission of the described job added: another submission has another id.
func withoutSubmission(request *jsontree.Node) *jsontree.Node {
	if over := request.Get("containerOverrides"); over.Get("environment") != nil {
		request.Set("containerOverrides", keeping(over, "environment",
			func(v *jsontree.Node) bool { return v.Get("name").Str() != submissionVariable }))
	}
	isUsers := func(n *jsontree.Node) bool { return !strings.HasPrefix(n.Name, ownNames) || n.Name == executorTag }
	return keeping(keeping(request, "tags", isUsers), "parameters", isUsers)
}

// keeping returns an object whose member has only some of its children, and no such member if none is left.
func keeping(n *jsontree.Node, member string, keep func(*jsontree.Node) bool) *jsontree.Node {
	old := n.Get(member)
	if old == nil {
		return n
	}
	left := jsontree.NewObject(old)
	if old.Is(jsontree.Array) {
		left = jsontree.NewArray(old)
	}
	for child := range old.Children() {
		if keep(child) {
			left.Append(child.Clone())
		}
	}
	if left.Len() == 0 {
		return without(n, []string{member})
	}
	n.Set(member, left)
	return n
}

// submitAgain copies the members of a job into its request that have another name or form
// in a request.
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
	return withoutSubmission(request)
}
