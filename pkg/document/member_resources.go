package document

import (
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// resourcesMember is what a container gets of its machine: a list of requirements, and the shared memory among the
// linuxParameters.
var resourcesMember = member{name: "resources", in: inContainer, aws: "resourceRequirements",
	override: "resourceRequirements", lower: resourceRequirements, extend: sharedMemory, find: findResources}

// resourceRequirements lowers resources. Every entry has the location of its member.
func resourceRequirements(l *lowering, resources *jsontree.Node) *jsontree.Node {
	list := l.arena.New(jsontree.Array, "", resources)
	for m := range resources.Children() {
		typ, value := requirement(&l.problems, m)
		if value == "" {
			continue
		}
		entry, kind := l.object(m), l.text(typ, m)
		kind.Span = m.Key
		entry.Set("type", kind)
		entry.Set("value", l.text(value, m))
		list.Append(entry)
	}
	if list.Len() == 0 {
		return nil
	}
	return list
}

// requirement returns AWS's type and value for a member of resources; no value for a
// member that requests nothing or is unreadable.
func requirement(p *problems, m *jsontree.Node) (typ, value string) {
	switch m.Name {
	case "vcpus":
		return "VCPU", readCount(p, m)
	case "memory":
		if mib := readSize(p, m); mib >= 0 {
			return "MEMORY", strconv.FormatInt(mib, 10)
		}
	case "gpus":
		// AWS rejects a GPU requirement of 0, which people write to mean none.
		if n := readCount(p, m); n != "0" {
			return "GPU", n
		}
	}
	return "", ""
}

// sharedMemory moves resources.sharedMemory to linuxParameters, where AWS has it.
func sharedMemory(l *lowering, resources, container *jsontree.Node) {
	m := resources.Get("sharedMemory")
	if m == nil {
		return
	}
	if mib := readSize(&l.problems, m); mib >= 0 {
		l.setLinux(container, "sharedMemorySize", l.number(mib, m), "resources.sharedMemory")
	}
}

// setLinux sets one of a container's linuxParameters. by is the member of the job that gives the value.
func (l *lowering) setLinux(container *jsontree.Node, name string, value *jsontree.Node, by string) {
	linux := container.Get("linuxParameters")
	if linux == nil {
		linux = l.object(value)
		container.Set("linuxParameters", linux)
	}
	if other := linux.Get(name); other != nil {
		if isWithin(l.job, other) == isWithin(l.job, value) {
			l.report(RuleMemberConflict, other, other.Key, "remove it: "+by+" gives the same size, with a unit",
				"%s is set twice", name)
		} else if isWithin(l.job, other) {
			return
		}
	}
	linux.Set(name, value)
}

// findResources finds the requirements of a container, if all of them have a short form, and the shared memory.
func findResources(c *compaction) {
	list := c.box().Get("resourceRequirements")
	resources := shortResources(list)
	if resources != nil {
		c.taken[list] = true
	} else {
		resources = jsontree.NewObject(list)
	}
	shared := c.box().Get("linuxParameters").Get("sharedMemorySize")
	if short := shortSize(shared, jsontree.Number); short != nil {
		resources.Set("sharedMemory", short)
		c.taken[shared] = true
	}
	if resources.Len() > 0 {
		c.found["resources"] = resources
	}
}

// shortResources returns the resources member for a list of requirements.
func shortResources(list *jsontree.Node) *jsontree.Node {
	if list.Len() == 0 {
		return nil
	}
	out := jsontree.NewObject(list)
	for entry := range list.Children() {
		value := entry.Get("value")
		var name string
		var short *jsontree.Node
		switch entry.Get("type").Str() {
		case "VCPU":
			name, short = "vcpus", shortCount(value)
		case "GPU":
			name, short = "gpus", shortCount(value)
		case "MEMORY":
			name, short = "memory", shortSize(value, jsontree.String)
		}
		if short == nil || out.Get(name) != nil || name == "gpus" && value.Str() == "0" {
			return nil
		}
		if name == "gpus" && strings.Contains(value.Str(), ".") {
			short = value.Clone() // only whole numbers are allowed there without quotes
		}
		out.Set(name, short)
	}
	return out
}

// shortCount returns a count as a number without quotes; nil if that would change its
// text.
func shortCount(value *jsontree.Node) *jsontree.Node {
	if !value.Is(jsontree.String) {
		return nil
	}
	if n, err := count(value); err != nil || n != value.Str() {
		return nil
	}
	short := jsontree.NewInt(0, value)
	short.Text = value.Text
	return short
}

// shortSize returns a number of MiB, in a node of this kind, as a size.
func shortSize(n *jsontree.Node, kind jsontree.Kind) *jsontree.Node {
	if mib, ok := plainInt(n, kind); ok {
		return sizeNode(mib, n)
	}
	return nil
}
