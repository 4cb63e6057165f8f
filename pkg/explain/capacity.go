package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// agentPatience is how long an instance may run before its ECS agent has registered. Registration
// takes 1 to 3 minutes, and more with long user data.
const agentPatience = 8 * time.Minute

// attempt is an activity of an Auto Scaling group.
type attempt struct {
	group string
	rpc.Activity
}

// evidence quotes the activity.
func (a attempt) evidence() Evidence {
	return Evidence{"DescribeScalingActivities " + a.group, clock(a.At),
		joined(a.Status, orElse(a.Message, a.Description))}
}

// failed reports whether the activity ended without success.
func (a attempt) failed() bool { return a.Status == "Failed" || a.Status == "Cancelled" }

// refusals returns the failed activities since the last success of each group, newest first. A
// group that succeeded last has none.
func (b *Bundle) refusals() (all []attempt) {
	for _, g := range b.Groups {
		for _, a := range g.Group.Activities {
			t := attempt{g.Group.Name, a}
			if a.Status == "Successful" {
				break
			}
			if t.failed() {
				all = append(all, t)
			}
		}
	}
	slices.SortStableFunc(all, func(x, y attempt) int { return int(y.At - x.At) })
	return all
}

// launchedAt returns when the newest instance was launched or began to launch; 0 if none is
// known.
func (b *Bundle) launchedAt() (at int64) {
	for _, g := range b.Groups {
		for _, a := range g.Group.Activities {
			if strings.HasPrefix(a.Description, "Launching") && !(attempt{Activity: a}).failed() {
				at = max(at, a.At)
			}
		}
	}
	return at
}

// refused returns a verdict on failed activities whose message contains one of the texts; nil if
// another failure came later.
func (b *Bundle) refused(texts []string, c Confidence, fix Fix, summary string) *Verdict {
	if b.Subject.waiting() == nil {
		return nil
	}
	var mine []attempt
	for _, a := range b.refusals() {
		if slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(a.Message+a.Description, t) }) {
			mine = append(mine, a)
		}
	}
	if mine == nil || len(b.refusals()) == 0 || mine[0] != b.refusals()[0] {
		return nil // a later activity failed for another reason
	}
	v := &Verdict{Summary: summary, Confidence: c, Fix: fix, passes: true, since: mine[len(mine)-1].At,
		told: []string{mine[0].Message}}
	last := int64(0)
	for _, a := range mine {
		if last == 0 || last-a.At >= again.Milliseconds() {
			v.seen, last = v.seen+1, a.At
		}
		if len(v.Evidence) < 3 {
			v.Evidence = append(v.Evidence, a.evidence())
		}
	}
	return v
}

// quotaTexts are texts of EC2 about quotas in messages of scaling activities (EC2 user guide,
// launch issues).
func quotaTexts() []string {
	return []string{"vCPU limit", "VcpuLimitExceeded", "MaxSpotInstanceCountExceeded",
		"Max spot instance count exceeded", "InstanceLimitExceeded"}
}

// capacityTexts are texts of EC2 about missing capacity.
func capacityTexts() []string {
	return []string{"InsufficientInstanceCapacity", "UnfulfillableCapacity", "do not have sufficient",
		"no Spot capacity available", "Insufficient capacity", "capacity-not-available", "InsufficientHostCapacity"}
}

// ec2Quota finds launches that the account's vCPU quota prevents.
func ec2Quota(b *Bundle) *Verdict {
	return b.refused(quotaTexts(), High,
		Fix{Platform: "request a higher quota: Service Quotas, Amazon EC2, running On-Demand (or Spot) instances of this family, counted in vCPUs"},
		"the account's EC2 vCPU quota is used up, so no instance starts")
}

// noCapacity finds launches for which EC2 has no capacity, from the activities or from Batch's
// reason. The activities come first: they name the instance types.
func noCapacity(b *Bundle) *Verdict {
	fix := Fix{Platform: "give the compute environment more instance types and Availability Zones, or On-Demand beside Spot", Job: "or request less, so that the job fits more instance types"}
	if v := b.refused(capacityTexts(), High, fix,
		"EC2 currently has no capacity for the queue's instance types"); v != nil {
		return v
	}
	return b.reasoned([]string{"CAPACITY:"}, High, fix, "EC2 currently has no capacity for the queue's instance types")
}

