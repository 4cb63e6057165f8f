package document

import (
	"strconv"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// resourceRequirements lowers resources. Every entry has the location of its member.
func (l *lowering) resourceRequirements() *jsontree.Node {
	resources := l.job.Get("resources")
	list := l.arena.New(jsontree.Array, "", resources)
	for m := range resources.Children() {
		typ, value := l.requirement(m)
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
func (l *lowering) requirement(m *jsontree.Node) (typ, value string) {
	switch m.Name {
	case "vcpus":
		return "VCPU", l.count(m)
	case "memory":
		if mib := l.size(m); mib >= 0 {
			return "MEMORY", strconv.FormatInt(mib, 10)
		}
	case "gpus":
		// AWS rejects a GPU requirement of 0, which people write to mean none.
		if n := l.count(m); n != "0" {
			return "GPU", n
		}
	}
	return "", ""
}

// sharedMemory moves resources.sharedMemory to linuxParameters, where AWS has it.
func (l *lowering) sharedMemory(container *jsontree.Node) {
	m := l.job.Get("resources").Get("sharedMemory")
	if m == nil {
		return
	}
	mib := l.size(m)
	if mib < 0 {
		return
	}
	linux := container.Get("linuxParameters")
	if linux == nil {
		linux = l.object(m)
		container.Set("linuxParameters", linux)
	}
	if other := linux.Get("sharedMemorySize"); other != nil {
		if l.wrote(other) == l.wrote(m) {
			l.report(RuleMemberConflict, other, other.Key, "remove it: resources.sharedMemory gives the same size, with a unit",
				"sharedMemorySize is set twice")
		} else if l.wrote(other) {
			return
		}
	}
	linux.Set("sharedMemorySize", l.number(mib, m))
}
