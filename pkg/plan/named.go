package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// queue finds the queue of a job: its own, or else the option's, or else the best one of the
// platform file. register is the definition; nil if it is unknown.
func (b *builder) queue(f *document.File, j *document.Job, register *jsontree.Node) Choice {
	name := j.Submit.Get("jobQueue").Str()
	switch {
	case name != "" && f.Kind == document.KindSubmitJob:
		return b.named(j, register, name, "named in the request")
	case name != "":
		b.checkQueue(j.Submit.Get("jobQueue"), name)
		return b.named(j, register, name, "named in the job file")
	case b.options.Queue != "":
		b.checkQueue(nameOf(j), b.options.Queue)
		b.checkAllowed(nameOf(j), b.options.Queue)
		return b.named(j, register, b.options.Queue, "set for every job that names none")
	case b.options.LocalQueue != "" && (b.platform == nil || len(b.platform.Queues) == 0):
		return Choice{Queue: b.options.LocalQueue, Reason: "set for every job that names none"}
	}
	return b.choose(j, register)
}

// named resolves an alias and adds what the platform file knows about the queue. An unknown
// name goes to AWS unchanged.
func (b *builder) named(j *document.Job, register *jsontree.Node, name, reason string) Choice {
	if b.platform == nil {
		return Choice{Queue: name, Reason: reason}
	}
	q, ok := b.platform.Queue(name)
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
		p := FindPlacement(b.platform.Catalog, q, n)
		c.Placement = &p
		if proof := Proof(p); proof != "" {
			c.Reason += ": " + proof
		}
	}
	return c
}

// checkQueue reports a queue that is not in the platform file, if that lists queues.
func (b *builder) checkQueue(at *jsontree.Node, name string) {
	if b.platform == nil || len(b.platform.Queues) == 0 || batch.IsARN(name) {
		return
	}
	if _, ok := b.platform.Queue(name); !ok {
		b.fail(at, "submit-queue-exists", fmt.Sprintf("no queue %q in the platform file", name), QueueHint(b.platform, name))
	}
}

// checkAllowed reports a queue that the platform's policy does not allow. Queues in job files are
// checked with the file, which can have a waiver.
func (b *builder) checkAllowed(at *jsontree.Node, name string) {
	if b.platform != nil && !b.platform.AllowsQueue(name) {
		b.fail(at, "policy-allowed-queues", fmt.Sprintf("the platform file does not allow the queue %q", name),
			b.platform.Policy.Hint("allowed are "+strings.Join(b.platform.Policy.AllowedQueues, ", ")))
	}
}

// QueueHint lists the platform's queues, after a suggestion if the name of one is similar.
func QueueHint(platform *document.Platform, name string) string {
	var names []string
	for _, q := range platform.Queues {
		names = append(names, cmp.Or(q.Alias, q.Name))
	}
	if near := diag.Near(name, slices.Values(names)); near != "" {
		return fmt.Sprintf("did you mean %q? the queues are %s", near, strings.Join(names, ", "))
	}
	return "the queues are " + strings.Join(names, ", ")
}

// choose returns the best queue of the platform file, or reports why there is
// none.
func (b *builder) choose(j *document.Job, register *jsontree.Node) Choice {
	n, ok := QueueNeed(register, j.Submit)
	switch {
	case b.platform == nil || len(b.platform.Queues) == 0:
		b.fail(nameOf(j), "no-queue", fmt.Sprintf("job %q has no queue", j.Name), b.noQueuesHint())
	case !ok && len(b.platform.Queues) == 1:
		return Choice{Queue: b.platform.Queues[0].Name, Reason: "the platform file's only queue"}
	case !ok:
		b.fail(nameOf(j), "no-queue", fmt.Sprintf("job %q has no queue, and batchctl does not know what it needs", j.Name),
			"name a queue: "+QueueHint(b.platform, ""))
	default:
		c, err := ChooseQueue(b.platform, n)
		if err == nil {
			return c
		}
		b.refuse(j, err)
	}
	return Choice{}
}

// noQueuesHint says how to set a queue if the platform file lists none.
func (b *builder) noQueuesHint() string {
	if b.platform == nil || b.platform.Root == nil {
		return `add "queue", or describe your queues in a platform file: batchctl init --platform batchctl.json`
	}
	return fmt.Sprintf(`add "queue", or add "queues" to %s`, b.platform.Root.Source.Name)
}

// refuse reports that no queue fits.
func (b *builder) refuse(j *document.Job, err error) {
	hint := ""
	if no, ok := err.(*NoQueueError); ok {
		hint = no.Hint()
	}
	b.fail(nameOf(j), "no-queue", err.Error(), hint)
}

// nameOf returns the member for a problem of the whole job: its name, so that a report
// underlines only that.
func nameOf(j *document.Job) *jsontree.Node {
	for _, member := range []string{"name", "jobName", "jobDefinitionName"} {
		if n := j.Node.Get(member); n != nil {
			return n
		}
	}
	return j.Node
}