// launchRefused finds launches that EC2 rejects for any other reason. The message itself is the
// evidence, so the confidence is medium.
func launchRefused(b *Bundle) *Verdict {
	known := append(quotaTexts(), capacityTexts()...)
	refusals := b.refusals()
	if len(refusals) == 0 {
		return b.reasoned([]string{"MISCONFIGURATION:EC2_INSTANCE_CONFIGURATION_UNSUPPORTED"}, Medium,
			Fix{Platform: "check that EC2 offers the environment's instance types in the Availability Zones of its subnets, and that they fit its image (architecture, boot mode) and launch template"},
			"EC2 does not support the configuration of the compute environment's instances")
	}
	if slices.ContainsFunc(known, func(t string) bool { return strings.Contains(refusals[0].Message, t) }) {
		return nil
	}
	return b.refused([]string{refusals[0].Message}, Medium, Fix{Platform: launchRemedy(refusals[0].Message)},
		"EC2 rejects the launch of the compute environment's instances")
}

// launchRemedy returns what to do about EC2's message on a rejected launch.
func launchRemedy(message string) string {
	return remedyOf(message, launchRemedies[:],
		"fix the resource in the message: the image, subnet, security group, key pair, KMS key or launch template of the compute environment")
}

// launchRemedies are what to do about the messages of EC2 on rejected launches. Sources are the public reports in
// testdata/reports.txt, and "Troubleshoot instance launch failures" in the guide of EC2 Auto Scaling.
var launchRemedies = [...]remedy{
	{"Spot request price", "raise bidPercentage of the compute environment, or leave it out: the price limit is below the current Spot price"},
	{"SpotMaxPriceTooLow", "raise bidPercentage of the compute environment, or leave it out: the price limit is below the current Spot price"},
	{"service-linked role", "let an administrator create the service-linked role in the message: aws iam create-service-linked-role --aws-service-name spot.amazonaws.com is the one of EC2 Spot"},
	{"accept terms and subscribe",
		"subscribe the account to the AWS Marketplace product of the image at the address in the message"},
	{"instance configuration for this AWS Marketplace product",
		"choose instance types that the AWS Marketplace product of the image supports"},
	{"not supported in your requested Availability Zone",
		"take the subnets in this Availability Zone out of the compute environment, or choose instance types that EC2 offers there; it starts instances in the other Availability Zones meanwhile"},
	{"requested configuration is currently not supported",
		"choose instance types that EC2 offers in the Availability Zones of the subnets, and that fit the image (architecture, virtualization, boot mode)"},
	{"free addresses", "add subnets with free addresses to the compute environment: this subnet has none left"},
	{"InsufficientFreeAddressesInSubnet",
		"add subnets with free addresses to the compute environment: this subnet has none left"},
	{"being validated", "wait until AWS has validated the account in this Region, at most some hours; then ask AWS Support"},
	{"pending verification", "wait until AWS has verified the account, at most some hours; then ask AWS Support"},
	{"smaller than snapshot",
		"make the volume in the launch template at least as large as the snapshot in the message"},
	{"not authorized to perform this operation",
		"allow the service role of the compute environment what the message forbids; decode it: aws sts decode-authorization-message --encoded-message TEXT. Policies of the organization count too"},
	{"not authorized to use launch template",
		"allow the service role of the compute environment to use the launch template: ec2:RunInstances, ec2:DescribeLaunchTemplateVersions and iam:PassRole"},
	{"Client.InternalError",
		"allow the service-linked role of EC2 Auto Scaling to use the KMS key of the volumes, or correct the key: the instance ended when EC2 attached its encrypted volume"},
	{"Instance Profile", "create the instance profile that instanceRole names; a role of this name is not enough"},
}

// remedy is what to do about a message that has a text, in any case.
type remedy struct{ text, fix string }

// remedyOf returns what to do about a message: the first of the remedies that fits, or another one.
func remedyOf(message string, all []remedy, other string) string {
	for _, r := range all {
		if strings.Contains(strings.ToLower(message), strings.ToLower(r.text)) {
			return r.fix
		}
	}
	return other
}

