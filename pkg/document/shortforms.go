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

// size reads a size in MiB. It reports an unreadable one, and returns -1.
func (l *lowering) size(m *jsontree.Node) int64 {
	mib, err := mebibytes(m)
	if err != nil {
		l.report(RuleResourceUnit, m, m.Span, hintOf(err), "%s: %v", m.Name, err)
		return -1
	}
	return mib
}

// count reads a number of vCPUs or GPUs; "" for an unreadable one.
func (l *lowering) count(m *jsontree.Node) string {
	n, err := count(m)
	if err != nil {
		l.report(RuleResourceUnit, m, m.Span, hintOf(err), "%s: %v", m.Name, err)
	}
	return n
}

// duration reads a duration in seconds; -1 for an unreadable one.
func (l *lowering) duration(m *jsontree.Node) int64 {
	n, err := seconds(m)
	if err != nil {
		l.report(RuleDuration, m, m.Span, hintOf(err), "%s: %v", m.Name, err)
		return -1
	}
	return n
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

// pairs lowers a map of strings to AWS's list of names and values; a list stays unchanged.
func (l *lowering) pairs(m *jsontree.Node, value string) *jsontree.Node {
	if !m.Is(jsontree.Object) {
		return l.arena.Clone(m)
	}
	list := l.arena.New(jsontree.Array, "", m)
	nodes := l.arena.Nodes(3 * m.Len()) // a job may have many, so they share an allocation
	for v := range m.Children() {
		entry, name, other := &nodes[0], &nodes[1], &nodes[2]
		nodes = nodes[3:]
		entry.Kind, entry.Source, entry.Span, entry.Key = jsontree.Object, v.Source, v.Span, v.Key
		name.Kind, name.Source, name.Span, name.Key = jsontree.String, v.Source, v.Key, v.Key
		name.Name, name.Text = "name", v.Name
		other.Kind, other.Source, other.Span, other.Key = v.Kind, v.Source, v.Span, v.Key
		other.Name, other.Text = value, v.Text
		entry.Append(name)
		entry.Append(other)
		list.Append(entry)
	}
	return list
}

// retryStrategy returns the strategy of the requests; a number is short for its attempts.
func (l *lowering) retryStrategy() *jsontree.Node {
	m := l.job.Get("retryStrategy")
	if !m.Is(jsontree.Number) {
		return l.arena.Clone(m)
	}
	out := l.object(m)
	out.Set("attempts", l.arena.Clone(m))
	return out
}

// timeout returns the timeout of the requests; a text such as "2h" is short for an object.
func (l *lowering) timeout() *jsontree.Node {
	m := l.job.Get("timeout")
	if !m.Is(jsontree.String) {
		return l.arena.Clone(m)
	}
	n := l.duration(m)
	if n < 0 {
		return nil
	}
	out := l.object(m)
	out.Set("attemptDurationSeconds", l.number(n, m))
	return out
}

// jobIDs returns the dependencies in the form of SubmitJob: those on submitted jobs, and a
// SEQUENTIAL dependency of an array on itself, which names no job.
func (l *lowering) jobIDs() *jsontree.Node {
	depends := l.job.Get("dependsOn")
	list := l.arena.New(jsontree.Array, "", depends)
	for d := range depends.Children() {
		if d.Is(jsontree.Object) && d.Get("job") == nil && d.Get("jobName") == nil {
			list.Append(l.arena.Clone(d))
		}
	}
	if list.Len() == 0 {
		return nil
	}
	return list
}

// dependsOn returns the dependencies by name: on jobs of the same file, and on those
// that were submitted before.
func (l *lowering) dependsOn() (here, earlier []Dependency) {
	for d := range l.job.Get("dependsOn").Children() {
		job, before := d.Get("job"), d.Get("jobName")
		switch {
		case d.Is(jsontree.String):
			here = append(here, Dependency{Job: d.Text, Node: d})
		case job != nil:
			here = append(here, Dependency{Job: job.Str(), Type: d.Get("type").Str(), Node: d})
			l.alone(d, "job", "jobId", "jobName")
		case before != nil:
			earlier = append(earlier, Dependency{Job: before.Str(), Type: d.Get("type").Str(), Node: d})
			l.alone(d, "jobName", "jobId")
		}
	}
	return here, earlier
}

// alone reports members that name another job in a dependency that names one already.
func (l *lowering) alone(d *jsontree.Node, first string, others ...string) {
	for _, name := range others {
		if m := d.Get(name); m != nil {
			l.report(RuleMemberConflict, m, m.Key, "keep one of them", "%s and %s exclude each other", first, name)
		}
	}
}

// when returns in which case the job runs; "" for the default of AWS Batch.
func (l *lowering) when() string {
	switch when := l.job.Get("when").Str(); when {
	case WhenAlways, WhenFailure:
		return when
	}
	return ""
}
