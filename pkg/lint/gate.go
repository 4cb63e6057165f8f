package lint

import (
	"sync"
)

// Hundreds of rules are about members that a file does not have. So Check first
// collects the names in the files' requests in a small set, and skips rules whose
// members cannot occur.

// gate decides whether Check can skip a rule. The gates of all rules are adjacent, in a
// third of the memory of the rules.
type gate struct {
	names nameSet // all of them must occur; if empty, the rule always runs
	// or holds alternatives to names: one complete set is enough.
	or []nameSet
}

// open reports whether the rule may find something in files with these names.
func (g *gate) open(names *nameSet) bool {
	if names.holds(&g.names) {
		return true
	}
	for i := range g.or {
		if names.holds(&g.or[i]) {
			return true
		}
	}
	return false
}

// gatesOf returns the gate of each rule, in the same order.
func gatesOf(rules []Rule) []gate {
	gates := make([]gate, len(rules))
	for i, r := range rules {
		if len(r.about) > 0 {
			gates[i] = gate{r.about[0], r.about[1:]}
		}
	}
	return gates
}

// allGates holds the gates of Rules.
var allGates = sync.OnceValue(func() []gate { return gatesOf(all()) })
