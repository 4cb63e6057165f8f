package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/document"
)

// ChooseQueue picks the queue for a need among those of the platform's queues
// that its policy allows: the one whose smallest fitting instance is smallest, the
// first of equals. err is a *NoQueueError that says for each queue why it does not
// hold the request.
func ChooseQueue(platform *document.Platform, n Need) (Choice, error) {
	r := n.widest()
	no := &NoQueueError{Request: r, Need: n}
	var best Choice
	holding := 0
	if platform == nil {
		return best, no
	}
	for _, q := range platform.Queues {
		if !platform.Policy.AllowsQueue(q) {
			no.deny(q)
			continue
		}
		p := FindPlacement(platform.Catalog, q, n)
		if !p.Fits {
			no.refuse(q, p)
			continue
		}
		holding++
		if best.Placement == nil || tighter(r, p, *best.Placement) {
			best = Choice{Queue: q.Name, Placement: &p}
		}
	}
	if holding == 0 {
		return Choice{}, no
	}
	best.Reason = reason(holding, len(no.denied) > 0, n, *best.Placement)
	return best, nil
}

// FindPlacement returns the tightest placement of a need in a queue's environments, whose instance types the catalogue
// knows: it proves that the job fits. If none fits, Reason covers all of them, and Cause and Nearest are of the one
// that comes nearest.
func FindPlacement(types *catalog.Catalog, q document.Queue, n Need) catalog.Placement {
	r := n.widest()
	if len(q.Environments) == 0 {
		return catalog.Placement{Fits: true, Reason: "not checked: the platform file gives no computeEnvironments"}
	}
	var best, none catalog.Placement
	var reasons []string
	for i, e := range environmentsOf(types, q) {
		p := n.Place(e)
		if p.Fits && (!best.Fits || tighter(r, p, best)) {
			best = p
		}
		reasons = append(reasons, p.Reason)
		if near := r.Nearer(none.Nearest, p.Nearest); i == 0 || near != none.Nearest {
			none.Nearest, none.NearestOn, none.Cause = near, p.NearestOn, p.Cause
		}
	}
	if best.Fits {
		return best
	}
	none.Reason = strings.Join(reasons, "; ")
	return none
}

// Place compares the need with one environment. All nodes of a multi-node job start together, each on
// an instance of its own (user guide, multi-node parallel jobs); the placement is that of the node
// with the largest instance.
func (n Need) Place(e catalog.Environment) catalog.Placement {
	if !n.MultiNode {
		return e.Place(n.widest())
	}
	switch {
	case e.IsFargate():
		return catalog.Placement{Cause: catalog.WrongPlatform, Reason: e.Type + ", and multi-node jobs run only on EC2"}
	case e.IsManagedInstances():
		return catalog.Placement{Cause: catalog.NodesOnSpot, Reason: e.Type + ", and multi-node jobs run only on EC2"}
	case e.Type == "SPOT":
		return catalog.Placement{Cause: catalog.NodesOnSpot,
			Reason: "SPOT, and multi-node jobs do not run on Spot Instances"}
	}
	var largest catalog.Placement
	vcpus, doubt := 0.0, ""
	for i, part := range n.Parts {
		own := e
		if len(part.InstanceTypes) > 0 {
			own.InstanceTypes = part.InstanceTypes
		}
		p := own.Place(part.Request)
		if !p.Fits {
			return p
		}
		doubt = cmp.Or(doubt, p.Reason)
		vcpus += float64(part.Nodes) * max(part.VCPUs, float64(p.Instance.VCPUs))
		if i == 0 || p.Instance.VCPUs > largest.Instance.VCPUs {
			largest = p
		}
	}
	largest.Reason, largest.PerInstance = doubt, min(largest.PerInstance, 1)
	if e.MaxvCpus > 0 && vcpus > float64(e.MaxvCpus) {
		return catalog.Placement{Cause: catalog.NodesOverMaxvCpus,
			Reason: fmt.Sprintf("its %d nodes start together and need %s, more than its maxvCpus of %d",
				n.nodes(), catalog.VCPUs(vcpus), e.MaxvCpus)}
	}
	return largest
}

// environmentsOf is the environments of a queue as placement takes them.
func environmentsOf(types *catalog.Catalog, q document.Queue) []catalog.Environment {
	list := make([]catalog.Environment, len(q.Environments))
	for i, e := range q.Environments {
		list[i] = catalog.Environment{Name: e.Name, Type: e.Type, InstanceTypes: e.InstanceTypes, MaxvCpus: e.MaxvCpus,
			Catalog: types}
	}
	return list
}

// JustOver returns the saving that a slightly smaller request would bring on the
// queue (catalog.JustOver).
func JustOver(types *catalog.Catalog, q document.Queue, r catalog.Request,
	now catalog.Placement) (catalog.Saving, bool) {
	return catalog.JustOver(environmentsOf(types, q), r, now)
}

