package lint

import (
	"strconv"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// key returns a node with the location of the member's name.
func key(n *jsontree.Node) *jsontree.Node {
	k := jsontree.NewString(n.Name, n)
	if k.Key.End > k.Key.Start {
		k.Span = k.Key
	}
	return k
}

// sameLocation reports whether two nodes have the same text in the same file. The compact
// form writes a value once that is in both requests.
func sameLocation(a, b *jsontree.Node) bool {
	srcA, spanA := a.Location()
	srcB, spanB := b.Location()
	return srcA != nil && srcA == srcB && spanA == spanB
}

// firstOf returns a, or b if a is nil.
func firstOf(a, b *jsontree.Node) *jsontree.Node {
	if a != nil {
		return a
	}
	return b
}

// orNothing returns n, or a node without a kind if n is nil, so that a condition can be
// called for an absent member. Conditions ignore values of a kind that they do not expect.
func orNothing(n *jsontree.Node) *jsontree.Node {
	if n == nil {
		return &jsontree.Node{}
	}
	return n
}

// each returns the objects in the arrays of these names. Most documents have none; a loop over an iterator would
// allocate memory for them, too.
func each(n *jsontree.Node, names ...string) (objects []*jsontree.Node) {
	for _, name := range names {
		for c := range n.Get(name).Children() {
			if c.Is(jsontree.Object) {
				objects = append(objects, c)
			}
		}
	}
	return objects
}

// number reads a number, or a string with a number as in resourceRequirements. ok is
// false for anything else, and for NaN and infinities.
func number(n *jsontree.Node) (float64, bool) {
	if !n.Is(jsontree.Number) && !n.Is(jsontree.String) {
		return 0, false
	}
	f, err := strconv.ParseFloat(n.Text, 64)
	return f, err == nil && f-f == 0
}

// figure reads a number that is written without quotes. ok is false for anything else.
func figure(n *jsontree.Node) (float64, bool) {
	if !n.Is(jsontree.Number) {
		return 0, false
	}
	return number(n)
}

// entriesOf returns the strings of a list.
func entriesOf(n *jsontree.Node) []string {
	var out []string
	for c := range n.Children() {
		if c.Str() != "" {
			out = append(out, c.Str())
		}
	}
	return out
}

// withMember returns the element of a list with this value of a member, or nil.
func withMember(list *jsontree.Node, member, value string) *jsontree.Node {
	for e := range list.Children() {
		if value != "" && e.Get(member).Str() == value {
			return e
		}
	}
	return nil
}

// podName returns the name of a container of a pod, by default "Default".
func podName(container *jsontree.Node) string {
	if name := container.Get("name").Str(); name != "" {
		return name
	}
	return "Default"
}

// legacyOf returns the deprecated member of a container for a resource type.
func legacyOf(kind string) string {
	if kind == "VCPU" {
		return "vcpus"
	}
	return "memory"
}

// isTrue and isFalse report whether a node is that boolean. Both are false for an absent
// member, so a caller handles the default of AWS explicitly.
func isTrue(n *jsontree.Node) bool { return n.Is(jsontree.Bool) && n.Text == "true" }

func isFalse(n *jsontree.Node) bool { return n.Is(jsontree.Bool) && n.Text == "false" }

// gpuKey is the resource name that NVIDIA's device plugin gives to GPUs in Kubernetes.
const gpuKey = "nvidia.com/gpu"
