package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
)

var (
	// namePattern accepts the empty name; the rules about lengths report it.
	namePattern = lazy(`^[A-Za-z0-9_-]*$`)
	// policyPattern is the ARN of a scheduling policy, or a placeholder for it.
	policyPattern = lazy(`^(arn:aws[a-z-]*:batch:[a-z0-9-]+:[0-9]{12}:scheduling-policy/\S+|.*(\$[{A-Za-z_]|\{\{|<).*)$`)
)

// actions is the path to a queue's actions for jobs that wait too long.
const actions = "jobStateTimeLimitActions[]"

// jobQueueRules returns the rules about CreateJobQueue requests, and about the compute
// environments of a queue if the files create them.
func jobQueueRules() []*Rule {
	return []*Rule{
		row("queue-name-charset", High, in(queues, "jobQueueName"), like(namePattern, nameCharset, ""),
			"A queue's name contains only letters, digits, hyphens and underscores.",
			tried("CreateJobQueue.jobQueueName")),
		row("queue-name-length", High, in(queues, "jobQueueName"), chars(1, 128),
			"A queue's name is 1 to 128 characters long.", tried("CreateJobQueue.jobQueueName")),
		row("queue-required", High, in(queues, ""), needed("a job queue", "jobQueueName", "priority: 1"),
			"A queue has a name and a priority.", api("CreateJobQueue")),
		row("queue-priority-range", Medium, in(queues, "priority"), between(0, 1000),
			"The priority of a queue is 0 to 1000. AWS Batch serves the queue with the higher priority first.",
			cfnSchema+"AWS::Batch::JobQueue"),
		row("queue-state-enum", High, in(queues, "state"), oneOf("ENABLED", "DISABLED"),
			"A queue is ENABLED or DISABLED.", api("JQState")),
		check("queue-ce-order-required", Medium, queues, checkEnvironmentOrder,
			"A queue has at least one compute environment.", tried("CreateJobQueue.computeEnvironmentOrder")),
		// A queue tries its environments in order.
		row("queue-ce-order-max-3", High, in(queues, "computeEnvironmentOrder"),
			atMost(3, "create another queue for the others"),
			"A queue has at most 3 compute environments.", tried("CreateJobQueue.computeEnvironmentOrder")),
		row("queue-ce-order-members", High, in(queues, "computeEnvironmentOrder[]"),
			both(needs("order: 1", "computeEnvironment"), filledMember("computeEnvironment", `"gpu"`)),
			"An entry needs an order and a compute environment.", api("ComputeEnvironmentOrder")),
		row("queue-ce-duplicate", Medium, in(queues, "computeEnvironmentOrder"),
			distinct("computeEnvironment", "remove one of them"),
			"A queue lists each environment once.", "confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("queue-ce-duplicate-order", Medium, in(queues, "computeEnvironmentOrder"),
			distinct("order", "number them 1, 2, 3"),
			"Each environment of a queue has its own order.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		check("queue-mix-fargate-ec2", High, queues, checkQueueOfOneKind,
			"The environments of a queue are all on Fargate or all on EC2. batchctl checks this if the files also create the environments.", tried("CreateJobQueue.computeEnvironmentOrder")),
		row("queue-type-enum", High, in(queues, "jobQueueType"),
			growing([]string{"EKS", "ECS", "ECS_FARGATE", "SAGEMAKER_TRAINING", "ECS_MANAGED_INSTANCES"}),
			"jobQueueType is one of AWS Batch's types of queue. A value newer than the API reference is only a warning.", tried("JobQueueType")).
			sometimesWarns(),
		// Service environments run SageMaker training jobs; batchctl only checks their
		// form.
		row("queue-service-and-compute", Medium, in(queues, ""), exclusive("computeEnvironmentOrder",
			"serviceEnvironmentOrder"),
			"A queue has compute environments or a service environment, not both.",
			api("CreateJobQueue.serviceEnvironmentOrder")).
			quoting("A job queue can't have both a serviceEnvironmentOrder and a computeEnvironmentOrder field."),
		check("queue-service-env-type", Medium, queues, checkServiceEnvironments,
			"Service environments and the type SAGEMAKER_TRAINING go together.", tried("CreateJobQueue.jobQueueType")),
		row("queue-service-env-single", High, in(queues, "serviceEnvironmentOrder"), atMost(1, "keep one"),
			"A queue has one service environment.", tried("CreateJobQueue.serviceEnvironmentOrder")),
		// A queue without a scheduling policy is first in, first out.
		row("queue-scheduling-policy-arn", Medium, in(queues, "schedulingPolicyArn"), policyARN,
			"The scheduling policy is given by its ARN. In a file with lists of resources, its name is sufficient: batchctl apply sends the ARN.", tried("CreateJobQueue.schedulingPolicyArn")),
		check("queue-scheduling-policy-immutable", Medium, queues, checkSchedulingPolicyKept,
			"You cannot remove a queue's scheduling policy, or add one to a queue without it. batchctl reports this if files in a directory create the same queue "+
				"with and without a policy.", api("CreateJobQueue.schedulingPolicyArn")).
			quoting("After a job queue has a fair-share scheduling policy, it can be replaced but can't be removed."),
		// jobStateTimeLimitActions cancel a job that blocks the head of the queue.
		row("queue-jstla-members", High, in(queues, actions),
			needs(`reason: "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT"`, `state: "RUNNABLE"`, "maxTimeSeconds: 3600",
				`action: "CANCEL"`),
			"An action needs a reason, a state, a time and an action.", api("JobStateTimeLimitAction")),
		row("queue-jstla-time-range", High, in(queues, actions+".maxTimeSeconds"), between(600, 86400),
			"maxTimeSeconds is 10 minutes to 24 hours.", tried("JobStateTimeLimitAction.maxTimeSeconds")),
		row("queue-jstla-state", High, in(queues, actions+".state"), oneOf("RUNNABLE"),
			"An action applies only to jobs in RUNNABLE.", tried("JobStateTimeLimitAction.state")),
		row("queue-jstla-action", High, in(queues, actions+".action"), checkTimeLimitAction,
			"The action of a queue for containers is CANCEL; TERMINATE is for SageMaker.",
			tried("JobStateTimeLimitAction.action")),
		row("queue-jstla-reason", Low, in(queues, actions+".reason"), checkTimeLimitReason,
			"AWS Batch reports a fixed list of reasons for stuck jobs, and the action needs one of them.",
			guide("jobs stuck in RUNNABLE")),
		check("queue-jstla-duplicate", Medium, queues, checkTimeLimitDuplicates,
			"A state and a reason together have one action.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		warns(rule("queue-count-quota", Medium, checkQueueCount,
			"A Region has at most 50 job queues and 50 compute environments. AWS does not raise these quotas.",
			guide("service quotas"))),
		// These rules need the files that create the environments.
		check("queue-mix-architecture", Medium, queues, checkQueueArchitectures,
			"All environments of a queue have the same CPU architecture.",
			api("CreateJobQueue.computeEnvironmentOrder")).
			quoting("Batch doesn't support mixing compute environment architecture types in a single job queue."),
		check("queue-mix-eks-ecs", High, queues, checkQueueOrchestrations,
			"The environments of a queue are all on EKS or all on ECS, and match the type of the queue.",
			tried("CreateJobQueue.jobQueueType")),
		warns(check("queue-spot-last", High, queues, checkSpotFirst,
			"AWS Batch tries the environments of a queue in order. It tries the next one only if no instance of the previous one can run the job. With on-demand "+
				"first, Spot runs only the excess jobs, and the queue costs almost as much as on-demand alone.",
			guide("job queues"))),
		check("queue-ce-exists", High, queues, checkQueueEnvironments,
			"The environments of a queue must exist first. batchctl reports this if the files create environments, but not this one. It is an error if a created "+
				"name is so similar that this looks like a typo.", tried("CreateJobQueue.computeEnvironmentOrder")).
			quoting("Compute environments must be in the VALID state before you can associate them with a job queue."),
		check("stuck-all-ce-disabled", Medium, queues, checkEnvironmentsEnabled,
			"A queue whose environments are all disabled starts no job.", api("CreateComputeEnvironment.state")).
			quoting("If the state is DISABLED, then the Batch scheduler doesn't attempt to place jobs within the environment."),
		check("stuck-all-ce-invalid", Medium, queues, checkEnvironmentsValid,
			"A queue whose environments are all INVALID starts no job. An environment becomes INVALID if AWS Batch cannot use its roles or images.", guide("jobs stuck in RUNNABLE")).
			quoting("ACTION_REQUIRED - CE(s) associated with the job queue are invalid."),
		warns(check("stuck-queue-no-fuse", Medium, queues, checkTimeLimits,
			"A job that fits on no instance blocks the queue once it is first, unless jobStateTimeLimitActions cancels it.", guide("job state time limit actions"))),
		check("queue-service-env-unit", Medium, queues, checkServiceUnits,
			"A service environment of a queue with quota shares has limits of instance types; that of any other queue has a limit of NUM_INSTANCES.", api("CapacityLimit.capacityUnit")),
		check("quota-share-queue-policy", Medium, quotaShares, checkQuotaQueue,
			"A quota share belongs to a queue whose scheduling policy has quotaSharePolicy.",
			api("CreateQuotaShare.jobQueue")),
		rule("quota-share-max-20", High, checkQuotaShareCount,
			"A queue has at most 20 quota shares.", guide("quota shares")).
			quoting("A maximum of 20 can be attached to any job queue.").onlyWith(ofKind(document.KindQuotaShare)),
		check("sp-quota-needs-sagemaker", Medium, queues, checkQuotaPolicy,
			"Quota shares work for SageMaker training queues only.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
	}
}

