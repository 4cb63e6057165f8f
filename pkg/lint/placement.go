package lint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
)

// refusal is the reason why a job fits nowhere.
type refusal struct {
	// cause selects the rule that reports the refusal. The hint may be empty.
	cause         catalog.Cause
	message, hint string
	// node is the request in the file that does not fit, or the name of the queue.
	node *jsontree.Node
}

// placementResult is where a job would go. It is unknown in the zero value.
type placementResult struct {
	// refused is the reason why the job fits nowhere; nil if it fits.
	refused *refusal
	// queue, request and placement are set if the job fits. saving is set if the job
	// would gain by requesting slightly less.
	queue     string
	request   catalog.Request
	placement catalog.Placement
	saving    *catalog.Saving
	// in is the queue with its environments, whose instance types types describes.
	in    document.Queue
	types *catalog.Catalog
}

// refused returns the reason why the job fits no queue, or not the queue that it
// names. It is nil if the job fits, and if that is unknown.
func (p *Pass) refused(j Job) *refusal { return p.placementOf(j).refused }

// placementResults holds the placementResults of the jobs for which rules have asked so far.
var placementResults = newFact(func(_ *Pass, _ map[*document.Job]placementResult) map[*document.Job]placementResult {
	return map[*document.Job]placementResult{}
})

// directoryPlatforms holds the results of directoryPlatform by directory.
var directoryPlatforms = newFact(func(_ *Pass, _ map[string]*document.Platform) map[string]*document.Platform {
	return map[string]*document.Platform{}
})

// placementOf returns where a job would go. Several rules ask, so the result is kept for the
// run. Without queues it is unknown.
func (p *Pass) placementOf(j Job) placementResult {
	platform := creations.of(p).platform
	if j.Submit == nil {
		platform = p.directoryPlatform(j)
	}
	if platform == nil || len(platform.Queues) == 0 {
		return placementResult{}
	}
	known := placementResults.of(p)
	at, done := known[j.Job]
	if !done {
		at = findPlacement(j, platform)
		known[j.Job] = at
	}
	return at
}

// directoryPlatform returns a platform with one queue for all compute environments in the directory
// of a definition, if no file submits it and the files create no queue. Otherwise it
// returns nil.
func (p *Pass) directoryPlatform(j Job) *document.Platform {
	if j.Register == nil || len(runs.of(p)[j.Register]) > 0 || len(queues(p)) > 0 {
		return nil
	}
	in := j.directory()
	known := directoryPlatforms.of(p)
	platform, done := known[in]
	if !done {
		platform = asPlatform(environmentsIn.of(p)[in])
		known[in] = platform
	}
	return platform
}

// asPlatform returns a platform with one queue for the environments, or nil if they
// cannot be checked.
func asPlatform(environments []Site) *document.Platform {
	q := document.Queue{Name: "the compute environments in its directory"}
	for _, e := range environments {
		if e.Node.Get(resourcesOf) == nil || e.Node.Get("eksConfiguration") != nil {
			return nil
		}
		q.Environments = append(q.Environments, asEnvironment(e.Node))
	}
	if len(q.Environments) == 0 {
		return nil
	}
	return &document.Platform{Queues: []document.Queue{q}}
}

// findPlacement compares a job's need with the platform's queues, as package plan does for submit.
// Without a queue in the job, it takes the queue that submit would choose.
func findPlacement(j Job, platform *document.Platform) placementResult {
	need, known := plan.QueueNeed(j.Known(), j.Submit)
	if !known {
		return wrongPlatform(j, platform)
	}
	// On EC2 a definition does not name its architecture. The image's name may contain it.
	if r := &need.Parts[0].Request; r.Arch == "" && !r.Fargate {
		r.Arch = imageArch(j.Known().Get("containerProperties").Get("image").Str())
	}
	r := need.Parts[0].Request
	choice, err := plan.ChooseQueue(platform, need)
	queueName := j.Submit.Get("jobQueue").Str()
	if queueName == "" && j.Submit != nil && !j.pass.listsQueues() {
		return placementResult{} // there may be other queues than those of the files
	}
	if queueName == "" {
		if no, ok := errors.AsType[*plan.NoQueueError](err); ok {
			return placementResult{refused: &refusal{cause: no.Cause, message: no.Error(), hint: no.Hint(),
				node: j.resolved().culprit(no.Cause)}}
		}
		q, _ := platform.Queue(choice.Queue)
		return placement(platform, q, need, *choice.Placement)
	}
	q, ok := j.queueIn(platform)
	if !ok {
		return placementResult{}
	}
	held := plan.FindPlacement(platform.Catalog, q, need)
	if held.Fits {
		return placement(platform, q, need, held)
	}
	var hints []string
	if near := held.Hint(r); near != "" && (held.Nearest != nil || err != nil) {
		hints = append(hints, near)
	}
	if err == nil {
		other, _ := platform.Queue(choice.Queue)
		hints = append(hints, fmt.Sprintf("submit it to queue %s, where it fits", cmp.Or(other.Alias, other.Name)))
	}
	return placementResult{refused: &refusal{
		cause: held.Cause, node: j.resolved().culprit(held.Cause), hint: strings.Join(hints, "; "),
		message: fmt.Sprintf("queue %s cannot fit %s: %s", queueName, need, held.Reason),
	}}
}

