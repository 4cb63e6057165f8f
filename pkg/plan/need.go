package plan

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/batchctl/batchctl/pkg/wire"
)

// Need lists the resources that one attempt of a job occupies while it runs.
type Need struct {
	// Parts are the machines: one for most jobs, the ranges of alike nodes of a
	// multi-node job.
	Parts []Part
	// EKS is a pod.
	EKS bool
	// MultiNode is a multi-node parallel job, which runs only on EC2 On-Demand Instances.
	MultiNode bool
	// Platform is what Fargate is priced by: catalog.X86, Arm or Windows.
	Platform string
	// StorageGB is the ephemeral storage of a Fargate task that costs extra.
	StorageGB int
	// PublicIP reports that a Fargate task gets a public IPv4 address, which costs extra.
	PublicIP bool
	// TimeoutSeconds is attemptDurationSeconds; 0 for none.
	TimeoutSeconds int64
	// Attempts is at least 1, and Children is 1 for a job that is no array.
	Attempts, Children int
	// MaxParallel is how many children may run at once, whatever there is room for; 0:
	// any number.
	MaxParallel int
	// Consumes is how much of each consumable resource an attempt takes, by the resource's name.
	Consumes map[string]int64
}

// Part is machines that are alike.
type Part struct {
	catalog.Request
	Nodes int
	// InstanceTypes is what a range of nodes asks for; empty for any.
	InstanceTypes []string
}

// nodes is all machines of an attempt.
func (n Need) nodes() (sum int) {
	for _, p := range n.Parts {
		sum += p.Nodes
	}
	return sum
}

// QueueNeed returns what a queue must fit for a job: one machine, or the nodes of a multi-node
// job. ok is false if the documents do not say it, and for pods on EKS.
func QueueNeed(definition, submit *jsontree.Node) (n Need, ok bool) {
	if definition.Get("nodeProperties") != nil {
		return NeedOf(definition, submit)
	}
	r, ok := RequestOf(definition, submit)
	return OneMachine(r), ok
}

// OneMachine returns the need of a job that runs on a single machine.
func OneMachine(r catalog.Request) Need { return Need{Parts: []Part{{Request: r, Nodes: 1}}} }

// widest returns the request that stands for the need: that of its first part, which messages and
// hints are about.
func (n Need) widest() catalog.Request { return n.Parts[0].Request }

// String returns the need as people say it: "8 vCPU, 30720 MiB", or "4 nodes of 8 vCPU, 30720 MiB".
func (n Need) String() string {
	var parts []string
	for _, p := range n.Parts {
		request := p.Request.String()
		if n.MultiNode {
			request = text.Count(p.Nodes, "node") + " of " + request
		}
		parts = append(parts, request)
	}
	return strings.Join(parts, " and ")
}

// mostTimes bounds what hostile figures can make of a product.
const mostTimes = 1 << 20

// NeedOf returns what a job needs, from its definition with the submission's overrides on top;
// both are documents in AWS's form. ok is false if the definition does not give numbers, or is
// unknown (nil).
func NeedOf(definition, submit *jsontree.Node) (n Need, ok bool) {
	n = Need{
		EKS:       definition.Get("eksProperties") != nil,
		Platform:  fargatePlatform(definition),
		StorageGB: storage(definition),
		PublicIP: containers(definition).Get("networkConfiguration").Get("assignPublicIp").
			Str() == string(types.AssignPublicIpEnabled),
		Attempts: bounded(first(submit, definition, "retryStrategy", "attempts")),
		Children: bounded(submit.Get("arrayProperties").Get("size")),
		Consumes: consumed(definition, submit),
	}
	if seconds, ok := first(submit, definition, "timeout", "attemptDurationSeconds").Int(); ok {
		n.TimeoutSeconds = max(0, min(seconds, math.MaxInt32))
	}
	switch {
	case n.EKS:
		r, ok := podRequest(definition, submit)
		n.Parts = []Part{{Request: r, Nodes: 1}}
		return n, ok
	case definition.Get("nodeProperties") != nil:
		n.MultiNode, n.Parts = true, nodeParts(definition, submit)
		return n, len(n.Parts) > 0
	}
	r, ok := RequestOf(definition, submit)
	n.Parts = []Part{{Request: r, Nodes: 1}}
	return n, ok
}

