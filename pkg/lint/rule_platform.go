package lint

import (
	"fmt"
	"iter"
	"slices"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/text"
)

// Platforms yields the platform files among the files. It leaves out a platform file
// that is only there to check a job.
func (p *Pass) Platforms() iter.Seq[*document.Platform] {
	return func(yield func(*document.Platform) bool) {
		for _, f := range p.Files {
			if f.Platform != nil && !yield(f.Platform) {
				return
			}
		}
	}
}

// environments yields the compute environments of the platform files.
func (p *Pass) environments() func(yield func(document.Environment) bool) {
	return func(yield func(document.Environment) bool) {
		for f := range p.Platforms() {
			for _, q := range f.Queues {
				for _, e := range q.Environments {
					if !yield(e) {
						return
					}
				}
			}
		}
	}
}

// platformRules returns the rules about the platform file, in which an organisation
// describes its queues and its limits.
func platformRules() []*Rule {
	return []*Rule{
		rule("platform-queue-name", High, checkPlatformQueues,
			"A queue's jobQueue is the name of a job queue (letters, digits, hyphens and underscores, at most 128) or its ARN.",
			tried("CreateJobQueue.jobQueueName")),
		warns(rule("platform-instance-type", High, checkPlatformInstances,
			"An entry of instanceTypes is not an instance type, family or bundle in the catalogue. It may be newer than the catalogue. Jobs are then not checked against it.",
			"EC2 instance types as of "+catalog.InstanceTypesDate)),
		warns(rule("platform-environment-type", High, checkPlatformEnvironments,
			"The catalogue does not have this type of compute environment, so batchctl treats it as EC2.",
			api("ComputeResource.type"))),
		warns(rule("platform-allowed-queues", High, checkPlatformPolicy,
			"An entry of the policy's allowedQueues matches no queue of the platform file, so it has no effect.",
			policySource+", allowedQueues")),
		rule("stuck-maxvcpus-zero", Medium, checkNoCapacity,
			"A compute environment with maxvCpus 0 never starts an instance, so its jobs stay in RUNNABLE.",
			guide("jobs stuck in RUNNABLE")).
			quoting(maxTooSmall),
	}
}

// checkPlatformQueues reports queues whose name AWS Batch would reject.
func checkPlatformQueues(p *Pass) {
	for f := range p.Platforms() {
		for _, q := range f.Queues {
			bad := mapName(q.Name) != q.Name || len(q.Name) > catalog.MaxNameLength
			if bad && !batch.IsARN(q.Name) {
				p.Report(firstOf(q.Node.Get("jobQueue"), q.Node), fmt.Sprintf(
					"the name of a job queue must be %s only, at most %d", nameCharset, catalog.MaxNameLength), "")
			}
		}
	}
}

// checkPlatformInstances reports entries that the catalogue does not have.
func checkPlatformInstances(p *Pass) {
	for e := range p.environments() {
		for _, entries := range p.instanceTypes().unknownIn(e.Node.Get("instanceTypes")) {
			if entries[0].Text != "" {
				message, hint := p.instanceTypes().unknown(entries)
				p.Report(entries[0], message, hint)
			}
		}
	}
}

// checkPlatformEnvironments reports types of compute environments that the catalogue does not have.
func checkPlatformEnvironments(p *Pass) {
	types := []string{"EC2", "SPOT", "FARGATE", "FARGATE_SPOT", "ECS_MANAGED_INSTANCES"}
	for e := range p.environments() {
		if e.Type == "" || slices.Contains(types, e.Type) {
			continue
		}
		hint := "write " + text.Or(types)
		if near := near(e.Type, types); near != "" {
			hint = "did you mean " + quote(near) + "?"
		}
		p.Report(firstOf(e.Node.Get("type"), e.Node),
			fmt.Sprintf("unknown type of compute environment: %s", quote(e.Type)), hint)
	}
}

// checkPlatformPolicy reports patterns that allow no queue of the file.
func checkPlatformPolicy(p *Pass) {
	for f := range p.Platforms() {
		for n := range f.Policy.Node.Get("allowedQueues").Children() {
			// A policy with this entry only shows which queues the entry matches.
			alone := document.Policy{AllowedQueues: []string{n.Str()}}
			if len(f.Queues) > 0 && !slices.ContainsFunc(f.Queues, alone.AllowsQueue) {
				p.Report(n, fmt.Sprintf("%s matches no queue of this file", quote(n.Str())), plan.QueueHint(f, n.Str()))
			}
		}
	}
}

// checkNoCapacity reports environments of platform files and of requests that can start no instance.
func checkNoCapacity(p *Pass) {
	const message = "maxvCpus is 0, so no job can ever run here"
	for e := range p.environments() {
		n := e.Node.Get("maxvCpus")
		if v, ok := n.Int(); ok && v == 0 {
			p.Report(n, message, "")
		}
	}
	for _, s := range environments(p) {
		n := s.Node.Get(resourcesOf).Get("maxvCpus")
		if v, ok := n.Int(); ok && v == 0 {
			s.Report(message, "", n)
		}
	}
}
