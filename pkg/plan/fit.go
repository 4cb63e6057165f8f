package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/document"
)

// EnvironmentFit is the result of placing a job in a compute environment: the instance types
// that fit, or the reason why none does.
type EnvironmentFit struct {
	// Name is the environment's; "" if the platform file gives none.
	Name string
	// Type is EC2, SPOT, FARGATE, FARGATE_SPOT or UNMANAGED.
	Type string
	// State, Status and StatusReason are the target's; "" if only the platform file describes
	// the environment.
	State        types.CEState
	Status       types.CEStatus
	StatusReason string
	// IsLocal reports that its jobs run on the machine of the local engine.
	IsLocal bool
	// Machines are those of an environment that AWS Batch does not scale, if they are known.
	Machines []batch.Machine
	// MaxvCpus is its limit; 0 if it is unknown. DesiredvCpus is its current size.
	MaxvCpus, DesiredvCpus int
	// BidPercentage is the highest Spot price, in percent of the on-demand price; 0: no limit.
	BidPercentage int
	// Fits reports that every part of the job fits, as far as batchctl can check. Reason is why
	// not, or what could not be checked.
	Fits   bool
	Reason string
	// Holds is the placement of each part, in the order of the need.
	Holds []catalog.Placement
	// AtOnce is how many such jobs run at once before maxvCpus is reached, on the types of
	// Holds; 0 if it is unknown. AWS Batch exceeds maxvCpus by at most one instance, so it is
	// never less than what fits one. The need's own MaxParallel limits it too.
	AtOnce int

	environment catalog.Environment
}

// Usable reports whether the environment accepts jobs in its current state: not DISABLED,
// INVALID or being deleted.
func (r EnvironmentFit) Usable() bool {
	switch r.Status {
	case types.CEStatusInvalid, types.CEStatusDeleting, types.CEStatusDeleted:
		return false
	}
	return r.State != types.CEStateDisabled
}

// Proven reports whether every part of the job fits a known instance type.
func (r EnvironmentFit) Proven() bool {
	return r.Fits && len(r.Holds) > 0 && (r.environment.IsFargate() ||
		!slices.ContainsFunc(r.Holds, func(p catalog.Placement) bool {
			return p.Instance.Name == "" ||
				p.Reason != ""
		}))
}

// IsFargate reports whether jobs run on Fargate there.
func (r EnvironmentFit) IsFargate() bool { return r.environment.IsFargate() }

// IsSpot reports whether jobs there have a Spot price.
func (r EnvironmentFit) IsSpot() bool { return r.Type == "SPOT" || r.Type == "FARGATE_SPOT" }

// fitsOf checks a need against the environments of a platform file's queue.
func fitsOf(types *catalog.Catalog, q document.Queue, n Need) []EnvironmentFit {
	var fits []EnvironmentFit
	for _, e := range environmentsOf(types, q) {
		fits = append(fits, place(EnvironmentFit{Name: e.Name, Type: e.Type, MaxvCpus: e.MaxvCpus, environment: e}, n))
	}
	return fits
}

// fits checks a need against the environments of a queue at the target, in the order in which
// AWS Batch tries them.
func (w *TargetState) fits(catalogue *catalog.Catalog, q types.JobQueueDetail, n Need) []EnvironmentFit {
	var fits []EnvironmentFit
	for _, name := range inOrder(q) {
		e, ok := w.environment(name)
		if !ok {
			fits = append(fits, EnvironmentFit{Name: batch.Name(name), Fits: true,
				Reason: "not checked: " + cmp.Or(w.EnvironmentsErr, "the target does not show it")})
			continue
		}
		fits = append(fits, w.fitOf(catalogue, e, n))
	}
	return fits
}

