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
	// Path has the names of the AWS API: containerProperties.environment[EPOCHS].value. An
	// element of a list has its name as key, or else its index.
	Path string `json:"path"`
	// Old and New are the values as JSON, with asterisks for credentials; "" for a missing
	// member.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

// String formats the change as one line: `timeout.attemptDurationSeconds: 60 ->
// 3600`.
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

// Diff compares two documents member by member, in the order of the new one. A member that
// AWS Batch adds without an effect counts as missing: null, an empty string (except values that
// you name, such as variables and parameters), an empty list or object, false (except
// hostNetwork, which is true by default), and the deprecated vcpus and memory at 0.
func Diff(old, new *jsontree.Node) []Change {
	var d differ
	d.compare(position{}, old, new)
	return d.changes
}

// position is a position in the documents: the path, and the name under which its value is
// masked. isNamed reports that the file chose the name of the value.
type position struct {
	path, name string
	isNamed    bool
}

// member returns the position of a member of an object.
func (p position) member(name string) position {
	if p.path == "" {
		return position{path: name, name: name}
	}
	if p.name != "" && name == "value" && strings.HasSuffix(p.path, "]") {
		return position{p.path + ".value", p.name, true} // a variable's value is masked under the variable's name
	}
	return position{p.path + "." + name, name, slices.Contains([]string{"parameters", "tags", "labels", "annotations"}, p.name)}
}

// element returns the position of an element of a list.
func (p position) element(key string) position {
	return position{path: p.path + "[" + key + "]", name: key}
}

// differ collects the changes of one Diff.
type differ struct{ changes []Change }

// compare compares two values; nil is a missing one.
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

// isA reports whether both values are of the kind. A missing value counts as any kind.
func isA(kind jsontree.Kind, old, new *jsontree.Node) bool {
	return (old == nil || old.Kind == kind) && (new == nil || new.Kind == kind)
}

// idle reports whether a member has the same meaning as its absence.
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

// members compares objects.
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
// of scalars as a whole, because their order counts.
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

// keyed compares lists whose elements have a unique key.
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

// without returns a copy of an object without the member that identifies it.
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

// find returns the element with this key; nil if there is none.
func find(list *jsontree.Node, key, name string) *jsontree.Node {
	for e := range list.Children() {
		if e.Get(key).Str() == name {
			return e
		}
	}
	return nil
}

// keyOf returns the member that identifies the elements of both lists; "" if
// there is none.
func keyOf(lists ...*jsontree.Node) string {
	for _, key := range []string{"name", "type", "containerPath", "targetNodes", "consumableResource", "computeEnvironment"} {
		if !slices.ContainsFunc(lists, func(list *jsontree.Node) bool { return !identifies(list, key) }) {
			return key
		}
	}
	return ""
}

// identifies reports whether key is unique in a list and no element lacks it.
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

// ofObjects reports whether all elements are objects.
func ofObjects(list *jsontree.Node) bool {
	for e := range list.Children() {
		if !e.Is(jsontree.Object) {
			return false
		}
	}
	return true
}

// text returns a value as JSON; "" for nil.
func text(n *jsontree.Node) string {
	if n == nil {
		return ""
	}
	return string(n.AppendJSON(nil))
}

// change adds a change.
func (d *differ) change(at position, old, new *jsontree.Node) {
	d.changes = append(d.changes, Change{Path: at.path, Old: masked(at, old), New: masked(at, new)})
}

// masked returns a value as JSON with credentials masked.
func masked(at position, n *jsontree.Node) string {
	if n.Is(jsontree.String) {
		return text(jsontree.NewString(secret.Mask(at.name, n.Text), n))
	}
	return secret.Mask("", text(n))
}
