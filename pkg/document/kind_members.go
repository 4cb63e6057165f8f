package document

import (
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// membersOf holds the top-level members of each kind of document, by name and by name in
// lower case.
var membersOf = membersEach()

// membersEach returns the members of each kind of document, by name and by name in lower
// case. They are collected on first use.
func membersEach() map[Kind]func() map[string]*shape {
	out := map[Kind]func() map[string]*shape{}
	for kind, top := range shapes {
		out[kind] = sync.OnceValue(func() map[string]*shape {
			members := map[string]*shape{}
			top().each(func(s *shape) {
				for name, m := range s.members {
					members[name], members[strings.ToLower(name)] = m.shape, m.shape
				}
			})
			return members
		})
	}
	return out
}

// isMember holds the names of the top-level members of all kinds that kindOf compares.
var isMember = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, k := range kinds {
		if k.kind == KindJob || k.kind.native() {
			for name := range membersOf[k.kind]() {
				all[name] = true
			}
		}
	}
	return all
})

// shared counts the members of the object that a document of the kind has.
func (k Kind) shared(root *jsontree.Node) (n int) {
	members := membersOf[k]()
	for m := range root.Children() {
		if !strings.HasPrefix(m.Name, "$") && (members[m.Name] != nil || members[plain(m.Name)] != nil) {
			n++
		}
	}
	return n
}