// checkEnvironmentOrder reports a queue without compute environments. Queues for SageMaker
// have service environments instead.
func checkEnvironmentOrder(s Site) {
	list := s.Node.Get("computeEnvironmentOrder")
	if list.Len() > 0 || isSageMaker(s.Node) || s.Node.Get("serviceEnvironmentOrder") != nil || list == nil &&
		!s.lacks(s.Node, "computeEnvironmentOrder") {
		return
	}
	s.Report("a queue for containers needs computeEnvironmentOrder with at least one compute environment",
		`add "computeEnvironmentOrder": [ { "order": 1, "computeEnvironment": "..." } ]`, list, s.Node)
}

// checkQueueOfOneKind reports a queue that mixes environments on EC2 and on Fargate.
func checkQueueOfOneKind(s Site) {
	checkMixedKinds(s, func(e environment) string {
		if t := e.resourceType(); t == "FARGATE" || t == "FARGATE_SPOT" {
			return "Fargate"
		}
		return "EC2"
	})
}

// checkServiceEnvironments reports a SageMaker queue without a service environment, and a
// service environment in any other queue.
func checkServiceEnvironments(s Site) {
	list, kind := s.Node.Get("serviceEnvironmentOrder"), s.Node.Get("jobQueueType")
	switch {
	case isSageMaker(s.Node) && s.lacks(s.Node, "serviceEnvironmentOrder"):
		s.Report("a queue of type SAGEMAKER_TRAINING needs serviceEnvironmentOrder",
			`add "serviceEnvironmentOrder": [ { "order": 1, "serviceEnvironment": "..." } ]`, kind)
	case list != nil && !isSageMaker(s.Node):
		s.Report("serviceEnvironmentOrder is for queues of type SAGEMAKER_TRAINING",
			`write "jobQueueType": "SAGEMAKER_TRAINING", or "computeEnvironmentOrder"`, key(list))
	}
}

