package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
)

// crossRules returns the rules that compare requests of several files: a submission with
// its definition and queue, and a queue with its environments. AWS Batch checks some of
// them at submission, and others only when the job starts.
func crossRules() []*Rule {
	return []*Rule{
		check("propagated-tags-total-50", Medium, submits, checkPropagatedTags,
			"With propagateTags, the ECS task gets the tags of the job and of the definition. With more than 50 in total the job fails.", api("SubmitJob.propagateTags")).
			quoting("If the total number of combined tags from the job and job definition is over 50, the job is moved to the FAILED state."),
		check("submit-jobdefinition-exists", High, nativeSubmits, checkDefinitionExists,
			"A submission needs an active job definition. batchctl reports this if files in the same directory register definitions, but not this one. It is an "+
				"error if a registered name is so similar that this looks like a typo.",
			"the service's error quoted in aws-samples/aws-genomics-workflows#84").
			quoting("JobDefinition name nextflow does not exist or is not in ACTIVE status"),
		// The queue of a submission, if the files create it.
		check("submit-queue-enabled", Medium, submits, checkQueueEnabled,
			"A disabled queue accepts no jobs.", api("CreateJobQueue.state")).
			quoting("If the job queue state is DISABLED, new jobs can't be added to the queue, but jobs already in the queue can finish."),
		check("submit-share-required", High, submits, checkShareRequired,
			"On a queue with a fair-share policy, every job needs a shareIdentifier.",
			"the service's error quoted in public repositories"),
		check("submit-priority-required-fairshare", High, submits, checkFairSharePriority,
			"On a queue with a fair-share policy, every job needs a priority: schedulingPriority in the definition, or schedulingPriorityOverride. A job with shareIdentifier is for such a queue.", "the service's error quoted in public repositories"),
		check("submit-share-forbidden-fifo", High, submits, checkFIFOShare,
			"Shares and priorities are for queues with a scheduling policy. AWS Batch rejects them on other queues.",
			"the service's error quoted in public repositories"),
		check("submit-eks-job-on-ecs-queue", Low, submits, checkQueueOrchestration,
			"A job on EKS needs a queue on EKS, and a job on ECS needs a queue on ECS.", derived),
		check("consumable-unknown", Low, jobs, checkConsumablesKnown,
			"A job names a consumable resource that does not exist. batchctl reports this if the files create consumable resources, but not this one.", derived).onlyWith("consumableResourceList"),
		check("stuck-consumable-gt-total", Medium, jobs, checkConsumablesTotal,
			"A job that requests more of a resource than exists waits indefinitely.", guide("consumable resources")).
			quoting("the job will wait in RUNNABLE state until all the required resources become available").
			onlyWith("consumableResourceList"),
		// Other contradictions between requests.
		warns(check("fargate-arch-mismatch", Medium, bodies, checkImageArchitecture,
			"An image for another architecture does not start. The rule reads names such as amd64/busybox or app:1.0-arm64. Without cpuArchitecture, Fargate is x86_64.", guide("Fargate"))),
		check("submit-arn-region-mismatch", Low, jobsAndQueues, checkARNLocations,
			"All resources of a request are in the Region and account that receive the request.", derived),
		check("stuck-ecs-sum-gt-instance", Low, submits, checkTaskSum,
			"The containers of a task run together on one instance, so the sum of their requests has to fit.",
			guide("jobs stuck in RUNNABLE")),
	}
}

// checkPropagatedTags reports a job whose own tags and those of its definition add up to
// more than a task can have. Either list alone has a rule of its own.
func checkPropagatedTags(s Site) {
	known := s.Known()
	if known == nil || !isTrue(s.Node.Get("propagateTags")) && !(s.Node.Get("propagateTags") == nil &&
		isTrue(known.Get("propagateTags"))) {
		return
	}
	// A key that both lists have is one tag of the task.
	keys := map[string]bool{}
	for _, tags := range []*jsontree.Node{known.Get("tags"), s.Node.Get("tags")} {
		for t := range tags.Children() {
			keys[t.Name] = true
		}
	}
	if len(keys) > catalog.MaxTags && s.Node.Get("tags").Len() <= catalog.MaxTags && known.Get("tags").
		Len() <= catalog.MaxTags {
		s.Report(fmt.Sprintf("with the tags of the definition, the task would have %d tags; the limit is %d", len(keys),
			catalog.MaxTags),
			"remove some tags, or remove propagateTags", key(firstOf(s.Node.Get("tags"), s.Node)))
	}
}

