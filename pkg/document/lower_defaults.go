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
			layer = only(layer, submitMembers[:])
		case i < top:
			layer = without(layer, decided.foreign())
		}
		merged = lay(merged, layer)
	}
	return withoutIdleArray(merged, job), decided
}

// submitMembers are the platform's defaults that apply to a job with a registered
// definition. The other defaults would replace members of that definition.
var submitMembers = [...]string{"queue", "tags", "shareIdentifier", "submitJob", "onFailure", "notify"}

// lay merges over onto n. A member of both has the location that it has in over. A map and
// AWS's list of the same variables are two forms of the same value, so they are merged
// too.
func lay(n, over *jsontree.Node) *jsontree.Node {
	if over == nil {
		return n
	}
	out := jsontree.Merge(n, over)
	for name, value := range map[string]string{"environment": "value", "secrets": "valueFrom"} {
		below, above := n.Get(name), over.Get(name)
		if below != nil && above != nil && below.Kind != above.Kind {
			out.Set(name, jsontree.Merge(asMap(below, value), asMap(above, value)))
		}
	}
	for _, name := range [...]string{"inputs", "outputs"} {
		// The source for a container path and its options belong together.
		for m := range over.Get(name).Children() {
			out.Get(name).Set(m.Name, m.Clone())
		}
	}
	if below, above := n.Get("array"), over.Get("array"); below != nil && above != nil {
		out.Set("array", layArray(below, above))
	}
	settle(out, over)
	return out
}

// layArray merges arrays. Only one of the members that define the children can apply.
func layArray(below, above *jsontree.Node) *jsontree.Node {
	if above.Get("size") == nil && ArraySource(above) == nil {
		return jsontree.Merge(below, above)
	}
	return jsontree.Merge(without(below, []string{"size", "matrix", "exclude", "include", "table", "commands"}), above)
}

// withoutIdleArray drops an array of the defaults that only says how children are started:
// it is for jobs that are arrays.
func withoutIdleArray(merged, job *jsontree.Node) *jsontree.Node {
	array := merged.Get("array")
	if array == nil || job.Get("array") != nil || array.Get("size") != nil || ArraySource(array) != nil {
		return merged
	}
	return without(merged, []string{"array"})
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

// asMap returns a list of names and values as a map from names to values.
func asMap(n *jsontree.Node, value string) *jsontree.Node {
	if n.Is(jsontree.Object) {
		return n
	}
	out := jsontree.NewObject(n)
	for entry := range n.Children() {
		if v := entry.Get(value).Clone(); v != nil {
			v.Key = entry.Get("name").Span
			out.Set(entry.Get("name").Str(), v)
		}
	}
	return out
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