// userData explains the usual causes of an agent that never registers.
const userData = "check the user data of the launch template: `systemctl start ecs` (or restart, or enable --now) in it never returns, because ecs.service waits for " +
	"cloud-init, and cloud-init waits for the user data; write only /etc/ecs/ecs.config, or use `systemctl start --no-block ecs`. " +
	"Other causes: the instance does not reach the ECS endpoint (route, security group), the instance role lacks AmazonEC2ContainerServiceforEC2Role, or the image has no ECS agent"

// agentNotRegistered finds instances that run, but have not registered with ECS within
// agentPatience.
func agentNotRegistered(b *Bundle) *Verdict {
	if b.Subject.waiting() == nil {
		return nil
	}
	for _, c := range b.Clusters {
		silent, old := b.silent(c)
		if len(silent) == 0 {
			continue
		}
		v := &Verdict{Confidence: High, Fix: Fix{Platform: userData},
			Summary: fmt.Sprintf("%d of the %d instances of compute environment %s that have run for more than %s never registered with ECS", len(silent), old, c.Environment, duration(agentPatience.Milliseconds()))}
		if len(silent) < old {
			v.Confidence = Medium
		}
		for _, i := range silent[:min(3, len(silent))] {
			v.Evidence = append(v.Evidence, Evidence{"DescribeInstances " + i.Id, clock(b.At),
				fmt.Sprintf("%s, %s since %s", i.Type, i.State, clock(i.LaunchedAt))})
		}
		v.Evidence = append(v.Evidence, Evidence{"ListContainerInstances " + batch.Name(str(&c.Cluster)), clock(b.At),
			fmt.Sprintf("%d registered, none of these", len(c.Instances))})
		return v
	}
	return nil
}

// silent returns the instances of a cluster's environment that have run for long without
// registering. old counts all instances that have run for long.
func (b *Bundle) silent(c Cluster) (silent []rpc.Instance, old int) {
	for _, g := range b.Groups {
		if g.Environment != c.Environment {
			continue
		}
		for _, i := range b.Instances {
			if !slices.Contains(g.Group.Instances, i.Id) || i.State != "running" ||
				b.At-i.LaunchedAt < agentPatience.Milliseconds() {
				continue
			}
			old++
			if !slices.ContainsFunc(c.Instances, func(r rpc.ContainerInstance) bool { return r.Instance == i.Id }) {
				silent = append(silent, i)
			}
		}
	}
	return silent, old
}

// frontOfQueue is how many jobs a snapshot shows at most (GetJobQueueSnapshot).
const frontOfQueue = 100

// position returns the waiting job's position in its queue, from 1. more reports that it comes
// after the jobs in the snapshot. Both are zero if the position is unknown.
func (b *Bundle) position() (at int, more bool) {
	job := b.Subject.waiting()
	if job == nil || b.Front == nil {
		return 0, false
	}
	id := str(job.JobId)
	parent, _, _ := batch.SplitChildID(id)
	for i, j := range b.Front.Jobs {
		if arn := batch.Name(str(j.JobArn)); arn == id || arn == parent {
			return i + 1, false
		}
	}
	return 0, len(b.Front.Jobs) >= frontOfQueue
}

// frontEvidence quotes the snapshot of the queue.
func (b *Bundle) frontEvidence(text string) Evidence {
	return Evidence{"GetJobQueueSnapshot", clock(num(b.Front.LastUpdatedAt)), text}
}

// behindOthers finds a job that other jobs in its queue precede.
func behindOthers(b *Bundle) *Verdict {
	at, more := b.position()
	if at <= 1 && !more {
		return nil
	}
	where := fmt.Sprintf("%d jobs in the queue are ahead of it", at-1)
	if at == 2 {
		where = "one job in the queue is ahead of it"
	}
	if more {
		where = fmt.Sprintf("more than %d jobs in the queue are ahead of it", frontOfQueue)
	}
	first := b.Front.Jobs[0]
	id := batch.Name(str(first.JobArn))
	evidence := []Evidence{b.frontEvidence(fmt.Sprintf("position %d", at))}
	if more {
		evidence[0].Text = "not among the first " + fmt.Sprint(frontOfQueue)
	}
	evidence = append(evidence,
		b.frontEvidence(fmt.Sprintf("first is %s, since %s", batch.ShortID(str(&id)),
			clock(num(first.EarliestTimeAtPosition)))))
	v := waits(evidence, "it waits its turn: %s", where)
	v.Fix.Job = "wait; to see why the first job waits: batchctl explain " + batch.ShortID(str(&id))
	return v
}

