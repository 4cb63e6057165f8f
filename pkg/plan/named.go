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

// queue finds the queue of a job: its own word, else the option's, else the
// choice among the platform's queues. register is the definition, if known.
func (b *builder) queue(f *document.File, j *document.Job, register *jsontree.Node) Choice {
	word := j.Submit.Get("jobQueue").Str()
	switch {
	case word != "" && f.Kind == document.KindSubmitJob:
		return b.named(j, register, word, "named in the request")
	case word != "":
		b.checkQueue(j.Submit.Get("jobQueue"), word)
		return b.named(j, register, word, "named in the job file")
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
func (b *builder) named(j *document.Job, register *jsontree.Node, word, reason string) Choice {
	if b.platform == nil {
		return Choice{Queue: word, Reason: reason}
	}
	q, ok := b.platform.Queue(word)
	if !ok {
		return Choice{Queue: word, Reason: reason}
	}
	c := Choice{Queue: cmp.Or(q.Name, word), Reason: reason}
	if batch.IsARN(word) {
		c.Queue = word
	}
	if word == q.Alias && word != q.Name {
		c.Reason += fmt.Sprintf(" by its alias %s", word)
	}
	if r, ok := RequestOf(register, j.Submit); ok {
		p := FindPlacement(b.platform.Catalog, q, r)
		c.Placement = &p
		if proof := Proof(p); proof != "" {
			c.Reason += ": " + proof
		}
	}
	return c
}

// checkQueue refuses a word that the platform file, if it lists queues, does
// not know.
func (b *builder) checkQueue(place *jsontree.Node, word string) {
	if b.platform == nil || len(b.platform.Queues) == 0 || batch.IsARN(word) {
		return
	}
	if _, ok := b.platform.Queue(word); !ok {
		b.fail(place, "submit-queue-exists", fmt.Sprintf("no queue %q in the platform file", word), QueueHint(b.platform, word))
	}
}

// checkAllowed refuses a queue that the platform's policy does not allow. That of a
// job file has been checked with the file, where a waiver can stand.
func (b *builder) checkAllowed(place *jsontree.Node, word string) {
	if b.platform != nil && !b.platform.AllowsQueue(word) {
		b.fail(place, "policy-allowed-queues", fmt.Sprintf("the platform file does not allow the queue %q", word),
			b.platform.Policy.Hint("allowed are "+strings.Join(b.platform.Policy.AllowedQueues, ", ")))
	}
}

// QueueHint lists the platform's queues, and the near word first if there is one.
func QueueHint(platform *document.Platform, word string) string {
	var names []string
	for _, q := range platform.Queues {
		names = append(names, cmp.Or(q.Alias, q.Name))
	}
	if near := diag.Near(word, slices.Values(names)); near != "" {
		return fmt.Sprintf("did you mean %q? the queues are %s", near, strings.Join(names, ", "))
	}
	return "the queues are " + strings.Join(names, ", ")
}

func (b *builder) choose(j *document.Job, register *jsontree.Node) Choice {
	r, ok := RequestOf(register, j.Submit)
	switch {
	case b.platform == nil || len(b.platform.Queues) == 0:
		b.fail(nameOf(j), "no-queue", fmt.Sprintf("job %q has no queue", j.Name), b.noQueuesHint())
	case !ok && len(b.platform.Queues) == 1:
		return Choice{Queue: b.platform.Queues[0].Name, Reason: "the platform file's only queue"}
	case !ok:
		b.fail(nameOf(j), "no-queue", fmt.Sprintf("job %q has no queue, and batchctl does not know what it needs", j.Name),
			"name a queue: "+QueueHint(b.platform, ""))
	default:
		c, err := ChooseQueue(b.platform, r)
		if err == nil {
			return c
		}
		b.refuse(j, err)
	}
	return Choice{}
}

// noQueuesHint says how a job gets a queue where the platform lists none.
func (b *builder) noQueuesHint() string {
	if b.platform == nil || b.platform.Root == nil {
		return `add "queue", or describe your queues in a platform file: batchctl init --platform batchctl.json`
	}
	return fmt.Sprintf(`add "queue", or add "queues" to %s`, b.platform.Root.Source.Name)
}

func (b *builder) refuse(j *document.Job, err error) {
	hint := ""
	if no, ok := err.(*NoQueueError); ok {
		hint = no.Hint()
	}
	b.fail(nameOf(j), "no-queue", err.Error(), hint)
}

// nameOf is the place for a problem of the whole job: its name, so that a
// report underlines one word and not the whole object.
func nameOf(j *document.Job) *jsontree.Node {
	for _, member := range []string{"name", "jobName", "jobDefinitionName"} {
		if n := j.Node.Get(member); n != nil {
			return n
		}
	}
	return j.Node
}
