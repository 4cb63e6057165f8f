package document

import (
	"strconv"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// resourceRequirements lowers resources. Every entry has the location of its member.
func resourceRequirements(p *part, resources *jsontree.Node) *jsontree.Node {
	list := p.arena.New(jsontree.Array, "", resources)
	for m := range resources.Children() {
		typ, value := requirement(&p.problems, m)
		if value == "" {
			continue
		}
		entry, kind := p.object(m), p.text(typ, m)
		kind.Span = m.Key
		entry.Set("type", kind)
		entry.Set("value", p.text(value, m))
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
func sharedMemory(p *part, job, container *jsontree.Node) {
	m := job.Get("resources").Get("sharedMemory")
	if m == nil {
		return
	}
	mib := readSize(&p.problems, m)
	if mib < 0 {
		return
	}
	linux := container.Get("linuxParameters")
	if linux == nil {
		linux = p.object(m)
		container.Set("linuxParameters", linux)
	}
	if other := linux.Get("sharedMemorySize"); other != nil {
		if isWithin(job, other) == isWithin(job, m) {
			p.report(RuleMemberConflict, other, other.Key,
				"remove it: resources.sharedMemory gives the same size, with a unit",
				"sharedMemorySize is set twice")
		} else if isWithin(job, other) {
			return
		}
	}
	linux.Set("sharedMemorySize", p.number(mib, m))
}
