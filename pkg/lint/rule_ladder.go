package lint

import (
	"fmt"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/ladder"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/text"
)

// jobRung is a rung of a job's onFailure.
type jobRung struct {
	Job Job
	document.Rung
}

// rungs holds the rungs of all jobs.
var rungs = newFact(func(p *Pass, old []jobRung) []jobRung {
	all := old[:0]
	for _, j := range p.Jobs() {
		for _, r := range j.Rungs {
			all = append(all, jobRung{j, r})
		}
	}
	return all
})

// ladderRules returns the rules about onFailure, which the client executes.
func ladderRules() []*Rule {
	return []*Rule{
		over("ladder-queue", High, rungs.of, jobRung.checkQueue,
			"A rung of onFailure names the queue that the job already uses, or a queue that is not in the platform file or not allowed by it.",
			ourLadder),
		over("ladder-target", High, rungs.of, jobRung.checkTarget,
			"The rung noCapacity names a target that is not in the platform file, or the job runs a registered definition and so cannot move to another target. "+
				"batchctl can only register the job file's own definition there.", ourLadder),
		over("ladder-limit", High, rungs.of, jobRung.checkLimit,
			"The upTo of the rung outOfMemory is not more than the memory that the job requests, so the rung has no effect.",
			ourLadder),
		warns(row("ladder-retry-strategy", High, in(retries, "attempts"), checkLadderRetries,
			"The job has onFailure and a retryStrategy without evaluateOnExit. AWS Batch then repeats every failed attempt unchanged, also after an out-of-memory kill, before a rung applies. "+
				"Remove the retryStrategy, or select failures with evaluateOnExit.", guide("automated job retries"))),
		over("ladder-topics", High, (*Pass).Jobs, checkTopicTags,
			"For a job with the tag "+ladder.Tag+" = "+ladder.ByStateMachine+
				", batchctl writes the topics of notify to the tag "+ladder.NoticeTag+", but they do not fit. "+
				"A tag value has at most 256 characters, and a job at most 50 tags.", ourLadder),
		warns(over("ladder-topic-prefix", High, (*Pass).Jobs, checkTopics,
			"The state machine handles jobs with the tag "+ladder.Tag+" = "+ladder.ByStateMachine+
				", but only for the queues and topics PREFIX-... of its project. "+
				"The job's queue and a topic of notify have different prefixes, so the message cannot be sent.",
			ourLadder)),
		warns(over("ladder-webhook", High, (*Pass).Jobs, checkWebhooks,
			"For a job with the tag "+ladder.Tag+" = "+ladder.ByStateMachine+
				", the state machine sends messages only to Amazon SNS topics, but notify has the URL of a webhook. "+
				"A URL can be a secret, and everyone who can describe the job sees its tags. Only a waiting batchctl notifies the webhook.",
			ourLadder)),
	}
}

// belongsToStateMachine reports whether the state machine acts for the job.
func belongsToStateMachine(j Job) bool {
	return j.Submit.Get("tags").Get(ladder.Tag).Str() == ladder.ByStateMachine
}

// stateMachineTopics returns the topics that the state machine notifies about the job, and their places.
func stateMachineTopics(j Job) (topics []string, nodes []*jsontree.Node) {
	for i, receiver := range j.Notify {
		if belongsToStateMachine(j) && batch.IsARN(receiver) {
			topics, nodes = append(topics, receiver), append(nodes, j.NotifyNodes[i])
		}
	}
	return topics, nodes
}

// checkTopicTags reports topics that do not fit into the tag of the job.
func checkTopicTags(j Job) {
	topics, nodes := stateMachineTopics(j)
	tags := j.Submit.Get("tags")
	if len(topics) == 0 {
		return
	}
	if _, why, hint := plan.NoticeTagOf(topics, tags.Get(ladder.NoticeTag).Str(), tags.Len()); why != "" {
		j.Report(why, hint, nodes[0])
	}
}

