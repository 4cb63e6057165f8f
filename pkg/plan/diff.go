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
// for members that are true by default), and the deprecated vcpus and memory at 0.
func Diff(was, now *jsontree.Node) []Change {
	var d differ
	d.compare(position{}, was, now)
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
	return position{p.path + "." + name, name, slices.Contains([]string{"parameters", "tags", "labels", "annotations"},
		p.name)}
}

// element returns the position of an element of a list.
func (p position) element(key string) position {
	return position{path: p.path + "[" + key + "]", name: key}
}

// differ collects the changes of one Diff.
type differ struct{ changes []Change }

// compare compares two values; nil is a missing one.
func (d *differ) compare(at position, was, now *jsontree.Node) {
	if idle(at, was) {
		was = nil
	}
	if idle(at, now) {
		now = nil
	}
	switch {
	case was == nil && now == nil:
	case isA(jsontree.Object, was, now):
		d.members(at, was, now)
	case isA(jsontree.Array, was, now):
		d.elements(at, was, now)
	case was == nil || now == nil || was.Kind != now.Kind || was.Text != now.Text || was.Len()+now.Len() > 0:
		d.change(at, was, now)
	}
}

// isA reports whether both values are of the kind. A missing value counts as any kind.
func isA(kind jsontree.Kind, was, now *jsontree.Node) bool {
	return (was == nil || was.Kind == kind) && (now == nil || now.Kind == kind)
}

// idle reports whether a member has the same meaning as its absence.
func idle(at position, n *jsontree.Node) bool {
	switch {
	case n == nil || n.Kind == jsontree.Null:
		return true
	case n.Kind == jsontree.Array, n.Kind == jsontree.Object:
		return n.Len() == 0
	case n.Kind == jsontree.Bool:
		return n.Text == "false" && !slices.Contains([]string{"allowPrivilegeEscalation", "essential", "hostNetwork"},
			at.name)
	case n.Kind == jsontree.Number:
		return n.Text == "0" && (at.name == "vcpus" || at.name == "memory")
	}
	return n.Text == "" && !at.isNamed
}

// members compares objects.
func (d *differ) members(at position, was, now *jsontree.Node) {
	for m := range now.Children() {
		d.compare(at.member(m.Name), was.Get(m.Name), m)
	}
	for m := range was.Children() {
		if now.Get(m.Name) == nil {
			d.compare(at.member(m.Name), m, nil)
		}
	}
}

// elements compares lists of named things by name, of other objects by index, and
// of scalars as a whole, because their order counts.
func (d *differ) elements(at position, was, now *jsontree.Node) {
	if key := keyOf(was, now); key != "" {
		d.keyed(at, key, was, now)
		return
	}
	if !ofObjects(was) || !ofObjects(now) {
		if valueText(was) != valueText(now) {
			d.change(at, was, now)
		}
		return
	}
	for i := range max(was.Len(), now.Len()) {
		d.compare(at.element(fmt.Sprint(i)), was.Index(i), now.Index(i))
	}
}

// keyed compares lists whose elements have a unique key.
func (d *differ) keyed(at position, key string, was, now *jsontree.Node) {
	for e := range now.Children() {
		name := e.Get(key).Str()
		d.compare(at.element(name), without(find(was, key, name), key), without(e, key))
		if e.Len() == 1 && find(was, key, name) == nil {
			d.change(at.element(name), nil, e)
		}
	}
	for e := range was.Children() {
		if name := e.Get(key).Str(); find(now, key, name) == nil {
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
	for _, key := range []string{"name", "type", "containerPath", "targetNodes", "consumableResource",
		"computeEnvironment"} {
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

// valueText returns a value as JSON; "" for nil.
func valueText(n *jsontree.Node) string {
	if n == nil {
		return ""
	}
	return string(n.AppendJSON(nil))
}

// change adds a change.
func (d *differ) change(at position, was, now *jsontree.Node) {
	d.changes = append(d.changes, Change{Path: at.path, Old: masked(at, was), New: masked(at, now)})
}

// masked returns a value as JSON with credentials masked.
func masked(at position, n *jsontree.Node) string {
	if n.Is(jsontree.String) {
		return valueText(jsontree.NewString(secret.Mask(at.name, n.Text), n))
	}
	return secret.Mask("", valueText(n))
}
