package lint

import (
	"fmt"
	"slices"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
)

// queueRules ask pkg/plan where a job would go, so that validate and submit agree.
// There is one rule for each reason why a job does not fit a queue: AWS Batch accepts
// such a job, and it waits in RUNNABLE indefinitely. Combinations of vCPUs and memory
// that Fargate does not offer have rules of their own.
func queueRules() []*Rule {
	stuck := guide("jobs stuck in RUNNABLE")
	return []*Rule{
		over("submit-queue-exists", Medium, (*Pass).Submits, checkQueueExists,
			"The queue of the job is not in the platform file, looks like a typo of a queue that other files create, or is not a valid name or ARN of a queue. "+
				"AWS Batch rejects a queue that does not exist.",
			"the service's error quoted in base2genomics/batchit#13; "+api("SubmitJob.jobQueue")).
			quoting("JobQueue x-job-queue not found."),
		unplaceable("submit-ec2-job-on-fargate-queue", High,
			"An EC2 job cannot run on Fargate, and a Fargate job cannot run on EC2. AWS Batch rejects both.",
			tried("SubmitJob.jobQueue"), catalog.WrongPlatform),
		unplaceable("stuck-vcpu-gt-maxvcpus", Medium,
			"The job requests more vCPUs than maxvCpus of the compute environment.", stuck, catalog.OverMaxvCpus).
			quoting(maxTooSmall),
		unplaceable("stuck-fargate-vcpu-gt-max", Medium,
			"The Fargate job requests more vCPUs than maxvCpus of the compute environment.", stuck,
			catalog.OverFargateMaxvCpus).
			quoting(maxTooSmall),
		unplaceable("stuck-vcpu-gt-instance", Medium,
			"The job requests more vCPUs than the largest instance type of the queue has.", stuck,
			catalog.TooManyVCPUs).
			quoting(jobTooLarge),
		unplaceable("stuck-memory-gt-instance", Medium,
			"The job requests more memory than an instance has for jobs. That is less than its nominal memory, because the kernel and the ECS agent use some.",
			guide("compute resource memory management"), catalog.TooMuchMemory, catalog.NotTogether).
			quoting(notPlaced),
		unplaceable("stuck-memory-equals-nominal", Medium,
			"The job requests exactly the nominal memory of an instance type, but the kernel and the ECS agent use some of it.",
			guide("compute resource memory management"), catalog.NominalMemory).
			quoting(notPlaced),
		unplaceable("stuck-gpu-no-gpu-instance", Medium,
			"The job requests GPUs, but no compute environment of the queue has instances with GPUs.",
			stuck, catalog.NoGPUType).
			quoting(jobTooLarge),
		unplaceable("stuck-gpu-optimal", Medium,
			"The job requests GPUs, but the bundles optimal and default_x86_64 contain no instance type with a GPU.",
			stuck+"; "+api("ComputeResource.instanceTypes"), catalog.NoGPUInBundle).
			quoting(jobTooLarge),
		unplaceable("stuck-gpu-unsupported-family", Low,
			"AWS Batch runs GPU jobs on NVIDIA GPUs and x86_64 only, not on g4ad (AMD) and g5g (Arm).",
			guide("GPU jobs"), catalog.UnsupportedGPU),
		unplaceable("stuck-gpu-count-gt-instance", High,
			"The job requests more GPUs than the largest instance type of the queue has.", stuck, catalog.TooManyGPUs).
			quoting(jobTooLarge),
		warns(unplaceable("stuck-arch-mismatch", Medium,
			"The image of the job is built for another CPU architecture than that of the queue's instances.",
			guide("job definition parameters"), catalog.WrongArch)),
		warns(over("memory-may-not-fit", Medium, (*Pass).Jobs, checkTightMemory,
			"The job requests memory that an instance type offers with some AMIs but not with others. The message gives published figures and their source. A job "+
				"that does not fit stays in RUNNABLE indefinitely.",
			guide("compute resource memory management")+"; measured figures as the message names them")),
		warns(over("just-over-boundary", Medium, (*Pass).Jobs, checkJustOver,
			"The job requests slightly more than a smaller instance type of its queue offers, or slightly more than would let one more job fit on each instance. "+
				"For memory, slightly means more than the type has for jobs, and either at most 5 % more or at most its nominal memory (or its share of that). "+
				"For vCPUs, it means at most 5 % more, or one more if the boundary is 4 or above. "+
				"A smaller type has at most three quarters of the vCPUs, memory or GPUs. One more job per instance counts only if no type of the queue packs the job nearly as well.",
			guide("compute resource memory management")+
				": the kernel and the ECS agent use some of the nominal memory; the limits of 5 % and three quarters are batchctl's")),
	}
}

