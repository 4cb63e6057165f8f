package lint

import (
	"slices"
	"sync"
)

// Documented returns every rule under which a problem can be reported: those of
// Rules, and before them those that reading the documents applies, which have no
// Run. The list is made once.
func Documented() []Rule { return slices.Clone(documented()) }

var documented = sync.OnceValue(func() []Rule { return slices.Concat(documentRules(), all()) })

// Lookup returns the rule of that name.
func Lookup(name string) (Rule, bool) {
	i, ok := byName()[name]
	if !ok {
		return Rule{}, false
	}
	return documented()[i], true
}

// byName is the place of each rule in documented.
var byName = sync.OnceValue(func() map[string]int {
	places := map[string]int{}
	for i, r := range documented() {
		places[r.Name] = i
	}
	return places
})