// checkDefinitionExists reports a submission whose definition no file registers. Without a
// similar name it warns only, because the definition may be registered already.
func checkDefinitionExists(s Site) {
	n := s.Node.Get("jobDefinition")
	name, revision, pinned := strings.Cut(batch.Name(n.Str()), ":")
	known := registered.of(s.pass)
	if n.Str() == "" || batch.IsARN(n.Str()) || isPlaceholder(n.Str()) || !hasDefinitionsBeside(s) {
		return
	}
	if _, ok := known[name]; ok {
		if pinned && revision == "0" {
			s.Report("the first revision is 1, not 0", `write "`+name+`:1", or the name alone for the latest revision`,
				n)
		}
		return
	}
	// A submission cannot name the definition that a job file registers for its own job.
	known = maps.Clone(known)
	maps.DeleteFunc(known, func(_ string, list []Job) bool { return list[0].Submit != nil })
	switch near := typo(name, maps.Keys(known)); {
	case near != "":
		s.Report(fmt.Sprintf("no file registers the job definition %s", quote(name)), "did you mean "+quote(near)+"?",
			n)
	case !pinned: // a submission with a revision names a definition that is registered already
		s.reportAs(diag.Warning, nil, fmt.Sprintf("no file in this directory registers the job definition %s",
			quote(name)),
			"ignore this if it is registered already; the files register "+
				text.Or(quoteAll(slices.Sorted(maps.Keys(known))[:min(len(known), 10)])), n)
	}
}

// checkQueueEnabled reports a submission to a queue that a file creates DISABLED.
func checkQueueEnabled(s Site) {
	if q, ok := s.createdQueue(); ok && q.Node.Get("state").Str() == "DISABLED" {
		s.Report(fmt.Sprintf("queue %s is DISABLED and accepts no jobs", quote(q.Node.Get("jobQueueName").Str())),
			`enable it in its file: "state": "ENABLED"`, s.Node.Get("jobQueue"))
	}
}

// checkShareRequired and checkFairSharePriority report what a queue with a fair-share
// policy requires. Both find nothing if the files do not create the queue.
func checkShareRequired(s Site) {
	if hasFairShare(s) && s.lacks(s.Node, "shareIdentifier") {
		s.Report("the queue has a fair-share policy, so the job needs shareIdentifier",
			`add "shareIdentifier", such as "teamA"`, s.Node.Get("jobQueue"))
	}
}

// checkFairSharePriority reports a job without a priority. A definition that no file has may
// have one.
func checkFairSharePriority(s Site) {
	if s.Node.Get("schedulingPriorityOverride") != nil || s.Known() == nil || s.Known().
		Get("schedulingPriority") != nil {
		return
	}
	const hint = `add "schedulingPriorityOverride": 0, or schedulingPriority in the definition`
	share := s.Node.Get("shareIdentifier")
	if _, created := s.createdQueue(); hasFairShare(s) {
		s.Report("the queue has a fair-share policy, so the job needs a priority", hint, s.Node.Get("jobQueue"))
	} else if share != nil && !created {
		s.Report("a job with shareIdentifier needs a priority", hint, key(share))
	}
}

// checkFIFOShare reports the members that need a scheduling policy on a queue without one.
func checkFIFOShare(s Site) {
	q, ok := s.createdQueue()
	if !ok || q.Node.Get("schedulingPolicyArn") != nil {
		return
	}
	for _, m := range []string{"shareIdentifier", "schedulingPriorityOverride"} {
		if n := s.Node.Get(m); n != nil {
			s.ReportFix(s.remove(n), m+" needs a queue with a scheduling policy, and this queue has no policy",
				"remove it", key(n))
		}
	}
}

// checkQueueOrchestration reports a job for EKS on a queue for ECS, and the reverse.
func checkQueueOrchestration(s Site) {
	known := s.Known()
	if known == nil {
		return
	}
	job := "ECS"
	if s.resolved().definition.onEKS() {
		job = "EKS"
	}
	if q, ok := s.createdQueue(); ok {
		for e := range creations.of(s.pass).environmentsOf(q) {
			if e.Node != nil && e.orchestration() != job {
				s.Report(fmt.Sprintf("the job is for %s, but the queue's environments are for %s", job,
					e.orchestration()), "submit it to another queue", s.Node.Get("jobQueue"))
				return
			}
		}
	}
}

// checkConsumablesKnown reports a resource that no file creates, if the files create
// others.
func checkConsumablesKnown(s Site) {
	known := creations.of(s.pass).consumables
	eachConsumable(s.Node, func(e *jsontree.Node) {
		n := e.Get("consumableResource")
		if _, ok := known[batch.Name(n.Str())]; len(known) > 0 && n.Str() != "" && !ok && !isPlaceholder(n.Str()) {
			_, hint := nearResource(batch.Name(n.Str()), known)
			s.Report(fmt.Sprintf("no file creates the consumable resource %s", quote(batch.Name(n.Str()))), hint, n)
		}
	})
}

