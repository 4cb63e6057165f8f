package lint

import (
	"slices"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Known returns the definition that the job runs: its own, or the one of that name in
// another file. It returns nil if the files do not register it.
func (j Job) Known() *jsontree.Node {
	if j.Register != nil {
		return j.Register
	}
	if d, ok := resolve(registered.of(j.pass)[batch.Name(j.Submit.Get("jobDefinition").Str())], j); ok {
		return d.Register
	}
	return nil
}

// Own returns the member of the SubmitJob request, unless it is a copy of the same member
// of the definition: the compact form writes such members once.
func (j Job) Own(member string) *jsontree.Node {
	n := j.Submit.Get(member)
	if !sameLocation(n, j.Register.Get(member)) {
		return n
	}
	return nil
}

// registered holds the job definitions of the files by name.
var registered = newFact(func(p *Pass, _ map[string][]Job) map[string][]Job {
	byName := map[string][]Job{}
	for _, j := range p.definitions {
		if name := j.Register.Get("jobDefinitionName").Str(); name != "" {
			byName[name] = append(byName[name], j)
		}
	}
	for name, list := range byName {
		isNative := func(j Job) bool { return j.Submit == nil }
		if slices.ContainsFunc(list, isNative) { // as plan.Build chooses
			byName[name] = slices.DeleteFunc(list, func(j Job) bool { return !isNative(j) })
		}
	}
	return byName
})

// resolve returns the one of several things with the same name to which a file refers: the
// last one, as if they were created in this order. In a run over directories it is the
// one in the same directory, or unknown.
func resolve[T interface{ directory() string }](list []T, from Job) (one T, ok bool) {
	for _, one := range slices.Backward(list) {
		if len(list) == 1 || one.directory() == from.directory() {
			return one, true
		}
	}
	return one, false
}

// runs maps definitions to the submissions that run them.
var runs = newFact(func(p *Pass, old map[*jsontree.Node][]Job) map[*jsontree.Node][]Job {
	by := emptied(old)
	for _, j := range p.submits {
		if d := j.Known(); d != nil {
			by[d] = append(by[d], j)
		}
	}
	return by
})
