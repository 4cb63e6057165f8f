package plan

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// queues finds the queues of jobs.
type queues struct {
	*converter
	platform *document.Platform
	options  Options
}

// of finds the queue of a job: its own, or else the option's, or else the best one of the
// platform file. register is the definition; nil if it is unknown.
func (qs *queues) of(f *document.File, j *document.Job, register *jsontree.Node) Choice {
	name := j.Submit.Get("jobQueue").Str()
	switch {
	case name != "" && f.Kind == document.KindSubmitJob:
		return qs.named(j, register, name, "named in the request")
	case name != "":
		qs.checkQueue(j.Submit.Get("jobQueue"), name)
		return qs.named(j, register, name, "named in the job file")
	case qs.options.Queue != "":
		qs.checkQueue(nameOf(j), qs.options.Queue)
		qs.checkAllowed(nameOf(j), qs.options.Queue)
		return qs.named(j, register, qs.options.Queue, "set for every job that does not name a queue")
	case qs.options.LocalQueue != "" && (qs.platform == nil || len(qs.platform.Queues) == 0):
		return Choice{Queue: qs.options.LocalQueue, Reason: "set for every job that does not name a queue"}
	}
	return qs.choose(j, register)
}

// named resolves an alias and adds what the platform file knows about the queue. An unknown
// name goes to AWS unchanged.
func (qs *queues) named(j *document.Job, register *jsontree.Node, name, reason string) Choice {
	if qs.platform == nil {
		return Choice{Queue: name, Reason: reason}
	}
	q, ok := qs.platform.Queue(name)
	if !ok {
		return Choice{Queue: name, Reason: reason}
	}
	c := Choice{Queue: cmp.Or(q.Name, name), Reason: reason}
	if batch.IsARN(name) {
		c.Queue = name
	}
	if name == q.Alias && name != q.Name {
		c.Reason += fmt.Sprintf(" by its alias %s", name)
	}
	if n, ok := QueueNeed(register, j.Submit); ok {
		p := FindPlacement(qs.platform.Catalog, q, n)
		c.Placement = &p
		if proof := Proof(p); proof != "" {
			c.Reason += ": " + proof
		}
	}
	return c
}

// checkQueue reports a queue that is not in the platform file, if that lists queues.
func (qs *queues) checkQueue(at *jsontree.Node, name string) {
	if qs.platform == nil || len(qs.platform.Queues) == 0 || batch.IsARN(name) {
		return
	}
	if _, ok := qs.platform.Queue(name); !ok {
		qs.fail(at, "submit-queue-exists", fmt.Sprintf("no queue %q in the platform file", name),
			QueueHint(qs.platform, name))
	}
}

// checkAllowed reports a queue that the platform's policy does not allow. Queues in job files are
// checked with the file, which can have a waiver.
func (qs *queues) checkAllowed(at *jsontree.Node, name string) {
	if qs.platform != nil && !qs.platform.AllowsQueue(name) {
		qs.fail(at, "policy-allowed-queues", fmt.Sprintf("the platform file does not allow the queue %q", name),
			qs.platform.Policy.Hint("allowed are "+strings.Join(qs.platform.Policy.AllowedQueues, ", ")))
	}
}

// QueueHint lists the platform's queues, after a suggestion if the name of one is similar.
func QueueHint(platform *document.Platform, name string) string {
	var names []string
	for _, q := range platform.Queues {
		names = append(names, cmp.Or(q.Alias, q.Name))
	}
	return diag.Instead(name, names, diag.Offer{Near: "did you mean %q?", Are: "the queues are",
		All: "see \"queues\" of the platform file"})
}

// choose returns the best queue of the platform file, or reports why there is
// none.
func (qs *queues) choose(j *document.Job, register *jsontree.Node) Choice {
	n, ok := QueueNeed(register, j.Submit)
	switch {
	case qs.platform == nil || len(qs.platform.Queues) == 0:
		qs.fail(nameOf(j), "no-queue", fmt.Sprintf("job %q has no queue", j.Name), qs.noQueuesHint())
	case !ok && len(qs.platform.Queues) == 1:
		return Choice{Queue: qs.platform.Queues[0].Name, Reason: "the platform file's only queue"}
	case !ok:
		qs.fail(nameOf(j), "no-queue",
			fmt.Sprintf("job %q names no queue, and its requirements are unknown, so batchctl cannot choose one",
				j.Name),
			"name a queue: "+QueueHint(qs.platform, ""))
	default:
		c, err := ChooseQueue(qs.platform, n)
		if err == nil {
			return c
		}
		qs.refuse(j, err)
	}
	return Choice{}
}

// noQueuesHint says how to set a queue if the platform file lists none.
func (qs *queues) noQueuesHint() string {
	if qs.platform == nil || qs.platform.Root == nil {
		return `add "queue", or describe your queues in a platform file: batchctl init --new-platform batchctl.json`
	}
	return fmt.Sprintf(`add "queue", or add "queues" to %s`, qs.platform.Root.Source.Name)
}

// refuse reports that no queue fits.
func (qs *queues) refuse(j *document.Job, err error) {
	hint := ""
	if no, ok := err.(*NoQueueError); ok {
		hint = no.Hint()
	}
	qs.fail(nameOf(j), "no-queue", err.Error(), hint)
}

// queueName returns the name of a queue that a file names by its alias.
func (qs *queues) queueName(name string) string {
	if qs.platform == nil || batch.IsARN(name) {
		return name
	}
	if q, ok := qs.platform.Queue(name); ok && q.Name != "" {
		return q.Name
	}
	return name
}