// checkConsumablesTotal reports a request for more of a resource than its total quantity.
func checkConsumablesTotal(s Site) {
	eachConsumable(s.Node, func(e *jsontree.Node) {
		n := e.Get("quantity")
		r, _ := creations.of(s.pass).consumables.find(e.Get("consumableResource").Str(), s.Job)
		total, okT := r.Node.Get("totalQuantity").Int()
		if q, ok := n.Int(); ok && okT && q > total {
			s.Report(fmt.Sprintf("only %d of %s exist, so a job that requests %d stays in RUNNABLE", total,
				quote(batch.Name(e.Get("consumableResource").Str())), q), "", n)
		}
	})
}

// checkImageArchitecture compares the architecture in the names of a Fargate job's images
// with cpuArchitecture, whose default is X86_64.
func checkImageArchitecture(s Site) {
	arch := map[string]string{"ARM64": catalog.Arm, "X86_64": catalog.X86,
		"": catalog.X86}[s.Node.Get("runtimePlatform").Get("cpuArchitecture").Str()]
	if !s.Fargate || arch == "" {
		return
	}
	for _, n := range imagesIn(s.Node) {
		if a := imageArch(n.Str()); a != "" && a != arch {
			s.Report(fmt.Sprintf("the image's name says %s, but the job runs on %s", a, arch),
				"change cpuArchitecture or the image", n)
		}
	}
}

// checkARNLocations reports an ARN whose Region or account differs from that of the first ARN
// in the request.
func checkARNLocations(s Site) {
	// first is the Region and account of the first ARN, member the name of its member.
	first, member := "", ""
	for _, route := range toARNs {
		s.pass.reached = route.appendFrom(s.pass.reached[:0], s.Node)
		for _, n := range s.pass.reached {
			if !batch.IsARN(n.Str()) {
				continue
			}
			m := arnLocation().FindStringSubmatch(n.Str())
			switch {
			case m == nil:
			case first == "":
				first, member = m[1], n.Name
			case m[1] != first:
				s.Report(fmt.Sprintf("this ARN is in %s, but the ARN in %s is in %s", m[1], member, first),
					"use the Region and account to which the request is sent", n)
			}
		}
	}
}

// toARNs lead to the members of a request that can be ARNs of AWS Batch.
var toARNs = routes("jobQueue", "jobDefinition", "schedulingPolicyArn", "computeEnvironmentOrder[].computeEnvironment",
	"consumableResourceProperties.consumableResourceList[].consumableResource",
	"consumableResourcePropertiesOverride.consumableResourceList[].consumableResource")

// arnLocation matches an ARN of AWS Batch; its group is the Region with the account.
var arnLocation = lazy(`^arn:aws[a-z-]*:batch:([a-z0-9-]+:[0-9]{12}):`)

// jobsAndQueues returns the requests that refer to other resources of AWS Batch.
func jobsAndQueues(p *Pass) []Site { return allSites.of(p).jobsAndQueues }

// defining holds the directories of native definitions.
var defining = newFact(func(p *Pass, _ map[string]bool) map[string]bool {
	in := map[string]bool{}
	for _, d := range p.definitions {
		if d.File.Kind == document.KindJobDefinition {
			in[d.directory()] = true
		}
	}
	return in
})

// hasDefinitionsBeside reports whether native definitions are in the submission's
// directory, so that this one should be among them. A run over directories sees
// definitions and submissions that have nothing to do with each other.
func hasDefinitionsBeside(s Site) bool { return defining.of(s.pass)[s.directory()] }

// hasFairShare reports whether the files create the job's queue with a fair-share
// policy.
func hasFairShare(s Site) bool {
	q, ok := s.createdQueue()
	arn := q.Node.Get("schedulingPolicyArn")
	if !ok || arn == nil || isSageMaker(q.Node) {
		return false
	}
	policy, _ := creations.of(s.pass).policies.find(arn.Str(), q.Job)
	return policy.Node.Get("quotaSharePolicy") == nil
}

// eachConsumable visits the requests for consumable resources of a definition or of a
// submission.
func eachConsumable(request *jsontree.Node, visit func(entry *jsontree.Node)) {
	for _, at := range []string{"consumableResourceProperties.consumableResourceList[]",
		"consumableResourcePropertiesOverride.consumableResourceList[]"} {
		path(at).walk(request, visit)
	}
}

// imagesIn returns the images of a body: a container's own, or those of a task.
func imagesIn(body *jsontree.Node) []*jsontree.Node {
	var list []*jsontree.Node
	for _, at := range []string{"image", "containers[].image"} {
		path(at).walk(body, func(n *jsontree.Node) { list = append(list, n) })
	}
	return list
}