// checkWebhooks reports webhooks, which the state machine cannot notify.
func checkWebhooks(j Job) {
	for i, receiver := range j.Notify {
		if belongsToStateMachine(j) && !batch.IsARN(receiver) {
			j.Report("the state machine cannot send to a webhook; only a waiting batchctl command can",
				"use an SNS topic, or wait for the job with batchctl wait", j.NotifyNodes[i])
		}
	}
}

// checkTopics reports topics that the state machine has no permission for.
func checkTopics(j Job) {
	topics, nodes := stateMachineTopics(j)
	queue := batch.Name(j.Submit.Get("jobQueue").Str())
	if p := j.pass; p.Platform != nil {
		if q, ok := p.Platform.Queue(queue); ok && q.Name != "" {
			queue = batch.Name(q.Name)
		}
	}
	if queue == "" || isPlaceholder(queue) {
		return
	}
	for i, topic := range topics {
		if !ladder.MayReach(queue, topic) {
			j.Report(fmt.Sprintf("the state machine for queue %s has no permission for %s: their names begin with different prefixes", quote(queue), topic),
				"name a topic PREFIX-..., with the prefix of the queues", nodes[i])
		}
	}
}

// checkQueue reports the queue of a rung that cannot be used.
func (r jobRung) checkQueue() {
	p, n := r.Job.pass, r.Rung.Queue
	name := r.Rung.Rung.Queue
	if n == nil || isPlaceholder(name) || r.Rung.Target != "" { // it is a queue of the other target
		return
	}
	if own := r.Job.Submit.Get("jobQueue").Str(); own == name {
		r.Job.Report(fmt.Sprintf("%s changes to queue %s, which the job already uses", r.Cause, quote(name)),
			"name another queue", n)
		return
	}
	if !p.listsQueues() {
		return
	}
	if _, ok := p.Platform.Queue(name); !ok {
		r.Job.Report(fmt.Sprintf("no queue %s in the platform file", quote(name)), plan.QueueHint(p.Platform, name), n)
	} else if !p.Platform.AllowsQueue(name) {
		r.Job.Report(fmt.Sprintf("the platform file does not allow the queue %s", quote(name)), "", n)
	}
}

// checkLimit reports a limit of memory that the job already reaches.
func (r jobRung) checkLimit() {
	asked := r.Job.resolved().requestsFor("MEMORY").total
	if most := float64(r.Rung.UpToMiB); most > 0 && asked > 0 && most <= asked {
		r.Job.Report(fmt.Sprintf("outOfMemory goes up to %s, but the job already requests %s",
			text.ExactSize(most*(1<<20)),
			text.ExactSize(asked*(1<<20))), "raise upTo, or remove the rung", r.Node.Get("upTo"))
	}
}

// checkTarget reports a target to which a rung cannot move the job.
func (r jobRung) checkTarget() {
	p, n, name := r.Job.pass, r.Node.Get("target"), r.Rung.Target
	if n == nil || isPlaceholder(name) {
		return
	}
	if r.Job.Register == nil {
		r.Job.Report("the job runs a registered definition, which the target "+quote(name)+" does not have",
			"write image and command in the job file, or remove target", n)
		return
	}
	if p.Platform == nil || name == "local" || name == "aws" {
		return
	}
	if _, ok := p.Platform.Target(name); !ok {
		r.Job.Report(fmt.Sprintf("no target %s in the platform file", quote(name)),
			"add it to targets in the platform file, or name another one", n)
	}
}

// checkLadderRetries reports retry strategies that repeat every failure in jobs with rungs.
func checkLadderRetries(s Site, n *jsontree.Node, _ string) {
	if attempts, ok := n.Int(); len(s.Rungs) > 0 && ok && attempts > 1 && s.Node.Get("evaluateOnExit").Len() == 0 {
		s.Report(fmt.Sprintf("after any failure, AWS Batch makes up to %d attempts before onFailure applies", attempts),
			"remove retryStrategy, or add evaluateOnExit", n)
	}
}