// checkQueueExists reports a queue that does not exist, or cannot.
func checkQueueExists(j Job) {
	p, n := j.pass, j.Submit.Get("jobQueue")
	platform := creations.of(p).platform
	if !n.Is(jsontree.String) || isPlaceholder(n.Text) {
		return
	}
	// Queues are unknown without a list of them, and an ARN may be of another account.
	elsewhere := platform == nil || len(platform.Queues) == 0 ||
		j.File.Kind == document.KindSubmitJob && len(queues(p)) == 0 || batch.IsARN(n.Text)
	if elsewhere && !queuePattern().MatchString(n.Text) {
		j.Report("jobQueue must be the name or the ARN of a queue, not "+quote(n.Text), `such as "main"`, n)
	}
	if elsewhere || n.Text == "" {
		return
	}
	if _, ok := platform.Queue(n.Text); !ok {
		reportMissingQueue(p, j, n)
	}
}

// checkTightMemory reports a job that fits with some AMIs only.
func checkTightMemory(j Job) {
	if at := j.pass.placementOf(j); at.placement.Cause == catalog.TightMemory {
		j.Report(fmt.Sprintf("%s on queue %s %s", catalog.MiB(at.request.MemoryMiB), at.queue, at.placement.Reason),
			at.placement.Hint(at.request), j.resolved().culprit(catalog.TooMuchMemory))
	}
}

// reportMissingQueue reports a queue that is neither in the platform file nor created by
// the files. The platform file lists all queues; the files may not.
func reportMissingQueue(p *Pass, j Job, n *jsontree.Node) {
	platform := creations.of(p).platform
	if p.listsQueues() {
		j.Report(fmt.Sprintf("no queue %s in the platform file", quote(n.Str())), plan.QueueHint(platform, n.Str()), n)
		return
	}
	severity, hint := nearResource(n.Str(), creations.of(p).queues)
	j.reportAs(severity, nil, fmt.Sprintf("no file creates the queue %s", quote(n.Str())), hint, n)
}

// checkJustOver reports what the job would gain by requesting less.
func checkJustOver(j Job) {
	at := j.pass.placementOf(j)
	if at.saving == nil {
		return
	}
	// The message names only the resources that the smaller request reduces.
	s, kind := at.saving, "VCPU"
	over, fits := catalog.VCPUs(at.request.VCPUs), catalog.VCPUs(s.Request.VCPUs)
	if memory := catalog.MiB(at.request.MemoryMiB); s.Request.MemoryMiB < at.request.MemoryMiB {
		kind = "MEMORY"
		if s.Request.VCPUs < at.request.VCPUs {
			over, fits = over+", "+memory, fits+", "+catalog.MiB(s.Request.MemoryMiB)
		} else {
			over, fits = memory, catalog.MiB(s.Request.MemoryMiB)
		}
	}
	now, smaller := at.placement.Instance, s.Instance
	message := fmt.Sprintf("%s is just over what %s has for a job, so on queue %s the job needs %s", over, smaller.Name,
		at.queue, now.Name)
	hint := fmt.Sprintf("request %s to fit %s (%s) instead of %s (%s)", fits, smaller.Name, describeInstance(smaller),
		now.Name, describeInstance(now))
	if s.PerInstance > 1 {
		message = fmt.Sprintf("%s is just over what would let %d such jobs fit on one %s of queue %s", over,
			s.PerInstance, now.Name, at.queue)
		hint = fmt.Sprintf("request %s to fit on %s (%s) %d such jobs at once instead of %d", fits, now.Name,
			describeInstance(now), s.PerInstance, at.placement.PerInstance)
	}
	j.Report(message, hint, j.resolved().requestsFor(kind).largest())
}

// describeInstance describes an instance type.
func describeInstance(t catalog.InstanceType) string {
	return catalog.Request{VCPUs: float64(t.VCPUs), MemoryMiB: t.MemoryMiB, GPUs: t.GPUs}.String()
}

// unplaceable returns the rule for jobs that fit no queue, or not the queue that they
// name, for one of the causes.
func unplaceable(name string, c Confidence, doc, source string, causes ...catalog.Cause) *Rule {
	return over(name, c, (*Pass).Jobs, func(j Job) {
		if r := j.pass.refused(j); r != nil && slices.Contains(causes, r.cause) {
			j.Report(r.message, r.hint, r.node)
		}
	}, doc, source)
}

// orUnplaceable adds to a rule about environments in the files the jobs that a queue of the platform
// file refuses for the same reason.
func orUnplaceable(r *Rule, causes ...catalog.Cause) *Rule {
	run := r.Run
	r.Run = func(p *Pass) {
		run(p)
		for _, j := range p.Jobs() {
			no := p.refused(j)
			if no == nil || !slices.Contains(causes, no.cause) {
				continue
			}
			created := false
			for range j.environments() {
				created = true
			}
			if !created {
				j.Report(no.message, no.hint, no.node)
			}
		}
	}
	return r
}
