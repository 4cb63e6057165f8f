package document

import (
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// referenceMark begins a reference. A file without it has none, and most have none.
const referenceMark = "${{"

// referring visits the requests of one job.
type referring struct {
	problems
	sweep  *sweep.Sweep
	source *jsontree.Node // of the array; nil if it has none
	// without is the reason why the job has no values to refer to; "" if it has some.
	without string
}

// replaced writes the references of a text in their canonical form, for a text that is
// replaced in the container. It reports whether the text has references.
func (r *referring) replaced(n *jsontree.Node) bool {
	if !strings.Contains(n.Str(), referenceMark) {
		return false
	}
	list := sweep.References(n.Text)
	for _, ref := range list {
		switch {
		case r.without != "":
			r.blame(n, ref, `add "matrix" or "table" to its array`, "%s has no value: %s",
				clip(n.Text[ref.From:ref.To]), r.without)
		case r.sweep != nil && !slices.Contains(r.sweep.Names, ref.Name):
			hint := namesHint(ref.Name, r.sweep.Names)
			r.blame(n, ref, hint, "the %s has no %s", r.source.Name, strconv.Quote(clip(ref.Name)))
		}
	}
	if len(list) > 0 {
		n.Text = sweep.Canonical(n.Text)
	}
	return len(list) > 0
}

const unknownHere = "a child's values exist only in its container"

// misplaced reports the references below a node that is read before any child exists.
func (r *referring) misplaced(n *jsontree.Node, why string) {
	if strings.Contains(n.Str(), referenceMark) {
		for _, ref := range sweep.References(n.Text) {
			r.blame(n, ref, "use it in command, environment or parameters",
				"%s has no value here: %s", clip(n.Text[ref.From:ref.To]), why)
		}
	}
	for child := range n.Children() {
		r.misplaced(child, why)
	}
}

// blame reports a reference at its own location.
func (r *referring) blame(n *jsontree.Node, ref sweep.Mention, hint, format string, args ...any) {
	r.report(RuleMatrixReference, n, placeIn(n, ref.From, ref.To), hint, format, args...)
}

// literal reports the texts at and below a node that would become references.
func (r *referring) literal(n *jsontree.Node) {
	if strings.Contains(n.Str(), referenceMark) {
		for _, ref := range sweep.References(n.Text) {
			r.blame(n, ref, "change the text, or keep the request: validate, plan and submit accept it too",
				"%s is plain text here, but in a job file it would be the value of a child",
				clip(n.Text[ref.From:ref.To]))
		}
	}
	for child := range n.Children() {
		r.literal(child)
	}
}