// policyARN requires the ARN of a scheduling policy. batchctl apply, which alone takes files with lists of resources,
// finds the ARN of a name.
func policyARN(s Site, n *jsontree.Node, label string) {
	if s.File.Kind == document.KindResources && n.Str() != "" && namePattern().MatchString(n.Str()) {
		return
	}
	like(policyPattern, "the ARN of a scheduling policy",
		`such as "arn:aws:batch:us-east-1:123456789012:scheduling-policy/fair"`)(s, n, label)
}

// checkSchedulingPolicyKept compares a queue that has a policy with queues of the same name that
// have none: a directory with old and new versions of a queue has them, in any order.
func checkSchedulingPolicyKept(s Site) {
	name, policy := s.Node.Get("jobQueueName"), s.Node.Get("schedulingPolicyArn")
	if policy == nil || name.Str() == "" {
		return
	}
	for _, other := range queues(s.pass) {
		if other.Node.Get("schedulingPolicyArn") == nil && other.Node.Get("jobQueueName").
			Str() == name.Str() && other.directory() == s.directory() {
			s.Report(fmt.Sprintf("the files create queue %s both with and without a scheduling policy, and a queue cannot change that", quote(name.Str())),
				"create another queue", policy)
			return
		}
	}
}

// checkTimeLimitAction reports an action that this type of queue does not have.
func checkTimeLimitAction(s Site, n *jsontree.Node, label string) {
	if isSageMaker(s.Node) {
		oneOf("CANCEL", "TERMINATE")(s, n, label)
		return
	}
	oneOf("CANCEL")(s, n, label)
}

