package lint

import (
	"fmt"
	"slices"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
)

// queueRules ask pkg/plan where a job would go, so that the check and the act
// agree. One rule for each way in which a queue cannot hold a job: AWS Batch
// takes such a job, and it waits in RUNNABLE for ever. A pair of vCPUs and
// memory that Fargate does not offer has rules of its own.
func queueRules() []*Rule {
	const stuck = userGuide + ", jobs stuck in RUNNABLE"
	return []*Rule{
		{
			Name: "submit-queue-exists", Severity: diag.Error, Confidence: Medium,
			Doc: "The job names a queue that the platform file does not list, that other files create under nearly that name, or that no queue can have as its name or ARN. " +
				"AWS Batch refuses a queue that does not exist.",
			Source: apiReference + ", SubmitJob.jobQueue",
			Run: func(p *Pass) {
				platform := creations.of(p).platform
				for _, j := range p.Submits() {
					n := j.Submit.Get("jobQueue")
					if !n.Is(jsontree.String) || placeholder().MatchString(n.Text) {
						continue
					}
					elsewhere := platform == nil || len(platform.Queues) == 0 || j.File.Kind == document.KindSubmitJob && len(queues(p)) == 0 || batch.IsARN(n.Text)
					if elsewhere && !queuePattern().MatchString(n.Text) {
						j.Report("jobQueue is the name or the ARN of a queue, not "+quote(n.Text), `such as "main"`, n)
					}
					if elsewhere || n.Text == "" {
						continue
					}
					if _, ok := platform.Queue(n.Text); !ok {
						p.missingQueue(j, n)
					}
				}
			},
		},
		unplaceable("submit-ec2-job-on-fargate-queue", diag.Error, High, "An EC2 job does not run on Fargate, nor a Fargate job on EC2: AWS Batch refuses it.",
			apiReference+", SubmitJob.jobQueue"+probed, catalog.WrongPlatform),
		unplaceable("stuck-vcpu-gt-maxvcpus", diag.Error, Medium, "The job asks for more vCPUs than the compute environment may ever have.", stuck, catalog.OverMaxvCpus),
		unplaceable("stuck-fargate-vcpu-gt-max", diag.Error, Medium, "The Fargate job asks for more vCPUs than the compute environment may ever have.", stuck, catalog.OverFargateMaxvCpus),
		unplaceable("stuck-vcpu-gt-instance", diag.Error, Medium, "The job asks for more vCPUs than the largest instance type of the queue has.", stuck, catalog.TooManyVCPUs),
		unplaceable("stuck-memory-gt-instance", diag.Error, Medium, "The job asks for more memory than an instance leaves to jobs. That is less than its nominal memory: kernel and ECS agent keep some back.",
			userGuide+", compute resource memory management", catalog.TooMuchMemory, catalog.NotTogether),
		unplaceable("stuck-memory-equals-nominal", diag.Error, Medium, "The job asks for exactly the memory on the instance's sheet, and kernel and ECS agent keep some of that back.",
			userGuide+", compute resource memory management", catalog.NominalMemory),
		unplaceable("stuck-gpu-no-gpu-instance", diag.Error, Medium, "The job asks for GPUs, and no compute environment of the queue has instances with GPUs.",
			stuck, catalog.NoGPUType),
		unplaceable("stuck-gpu-optimal", diag.Error, Medium, "The job asks for GPUs, and the bundles optimal and default_x86_64 stand for no instance type with a GPU.",
			apiReference+", ComputeResource.instanceTypes", catalog.NoGPUInBundle),
		unplaceable("stuck-gpu-unsupported-family", diag.Warning, Low, "AWS Batch runs GPU jobs on NVIDIA GPUs and x86_64 only, not on g4ad (AMD) and g5g (Arm).",
			userGuide+", GPU jobs", catalog.UnsupportedGPU),
		unplaceable("stuck-gpu-count-gt-instance", diag.Error, High, "The job asks for more GPUs than the largest instance type of the queue has.", stuck, catalog.TooManyGPUs),
		unplaceable("stuck-arch-mismatch", diag.Warning, Medium, "The job is built for another CPU architecture than the queue's instances have.", userGuide+", job definition parameters", catalog.WrongArch),
		{
			Name: "just-over-boundary", Severity: diag.Warning, Confidence: Medium,
			Doc: "The job asks for slightly more than a smaller instance type of its queue gives, or than lets one job more onto each instance. " +
				"Slightly is: for memory, more than the type leaves to jobs and at most 5 % more or no more than is on its sheet (or its share of that); " +
				"for vCPUs, at most 5 % more, or one more where the boundary is 4 or above. " +
				"A type is smaller with at most three quarters of the vCPUs, memory or GPUs; one job more counts where no type of the queue packs the job nearly as well.",
			Source: userGuide + ", compute resource memory management: kernel and ECS agent keep back some of the memory on the sheet; the figures of 5 % and three quarters are ours",
			Run: func(p *Pass) {
				for _, j := range p.Jobs() {
					if at := p.placingOf(j); at.saving != nil {
						j.justOver(at)
					}
				}
			},
		},
	}
}

// missingQueue reports a queue that is neither in the platform file nor among those
// that the files create. The platform file lists all there are; files do not.
func (p *Pass) missingQueue(j Job, n *jsontree.Node) {
	platform := creations.of(p).platform
	if hasPlatformQueues(p) {
		j.Report(fmt.Sprintf("no queue %s in the platform file", quote(n.Str())), plan.QueueHint(platform, n.Str()), n)
		return
	}
	severity, hint := nearResource(n.Str(), creations.of(p).queues)
	j.reportAs(severity, nil, fmt.Sprintf("no file creates the queue %s", quote(n.Str())), hint, n)
}

// justOver says what the job would gain by asking for less.
func (j Job) justOver(at placing) {
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
	message := fmt.Sprintf("%s is just over what %s leaves to a job, so on queue %s the job takes %s", over, smaller.Name, at.queue, now.Name)
	hint := fmt.Sprintf("ask for %s, and it fits %s (%s) in place of %s (%s)", fits, smaller.Name, sheet(smaller), now.Name, sheet(now))
	if s.PerInstance > 1 {
		message = fmt.Sprintf("%s is just over what lets %d such jobs onto one %s of queue %s", over, s.PerInstance, now.Name, at.queue)
		hint = fmt.Sprintf("ask for %s, and %s (%s) holds %d such jobs at once in place of %d", fits, now.Name, sheet(now), s.PerInstance, at.placement.PerInstance)
	}
	j.Report(message, hint, j.demands(kind).largest())
}

// sheet is what an instance type has, in words.
func sheet(t catalog.InstanceType) string {
	return catalog.Request{VCPUs: float64(t.VCPUs), MemoryMiB: t.MemoryMiB, GPUs: t.GPUs}.String()
}

func unplaceable(name string, severity diag.Severity, confidence Confidence, doc, source string, causes ...catalog.Cause) *Rule {
	return &Rule{
		Name: name, Severity: severity, Confidence: confidence, Doc: doc, Source: source,
		Run: func(p *Pass) {
			for _, j := range p.Jobs() {
				if r := p.refused(j); r != nil && slices.Contains(causes, r.cause) {
					j.Report(r.message, r.hint, r.place)
				}
			}
		},
	}
}
