package lint

import (
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// nameSet is an approximate set of names: each name is one of 1024 bits. A rule that runs
// because of a collision finds nothing.
type nameSet [16]uint64

// hostMark is in the names of a file about hosts, in place of its members.
const hostMark = "UserData"

// kindMark is in the names of a file with a request of that kind, beside its members.
func kindMark(k document.Kind) string { return "$" + string(k) }

// isHosts reports whether a file of that kind describes hosts, or is not a request: a CloudFormation template,
// a launch template, user data, or a document of another service.
func isHosts(k document.Kind) bool {
	return k == document.KindStateMachine || k == document.KindEventBridge || k == document.KindTemplate ||
		k == document.KindLaunchTemplate || k == document.KindUserData
}

// add adds a name, and with it all names that share its bit.
func (s *nameSet) add(name string) {
	bit := nameBit(name)
	s[bit>>6] |= 1 << (bit & 63)
}

// holds reports whether all of the names may be in the set.
func (s *nameSet) holds(names *nameSet) bool {
	for i, bits := range names {
		if bits&^s[i] != 0 {
			return false
		}
	}
	return true
}

// nameBit spreads names by their length and three of their letters.
func nameBit(name string) uint16 {
	if name == "" {
		return 0
	}
	return uint16(len(name)*619+int(name[0])*151+int(name[len(name)/2])*397+int(name[len(name)-1])*37) % 1024
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

// namesIn returns the names in the requests of the files.
func namesIn(files []*document.File) (s nameSet) {
	for _, f := range files {
		for _, j := range f.Jobs {
			s.addAll(j.Register)
			s.addAll(j.Submit)
		}
		for _, r := range f.Requests {
			s.add(kindMark(r.Kind))
			s.addAll(r.Node)
		}
		if len(f.Jobs)+len(f.Requests) == 0 {
			s.add(kindMark(f.Kind))
			if !isHosts(f.Kind) {
				s.addAll(f.Root) // an update
			}
		}
		if isHosts(f.Kind) {
			s.add(hostMark)
		}
	}
	return s
}