// checkTimeLimitReason reports an unknown reason, except for SageMaker queues, whose
// reasons differ.
func checkTimeLimitReason(s Site, n *jsontree.Node, label string) {
	reasons := batch.TimeLimitReasons()
	if isSageMaker(s.Node) {
		reasons = batch.ServiceTimeLimitReasons()
	}
	oneOf(reasons...)(s, n, label)
}

// checkTimeLimitDuplicates reports a second action for the same state and reason.
func checkTimeLimitDuplicates(s Site) {
	seen := map[string]bool{}
	for _, a := range each(s.Node, "jobStateTimeLimitActions") {
		n := a.Get("reason")
		k := a.Get("state").Str() + " " + n.Str()
		if n != nil && seen[k] {
			s.Report("an action above has the same state and reason", "remove one of them", n)
		}
		seen[k] = true
	}
}

// checkQueueCount reports more queues or environments than a Region has quota for.
func checkQueueCount(p *Pass) {
	for what, list := range map[string][]Site{"job queues": queues(p), "compute environments": environments(p)} {
		if len(list) > 50 {
			list[50].Report(fmt.Sprintf("a Region can have at most 50 %s, and these files create %d", what, len(list)),
				"distribute them across Regions", list[50].NameNode())
		}
	}
}

// checkQueueArchitectures reports a queue that mixes x86 and Arm environments.
func checkQueueArchitectures(s Site) {
	checkMixedKinds(s, func(e environment) string {
		return s.pass.instanceTypes().ArchOf(entriesOf(e.Node.Get("computeResources").Get("instanceTypes")))
	})
}

// checkQueueOrchestrations reports a queue that mixes environments on EKS and on ECS, or
// whose type contradicts its environments.
func checkQueueOrchestrations(s Site) {
	checkMixedKinds(s, environment.orchestration)
	kind := s.Node.Get("jobQueueType")
	for e := range creations.of(s.pass).environmentsOf(s) {
		if e.Node != nil && (kind.Str() == "EKS") != (e.orchestration() == "EKS") && kind.Str() != "" {
			s.Report(fmt.Sprintf("the queue is of type %s, but %s is on %s", kind.Str(),
				quote(e.Node.Get("computeEnvironmentName").Str()), e.orchestration()), "", kind)
			return
		}
	}
}

// checkSpotFirst reports a Spot environment after one on demand.
func checkSpotFirst(s Site) {
	entries := each(s.Node, "computeEnvironmentOrder")
	order := func(entry *jsontree.Node) int64 { n, _ := entry.Get("order").Int(); return n }
	slices.SortStableFunc(entries, func(a, b *jsontree.Node) int { return cmp.Compare(order(a), order(b)) })
	before := ""
	for _, entry := range entries {
		n := entry.Get("computeEnvironment")
		e, ok := creations.of(s.pass).environments.find(n.Str(), s.Job)
		if !ok || e.Node == nil {
			continue
		}
		switch kind := (environment{e}).resourceType(); {
		case (kind == "SPOT" || kind == "FARGATE_SPOT") && before != "":
			s.Report(fmt.Sprintf("Spot environment %s comes after %s, which is on demand, so Spot is used only when that is full", quote(batch.Name(n.Str())), quote(before)),
				"put the Spot environment first", n)
			return
		case kind == "EC2" || kind == "FARGATE":
			before = batch.Name(n.Str())
		}
	}
}