// queueIn returns the queue that a submission names: one that the files create, or else
// one of the platform file.
func (j Job) queueIn(platform *document.Platform) (document.Queue, bool) {
	ref, r := j.Submit.Get("jobQueue").Str(), creations.of(j.pass)
	if q, ok := j.createdQueue(); ok {
		return r.queue(q), true
	}
	if len(r.queues[batch.Name(ref)]) > 0 {
		return document.Queue{}, false // several have this name
	}
	return platform.Queue(batch.Name(ref))
}

// wrongPlatform is the placing of a multi-node job, whose requests are not compared with
// instance types: it only has to be on EC2.
func wrongPlatform(j Job, platform *document.Platform) placementResult {
	q, ok := j.queueIn(platform)
	if !ok || len(q.Environments) == 0 || j.Known().Get("nodeProperties") == nil || j.resolved().definition.onEKS() ||
		slices.ContainsFunc(q.Environments,
			func(e document.Environment) bool { return !strings.HasPrefix(e.Type, "FARGATE") }) {
		return placementResult{}
	}
	return placementResult{refused: &refusal{
		cause: catalog.WrongPlatform, node: j.Submit.Get("jobQueue"), hint: "submit the job to a queue on EC2",
		message: fmt.Sprintf("queue %s is on Fargate, but multi-node jobs run only on EC2", j.Submit.Get("jobQueue").
			Str()),
	}}
}

// placement returns the placing of a job that fits, with what it would save by requesting
// slightly less.
func placement(platform *document.Platform, q document.Queue, need plan.Need, held catalog.Placement) placementResult {
	r := need.Parts[0].Request
	at := placementResult{queue: cmp.Or(q.Alias, q.Name), request: r, placement: held, in: q, types: platform.Catalog}
	if saving, ok := plan.JustOver(platform.Catalog, q, r, held); ok && !need.MultiNode {
		at.saving = &saving
	}
	return at
}

// culprit returns the request that a refusal is about.
func (r resolvedJob) culprit(c catalog.Cause) *jsontree.Node {
	kind := map[catalog.Cause]string{
		catalog.OverMaxvCpus: "VCPU", catalog.OverFargateMaxvCpus: "VCPU", catalog.TooManyVCPUs: "VCPU",
		catalog.TooMuchMemory: "MEMORY", catalog.NominalMemory: "MEMORY", catalog.NotTogether: "MEMORY",
		catalog.NoGPUType: "GPU", catalog.NoGPUInBundle: "GPU", catalog.UnsupportedGPU: "GPU",
		catalog.TooManyGPUs: "GPU",
	}[c]
	container := r.definition.Get("containerProperties")
	if nodes := r.definition.Get("nodeProperties"); nodes != nil {
		if c == catalog.NodesOverMaxvCpus {
			return firstOf(r.submit.Get("nodeOverrides").Get("numNodes"), firstOf(nodes.Get("numNodes"), nodes))
		}
		if c == catalog.NodesOnSpot {
			return firstOf(r.submit.Get("jobQueue"), nodes)
		}
		container = firstOf(nodes.Get("nodeRangeProperties").Index(0).Get("container"), nodes)
	}
	if n := plan.Requirement(container, r.submit.Get("containerOverrides"), kind); n != nil {
		if src, _ := n.Location(); src != nil {
			return n
		}
	}
	if r.submit == nil {
		return container
	}
	return r.submit.Get("jobQueue")
}