// first is a member of the submission, else of the definition.
func first(submit, definition *jsontree.Node, path ...string) *jsontree.Node {
	for _, n := range []*jsontree.Node{submit, definition} {
		for _, step := range path {
			n = n.Get(step)
		}
		if n != nil {
			return n
		}
	}
	return nil
}

// bounded is a count of at least 1.
func bounded(n *jsontree.Node) int {
	i, _ := n.Int()
	return int(max(1, min(i, mostTimes)))
}

// consumed returns the quantities of consumable resources. The submission's list replaces the definition's; those of
// the nodes are added.
func consumed(definition, submit *jsontree.Node) map[string]int64 {
	const own, over = "consumableResourceProperties", "consumableResourcePropertiesOverride"
	sums := map[string]int64{}
	add := func(override, list *jsontree.Node) {
		if override != nil {
			list = override
		}
		for r := range list.Get("consumableResourceList").Children() {
			quantity, _ := r.Get("quantity").Int()
			name := batch.Name(r.Get("consumableResource").Str())
			sums[name] += max(0, min(quantity, math.MaxInt64-sums[name]))
		}
	}
	add(submit.Get(over), definition.Get(own))
	for _, node := range nodeKinds(definition, submit) {
		for range node.count {
			add(node.over.Get(over), node.own.Get(own))
		}
	}
	return sums
}

// containers is the object that holds runtimePlatform, ephemeralStorage and networkConfiguration.
func containers(definition *jsontree.Node) *jsontree.Node {
	if task := definition.Get("ecsProperties").Get("taskProperties").Index(0); task != nil {
		return task
	}
	return definition.Get("containerProperties")
}

func fargatePlatform(definition *jsontree.Node) string {
	platform := containers(definition).Get("runtimePlatform")
	if strings.HasPrefix(strings.ToUpper(platform.Get("operatingSystemFamily").Str()), "WINDOWS") {
		return catalog.Windows
	}
	return cmp.Or(arch(platform), catalog.X86)
}

func storage(definition *jsontree.Node) int {
	size, _ := containers(definition).Get("ephemeralStorage").Get("sizeInGiB").Int()
	return int(max(0, min(size, mostTimes)-catalog.FargateStorageGB))
}

// podRequest sums the containers of a pod: of each the larger of limit and request.
// Init containers run before them, one by one.
func podRequest(definition, submit *jsontree.Node) (r catalog.Request, ok bool) {
	pod := definition.Get("eksProperties").Get("podProperties")
	over := submit.Get("eksPropertiesOverride").Get("podProperties")
	r.VCPUs, ok = podAmount(pod, over, "cpu")
	memory, okMemory := podAmount(pod, over, "memory")
	gpus, _ := podAmount(pod, over, "nvidia.com/gpu")
	r.MemoryMiB, r.GPUs = int(math.Ceil(memory)), int(gpus)
	return r, ok && okMemory
}

func podAmount(pod, over *jsontree.Node, kind string) (sum float64, ok bool) {
	add := func(list string) (total, largest float64) {
		for c := range pod.Get(list).Children() {
			f := containerAmount(c, named(over.Get(list), c.Get("name").Str()), kind)
			total, largest = total+f, max(largest, f)
		}
		return total, largest
	}
	sum, _ = add("containers")
	_, before := add("initContainers")
	sum = max(sum, before)
	return sum, sum > 0
}

func containerAmount(container, over *jsontree.Node, kind string) (most float64) {
	for _, list := range []string{"limits", "requests"} {
		n := over.Get("resources").Get(list).Get(kind)
		if n == nil {
			n = container.Get("resources").Get(list).Get(kind)
		}
		f, err := strconv.ParseFloat(strings.TrimSuffix(n.Str(), "Mi"), 64)
		if err == nil && f > most && f <= mostAmount {
			most = f
		}
	}
	return most
}