// fitOf checks a need against one environment of the target.
func (w *TargetState) fitOf(catalogue *catalog.Catalog, e types.ComputeEnvironmentDetail, n Need) EnvironmentFit {
	r := EnvironmentFit{Name: aws.ToString(e.ComputeEnvironmentName), Type: string(e.Type), State: e.State,
		Status: e.Status, StatusReason: aws.ToString(e.StatusReason)}
	c := e.ComputeResources
	isPod := e.ContainerOrchestrationType == types.OrchestrationTypeEks || e.EksConfiguration != nil
	// The local machine runs containers and pods.
	isMachine := batch.IsLocalMachine(aws.ToString(e.ComputeEnvironmentArn), aws.ToString(e.EcsClusterArn))
	r.IsLocal = batch.IsLocal(aws.ToString(e.ComputeEnvironmentArn))
	switch {
	case isPod != n.EKS && !isMachine:
		r.Reason = "it runs containers on ECS, but the job is a pod for EKS"
		if isPod {
			r.Reason = "it runs pods on EKS, but the job is not a pod"
		}
		return r
	case c == nil:
		r.MaxvCpus = int(aws.ToInt32(e.UnmanagedvCpus))
	default:
		r.Type, r.MaxvCpus, r.DesiredvCpus = string(c.Type), int(aws.ToInt32(c.MaxvCpus)),
			int(aws.ToInt32(c.DesiredvCpus))
		r.BidPercentage = int(aws.ToInt32(c.BidPercentage))
	}
	if batch.HasFixedMachines(e) && !isMachine {
		r.environment.Type = r.Type
		if why := r.excludes(n, c != nil); why != "" {
			r.Reason = why
			return r
		}
	}
	if batch.HasFixedMachines(e) || c == nil {
		r.Machines = w.Machines[r.Name]
		return onMachines(r, w.MachinesErr, n)
	}
	r.environment = catalog.Environment{Name: r.Name, Type: r.Type, InstanceTypes: c.InstanceTypes,
		MaxvCpus: r.MaxvCpus, Catalog: catalogue}
	if r.MaxvCpus == 0 {
		r.Reason = "its maxvCpus is 0"
		return r
	}
	return place(r, n)
}

// excludes says why an environment that AWS Batch does not scale excludes a need on any machine: it has another
// platform, or a maxvCpus below it.
func (r EnvironmentFit) excludes(n Need, hasLimit bool) string {
	platform := map[bool]string{false: "EC2", true: "Fargate"}
	total, isFargate := n.Total(), len(n.Parts) > 0 && n.Parts[0].Fargate
	switch {
	case !n.EKS && isFargate != r.IsFargate():
		return fmt.Sprintf("%s, but the job is for %s", cmp.Or(r.Type, "EC2"), platform[isFargate])
	case hasLimit && total.VCPUs > float64(r.MaxvCpus):
		return fmt.Sprintf("%s is more than its maxvCpus of %d", catalog.VCPUs(total.VCPUs), r.MaxvCpus)
	}
	return ""
}

// onMachines checks a need against an environment that AWS Batch does not scale. unread says why its machines are
// unknown.
func onMachines(r EnvironmentFit, unread string, n Need) EnvironmentFit {
	total := n.Total()
	switch {
	case len(r.Machines) == 0:
		r.Reason = "not checked: the instances of an unmanaged environment are unknown"
		if unread != "" || r.IsLocal {
			r.Reason = "not checked: " + cmp.Or(unread, "the engine does not report its machine")
		}
	case r.IsLocal: // all nodes of a job run there
		r.Reason = r.Machines[0].Total.Excess(total)
		r.Fits = r.Reason == ""
		return r
	case n.nodes() > len(r.Machines):
		r.Reason = fmt.Sprintf("%d nodes are more than its %d instances", n.nodes(), len(r.Machines))
		return r
	}
	for _, p := range n.Parts {
		one := capacityOf(p)
		if len(r.Machines) > 0 &&
			!slices.ContainsFunc(r.Machines, func(m batch.Machine) bool { return m.Total.Excess(one) == "" }) {
			largest := slices.MaxFunc(r.Machines,
				func(a, b batch.Machine) int { return cmp.Compare(a.Total.MemoryMiB, b.Total.MemoryMiB) })
			r.Reason = "no instance is large enough: on the largest, " + largest.Total.Excess(one)
			return r
		}
	}
	if r.MaxvCpus > 0 && total.VCPUs > float64(r.MaxvCpus) {
		r.Reason = fmt.Sprintf("%s is more than its %d vCPUs", catalog.VCPUs(total.VCPUs), r.MaxvCpus)
		return r
	}
	r.Fits = true
	return r
}

