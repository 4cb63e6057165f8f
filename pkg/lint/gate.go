package lint

import (
	"sync"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Hundreds of rules are about members that a file does not have. Before they run,
// the names in the files' requests are noted in a small set, and a rule that says
// which members it is about is passed over where none of them can be there.

// hostMark stands in a file's names if it is about hosts: its own members are not
// looked at for that.
const hostMark = "UserData"

func isHosts(k document.Kind) bool {
	return k == document.KindTemplate || k == document.KindLaunchTemplate || k == document.KindUserData
}

// nameSet is a set of names that may hold more than it was given: each name is one
// of 256 bits. A rule that runs for nothing finds nothing.
type nameSet [4]uint64

func (s *nameSet) add(name string) {
	bit := nameBit(name)
	s[bit>>6] |= 1 << (bit & 63)
}

// holds reports whether all of the names may be in the set.
func (s *nameSet) holds(names nameSet) bool {
	return names[0]&^s[0]|names[1]&^s[1]|names[2]&^s[2]|names[3]&^s[3] == 0
}

// nameBit spreads names by their length and three of their letters.
func nameBit(name string) uint8 {
	if name == "" {
		return 0
	}
	return uint8(len(name)*29 + int(name[0])*7 + int(name[len(name)/2])*13 + int(name[len(name)-1])*3)
}

// addAll adds the names of all members below n.
func (s *nameSet) addAll(n *jsontree.Node) {
	for c := range n.Children() {
		if n.Is(jsontree.Object) {
			s.add(c.Name)
		}
		s.addAll(c)
	}
}

// namesIn is the names in the requests of the files.
func namesIn(files []*document.File) (s nameSet) {
	for _, f := range files {
		for _, j := range f.Jobs {
			s.addAll(j.Register)
			s.addAll(j.Submit)
		}
		for _, r := range f.Requests {
			s.addAll(r)
		}
		if isHosts(f.Kind) {
			s.add(hostMark)
		}
	}
	return s
}

// names is the members on the way of a path.
func (p path) names() (s nameSet) {
	for rest := p; rest != ""; {
		var name path
		name, rest = rest.step()
		if name != "*" {
			s.add(string(name))
		}
	}
	return s
}

// step cuts the first member off a path.
func (p path) step() (name, rest path) {
	end := 0
	for end < len(p) && p[end] != '.' && p[end] != '[' {
		end++
	}
	rest = p[end:]
	for rest != "" && (rest[0] == '[' || rest[0] == ']' || rest[0] == '.') {
		rest = rest[1:]
	}
	return p[:end], rest
}

// onlyWith says that the rule is about members: where none of the paths can be in a
// file's requests it finds nothing, and is not run.
func (r *Rule) onlyWith(paths ...path) *Rule {
	r.about = nil
	for _, p := range paths {
		r.about = append(r.about, p.names())
	}
	return r
}

// allOnlyWith is onlyWith for those rules of a topic that do not say it themselves.
func allOnlyWith(rules []Rule, topic string, paths ...path) {
	for i := range rules {
		if r := &rules[i]; r.Scope == topic && r.about == nil {
			r.onlyWith(paths...)
		}
	}
}

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
