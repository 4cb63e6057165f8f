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
	cause         catalog.Cause
	message, hint string
	node          *jsontree.Node
}

// placing is where a job would go. It is unknown in the zero value.
type placing struct {
	// refused is the reason why the job fits nowhere; nil if it fits.
	refused *refusal
	// queue, request and placement are set if the job fits. saving is set if the job
	// would gain by requesting slightly less.
	queue     string
	request   catalog.Request
	placement catalog.Placement
	saving    *catalog.Saving
}

// refused returns the reason why the job fits no queue, or not the queue that it
// names. It is nil if the job fits, and if that is unknown.
func (p *Pass) refused(j Job) *refusal { return p.placingOf(j).refused }

// placings holds the placings of the jobs for which rules have asked so far.
var placings = newFact(func(_ *Pass, _ map[*document.Job]placing) map[*document.Job]placing {
	return map[*document.Job]placing{}
})

// loosePlatforms holds the results of loose by directory.
var loosePlatforms = newFact(func(_ *Pass, _ map[string]*document.Platform) map[string]*document.Platform {
	return map[string]*document.Platform{}
})

func (p *Pass) placingOf(j Job) placing {
	platform := creations.of(p).platform
	if j.Submit == nil {
		platform = p.loose(j)
	}
	if platform == nil || len(platform.Queues) == 0 {
		return placing{}
	}
	known := placings.of(p)
	at, done := known[j.Job]
	if !done {
		at = placeOf(j, platform)
		known[j.Job] = at
	}
	return at
}

// loose returns a platform with one queue for all compute environments in the directory
// of a definition, if no file submits it and the files create no queue. Otherwise it
// returns nil.
func (p *Pass) loose(j Job) *document.Platform {
	if j.Register == nil || len(runs.of(p)[j.Register]) > 0 || len(queues(p)) > 0 {
		return nil
	}
	in := j.directory()
	known := loosePlatforms.of(p)
	made, done := known[in]
	if !done {
		made = asPlatform(environmentsIn.of(p)[in])
		known[in] = made
	}
	return made
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

func placeOf(j Job, platform *document.Platform) placing {
	r, known := plan.RequestOf(j.Known(), j.Submit)
	if !known {
		return j.wrongPlatform(platform)
	}
	if r.Arch == "" && !r.Fargate {
		r.Arch = imageArch(j.Known().Get("containerProperties").Get("image").Str())
	}
	choice, err := plan.ChooseQueue(platform, r)
	word := j.Submit.Get("jobQueue").Str()
	if word == "" && j.Submit != nil && !hasPlatformQueues(j.pass) {
		return placing{} // there may be other queues than those of the files
	}
	if word == "" {
		if no, ok := errors.AsType[*plan.NoQueueError](err); ok {
			return placing{refused: &refusal{cause: no.Cause, message: no.Error(), hint: no.Hint(), node: j.culprit(no.Cause)}}
		}
		q, _ := platform.Queue(choice.Queue)
		return placement(platform, q, r, *choice.Placement)
	}
	q, ok := j.queueIn(platform)
	if !ok {
		return placing{}
	}
	held := plan.FindPlacement(platform.Catalog, q, r)
	if held.Fits {
		return placement(platform, q, r, held)
	}
	var hints []string
	if near := held.Hint(r); near != "" && (held.Nearest != nil || err != nil) {
		hints = append(hints, near)
	}
	if err == nil {
		other, _ := platform.Queue(choice.Queue)
		hints = append(hints, fmt.Sprintf("submit it to queue %s, where it fits", cmp.Or(other.Alias, other.Name)))
	}
	return placing{refused: &refusal{
		cause: held.Cause, node: j.culprit(held.Cause), hint: strings.Join(hints, "; "),
		message: fmt.Sprintf("queue %s cannot hold %s: %s", word, r, held.Reason),
	}}
}

// queueIn returns the queue that a submission names: one that the files create, or else
// one of the platform file.
func (j Job) queueIn(platform *document.Platform) (document.Queue, bool) {
	word, r := j.Submit.Get("jobQueue").Str(), creations.of(j.pass)
	if q, ok := (Site{Job: j}).queueOf(); ok {
		return r.queue(q), true
	}
	if len(r.queues[batch.Name(word)]) > 0 {
		return document.Queue{}, false // several have this name
	}
	return platform.Queue(batch.Name(word))
}

// wrongPlatform is the placing of a multi-node job, whose requests are not compared with
// instance types: it only has to be on EC2.
func (j Job) wrongPlatform(platform *document.Platform) placing {
	q, ok := j.queueIn(platform)
	if !ok || len(q.Environments) == 0 || j.Known().Get("nodeProperties") == nil || (Site{Job: j}).runsOnEKS() ||
		slices.ContainsFunc(q.Environments, func(e document.Environment) bool { return !strings.HasPrefix(e.Type, "FARGATE") }) {
		return placing{}
	}
	return placing{refused: &refusal{
		cause: catalog.WrongPlatform, node: j.Submit.Get("jobQueue"), hint: "submit the job to a queue on EC2",
		message: fmt.Sprintf("queue %s is on Fargate, but multi-node jobs run only on EC2", j.Submit.Get("jobQueue").Str()),
	}}
}

func placement(platform *document.Platform, q document.Queue, r catalog.Request, held catalog.Placement) placing {
	at := placing{queue: cmp.Or(q.Alias, q.Name), request: r, placement: held}
	if saving, ok := plan.JustOver(platform.Catalog, q, r, held); ok {
		at.saving = &saving
	}
	return at
}

// culprit returns the request that a refusal is about.
func (j Job) culprit(c catalog.Cause) *jsontree.Node {
	kind := map[catalog.Cause]string{
		catalog.OverMaxvCpus: "VCPU", catalog.OverFargateMaxvCpus: "VCPU", catalog.TooManyVCPUs: "VCPU",
		catalog.TooMuchMemory: "MEMORY", catalog.NominalMemory: "MEMORY", catalog.NotTogether: "MEMORY",
		catalog.NoGPUType: "GPU", catalog.NoGPUInBundle: "GPU", catalog.UnsupportedGPU: "GPU", catalog.TooManyGPUs: "GPU",
	}[c]
	container := j.Known().Get("containerProperties")
	if n := plan.Requirement(container, j.Submit.Get("containerOverrides"), kind); n != nil {
		if src, _ := n.Location(); src != nil {
			return n
		}
	}
	if j.Submit == nil {
		return container
	}
	return j.Submit.Get("jobQueue")
}
