package observe

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// Replay returns the trace of what ran in the queues: recorded attempts of the target, and the jobs that the target
// still lists and no record has.
func (o *Observation) Replay(attempts []history.Attempt) *forecast.Trace {
	skipped := map[string]int{}
	var jobs []forecast.Job
	recorded := map[string]bool{}
	stopped := map[string]int64{} // when the attempt before ended, by job
	attempts = slices.Clone(attempts)
	slices.SortStableFunc(attempts, func(a, b history.Attempt) int { return cmp.Compare(a.Number, b.Number) })
	for _, a := range attempts {
		recorded[a.Job] = true
		queue := o.Queue(a.Queue)
		j := forecast.Job{ID: a.Job, Name: a.Name, Queue: queue, Share: a.Share,
			Submitted: max(a.CreatedAt, stopped[a.Job]), Started: a.StartedAt, Exact: a.Duration().Milliseconds(),
			Need: model.Amount{MilliCPU: int64(a.Requested.VCPUs * 1000), MemoryMiB: a.Requested.MemoryMiB,
				GPUs: int64(a.Requested.GPUs)}}
		stopped[a.Job] = a.StoppedAt
		switch {
		case queue < 0:
			skipped["of another queue"]++
		case j.Exact <= 0 || a.CreatedAt == 0:
			skipped["without a run time"]++
		case j.Need.MilliCPU <= 0:
			skipped["without recorded requests"]++
		default:
			j.Platform = o.platform(queue)
			jobs = append(jobs, j)
		}
	}
	for _, j := range o.State.Past {
		if !recorded[j.ID] {
			jobs = append(jobs, j)
		}
	}
	t := forecast.TraceOf(jobs)
	t.Skipped = skipped
	return t
}

// platform returns the platform of the jobs of a queue: that of its first environment.
func (o *Observation) platform(queue int) types.PlatformCapability {
	names := o.State.Queues[queue].Environments
	at := slices.IndexFunc(o.State.Environments, func(e forecast.Environment) bool {
		return len(names) > 0 &&
			e.Name == names[0]
	})
	if at < 0 {
		return types.PlatformCapabilityEc2
	}
	return o.State.Environments[at].Platform()
}

// mostOffers is how many families Offers returns.
const mostOffers = 3

// Offers returns the instance families with the lowest price for a GPU or a vCPU on which all jobs of a State fit, and
// which no environment has. They have the architecture of the present types.
func (r Reader) Offers(s *forecast.State) []string {
	need := model.Amount{}
	for _, j := range s.Jobs {
		if j.Platform != types.PlatformCapabilityFargate {
			need = model.Amount{MilliCPU: max(need.MilliCPU, j.Need.MilliCPU),
				MemoryMiB: max(need.MemoryMiB, j.Need.MemoryMiB), GPUs: max(need.GPUs, j.Need.GPUs)}
		}
	}
	present, archs := map[string]bool{}, map[string]bool{}
	for _, e := range s.Environments {
		for _, t := range e.Types {
			family, _, _ := strings.Cut(t.Name, ".")
			present[family] = true
			if known, ok := r.Catalog.Lookup(t.Name); ok {
				archs[known.Arch] = true
			}
		}
	}
	prices := map[string]float64{}
	for _, entry := range r.Catalog.Entries() {
		list := r.Catalog.Expand(entry)
		if strings.ContainsAny(entry, "._") || entry == "optimal" || present[entry] || !archs[list[0].Arch] {
			continue
		}
		for _, t := range Types(r.Catalog, r.Prices, r.Region(), false, []string{entry}) {
			if t.Hour <= 0 || !t.Size.Covers(need) || need.GPUs == 0 && t.Size.GPUs > 0 {
				continue
			}
			price := t.Hour / float64(cmp.Or(min(need.GPUs, 1)*t.Size.GPUs, t.Size.MilliCPU/1000))
			if best, ok := prices[entry]; !ok || price < best {
				prices[entry] = price
			}
		}
	}
	offers := slices.SortedFunc(maps.Keys(prices),
		func(a, b string) int { return cmp.Or(cmp.Compare(prices[a], prices[b]), cmp.Compare(a, b)) })
	return offers[:min(len(offers), mostOffers)]
}