// capacityOf returns the request of one machine of a part.
func capacityOf(p Part) batch.Capacity {
	return batch.Capacity{VCPUs: p.VCPUs, MemoryMiB: int64(p.MemoryMiB), GPUs: int64(p.GPUs)}
}

// Total returns the request of all machines together.
func (n Need) Total() (sum batch.Capacity) {
	for _, p := range n.Parts {
		sum.VCPUs += p.VCPUs * float64(p.Nodes)
		sum.MemoryMiB += int64(p.MemoryMiB) * int64(p.Nodes)
		sum.GPUs += int64(p.GPUs) * int64(p.Nodes)
	}
	return sum
}

// place places every part of the need in the environment.
func place(r EnvironmentFit, n Need) EnvironmentFit {
	r.Fits = true
	if n.MultiNode {
		if p := n.Place(r.environment); p.Cause == catalog.NodesOnSpot || p.Cause == catalog.WrongPlatform {
			r.Fits, r.Reason = false, p.Reason
			return r
		}
	}
	for _, part := range n.Parts {
		e := r.environment
		if len(part.InstanceTypes) > 0 {
			e.InstanceTypes = part.InstanceTypes
		}
		p := e.Place(part.Request)
		r.Holds = append(r.Holds, p)
		if !p.Fits {
			r.Fits, r.Reason = false, p.Reason
			return r
		}
		r.Reason = cmp.Or(r.Reason, p.Reason)
	}
	if n.EKS && r.Reason == "" {
		r.Reason = "EKS nodes reserve more memory than ECS instances, for which the catalogue has figures: request less than the limit"
	}
	if r.Proven() {
		r.AtOnce = r.headroom(n)
	}
	if r.AtOnce == 0 && r.MaxvCpus > 0 && n.nodes() > 1 && r.Proven() {
		r.Fits, r.Reason = false, fmt.Sprintf("its %d nodes start together and need %s, more than its maxvCpus of %d",
			n.nodes(), catalog.VCPUs(r.vcpus(n)), r.MaxvCpus)
	}
	if n.MaxParallel > 0 {
		r.AtOnce = min(r.AtOnce, n.MaxParallel)
	}
	return r
}

// headroom returns how many jobs of a proven need run at the same time at maxvCpus.
func (r EnvironmentFit) headroom(n Need) int {
	switch {
	case r.MaxvCpus == 0:
		return 0
	case n.nodes() > 1: // every node has an instance of its own
		return int(float64(r.MaxvCpus) / r.vcpus(n))
	case r.IsFargate():
		return int(float64(r.MaxvCpus) / max(n.Total().VCPUs, catalog.FargateVCPUs()[0]))
	}
	p := r.Holds[0]
	return max(1, r.MaxvCpus/p.Instance.VCPUs) * p.PerInstance
}

// vcpus returns how much of maxvCpus one job takes if each part has its own machines.
func (r EnvironmentFit) vcpus(n Need) (sum float64) {
	for i, p := range n.Parts {
		if r.IsFargate() {
			sum += p.VCPUs * float64(p.Nodes)
		} else {
			sum += float64(r.Holds[i].Instance.VCPUs * p.Nodes)
		}
	}
	return sum
}

// types returns every instance type of the environment on which a part of a need fits, from
// small to large, with the number that fit.
func (r EnvironmentFit) types(part Part) []catalog.Placement {
	var list []catalog.Placement
	entries := r.environment.InstanceTypes
	if len(part.InstanceTypes) > 0 {
		entries = part.InstanceTypes
	}
	for _, entry := range entries {
		for _, t := range r.environment.Catalog.Expand(entry) {
			e := r.environment
			e.InstanceTypes = []string{t.Name}
			known := slices.ContainsFunc(list, func(p catalog.Placement) bool { return p.Instance.Name == t.Name })
			if p := e.Place(part.Request); p.Fits && p.Instance.Name != "" && !known {
				list = append(list, p)
			}
		}
	}
	return list
}

// Why returns a clause about an environment that is not usable; "" for a usable one.
func (r EnvironmentFit) Why() string {
	switch {
	case r.Usable():
		return ""
	case r.State == types.CEStateDisabled:
		return "it is DISABLED"
	case r.StatusReason == "":
		return fmt.Sprintf("it is %s", r.Status)
	}
	return fmt.Sprintf("it is %s: %s", r.Status, r.StatusReason)
}