// mostNodes is far above the nodes that AWS Batch takes.
const mostNodes = 10_000

// nodeKind is nodes with the same properties and overrides.
type nodeKind struct {
	own, over *jsontree.Node
	count     int
}

// nodeKinds counts the nodes of a multi-node job by what they run. Of ranges that
// lie in each other the innermost counts, as AWS Batch has it.
func nodeKinds(definition, submit *jsontree.Node) (kinds []nodeKind) {
	nodes, over := definition.Get("nodeProperties"), submit.Get("nodeOverrides")
	if nodes == nil {
		return nil
	}
	count := bounded(nodes.Get("numNodes"))
	if n := over.Get("numNodes"); n != nil {
		count = bounded(n)
	}
	if count > mostNodes {
		return nil
	}
	owns, overs := rangesOf(nodes.Get("nodeRangeProperties"), count), rangesOf(over.Get("nodePropertyOverrides"), count)
	for node := range count {
		k := nodeKind{own: innermost(owns, node), over: innermost(overs, node)}
		at := slices.IndexFunc(kinds, func(o nodeKind) bool { return o.own == k.own && o.over == k.over })
		if at < 0 {
			kinds, at = append(kinds, k), len(kinds)
		}
		kinds[at].count++
	}
	return kinds
}

// nodeParts returns the machines of a multi-node job. It is empty when a node is in no range, or a range does not say
// what it asks for.
func nodeParts(definition, submit *jsontree.Node) (parts []Part) {
	for _, k := range nodeKinds(definition, submit) {
		r, ok := nodeRequest(k.own, k.over)
		if !ok {
			return nil
		}
		p := Part{Request: r, Nodes: k.count}
		for t := range k.own.Get("instanceTypes").Children() {
			p.InstanceTypes = append(p.InstanceTypes, t.Str())
		}
		parts = append(parts, p)
	}
	return parts
}

// nodeRequest is what one node asks for: its properties are those of a job
// definition under other names.
func nodeRequest(own, over *jsontree.Node) (catalog.Request, bool) {
	definition := jsontree.NewObject(nil)
	for from, to := range map[string]string{"container": "containerProperties", "ecsProperties": "ecsProperties"} {
		if n := own.Get(from); n != nil {
			definition.Set(to, n.Clone())
		}
	}
	return RequestOf(definition, over)
}

// nodeRange is the properties of a range of nodes, from first to last.
type nodeRange struct {
	properties  *jsontree.Node
	first, last int
}

func rangesOf(list *jsontree.Node, count int) (ranges []nodeRange) {
	for g := range list.Children() {
		from, to, isRange := strings.Cut(g.Get("targetNodes").Str(), ":")
		a, errA := strconv.Atoi(cmp.Or(from, "0"))
		b, errB := strconv.Atoi(cmp.Or(to, strconv.Itoa(count-1)))
		if !isRange {
			b, errB = a, errA
		}
		if errA == nil && errB == nil && len(ranges) < 100 {
			ranges = append(ranges, nodeRange{g, a, b})
		}
	}
	slices.SortStableFunc(ranges, func(a, b nodeRange) int { return cmp.Compare(a.last-a.first, b.last-b.first) })
	return ranges
}

// innermost is the properties of the smallest range around a node.
func innermost(ranges []nodeRange, node int) *jsontree.Node {
	for _, r := range ranges {
		if r.first <= node && node <= r.last {
			return r.properties
		}
	}
	return nil
}

// tree is an SDK struct as a document.
func tree(v any) (*jsontree.Node, error) {
	text, err := wire.Marshal(v)
	if err != nil {
		return nil, err
	}
	root, _ := jsontree.Parse(diag.NewSource("", string(text)))
	return root, nil
}
