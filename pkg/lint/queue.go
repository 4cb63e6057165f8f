package lint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
)

// placementTopic is the topic of what finds no place, or a larger one than it needs.
const placementTopic = "stuck-runnable"

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

// refusal is why a job finds no place.
type refusal struct {
	cause         catalog.Cause
	message, hint string
	place         *jsontree.Node
}

// placing is where a job would go. The zero value is one of which nothing can be
// said.
type placing struct {
	// refused says why the job finds no place; nil if it finds one.
	refused *refusal
	// queue, request and placement are of a job that does, and saving is what it
	// would gain by asking for slightly less, if anything.
	queue     string
	request   catalog.Request
	placement catalog.Placement
	saving    *catalog.Saving
}

// refused says why no queue holds the job, or the one it names does not. It is
// nil where one does, and where nothing can be said.
func (p *Pass) refused(j Job) *refusal { return p.placingOf(j).refused }

// placings is where a job would go, or why it finds no place, as far as rules have asked.
var placings = newFact(func(_ *Pass, _ map[*document.Job]placing) map[*document.Job]placing {
	return map[*document.Job]placing{}
})

// loosePlatforms is what loose has made for each directory.
var loosePlatforms = newFact(func(_ *Pass, _ map[string]*document.Platform) map[string]*document.Platform {
	return map[string]*document.Platform{}
})

func (p *Pass) placingOf(j Job) placing {
	platform := creations.of(p).platform
	if j.Submit == nil {
		platform = p.loose(j)
	}
	if platform == nil || len(platform.Queues) == 0 {
		return placing{}
	}
	known := placings.of(p)
	at, done := known[j.Job]
	if !done {
		at = placeOf(j, platform)
		known[j.Job] = at
	}
	return at
}

// loose makes one queue of the compute environments that lie beside a definition,
// where nobody submits it and the files create no queue. It is nil otherwise.
func (p *Pass) loose(j Job) *document.Platform {
	if j.Register == nil || len(runs.of(p)[j.Register]) > 0 || len(queues(p)) > 0 {
		return nil
	}
	in := j.directory()
	known := loosePlatforms.of(p)
	made, done := known[in]
	if !done {
		made = asPlatform(environmentsIn.of(p)[in])
		known[in] = made
	}
	return made
}

// asPlatform makes one queue of environments, nil if nothing can be said of it.
func asPlatform(environments []Site) *document.Platform {
	q := document.Queue{Name: "the compute environments beside it"}
	for _, e := range environments {
		if e.Node.Get(resourcesOf) == nil || e.Node.Get("eksConfiguration") != nil {
			return nil
		}
		q.Environments = append(q.Environments, asEnvironment(e.Node))
	}
	if len(q.Environments) == 0 {
		return nil
	}
	return &document.Platform{Queues: []document.Queue{q}}
}

func placeOf(j Job, platform *document.Platform) placing {
	r, known := plan.RequestOf(j.Known(), j.Submit)
	if !known {
		return j.wrongPlatform(platform)
	}
	if r.Arch == "" && !r.Fargate {
		r.Arch = imageArch(j.Known().Get("containerProperties").Get("image").Str())
	}
	choice, err := plan.ChooseQueue(platform, r)
	word := j.Submit.Get("jobQueue").Str()
	if word == "" && j.Submit != nil && !hasPlatformQueues(j.pass) {
		return placing{} // the queues of the files are not all there are
	}
	if word == "" {
		if no, ok := errors.AsType[*plan.NoQueueError](err); ok {
			return placing{refused: &refusal{cause: no.Cause, message: no.Error(), hint: no.Hint(), place: j.culprit(no.Cause)}}
		}
		q, _ := platform.Queue(choice.Queue)
		return placed(platform, q, r, *choice.Placement)
	}
	q, ok := j.queueIn(platform)
	if !ok {
		return placing{}
	}
	held := plan.Hold(platform.Catalog, q, r)
	if held.Fits {
		return placed(platform, q, r, held)
	}
	var hints []string
	if near := held.Hint(r); near != "" && (held.Nearest != nil || err != nil) {
		hints = append(hints, near)
	}
	if err == nil {
		other, _ := platform.Queue(choice.Queue)
		hints = append(hints, fmt.Sprintf("queue %s holds it", cmp.Or(other.Alias, other.Name)))
	}
	return placing{refused: &refusal{
		cause: held.Cause, place: j.culprit(held.Cause), hint: strings.Join(hints, "; "),
		message: fmt.Sprintf("queue %s cannot hold %s: %s", word, r, held.Reason),
	}}
}

// queueIn is the queue that a submission names: one that the files create, or else
// one of the platform file.
func (j Job) queueIn(platform *document.Platform) (document.Queue, bool) {
	word, r := j.Submit.Get("jobQueue").Str(), creations.of(j.pass)
	if q, ok := (Site{Job: j}).queueOf(); ok {
		return r.queue(q), true
	}
	if len(r.queues[batch.Name(word)]) > 0 {
		return document.Queue{}, false // one of several, nobody can tell which
	}
	return platform.Queue(batch.Name(word))
}

// wrongPlatform is the placing of a job whose demand is not one machine's: all that
// is known is that several nodes run on EC2.
func (j Job) wrongPlatform(platform *document.Platform) placing {
	q, ok := j.queueIn(platform)
	if !ok || len(q.Environments) == 0 || j.Known().Get("nodeProperties") == nil || (Site{Job: j}).runsOnEKS() ||
		slices.ContainsFunc(q.Environments, func(e document.Environment) bool { return !strings.HasPrefix(e.Type, "FARGATE") }) {
		return placing{}
	}
	return placing{refused: &refusal{
		cause: catalog.WrongPlatform, place: j.Submit.Get("jobQueue"), hint: "give the job a queue of EC2",
		message: fmt.Sprintf("queue %s is of Fargate, and a job of several nodes runs on EC2", j.Submit.Get("jobQueue").Str()),
	}}
}

func placed(platform *document.Platform, q document.Queue, r catalog.Request, held catalog.Placement) placing {
	at := placing{queue: cmp.Or(q.Alias, q.Name), request: r, placement: held}
	if saving, ok := plan.JustOver(platform.Catalog, q, r, held); ok {
		at.saving = &saving
	}
	return at
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
