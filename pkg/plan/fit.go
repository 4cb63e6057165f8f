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
	// Machine reports that the environment is the machine of the local engine.
	Machine bool
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
	return r.Fits && len(r.Holds) > 0 && (r.environment.IsFargate() || !slices.ContainsFunc(r.Holds, func(p catalog.Placement) bool { return p.Instance.Name == "" || p.Reason != "" }))
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
		fits = append(fits, fitOf(catalogue, e, n))
	}
	return fits
}

// fitOf checks a need against one environment of the target.
func fitOf(catalogue *catalog.Catalog, e types.ComputeEnvironmentDetail, n Need) EnvironmentFit {
	r := EnvironmentFit{Name: aws.ToString(e.ComputeEnvironmentName), Type: string(e.Type), State: e.State, Status: e.Status, StatusReason: aws.ToString(e.StatusReason)}
	c := e.ComputeResources
	isPod := e.ContainerOrchestrationType == types.OrchestrationTypeEks || e.EksConfiguration != nil
	// The local machine runs containers and pods.
	machine := batch.IsLocalMachine(aws.ToString(e.ComputeEnvironmentArn), aws.ToString(e.EcsClusterArn)) && c != nil
	switch {
	case isPod != n.EKS && !machine:
		r.Reason = "it runs containers on ECS, but the job is a pod for EKS"
		if isPod {
			r.Reason = "it runs pods on EKS, but the job is not a pod"
		}
		return r
	case machine:
		r.Machine, r.Type = true, string(c.Type)
		return unlisted(r, "not checked: the local engine has no instance types", int(aws.ToInt32(c.MaxvCpus)), n)
	case c == nil:
		return unlisted(r, "not checked: the instances of an unmanaged environment are unknown", int(aws.ToInt32(e.UnmanagedvCpus)), n)
	}
	r.Type, r.MaxvCpus, r.DesiredvCpus = string(c.Type), int(aws.ToInt32(c.MaxvCpus)), int(aws.ToInt32(c.DesiredvCpus))
	r.BidPercentage = int(aws.ToInt32(c.BidPercentage))
	r.environment = catalog.Environment{Name: r.Name, Type: r.Type, InstanceTypes: c.InstanceTypes, MaxvCpus: r.MaxvCpus, Catalog: catalogue}
	if r.MaxvCpus == 0 {
		r.Reason = "its maxvCpus is 0"
		return r
	}
	return place(r, n)
}

// unlisted checks a need against an environment whose instances are unknown for the reason. Only the vCPUs can be
// checked.
func unlisted(r EnvironmentFit, reason string, vcpus int, n Need) EnvironmentFit {
	r.Fits, r.Reason = true, reason
	r.MaxvCpus = vcpus
	if vcpus > 0 && n.vcpus() > float64(vcpus) {
		r.Fits, r.Reason = false, fmt.Sprintf("%s is more than its %d vCPUs", catalog.VCPUs(n.vcpus()), vcpus)
	}
	return r
}

// vcpus returns the vCPUs of all machines.
func (n Need) vcpus() (sum float64) {
	for _, p := range n.Parts {
		sum += p.VCPUs * float64(p.Nodes)
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
		return int(float64(r.MaxvCpus) / max(n.vcpus(), catalog.FargateVCPUs()[0]))
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