// checkQueueEnvironments reports environments that no file creates, if the files create
// others. An ARN may belong to an environment that exists.
func checkQueueEnvironments(s Site) {
	known := creations.of(s.pass).environments
	for _, o := range each(s.Node, "computeEnvironmentOrder") {
		n := o.Get("computeEnvironment")
		if _, ok := known[batch.Name(n.Str())]; n.Str() != "" && len(known) > 0 && !ok && !batch.IsARN(n.Str()) &&
			!isPlaceholder(n.Str()) {
			severity, hint := nearResource(n.Str(), known)
			s.reportAs(severity, nil, fmt.Sprintf("no file creates the compute environment %s", quote(n.Str())), hint,
				n)
		}
	}
}

// checkEnvironmentsEnabled reports a queue whose environments are all created DISABLED. It
// finds nothing if one of them is not in the files.
func checkEnvironmentsEnabled(s Site) {
	if s.Node.Get("state").Str() == "DISABLED" {
		return // it accepts no jobs
	}
	some := false
	for e := range creations.of(s.pass).environmentsOf(s) {
		if e.Node == nil || e.Node.Get("state").Str() != "DISABLED" {
			return
		}
		some = true
	}
	if some {
		s.Report("all compute environments of the queue are DISABLED, so its jobs stay in RUNNABLE",
			`write "state": "ENABLED" in one of them`, s.Node.Get("computeEnvironmentOrder"))
	}
}

// checkEnvironmentsValid reports a queue whose environments are all INVALID, as
// describe-compute-environments prints them, or will become INVALID.
func checkEnvironmentsValid(s Site) {
	some := false
	for e := range creations.of(s.pass).environmentsOf(s) {
		if e.Node == nil || e.Node.Get("status").Str() != "INVALID" && !e.isInvalid() {
			return
		}
		some = true
	}
	if some {
		s.Report("all compute environments of the queue will be INVALID, so its jobs stay in RUNNABLE",
			"fix one of them", s.Node.Get("computeEnvironmentOrder"))
	}
}

// checkTimeLimits reports a queue for containers without any time limit action.
func checkTimeLimits(s Site) {
	actions := s.Node.Get("jobStateTimeLimitActions")
	if s.Node.Get("computeEnvironmentOrder") != nil && (actions.Is(jsontree.Array) && actions.Len() == 0 &&
		s.raw(actions).Len() == 0 || s.lacks(s.Node, "jobStateTimeLimitActions")) {
		const actions = `"jobStateTimeLimitActions": [ { "reason": "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT", "state": "RUNNABLE", "maxTimeSeconds": 3600, "action": "CANCEL" } ]`
		fix := s.insert(s.Node, actions)
		if s.Node.Get("jobStateTimeLimitActions") != nil {
			_, list, _ := strings.Cut(actions, ": ")
			fix = jsontree.WriteFix(s.Node.Get("jobStateTimeLimitActions"), list)
		}
		s.ReportFix(fix, "a job that fits no compute environment blocks all jobs after it in the queue", "add "+actions,
			s.NameNode())
	}
}

// checkQuotaPolicy reports a policy with quota shares on a queue that does not support
// them.
func checkQuotaPolicy(s Site) {
	n := s.Node.Get("schedulingPolicyArn")
	policy, ok := creations.of(s.pass).policies.find(n.Str(), s.Job)
	if ok && policy.Node.Get("quotaSharePolicy") != nil && !isSageMaker(s.Node) {
		s.Report("the policy has quota shares, which work only for queues of type SAGEMAKER_TRAINING",
			"give the queue a policy with fairsharePolicy", n)
	}
}

