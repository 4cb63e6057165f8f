package lint

import (
	"slices"
	"sync"
)

// Documented returns every rule that can have a problem: first those of the reader of
// documents, which have no Run, and then those of Rules. The list is built once.
func Documented() []Rule { return slices.Clone(documented()) }

// documented is Documented without the copy.
var documented = sync.OnceValue(func() []Rule { return slices.Concat(documentRules(), all()) })

// Lookup returns the rule of that name.
func Lookup(name string) (Rule, bool) {
	i, ok := byName()[name]
	if !ok {
		return Rule{}, false
	}
	return documented()[i], true
}

// byName holds the index of each rule in documented.
var byName = sync.OnceValue(func() map[string]int {
	indexes := map[string]int{}
	for i, r := range documented() {
		indexes[r.Name] = i
	}
	return indexes
})
