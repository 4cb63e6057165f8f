package document

import (
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// layers are the defaults that a job starts from; each may be nil.
type layers struct {
	platform, workflow *jsontree.Node
	// faulty is true if the file violates its schema. lost is true if the invalid part is
	// what runs.
	faulty, lost bool
	// spoilt is true if the invalid part is in an array. references is true if a text of
	// the file or of the platform's defaults may refer to the array's values.
	spoilt, references bool
	// unreadable lists the members of the job and its defaults whose values are left out; see File.Unreadable.
	unreadable []string
}

// under merges a job over its defaults. The topmost layer that states what runs decides.
// Defaults for jobs of another kind are then dropped without a message.
func (d layers) under(job *jsontree.Node) (*jsontree.Node, means) {
	if d.platform == nil && d.workflow == nil {
		return job, meansOf(job)
	}
	stack := [...]*jsontree.Node{d.platform, d.workflow, job}
	decided, top := byNothing, 0
	for i, layer := range stack {
		if m := meansOf(layer); m != byNothing {
			decided, top = m, i
		}
	}
	merged := jsontree.NewObject(job)
	for i, layer := range stack {
		switch {
		case i == 0 && decided == byName && top > 0:
			layer = only(layer, namesOf(func(m *member) bool { return m.ofPlatform }))
		case i < top:
			layer = without(layer, decided.foreign())
		}
		merged = lay(merged, layer)
	}
	return withoutIdleArray(merged, job), decided
}

// lay merges over onto n. A member of both has the location that it has in over.
func lay(n, over *jsontree.Node) *jsontree.Node {
	if over == nil {
		return n
	}
	out := jsontree.Merge(n, over)
	for _, m := range members {
		if m.merge == nil {
			continue
		}
		if below, above := n.Get(m.name), over.Get(m.name); below != nil && above != nil {
			out.Set(m.name, m.merge(below, above))
		}
	}
	settle(out, over)
	return out
}

// settle gives objects that both sides have the location of the later one, at every depth.
func settle(out, over *jsontree.Node) {
	out.Source, out.Span, out.Key = over.Source, over.Span, over.Key
	for m := range over.Children() {
		if both := out.Get(m.Name); both.Is(jsontree.Object) {
			settle(both, m)
		}
	}
}

// Waiver is a rule that a job may break. AWS requests do not contain it.
type Waiver struct {
	Rule, Reason string
	// Until is the last day of the waiver, as written; "" if it does not expire.
	Until string
	// Node is what the user wrote. Jobs that share a waiver of their workflow's
	// defaults share the node.
	Node *jsontree.Node
}

// waiversOf returns the waivers of the layers, those of the first layer first.
func waiversOf(layers ...*jsontree.Node) (list []Waiver) {
	for _, layer := range layers {
		for n := range layer.Get("waivers").Children() {
			list = append(list, Waiver{Rule: n.Get("rule").Str(), Reason: n.Get("reason").Str(), Until: n.Get("until").
				Str(), Node: n})
		}
	}
	return list
}