// hasQuota reports whether a queue has quota shares. known is false if its policy is in no file.
func hasQuota(queue Site) (quota, known bool) {
	ref := queue.Node.Get("schedulingPolicyArn")
	if ref == nil {
		return false, queue.lacks(queue.Node, "schedulingPolicyArn")
	}
	policy, known := creations.of(queue.pass).policies.find(ref.Str(), queue.Job)
	return policy.Node.Get("quotaSharePolicy") != nil, known
}

// checkServiceUnits reports a service environment whose limits do not fit the scheduling policy of a queue.
func checkServiceUnits(s Site) {
	quota, known := hasQuota(s)
	if !known || !isSageMaker(s.Node) {
		return
	}
	for _, o := range each(s.Node, "serviceEnvironmentOrder") {
		n := o.Get("serviceEnvironment")
		e, _ := creations.of(s.pass).serviceEnvironments.find(n.Str(), s.Job)
		for _, l := range each(e.Node, "capacityLimits") {
			if why := batch.UnitConflict(l.Get("capacityUnit").Str(), quota); why != "" {
				s.Report(fmt.Sprintf("service environment %s %s", quote(batch.Name(n.Str())), why),
					"change its capacityLimits, or the scheduling policy of the queue", n)
				break
			}
		}
	}
}

// checkQuotaQueue reports a quota share of a queue without quota shares.
func checkQuotaQueue(s Site) {
	n := s.Node.Get("jobQueue")
	q, ok := creations.of(s.pass).queues.find(n.Str(), s.Job)
	if !ok {
		return
	}
	if quota, known := hasQuota(q); known && !quota {
		s.Report(fmt.Sprintf("job queue %s has no scheduling policy with quotaSharePolicy", quote(batch.Name(n.Str()))),
			"name another queue, or create it with such a policy", n)
	}
}

// maxQuotaShares is how many quota shares a queue can have.
const maxQuotaShares = 20

// checkQuotaShareCount reports the first quota share of a queue that is too many. Shares of a queue that the files do
// not create belong together if their directory is the same.
func checkQuotaShareCount(p *Pass) {
	count := map[[2]string]int{}
	for _, s := range quotaShares(p) {
		queue := batch.Name(s.Node.Get("jobQueue").Str())
		of := [2]string{queue, s.directory()}
		if len(creations.of(p).queues[queue]) == 1 {
			of[1] = ""
		}
		if count[of]++; count[of] == maxQuotaShares+1 {
			s.Report(fmt.Sprintf("job queue %s would have more than %d quota shares", quote(queue), maxQuotaShares),
				"remove one of them, or create another queue", s.Node.Get("jobQueue"))
		}
	}
}

// isSageMaker reports whether a queue is for SageMaker training jobs, which have no
// containers of AWS Batch.
func isSageMaker(queue *jsontree.Node) bool {
	return queue.Get("jobQueueType").Str() == "SAGEMAKER_TRAINING"
}

// checkMixedKinds reports the first environment of a queue whose kind differs from the kind
// of an earlier one. A kind of "" is unknown.
func checkMixedKinds(s Site, kind func(environment) string) {
	first, name := "", ""
	i := -1
	for e := range creations.of(s.pass).environmentsOf(s) {
		i++
		if e.Node == nil {
			continue
		}
		k, n := kind(e), e.Node.Get("computeEnvironmentName").Str()
		switch {
		case k == "":
		case first == "":
			first, name = k, n
		case k != first:
			s.Report(fmt.Sprintf("%s is of %s and %s is of %s: a queue cannot mix them", quote(name), first, quote(n),
				k),
				"create a queue for each", s.Node.Get("computeEnvironmentOrder").Index(i).Get("computeEnvironment"))
			return
		}
	}
}

// nearResource returns the severity and the hint for a name that no file creates. The
// resource may exist already, unless its name looks like a typo of one that they create.
func nearResource(resource string, known namedSites) (diag.Severity, string) {
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	if near := typo(resource, slices.Values(names)); near != "" {
		return diag.Error, "did you mean " + quote(near) + "?"
	}
	return diag.Warning, "ignore this if it exists already; the files create " +
		text.Or(quoteAll(names[:min(len(names), 10)]))
}