// mostRunning is how many of the jobs on a full machine a verdict names.
const mostRunning = 5

// machineFull finds a job that waits until others on the machine of the local engine end.
func machineFull(b *Bundle) *Verdict {
	job := b.Subject.waiting()
	if !b.Local || job == nil || len(b.Clusters) == 0 || len(b.Clusters[0].Instances) == 0 {
		return nil
	}
	r, ok := requestOf(job)
	need, machine := batch.Capacity{VCPUs: r.VCPUs, MemoryMiB: int64(r.MemoryMiB), GPUs: int64(r.GPUs)},
		b.Clusters[0].Instances[0].Machine
	if !ok || machine.Total.Excess(need) != "" || machine.Free.Excess(need) == "" {
		return nil
	}
	var names []string
	for i, running := range b.Running {
		if i == mostRunning {
			names = append(names, fmt.Sprintf("%d more", len(b.Running)-i))
			break
		}
		names = append(names, str(running.JobName)+" "+batch.ShortID(str(running.JobId)))
	}
	by := ""
	if len(names) > 0 {
		by = " by " + strings.Join(names, ", ")
	}
	return waits([]Evidence{{"DescribeContainerInstances", clock(b.At), machine.InUse() + " in use" + by}},
		"this machine is full: %s in use%s", machine.InUse(), by)
}

// fairShare finds a job that waits because other shares use the queue's capacity.
func fairShare(b *Bundle) *Verdict {
	at, more := b.position()
	job := b.Subject.waiting()
	if at <= 1 && !more || b.Utilization == nil || b.Utilization.FairshareUtilization == nil ||
		str(job.ShareIdentifier) == "" {
		return nil
	}
	mine, others, uses := str(job.ShareIdentifier), false, []string{}
	for _, s := range b.Utilization.FairshareUtilization.TopCapacityUtilization {
		for _, u := range s.CapacityUsage {
			uses = append(uses, fmt.Sprintf("%s %g %s", str(s.ShareIdentifier), aws.ToFloat64(u.Quantity),
				str(u.CapacityUnit)))
		}
		others = others || str(s.ShareIdentifier) != mine
	}
	if !others {
		return nil // the jobs before it belong to its own share
	}
	where := fmt.Sprintf("position %d", at)
	if more {
		where = fmt.Sprintf("after the first %d", frontOfQueue)
	}
	v := waits([]Evidence{b.frontEvidence(where), {"GetJobQueueSnapshot, shares",
		clock(num(b.Utilization.LastUpdatedAt)), "in use: " + strings.Join(uses, ", ")}},
		"it waits its turn: the queue divides its capacity by fair share, and %s is the job's share (%s)", mine, where)
	v.Fix.Platform = "the scheduling policy " + batch.Name(str(policyOf(b.Queue))) + " sets the weights of the shares"
	return v
}

// policyOf returns the ARN of a queue's scheduling policy; nil if the queue is unknown or has
// none.
func policyOf(q *types.JobQueueDetail) *string {
	if q == nil {
		return nil
	}
	return q.SchedulingPolicyArn
}

// atMaxvCpus finds a job that fits, but whose environments have all reached maxvCpus.
func atMaxvCpus(b *Bundle) *Verdict {
	all, r, ok := b.holds()
	could := slices.DeleteFunc(all.could(), func(h held) bool { return !h.usable() })
	if !ok || len(could) == 0 {
		return nil
	}
	var evidence []Evidence
	for _, h := range could {
		c := h.ComputeResources
		if !h.known || c.DesiredvCpus == nil || c.MaxvCpus == nil || float64(*c.DesiredvCpus)+
			r.VCPUs <= float64(*c.MaxvCpus) {
			return nil
		}
		evidence = append(evidence, Evidence{"DescribeComputeEnvironments " + h.name(), clock(b.At),
			fmt.Sprintf("desiredvCpus %d of maxvCpus %d", *c.DesiredvCpus, *c.MaxvCpus)})
	}
	v := waits(evidence, "it waits until other jobs end, because the compute environments have reached maxvCpus")
	v.Fix.Platform = "or raise maxvCpus of compute environment " + could[0].name()
	return v
}
