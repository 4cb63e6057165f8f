package lint

import (
	"sync"
)

// Hundreds of rules are about members that a file does not have. Before they run,
// the names in the files' requests are noted in a small set, and a rule that says
// which members it is about is passed over where none of them can be there.

// gate is what Check has to look at to pass over a rule: the gates of all rules lie
// side by side, in a third of the memory of the rules.
type gate struct {
	names nameSet // of which all must be there; empty: the rule always runs
	or    []nameSet
}

func (g *gate) open(names *nameSet) bool {
	if names.holds(g.names) {
		return true
	}
	for i := range g.or {
		if names.holds(g.or[i]) {
			return true
		}
	}
	return false
}

func gatesOf(rules []Rule) []gate {
	gates := make([]gate, len(rules))
	for i, r := range rules {
		if len(r.about) > 0 {
			gates[i] = gate{r.about[0], r.about[1:]}
		}
	}
	return gates
}

// allGates is the gates of Rules.
var allGates = sync.OnceValue(func() []gate { return gatesOf(all()) })