// tighter reports whether p wastes less than q: a proven fit before a guess,
// then x86_64 for a job that does not say, since most images are built for it,
// then the smaller instance.
func tighter(r catalog.Request, p, q catalog.Placement) bool {
	rank := func(p catalog.Placement) (guess, arm int) {
		if p.Reason != "" {
			guess = 1
		}
		if r.Arch == "" && p.Instance.Arch == catalog.Arm {
			arm = 1
		}
		return guess, arm
	}
	pGuess, pArm := rank(p)
	qGuess, qArm := rank(q)
	return cmp.Or(
		cmp.Compare(pGuess, qGuess),
		cmp.Compare(pArm, qArm),
		cmp.Compare(p.Instance.GPUs, q.Instance.GPUs),
		cmp.Compare(p.Instance.VCPUs, q.Instance.VCPUs),
		cmp.Compare(p.Instance.MemoryMiB, q.Instance.MemoryMiB),
	) < 0
}

func reason(holding int, denied bool, n Need, p catalog.Placement) string {
	allowed := ""
	if denied {
		allowed = "allowed "
	}
	which := fmt.Sprintf("only %squeue that fits", allowed)
	if holding > 1 {
		which = fmt.Sprintf("tightest fit of %d %squeues for", holding, allowed)
	}
	if proof := Proof(p); proof != "" {
		return fmt.Sprintf("%s %s: %s", which, n, proof)
	}
	return fmt.Sprintf("%s %s", which, n)
}

// Proof says in a clause what holds the job: "g5.8xlarge (1 GPU, 32 vCPU,
// 124931 MiB for jobs)". It is empty on Fargate, where nothing is to be chosen.
func Proof(p catalog.Placement) string {
	t := p.Instance
	if t.Name == "" || p.Reason != "" {
		return p.Reason
	}
	size := catalog.Request{VCPUs: float64(t.VCPUs), MemoryMiB: t.UsableMiB(), GPUs: t.GPUs}
	return fmt.Sprintf("%s (%s for jobs)", t.Name, size)
}

// Refusal is a queue and why it does not hold a request.
type Refusal struct{ Queue, Reason string }

// NoQueueError says for each queue why it does not hold the request.
type NoQueueError struct {
	// Need is what no queue fits; Request is that of its first machine.
	Need     Need
	Request  catalog.Request
	Refusals []Refusal
	// denied are the queues that the platform's policy does not allow.
	denied []Refusal
	// Cause is that of the queue which comes nearest.
	Cause catalog.Cause
	// Nearest is the nearest request that would fit, on NearestQueue and there on an instance
	// of NearestOn (zero on Fargate); nil without one.
	Nearest      *catalog.Request
	NearestQueue string
	NearestOn    catalog.InstanceType
}

func (e *NoQueueError) refuse(q document.Queue, p catalog.Placement) {
	name := cmp.Or(q.Alias, q.Name)
	e.Refusals = append(e.Refusals, Refusal{Queue: name, Reason: p.Reason})
	other := e.Cause == catalog.WrongPlatform || e.Cause == catalog.NodesOnSpot // a queue of another kind
	if near := e.Request.Nearer(e.Nearest, p.Nearest); near != e.Nearest || len(e.Refusals) == 1 || e.Nearest == nil &&
		other && p.Cause != catalog.WrongPlatform {
		e.Nearest, e.NearestQueue, e.NearestOn, e.Cause = near, name, p.NearestOn, p.Cause
	}
}

// deny lists a queue that the policy does not allow.
func (e *NoQueueError) deny(q document.Queue) {
	e.denied = append(e.denied, Refusal{Queue: cmp.Or(q.Alias, q.Name), Reason: "the policy does not allow it"})
}

// Error names every queue: "no queue fits 2 GPUs, ...: gpu (its largest ...), cpu (...)".
func (e *NoQueueError) Error() string {
	all := slices.Concat(e.Refusals, e.denied)
	if len(all) == 0 {
		return fmt.Sprintf("no queue fits %s: the platform file lists no queues", e.Need)
	}
	var parts []string
	for _, r := range all {
		parts = append(parts, fmt.Sprintf("%s (%s)", r.Queue, r.Reason))
	}
	return fmt.Sprintf("no queue fits %s: %s", e.Need, strings.Join(parts, ", "))
}

// Hint returns the nearest instance type that fits, and its queue, as the next step.
func (e *NoQueueError) Hint() string {
	hint := catalog.Placement{Cause: e.Cause, Nearest: e.Nearest, NearestOn: e.NearestOn}.Hint(e.Request)
	switch {
	case e.Nearest == nil:
		return hint
	case e.NearestOn.Name == "":
		return hint + " on queue " + e.NearestQueue
	}
	return hint + " of queue " + e.NearestQueue
}
