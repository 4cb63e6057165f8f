// Package advise proposes the sizes of jobs from what their earlier attempts used: an upper bound of the need with a
// known confidence, snapped to the sizes that Fargate and instance types offer. It is pure: no I/O, no clock.
package advise

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/text"
)

// Advice is the size that advise derives from the attempts of one job definition.
type Advice struct {
	// Definition is the definition's name, and Hash that of its content without sizes.
	Definition string `json:"definition"`
	Hash       string `json:"hash,omitempty"`
	// Queue is that of the newest attempt.
	Queue string `json:"queue,omitempty"`
	// Requested is what the newest first attempt requested.
	Requested history.Resources `json:"requested"`
	// Attempts is all of them. Runs is the ones that were measured and show a need. OutOfMemory is the ones that ran
	// out of memory, and Failed the ones that FAILED for another reason.
	Attempts    int     `json:"attempts"`
	Runs        int     `json:"runs"`
	OutOfMemory int     `json:"outOfMemory,omitempty"`
	Failed      int     `json:"failed,omitempty"`
	Hours       float64 `json:"hours"`
	// Memory is the peak in MiB, CPUs the mean number of busy processors, GPUMemory the peak of one GPU in MiB, and
	// GPUUtilization the mean share of time in which it was busy. Nil is unmeasured.
	Memory         *Use `json:"memoryMiB,omitempty"`
	CPUs           *Use `json:"cpus,omitempty"`
	GPUMemory      *Use `json:"gpuMemoryMiB,omitempty"`
	GPUUtilization *Use `json:"gpuUtilization,omitempty"`
	// Proposal is nil without one; Why is then the reason.
	Proposal *Proposal `json:"proposal,omitempty"`
	Why      string    `json:"why,omitempty"`
	Notes    []string  `json:"notes,omitempty"`
	Axes     []Axis    `json:"axes,omitempty"`
}

