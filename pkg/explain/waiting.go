package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
)

// waiting returns the job that waits for a machine: the job itself, or a child of the array; nil
// if none does.
func (s *Subject) waiting() *types.JobDetail {
	for _, job := range []*types.JobDetail{s.Job, s.Waiting} {
		if job != nil && job.Status == types.JobStatusRunnable {
			return job
		}
	}
	return nil
}

// waitsSince returns the earliest time since when the job can have waited: it was created, its
// last attempt ended, or the last job that it waited for ended.
func (b *Bundle) waitsSince() int64 {
	job := b.Subject.Job
	if job.Status == types.JobStatusStarting {
		_, since, _ := b.streak(func(l Sample) bool { return l.Status == types.JobStatusStarting })
		return since
	}
	since := num(job.CreatedAt)
	for _, a := range job.Attempts {
		since = max(since, num(a.StoppedAt))
	}
	for _, a := range job.EksAttempts {
		since = max(since, num(a.StoppedAt))
	}
	for _, d := range b.Dependencies {
		since = max(since, num(d.StoppedAt))
	}
	return since
}

// streak counts the queries, back from the last one, for which a condition was true without a
// break, and returns since when it was. Queries within a short time count once.
func (b *Bundle) streak(holds func(Sample) bool) (look Sample, since int64, seen int) {
	since = b.At
	counted := int64(math.MaxInt64)
	for _, l := range slices.Backward(b.Looks) {
		if !holds(l) {
			break
		}
		if counted-l.At >= again.Milliseconds() {
			seen, counted = seen+1, l.At
		}
		look, since = l, l.At
	}
	return look, since, seen
}

// reasoned returns a verdict on the reason that Batch gives a waiting job; nil if it does not
// begin with one of the prefixes.
func (b *Bundle) reasoned(prefixes []string, c Confidence, fix Fix, summary string) *Verdict {
	job := b.Subject.waiting()
	if job == nil || !slices.ContainsFunc(prefixes,
		func(w string) bool { return strings.HasPrefix(str(job.StatusReason), w) }) {
		return nil
	}
	_, since, seen := b.streak(func(l Sample) bool { return head(l.Reason) == head(str(job.StatusReason)) })
	return &Verdict{Summary: summary, Confidence: c, Fix: fix, passes: true, since: since, seen: seen,
		Evidence: b.reasonEvidence(job, since), told: []string{str(job.StatusReason)}}
}

// head returns the first word of a reason: the rest may change from query to query.
func head(reason string) string {
	first, _, _ := strings.Cut(reason, " ")
	return first
}

// reasonEvidence quotes the status reason, with the time when it was first seen.
func (b *Bundle) reasonEvidence(job *types.JobDetail, since int64) []Evidence {
	from := "DescribeJobs, job " + batch.ShortID(str(job.JobId)) + ", status reason"
	all := []Evidence{{from, clock(b.At), str(job.StatusReason)}}
	if since < b.At {
		all = append(all, Evidence{from, clock(since), "the same, when it was first seen"})
	}
	return all
}

// waits returns the verdict that nothing is wrong: the job waits for others.
func waits(evidence []Evidence, format string, args ...any) *Verdict {
	return &Verdict{Summary: fmt.Sprintf(format, args...), Confidence: High, Waits: true, Evidence: evidence,
		Fix: Fix{Job: "nothing is wrong with the job: wait"}}
}

// dependencyPending finds a job that waits for its dependencies.
func dependencyPending(b *Bundle) *Verdict {
	job := b.Subject.Job
	if job.Status != types.JobStatusPending && job.Status != types.JobStatusSubmitted {
		return nil
	}
	var evidence []Evidence
	var names []string
	for _, d := range b.Dependencies {
		if d.Status != types.JobStatusSucceeded {
			names = append(names, fmt.Sprintf("%s (%s)", str(d.JobName), d.Status))
			evidence = append(evidence, Evidence{"DescribeJobs, job " + batch.ShortID(str(d.JobId)) + ", status",
				clock(b.At), joined(string(d.Status), str(d.StatusReason))})
		}
	}
	if names == nil {
		return nil
	}
	v := waits(evidence, "it waits for %s", strings.Join(names, ", "))
	v.Fix.Job = "wait; to see why the other job waits: batchctl explain " +
		strings.TrimPrefix(strings.Split(evidence[0].From, ", ")[1], "job ")
	return v
}

