package lint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/spec"
)

// queueRules ask pkg/plan where a job would go, so that the check and the act
// agree. One rule for each way in which a queue cannot hold a job: AWS Batch
// takes such a job, and it waits in RUNNABLE for ever. A pair of vCPUs and
// memory that Fargate does not offer has rules of its own.
func queueRules() []Rule {
	const stuck = userGuide + ", jobs stuck in RUNNABLE"
	return []Rule{
		{
			Name: "submit-queue-exists", Severity: diag.Error, Confidence: Medium,
			Doc:    "The job names a queue that the platform file does not list. AWS Batch refuses a queue that does not exist.",
			Source: apiReference + ", SubmitJob.jobQueue",
			Run: func(p *Pass) {
				platform := p.index.resources.platform
				for j := range p.Submits() {
					n := j.Submit.Get("jobQueue")
					if platform == nil || len(platform.Queues) == 0 || n.Str() == "" || j.File.Kind == spec.KindSubmitJob && len(queues(p)) == 0 || isARN(n.Str()) || placeholder().MatchString(n.Str()) {
						continue
					}
					if _, ok := platform.Queue(n.Str()); !ok {
						j.Report(fmt.Sprintf("no queue %s in the platform file", quote(n.Str())), plan.QueueHint(platform, n.Str()), n)
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
	}
}

func unplaceable(name string, severity diag.Severity, confidence Confidence, doc, source string, causes ...catalog.Cause) Rule {
	return Rule{
		Name: name, Severity: severity, Confidence: confidence, Doc: doc, Source: source,
		Run: func(p *Pass) {
			for j := range p.Jobs() {
				if r := p.refused(j); r != nil && slices.Contains(causes, r.cause) {
					j.Report(r.message, r.hint, r.place)
				}
			}
		},
	}
}

// refusal is why a job finds no place.
type refusal struct {
	cause         catalog.Cause
	message, hint string
	place         *jsontree.Node
}

// refused says why no queue holds the job, or the one it names does not. It is
// nil where one does, and where nothing can be said.
func (p *Pass) refused(j Job) *refusal {
	platform := p.index.resources.platform
	if j.Submit == nil {
		platform = p.loose(j)
	}
	if platform == nil || len(platform.Queues) == 0 {
		return nil
	}
	r, done := p.index.refusals[j.Job]
	if !done {
		r = refuse(j, platform)
		if p.index.refusals == nil {
			p.index.refusals = map[*spec.Job]*refusal{}
		}
		p.index.refusals[j.Job] = r
	}
	return r
}

// loose makes one queue of the compute environments of the files, for a
// definition that nobody submits and files that create no queue. It is nil
// otherwise.
func (p *Pass) loose(j Job) *spec.Platform {
	q := spec.Queue{Name: "of these files"}
	if j.Register == nil || len(environments(p)) == 0 || len(queues(p)) > 0 || len(p.runs(j.Register)) > 0 {
		return nil
	}
	for _, e := range environments(p) {
		if e.Node.Get(resourcesOf) == nil || e.Node.Get("eksConfiguration") != nil {
			return nil
		}
		q.Environments = append(q.Environments, asEnvironment(e.Node))
	}
	return &spec.Platform{Queues: []spec.Queue{q}}
}

func refuse(j Job, platform *spec.Platform) *refusal {
	r, known := plan.RequestOf(j.Known(), j.Submit)
	if !known {
		return nil
	}
	if r.Arch == "" && !r.Fargate {
		r.Arch = imageArch(j.Known().Get("containerProperties").Get("image").Str())
	}
	choice, err := plan.ChooseQueue(platform, r)
	word := j.Submit.Get("jobQueue").Str()
	if word == "" {
		if no, ok := errors.AsType[*plan.NoQueueError](err); ok {
			return &refusal{cause: no.Cause, message: no.Error(), hint: no.Hint(), place: j.culprit(no.Cause)}
		}
		return nil
	}
	q, ok := platform.Queue(nameOf(word))
	if !ok {
		return nil
	}
	held := plan.Hold(q, r)
	if held.Fits {
		return nil
	}
	var hints []string
	if held.Nearest != nil {
		hints = append(hints, "nearest that fits: "+held.Nearest.String())
	}
	if err == nil {
		other, _ := platform.Queue(choice.Queue)
		hints = append(hints, fmt.Sprintf("queue %s holds it", cmp.Or(other.Alias, other.Name)))
	}
	return &refusal{
		cause: held.Cause, place: j.culprit(held.Cause), hint: strings.Join(hints, "; "),
		message: fmt.Sprintf("queue %s cannot hold %s: %s", word, r, held.Reason),
	}
}

// culprit is the figure that a refusal is about.
func (j Job) culprit(c catalog.Cause) *jsontree.Node {
	kind := map[catalog.Cause]string{
		catalog.OverMaxvCpus: "VCPU", catalog.OverFargateMaxvCpus: "VCPU", catalog.TooManyVCPUs: "VCPU",
		catalog.TooMuchMemory: "MEMORY", catalog.NominalMemory: "MEMORY", catalog.NotTogether: "MEMORY",
		catalog.NoGPUType: "GPU", catalog.NoGPUInBundle: "GPU", catalog.UnsupportedGPU: "GPU", catalog.TooManyGPUs: "GPU",
	}[c]
	container := j.Known().Get("containerProperties")
	if n := plan.Requirement(container, j.Submit.Get("containerOverrides"), kind); n != nil {
		if src, _ := n.Place(); src != nil {
			return n
		}
	}
	if j.Submit == nil {
		return container
	}
	return j.Submit.Get("jobQueue")
}
