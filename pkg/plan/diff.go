package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/secret"
)

// Change is a member that differs between two documents.
type Change struct {
	// Path is the member in AWS's words: containerProperties.environment[EPOCHS].value.
	// An element of a list of named things stands under its name, another under
	// its index.
	Path string `json:"path"`
	// Old and New are the values as JSON, with asterisks for credentials; empty
	// where the member is not there.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

// String writes the change in a line: `timeout.attemptDurationSeconds: 60 -> 3600`.
func (c Change) String() string {
	switch {
	case c.Old == "":
		return fmt.Sprintf("%s: + %s", c.Path, c.New)
	case c.New == "":
		return fmt.Sprintf("%s: - %s", c.Path, c.Old)
	case c.Old == c.New:
		return fmt.Sprintf("%s: %s -> another hidden value", c.Path, c.Old)
	}
	return fmt.Sprintf("%s: %s -> %s", c.Path, c.Old, c.New)
}

// Diff compares two documents member by member, in the order of the new one. What
// AWS Batch fills in without changing anything counts as not there: null, an empty
// string (but for what the user names, such as a variable or a parameter), list or
// object, false (but for hostNetwork, which is true by default), and the deprecated
// vcpus and memory at 0.
func Diff(old, new *jsontree.Node) []Change {
	var d differ
	d.compare(position{}, old, new)
	return d.changes
}

// position is where the differ stands: the path, and what the value there is called
// when it is masked. isNamed is true for the value of a name that the user gave.
type position struct {
	path, name string
	isNamed    bool
}

func (p position) member(name string) position {
	if p.path == "" {
		return position{path: name, name: name}
	}
	if p.name != "" && name == "value" && strings.HasSuffix(p.path, "]") {
		return position{p.path + ".value", p.name, true} // a variable's value is masked under the variable's name
	}
	return position{p.path + "." + name, name, slices.Contains([]string{"parameters", "tags", "labels", "annotations"}, p.name)}
}

func (p position) element(key string) position {
	return position{path: p.path + "[" + key + "]", name: key}
}

type differ struct{ changes []Change }

func (d *differ) compare(at position, old, new *jsontree.Node) {
	if idle(at, old) {
		old = nil
	}
	if idle(at, new) {
		new = nil
	}
	switch {
	case old == nil && new == nil:
	case isA(jsontree.Object, old, new):
		d.members(at, old, new)
	case isA(jsontree.Array, old, new):
		d.elements(at, old, new)
	case old == nil || new == nil || old.Kind != new.Kind || old.Text != new.Text || old.Len()+new.Len() > 0:
		d.change(at, old, new)
	}
}

// isA reports whether both are of the kind, or one is and the other not there.
func isA(kind jsontree.Kind, old, new *jsontree.Node) bool {
	return (old == nil || old.Kind == kind) && (new == nil || new.Kind == kind)
}

// idle reports whether a member says what its absence says.
func idle(at position, n *jsontree.Node) bool {
	switch {
	case n == nil || n.Kind == jsontree.Null:
		return true
	case n.Kind == jsontree.Array, n.Kind == jsontree.Object:
		return n.Len() == 0
	case n.Kind == jsontree.Bool:
		return n.Text == "false" && at.name != "hostNetwork"
	case n.Kind == jsontree.Number:
		return n.Text == "0" && (at.name == "vcpus" || at.name == "memory")
	}
	return n.Text == "" && !at.isNamed
}

func (d *differ) members(at position, old, new *jsontree.Node) {
	for m := range new.Children() {
		d.compare(at.member(m.Name), old.Get(m.Name), m)
	}
	for m := range old.Children() {
		if new.Get(m.Name) == nil {
			d.compare(at.member(m.Name), m, nil)
		}
	}
}

// elements compares lists of named things by name, of other objects by index, and
// of scalars as a whole: there the order counts, and one word alone says little.
func (d *differ) elements(at position, old, new *jsontree.Node) {
	if key := keyOf(old, new); key != "" {
		d.keyed(at, key, old, new)
		return
	}
	if !ofObjects(old) || !ofObjects(new) {
		if text(old) != text(new) {
			d.change(at, old, new)
		}
		return
	}
	for i := range max(old.Len(), new.Len()) {
		d.compare(at.element(fmt.Sprint(i)), old.Index(i), new.Index(i))
	}
}

func (d *differ) keyed(at position, key string, old, new *jsontree.Node) {
	for e := range new.Children() {
		name := e.Get(key).Str()
		d.compare(at.element(name), without(find(old, key, name), key), without(e, key))
		if e.Len() == 1 && find(old, key, name) == nil {
			d.change(at.element(name), nil, e)
		}
	}
	for e := range old.Children() {
		if name := e.Get(key).Str(); find(new, key, name) == nil {
			d.compare(at.element(name), without(e, key), nil)
			if e.Len() == 1 {
				d.change(at.element(name), e, nil)
			}
		}
	}
}

// without is an object without a member, which its place names.
func without(n *jsontree.Node, member string) *jsontree.Node {
	if n == nil {
		return nil
	}
	rest := jsontree.NewObject(n)
	for m := range n.Children() {
		if m.Name != member {
			rest.Set(m.Name, m.Clone())
		}
	}
	return rest
}

func find(list *jsontree.Node, key, name string) *jsontree.Node {
	for e := range list.Children() {
		if e.Get(key).Str() == name {
			return e
		}
	}
	return nil
}

// keyOf is the member that identifies the elements of both lists, or "".
func keyOf(lists ...*jsontree.Node) string {
	for _, key := range []string{"name", "type", "containerPath", "targetNodes", "consumableResource", "computeEnvironment"} {
		if !slices.ContainsFunc(lists, func(list *jsontree.Node) bool { return !identifies(list, key) }) {
			return key
		}
	}
	return ""
}

func identifies(list *jsontree.Node, key string) bool {
	seen := map[string]bool{}
	for e := range list.Children() {
		name := e.Get(key).Str()
		if name == "" || seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

func ofObjects(list *jsontree.Node) bool {
	for e := range list.Children() {
		if !e.Is(jsontree.Object) {
			return false
		}
	}
	return true
}

func text(n *jsontree.Node) string {
	if n == nil {
		return ""
	}
	return string(n.AppendJSON(nil))
}

func (d *differ) change(at position, old, new *jsontree.Node) {
	d.changes = append(d.changes, Change{Path: at.path, Old: masked(at, old), New: masked(at, new)})
}

// masked is a value as JSON, without the credentials in it.
func masked(at position, n *jsontree.Node) string {
	if n.Is(jsontree.String) {
		return text(jsontree.NewString(secret.Mask(at.name, n.Text), n))
	}
	return secret.Mask("", text(n))
}