// Use is a figure over the runs.
type Use struct {
	Runs int     `json:"runs"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	Max  float64 `json:"max"`
}

// Proposal is another size for a job.
type Proposal struct {
	VCPUs     float64 `json:"vcpus,omitempty"`
	MemoryMiB int64   `json:"memoryMiB"`
	// Bound is the upper bound of the memory in MiB. Its value is 0 for a step after attempts that ran out of memory.
	Bound Bound `json:"bound"`
	// Margin is the proposed memory beyond the largest run, as a share of it.
	Margin float64 `json:"margin"`
	// Confidence is that of the bound, and 0 for a step.
	Confidence float64 `json:"confidence"`
	Saving     *Saving `json:"saving,omitempty"`
}

// Group is the attempts of one definition, in the order in which they started.
type Group struct {
	Definition, Hash string
	Attempts         []history.Attempt
}

// Groups sorts attempts by the content of their definitions, or by name if the content is unknown. The most recently
// used definition is the first.
func Groups(attempts []history.Attempt) []Group {
	var groups []Group
	at := map[string]int{}
	for _, a := range attempts {
		name := DefinitionName(a)
		key := cmp.Or(a.Hash, " "+name)
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key], groups = i, append(groups, Group{Hash: a.Hash})
		}
		groups[i].Definition = name // the newest name
		groups[i].Attempts = append(groups[i].Attempts, a)
	}
	started := func(a, b history.Attempt) int { return cmp.Compare(a.StartedAt, b.StartedAt) }
	for i := range groups {
		slices.SortStableFunc(groups[i].Attempts, started)
	}
	slices.SortStableFunc(groups, func(a, b Group) int { return started(b.newest(), a.newest()) })
	return groups
}

func (g Group) newest() history.Attempt { return g.Attempts[len(g.Attempts)-1] }

// DefinitionName is the name of an attempt's definition without its revision, or else the job's name.
func DefinitionName(a history.Attempt) string {
	name, _ := batch.SplitRevision(batch.Name(a.Definition))
	return cmp.Or(name, a.Name)
}

// For returns the advice for the attempts of a definition. requested is the size in its job file; the zero value takes
// that of the newest attempt.
func For(g Group, requested history.Resources, m Market) Advice {
	newest := g.newest()
	a := Advice{Definition: g.Definition, Hash: g.Hash, Queue: newest.Queue, Requested: requested,
		Attempts: len(g.Attempts)}
	several := false
	for _, attempt := range g.Attempts {
		a.Hours += attempt.Duration().Hours()
		several = several || len(attempt.Usage) > 1
		if requested == (history.Resources{}) && attempt.Number == 1 && attempt.Requested != (history.Resources{}) {
			a.Requested = attempt.Requested
		}
	}
	if several {
		a.Why = "its containers have sizes of their own: advise proposes sizes for jobs with one container"
		return a
	}
	n := needsOf(g.Attempts)
	a.Runs, a.OutOfMemory, a.Failed = len(n.memory), n.outOfMemory, n.failed
	a.Memory, a.CPUs = UseOf(n.memory), UseOf(n.cpus)
	a.GPUMemory, a.GPUUtilization = UseOf(n.gpuMemory), UseOf(n.gpuBusy)
	a.Axes = axesOf(g.Attempts)
	a.propose(g.Attempts, n, m)
	a.note(n)
	return a
}

// UseOf returns the nearest-rank percentiles; nil without values.
func UseOf(values []float64) *Use {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	at := func(p float64) float64 { return sorted[max(0, int(math.Ceil(p*float64(len(sorted))))-1)] }
	return &Use{len(sorted), at(0.5), at(0.95), at(1)}
}

// needs are what the runs of a definition needed, in their order.
type needs struct {
	memory, cpus, gpuMemory, gpuBusy []float64 // MiB, processors, MiB, share of time
	// jobs has the number of the job of each figure in memory: the children of an array share one.
	jobs []int
	// outOfMemory is how many attempts ran out of memory. unresolved is how many of them no run explains, and limit
	// the highest limit among these in MiB.
	outOfMemory, unresolved int
	limit                   float64
	// atLimit is how many runs succeeded at their limit.
	atLimit int
	// succeeded is how many runs SUCCEEDED, and failed how many FAILED for another reason than memory. mostFailed is the
	// highest peak of the latter in MiB.
	succeeded, failed int
	mostFailed        float64
}

// full is the share of its limit from which a run counts as having used all of it. Programs that size their heap or
// their caches by the limit do that.
const full = 0.99

// MiB is the number of bytes in a MiB.
const MiB = 1 << 20

// needsOf returns what attempts needed. A run that SUCCEEDED needed its peak. One that FAILED ended early, so its peak
// shows no need. An attempt that ran out of memory needed more than its limit. If a later attempt of the same job
// SUCCEEDED, that one shows the need. If not, it counts as the largest run above its limit, which is the worst case
// among what was seen (as Efron's redistribution to the right for censored data).
func needsOf(attempts []history.Attempt) (n needs) {
	succeeded := map[string]bool{}
	for _, a := range attempts {
		succeeded[a.Job] = succeeded[a.Job] || a.Status == types.JobStatusSucceeded && peak(a) > 0
	}
	type run struct {
		mib float64
		job int
	}
	var censored []run
	numbers := map[string]int{}
	for _, a := range attempts {
		array, _ := batch.SplitID(a.Job)
		job, known := numbers[array]
		if !known {
			job = len(numbers)
			numbers[array] = job
		}
		if OutOfMemory(a) {
			n.outOfMemory++
			if !succeeded[a.Job] {
				censored = append(censored, run{limitOf(a), job})
			}
			continue
		}
		p := peak(a)
		switch {
		case a.Status == types.JobStatusFailed:
			n.failed++
			n.mostFailed = max(n.mostFailed, p)
		case p > 0 && a.Status == types.JobStatusSucceeded:
			n.succeeded++
			n.add(p, job)
			if limit := limitOf(a); limit > 0 && p >= full*limit {
				n.atLimit++
			}
			n.addOthers(a)
		}
	}
	largest := 0.0
	if len(n.memory) > 0 {
		largest = slices.Max(n.memory)
	}
	for _, r := range censored {
		if r.mib < largest {
			n.add(largest, r.job)
			continue
		}
		n.unresolved++
		n.limit = max(n.limit, r.mib)
	}
	return n
}

// add adds the memory that a run needed.
func (n *needs) add(mib float64, job int) {
	n.memory, n.jobs = append(n.memory, mib), append(n.jobs, job)
}

// addOthers adds what a run used apart from memory.
func (n *needs) addOthers(a history.Attempt) {
	u := a.Usage[0]
	if u.CPUSeconds != nil && u.Seconds > 0 {
		n.cpus = append(n.cpus, max(leastCPUs, *u.CPUSeconds/u.Seconds))
	}
	memory, busy := 0.0, -1.0
	for _, g := range u.GPUs {
		memory = max(memory, float64(g.PeakMemory)/MiB)
		if g.Utilization != nil {
			busy = max(busy, *g.Utilization)
		}
	}
	if len(u.GPUs) > 0 {
		n.gpuMemory = append(n.gpuMemory, memory)
	}
	if busy >= 0 {
		n.gpuBusy = append(n.gpuBusy, busy)
	}
}

// unusedGPU is more memory in MiB than the driver takes of a GPU that no program uses. A program that only opens the
// GPU takes more.
const unusedGPU = 64

// leastCPUs stands for a run that used no measurable processor time: bounds are of logarithms.
const leastCPUs = 0.001

// OutOfMemory reports whether an attempt ended because it exceeded its memory limit.
func OutOfMemory(a history.Attempt) bool {
	return a.Status != types.JobStatusSucceeded && (strings.Contains(a.Container, "OutOfMemory") ||
		strings.Contains(a.Reason, "OutOfMemory"))
}

// peak is the peak of an attempt's memory in MiB; 0 if it was not measured.
func peak(a history.Attempt) float64 {
	if len(a.Usage) == 0 || a.Usage[0].PeakMemory == nil {
		return 0
	}
	return float64(*a.Usage[0].PeakMemory) / MiB
}

// limitOf is the memory limit of an attempt in MiB; 0 if it is unknown.
func limitOf(a history.Attempt) float64 {
	if len(a.Usage) > 0 && a.Usage[0].MemoryLimit != nil && a.Requested.MemoryMiB == 0 {
		return float64(*a.Usage[0].MemoryLimit) / MiB
	}
	return float64(a.Requested.MemoryMiB)
}

// Unmeasured is why there is no advice on attempts without figures.
const Unmeasured = "unmeasured"

// step is by how much the memory grows after attempts that ran out of it, if no run shows the need.
const step = 1.5

// worthwhile is the largest size that is worth a change, as a share of the present one.
const worthwhile = 0.9

// propose adds the proposal, or why there is none.
func (a *Advice) propose(attempts []history.Attempt, n needs, m Market) {
	now := a.Requested
	if n.unresolved > 0 {
		most := max(n.limit, float64(now.MemoryMiB))
		if most == 0 {
			a.Why = "attempts ran out of memory, but their limit is unknown"
			return
		}
		if float64(now.MemoryMiB) >= step*n.limit && n.limit > 0 {
			a.Why = fmt.Sprintf("the request is already above the %.0f MiB at which attempts ran out of memory: measure the job", n.limit)
			return
		}
		a.Proposal = m.snapped(a.Queue, now, Proposal{VCPUs: now.VCPUs, MemoryMiB: int64(math.Ceil(step * n.limit)),
			Margin: step - 1})
		a.Proposal.Saving.total(attempts)
		return
	}
	switch {
	case n.succeeded == 0 && n.failed > 0:
		a.Why = fmt.Sprintf("no measured run SUCCEEDED, and %s no need: %d SUCCEEDED runs give a bound",
			failedRuns(n.failed, "shows", "show"), LeastRuns)
		return
	case n.succeeded == 0:
		a.Why = Unmeasured
		return
	case n.succeeded < LeastRuns:
		a.Why = fmt.Sprintf("too few runs (%d; %d give a bound)", n.succeeded, LeastRuns)
		if n.failed > 0 {
			a.Why += fmt.Sprintf("; %s no need", failedRuns(n.failed, "shows", "show"))
		}
		return
	}
	b := UpperBound(n.memory, n.jobs)
	if b.Value == 0 {
		a.Why = fmt.Sprintf("%s (%d)", b.Why, len(n.memory))
		return
	}
	largest := slices.Max(n.memory)
	if n.atLimit > 0 && b.Value > largest {
		b.Value = largest // the limit was enough for all of them
	}
	p := m.snapped(a.Queue, now, Proposal{VCPUs: a.lessCPUs(n, m.isFargate(a.Queue, now)),
		MemoryMiB: int64(math.Ceil(b.Value)), Bound: b, Confidence: Confidence})
	lowers := float64(p.MemoryMiB) <= worthwhile*float64(now.MemoryMiB) || p.VCPUs < now.VCPUs
	raises := p.MemoryMiB > now.MemoryMiB
	switch {
	case n.atLimit > 0 && (raises || p.MemoryMiB == now.MemoryMiB):
		a.Why = fmt.Sprintf("%d of %d runs used all of their limit and SUCCEEDED, which is typical of programs that adapt to their limit", n.atLimit, len(n.memory))
		return
	case !lowers && !raises:
		a.Why = fmt.Sprintf("the request fits: 99 %% of runs need at most %.0f MiB", b.Value)
		return
	case raises && float64(now.MemoryMiB) >= b.Value:
		a.Why = fmt.Sprintf("the request fits: 99 %% of runs need at most %.0f MiB", b.Value)
		return
	}
	if n.mostFailed > float64(p.MemoryMiB) {
		a.Why = fmt.Sprintf("%s up to %.0f MiB, more than the %.0f MiB that 99 %% of SUCCEEDED runs need at most",
			failedRuns(n.failed, "used", "used"), n.mostFailed, b.Value)
		return
	}
	p.Margin = float64(p.MemoryMiB)/largest - 1
	p.Saving.total(attempts)
	a.Proposal = p
}

// failedRuns begins a clause about n runs that FAILED, with the verb for one or for several.
func failedRuns(n int, one, several string) string {
	if n == 1 {
		return "the FAILED run " + one
	}
	return fmt.Sprintf("the %d FAILED runs %s", n, several)
}

// idleCPUs is how much of a vCPU can be missing: a busy program of one thread also has moments of other threads.
const idleCPUs = 0.05

// lessCPUs returns fewer vCPUs if the runs never kept half of them busy on average: the bound of that average, in whole
// vCPUs, or on Fargate in parts of one. Else it returns the request.
func (a *Advice) lessCPUs(n needs, fargate bool) float64 {
	now := a.Requested.VCPUs
	b := UpperBound(n.cpus, nil)
	if b.Value == 0 || now <= 1 && !fargate || b.Value > now/2 {
		return now
	}
	if fargate {
		return max(0, b.Value-idleCPUs)
	}
	return max(1, math.Ceil(b.Value-idleCPUs))
}

// note adds what a reader should know about the figures.
func (a *Advice) note(n needs) {
	add := func(format string, args ...any) { a.Notes = append(a.Notes, fmt.Sprintf(format, args...)) }
	p := a.Proposal
	if n.unresolved > 0 {
		add("%s ran out of memory at %.0f MiB, and no run shows how much they need: this is a step, not a bound",
			text.Count(n.unresolved, "attempt"), n.limit)
	}
	if p != nil && p.Bound.Growth > 1 {
		add("the memory need grew by %.0f %% over these runs: run advise again later", 100*(p.Bound.Growth-1))
	}
	if p != nil && p.Bound.Upper > 0 {
		add("%d of %d runs need clearly more than the others, and the bound is for those", p.Bound.Upper, a.Runs)
	}
	if p != nil && p.Bound.Method == Tail {
		add("kinds of run that are rarer than 1 in %.0f may need more", math.Floor(1/p.Bound.Rarest))
	}
	if p != nil && p.VCPUs < a.Requested.VCPUs {
		add("fewer vCPUs slow down phases that keep all of them busy; the figures are averages of whole runs")
	}
	if n.atLimit > 0 && p != nil {
		add("%d of %d runs used all of their limit: a program that adapts to its limit may need less", n.atLimit,
			a.Runs)
	}
	if others := a.Attempts - a.Runs - a.OutOfMemory; others > 0 && a.Runs > 0 {
		add("%s are not in the figures: unmeasured, or FAILED", text.Count(others, "attempt"))
	}
	if a.GPUUtilization != nil && a.GPUUtilization.Max < 0.01 && a.GPUMemory.Max < unusedGPU {
		add("no run used its GPU: remove \"gpus\" if the program does not need one")
	}
}