// childrenPending finds an array whose children are in progress.
func childrenPending(b *Bundle) *Verdict {
	job := b.Subject.Job
	if !isArray(job) || batch.HasEnded(job.Status) || b.Subject.waiting() != nil {
		return nil
	}
	var parts []string
	for _, status := range types.JobStatus("").Values() {
		if n := job.ArrayProperties.StatusSummary[string(status)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	if parts == nil {
		return nil
	}
	return waits([]Evidence{{"DescribeJobs, job " + batch.ShortID(str(job.JobId)) + ", arrayProperties",
		clock(num(job.ArrayProperties.StatusSummaryLastUpdatedAt)), strings.Join(parts, ", ")}},
		"its children are in progress: %s of %d", strings.Join(parts, ", "), aws.ToInt32(job.ArrayProperties.Size))
}

// queueDisabled finds a queue that is INVALID or DISABLED.
func queueDisabled(b *Bundle) *Verdict {
	q := b.Queue
	if q == nil || b.Subject.waiting() == nil {
		return nil
	}
	name := str(q.JobQueueName)
	from := Evidence{"DescribeJobQueues " + name, clock(b.At),
		joined(fmt.Sprintf("state %s, status %s", q.State, q.Status), str(q.StatusReason))}
	switch {
	case q.Status == types.JQStatusInvalid:
		return &Verdict{Summary: "job queue " + name + " is INVALID", Confidence: High, Evidence: []Evidence{from},
			Fix: Fix{Platform: "fix the job queue " + name + ": " + str(q.StatusReason)}}
	case q.State == types.JQStateDisabled && !b.Local: // the local engine continues with accepted jobs
		return &Verdict{Summary: "job queue " + name + " is DISABLED", Confidence: Medium, Evidence: []Evidence{from},
			Fix: Fix{Platform: "aws batch update-job-queue --job-queue " + name + " --state ENABLED",
				Member: "jobQueue", Job: "or submit to another queue"}}
	}
	return nil
}

// requestOf returns what one attempt of a job requests of one machine. ok is false if it needs
// several machines, or if its request is incomplete.
func requestOf(job *types.JobDetail) (r catalog.Request, ok bool) {
	r.Fargate = onFargate(job)
	platform := (*types.RuntimePlatform)(nil)
	switch {
	case job.NodeProperties != nil || job.EksProperties != nil:
		return r, false
	case job.EcsProperties != nil && len(job.EcsProperties.TaskProperties) > 0:
		task := job.EcsProperties.TaskProperties[0]
		platform = task.RuntimePlatform
		ok = len(task.Containers) > 0
		for _, c := range task.Containers {
			ok = addRequirements(&r, c.ResourceRequirements, nil, nil) && ok
		}
	case job.Container != nil:
		c := job.Container
		platform = c.RuntimePlatform
		ok = addRequirements(&r, c.ResourceRequirements, c.Vcpus, c.Memory)
	}
	if platform != nil {
		r.Arch = map[string]string{"X86_64": catalog.X86,
			"ARM64": catalog.Arm}[strings.ToUpper(str(platform.CpuArchitecture))]
	}
	return r, ok
}

// addRequirements adds the request of a container. The deprecated members count where
// resourceRequirements have no value.
func addRequirements(r *catalog.Request, list []types.ResourceRequirement, vcpus, memory *int32) bool {
	v, m, g := float64(aws.ToInt32(vcpus)), float64(aws.ToInt32(memory)), 0.0
	for _, q := range list {
		n, err := strconv.ParseFloat(str(q.Value), 64)
		if err != nil || n < 0 || n > math.MaxInt32 {
			return false
		}
		switch q.Type {
		case types.ResourceTypeVcpu:
			v = n
		case types.ResourceTypeMemory:
			m = n
		case types.ResourceTypeGpu:
			g = n
		}
	}
	r.VCPUs, r.MemoryMiB, r.GPUs = r.VCPUs+v, r.MemoryMiB+int(math.Ceil(m)), r.GPUs+int(g)
	return v > 0 && m > 0
}

// held is a compute environment of the queue, with the result of placing the job there.
type held struct {
	*types.ComputeEnvironmentDetail
	catalog.Placement
	// known means that the environment's machines are described.
	known bool
}

// placements are the compute environments of a queue, in its order.
type placements []held

// holds compares the waiting job with every compute environment of its queue. ok is false if
// the job's request is unknown.
func (b *Bundle) holds() (all placements, r catalog.Request, ok bool) {
	job := b.Subject.waiting()
	if job == nil {
		return nil, r, false
	}
	r, ok = requestOf(job)
	for i := range b.Environments {
		e := &b.Environments[i]
		h := held{ComputeEnvironmentDetail: e, Placement: catalog.Placement{Fits: true}}
		isMachine := batch.IsLocalMachine(str(e.ComputeEnvironmentArn), str(e.EcsClusterArn))
		if c := e.ComputeResources; c != nil && ok && !isMachine {
			h.known = true
			h.Placement = catalog.Environment{Name: str(e.ComputeEnvironmentName), Type: string(c.Type),
				InstanceTypes: c.InstanceTypes,
				MaxvCpus:      int(aws.ToInt32(c.MaxvCpus))}.Place(r)
		}
		all = append(all, h)
	}
	return all, r, ok
}

// could returns the environments that fit the job, or that may: machines of an unmanaged
// environment are unknown.
func (p placements) could() []held {
	return slices.DeleteFunc(slices.Clone(p), func(h held) bool { return !h.Fits })
}

// name returns the environment's name.
func (h held) name() string { return str(h.ComputeEnvironmentName) }

// usable reports whether the environment can start jobs.
func (h held) usable() bool {
	return h.Status != types.CEStatusInvalid && h.State != types.CEStateDisabled
}

// stateEvidence quotes the environment's state.
func (h held) stateEvidence(at int64) Evidence {
	return Evidence{"DescribeComputeEnvironments " + h.name(), clock(at),
		joined(fmt.Sprintf("state %s, status %s", h.State, h.Status), str(h.StatusReason))}
}

// unusable returns the environments that could fit the job, if none of them is usable.
func (p placements) unusable() []held {
	could := p.could()
	if slices.ContainsFunc(could, held.usable) {
		return nil
	}
	return could
}

// environmentInvalid finds a job for which only INVALID environments are left.
func environmentInvalid(b *Bundle) *Verdict {
	is := func(h held) bool { return h.Status == types.CEStatusInvalid }
	reason := ""
	all, _, _ := b.holds()
	for _, h := range all.unusable() {
		if is(h) {
			reason = cmp.Or(reason, str(h.StatusReason))
		}
	}
	if v := b.unusableVerdict("INVALID", is, "fix compute environment %s: "+EnvironmentRemedy(reason)+
		"; then update it so that AWS Batch checks it again"); v != nil || len(b.Environments) > 0 {
		return v
	}
	return b.reasoned([]string{"ACTION_REQUIRED"}, High,
		Fix{Platform: "read the status reason of the queue's compute environments, and fix it: aws batch describe-compute-environments"},
		"the compute environments of the queue are INVALID")
}

// EnvironmentRemedy returns what to do about the status reason of an INVALID compute environment, as AWS Batch's guide
// has it ("INVALID compute environment"). The reasons are sentences of the services that AWS Batch calls.
func EnvironmentRemedy(reason string) string {
	return remedyOf(reason, environmentRemedies[:], "fix the problem in its status reason")
}

// environmentRemedies are what to do about the sentences in status reasons, the special ones first: Auto Scaling begins
// each reason about a launch with a sentence about the launch template, even if the environment names none.
var environmentRemedies = [...]remedy{
	{"sts:AssumeRole", "correct serviceRole: AWS Batch cannot assume it, so it does not exist, or its trust policy does not name batch.amazonaws.com; or leave serviceRole out"},
	{"attempting to assume role",
		"correct serviceRole: AWS Batch cannot assume it, so it does not exist, or its trust policy does not name batch.amazonaws.com; or leave serviceRole out"},
	{"not authorized", "give the service role the permissions of AWSBatchServiceRole, or leave serviceRole out"},
	{"service role", "give the service role the permissions of AWSBatchServiceRole, or leave serviceRole out"},
	{"IamFleetRole", "correct spotIamFleetRole: a role with AmazonEC2SpotFleetTaggingRole that spotfleet.amazonaws.com may assume"},
	{"InstanceProfile", "create the instance profile that instanceRole names; a role of this name is not enough"},
	{"instance profile", "create the instance profile that instanceRole names; a role of this name is not enough"},
	{"Clusters can not be blank", "create the environment again: its ECS cluster is gone"},
	{"image id", "correct imageId, or the image in the launch template: it exists in this Region, and the account may use it"},
	{"ami-", "correct imageId, or the image in the launch template: it exists in this Region, and the account may use it"},
	{"key pair", "create the key pair that ec2KeyPair names, or leave it out"},
	{"security group", "correct securityGroupIds: they exist and belong to the VPC of the subnets"},
	{"free addresses", "add subnets with free addresses"},
	{"subnet", "correct subnets: they exist in this Region and belong to one VPC"},
	{"MIME multipart", "write the user data of the launch template as a MIME multi-part archive"},
	{"launch template", "correct the launch template that the environment names"},
}

// environmentDisabled finds a job for which only DISABLED environments are left.
func environmentDisabled(b *Bundle) *Verdict {
	return b.unusableVerdict("DISABLED", func(h held) bool { return h.State == types.CEStateDisabled },
		"aws batch update-compute-environment --compute-environment %s --state ENABLED")
}

// unusableVerdict returns the verdict on environments in one state; fix has a verb for the name
// of the first.
func (b *Bundle) unusableVerdict(state string, is func(held) bool, fix string) *Verdict {
	var evidence []Evidence
	var names []string
	all, _, _ := b.holds()
	for _, h := range all.unusable() {
		evidence = append(evidence, h.stateEvidence(b.At))
		if is(h) {
			names = append(names, h.name())
		}
	}
	if names == nil {
		return nil
	}
	return &Verdict{Summary: fmt.Sprintf("no compute environment accepts the job: %s is %s", strings.Join(names, ", "),
		state), Confidence: High,
		Evidence: evidence, Fix: Fix{Platform: fmt.Sprintf(fix, names[0])}}
}

// misfit returns the verdict that no environment fits the job, if that is proved. wide selects
// the cause: maxvCpus, or anything else.
func (b *Bundle) misfit(wide bool) *Verdict {
	all, r, ok := b.holds()
	if !ok || len(all) == 0 || slices.ContainsFunc(all, func(h held) bool { return h.Fits || !h.known }) {
		return nil
	}
	over := func(h held) bool { return h.Cause == catalog.OverMaxvCpus || h.Cause == catalog.OverFargateMaxvCpus }
	if slices.ContainsFunc(all, over) != wide {
		return nil
	}
	job := b.Subject.waiting()
	v := &Verdict{Confidence: High, Summary: fmt.Sprintf("no compute environment of the queue can ever fit %s", r)}
	if text := str(job.StatusReason); text != "" {
		v.Evidence = append(v.Evidence, b.reasonEvidence(job, b.At)...)
	}
	hint := ""
	for _, h := range all {
		v.Evidence = append(v.Evidence, Evidence{"DescribeComputeEnvironments " + h.name(), clock(b.At), h.Reason})
		hint = orElse(hint, h.Hint(r))
	}
	v.Fix = Fix{Member: misfitMember(all[0].Cause), Job: "request less, or submit to another queue",
		Platform: "or add suitable instance types to a compute environment"}
	if hint != "" {
		v.Fix.Job = "request less, or submit to another queue; " + hint
	}
	if wide {
		v.Fix.Platform = "or raise maxvCpus of compute environment " + all[0].name()
	}
	return v
}

// misfitMember returns the member of the job that is too large.
func misfitMember(c catalog.Cause) string {
	switch c {
	case catalog.TooMuchMemory, catalog.NominalMemory, catalog.NoFargateSize:
		return "memory"
	case catalog.NoGPUType, catalog.NoGPUInBundle, catalog.UnsupportedGPU, catalog.TooManyGPUs:
		return "gpus"
	case catalog.WrongPlatform:
		return "jobQueue"
	case catalog.WrongArch:
		return "runtimePlatform"
	}
	return "vcpus"
}

// overMaxvCpus finds a job that requests more vCPUs than maxvCpus.
func overMaxvCpus(b *Bundle) *Verdict {
	if v := b.misfit(true); v != nil {
		return v
	}
	return b.reasoned([]string{"MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE"}, High,
		Fix{Member: "vcpus", Job: "request fewer vCPUs", Platform: "or raise maxvCpus of the compute environment"},
		"it requests more vCPUs than the maxvCpus of the queue's compute environments")
}

// cannotFit finds a job that is too large for every machine. For the local engine it reads the
// message of package local/model.
func cannotFit(b *Bundle) *Verdict {
	if v := b.misfit(false); v != nil {
		return v
	}
	v := b.reasoned([]string{"MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT"}, Medium,
		Fix{Member: "memory", Job: "request less memory, or fewer vCPUs or GPUs: jobs cannot use all the memory of an instance", Platform: "or add instance types that fit it"},
		"no compute environment of the queue fits the job")
	if reason := b.unplaced(); reason != "" {
		v = &Verdict{Evidence: []Evidence{{"DescribeJobs, job " + batch.ShortID(str(b.Subject.Job.JobId)) +
			", status reason", clock(num(b.Subject.Job.StoppedAt)), reason}}}
	}
	if v != nil && b.Local {
		v.Confidence, v.told = High, nil
		member := "memory"
		if _, request, found := strings.Cut(v.Evidence[0].Text, "the job asks for "); found {
			request, _, _ = strings.Cut(request, ",")
			switch { // see misfit in package local/model
			case strings.Contains(request, "GPU"):
				member = "gpus"
			case strings.Contains(request, "vCPU"):
				member = "vcpus"
			}
		}
		v.Fix = Fix{Member: member,
			Job: "request less, or submit it to a target with suitable machines: batchctl submit FILE --target NAME"}
		v.Summary = "the job can never fit this machine"
	}
	return v
}

// serviceRole finds an environment whose service role lacks permissions.
func serviceRole(b *Bundle) *Verdict {
	return b.reasoned([]string{"MISCONFIGURATION:SERVICE_ROLE_PERMISSIONS"}, High,
		Fix{Platform: "use the service-linked role AWSServiceRoleForBatch in the compute environment, or give its service role the permissions of AWSBatchServiceRole"},
		"the service role of the compute environment lacks a permission")
}

// consumableLacking finds a consumable resource that is missing, too small, or in use.
func consumableLacking(b *Bundle) *Verdict {
	if b.Subject.waiting() == nil {
		return nil
	}
	for _, c := range b.Consumables {
		from := Evidence{"DescribeConsumableResource " + c.Name, clock(b.At),
			fmt.Sprintf("%d of %d available, the job requests %d", c.Available, c.Total, c.Asked)}
		switch {
		case c.Missing:
			from.Text = "no such resource"
			return &Verdict{Summary: "the consumable resource " + c.Name + " does not exist", Confidence: High,
				Evidence: []Evidence{from},
				Fix:      Fix{Member: "consumableResources", Job: "correct its name", Platform: "or create it"}}
		case c.Total < c.Asked:
			return &Verdict{Summary: fmt.Sprintf("it requests %d of the consumable resource %s, whose total is %d",
				c.Asked, c.Name, c.Total), Confidence: High,
				Evidence: []Evidence{from}, Fix: Fix{Member: "consumableResources", Job: "request less of it",
					Platform: "or raise its quantity"}}
		case c.Available < c.Asked:
			return waits([]Evidence{from}, "it waits for %d of the consumable resource %s: %d of %d are free", c.Asked,
				c.Name, c.Available, c.Total)
		}
	}
	return nil
}
