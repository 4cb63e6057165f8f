package lint

import (
	"slices"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// updateRules names the rules about values that a request creates and another one changes: they hold for both, as the
// API reference describes the members alike. The API model has the other limits of updates.
var updateRules = [...]struct {
	update, create document.Kind
	rules          []string
}{
	{document.KindUpdateJobQueue, document.KindJobQueue, []string{
		"queue-priority-range", "queue-ce-order-max-3", "queue-ce-duplicate", "queue-ce-duplicate-order",
		"queue-service-and-compute",
		"queue-service-env-single", "queue-scheduling-policy-arn", "queue-jstla-reason", "queue-jstla-duplicate"}},
	{document.KindUpdateSchedulingPolicy, document.KindSchedulingPolicy, []string{
		"share-identifier-pattern", "sp-weight-range", "sp-distribution-max-500", "sp-identifier-duplicate",
		"sp-identifier-overlap", "sp-fairshare-xor-quota"}},
	{document.KindUpdateComputeEnvironment, document.KindComputeEnvironment, []string{
		"ce-minvcpus-nonnegative", "ce-max-ge-min", "ce-instancetype-known", "ce-subnets-nonempty",
		"ce-subnet-sg-format", "ce-image-id-format",
		"ce-launch-template-id-format", "ce-bid-range", "ce-tags-max-50", "ce-managed-instances-arns", "ce-role-kind",
		"ce-service-role-name"}},
}

// forUpdates lets the rules of updateRules check the updates too.
func forUpdates(rules []Rule) {
	for _, u := range updateRules {
		for i := range rules {
			r := &rules[i]
			if !slices.Contains(u.rules, r.Name) {
				continue
			}
			run, checkIn := r.Run, r.checkIn
			r.Run = func(p *Pass) {
				run(p)
				checkIn(p, p.updates(u.update))
			}
			if r.about != nil && slices.ContainsFunc(r.about,
				func(names nameSet) bool { return names == ofKind(u.create).names() }) {
				r.about = append(r.about, ofKind(u.update).names())
			}
		}
	}
}

// updates returns the requests of a kind that update something.
func (p *Pass) updates(kind document.Kind) (all []Site) {
	for _, f := range p.Files {
		if f.Kind == kind && f.Root.Is(jsontree.Object) {
			all = append(all, Site{Job: p.topLevel(f), Node: f.Root})
		}
	}
	return all
}
