package document

import (
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// kindOf returns the kind of a document, from its $schema or else from its members. One
// unknown member does not change the kind, and one member that other tools have too does not decide. It returns "" if
// no kind matches.
func kindOf(root *jsontree.Node) Kind {
	if kind := kindOfSchema(root.Get("$schema").Str()); kind != "" {
		return kind
	}
	if kind := kindApart(root); kind != "" {
		return kind
	}
	best, most, suffices := Kind(""), 0, false
	read := spellingsOf(root)
	for _, k := range kinds {
		if k.kind != KindJob && !k.kind.native() {
			continue
		}
		if points, proofs := k.kind.likeness(read); points > most {
			best, most, suffices = k.kind, points, proofs > 1
		}
	}
	if isOtherTools(root) {
		return ""
	}
	if jobs := jobsOf(root); jobs != nil && (jobs.Index(0).Is(jsontree.Object) || most < sure) {
		switch {
		case isJobList(root):
			return KindJobList
		case resemblesWorkflow(root, jobs):
			return KindWorkflow
		}
	}
	if n := platformLikeness(root); n > 0 && (most < sure || n > most) && (n > 2 || n+1 >= 2*contents(root)) {
		return KindPlatform
	}
	// A document with nothing but a name is a job that you have begun to write.
	if suffices || schemaOfOurs(root) || contents(root) == 1 && root.Get(best.NameMember()) != nil ||
		signsOf(root).verdict() == Ours {
		return best
	}
	return ""
}

// sure is the least likeness of a document with two members that only jobs or requests
// have.
const sure = 5

// kindApart returns the kind of a document that is not compared with the others: resources, a request of operationTable
// and a part of a request. It returns "" for any other document.
func kindApart(root *jsontree.Node) Kind {
	if isResources(root) {
		return KindResources
	}
	if kind, _ := operationOf(root); kind != "" {
		return kind
	}
	if p, ok := partOf(root); ok {
		return p.kind
	}
	return ""
}

// resemblesWorkflow reports whether the list of jobs is one of batchctl: other tools have lists of that name.
func resemblesWorkflow(root, jobs *jsontree.Node) bool {
	first := jobs.Index(0)
	return schemaOfOurs(root) || !first.Is(jsontree.Object) || KindWorkflow.shared(root) > 1 ||
		KindJob.shared(first) > 0 || KindSubmitJob.shared(first) > 0
}

// isOtherTools reports whether the document is one of another tool, and has no two members that mean AWS Batch.
func isOtherTools(root *jsontree.Node) bool {
	if otherTool(root) == "" {
		return false
	}
	s := signsOf(root)
	return s[native] == 0 && s[request] < 2 && s[strong] < 2
}

// isJobList distinguishes a list of SubmitJob requests from a workflow: its first job has
// a jobName or a jobQueue, and resembles such a request more than a job.
func isJobList(root *jsontree.Node) bool {
	jobs := root.Get("jobs")
	if !jobs.Is(jsontree.Array) || root.Get("defaults") != nil {
		return false
	}
	first := jobs.Index(0)
	if first.Get("jobName") == nil && first.Get("jobQueue") == nil {
		return false
	}
	read := spellingsOf(first)
	asRequest, _ := KindSubmitJob.likeness(read)
	asJob, _ := KindJob.likeness(read)
	return asRequest > asJob
}

// isResources reports whether a document has lists of requests that create resources. The output of a describe
// operation has such lists too, and its elements have members that no request has.
func isResources(root *jsontree.Node) bool {
	lists, requests := 0, 0
	for list := range root.Children() {
		if !list.Is(jsontree.Array) {
			continue
		}
		name := plain(list.Name)
		for _, l := range ResourceLists {
			if !strings.EqualFold(l.Member, name) {
				continue
			}
			lists++
			if first := list.Index(0); first.Is(jsontree.Object) && l.Kind.shared(first) > 0 {
				requests++
			}
		}
	}
	if requests == 0 || 2*lists < contents(root) {
		return false
	}
	d, _ := describedIn(root)
	return d == nil
}

// platformLikeness counts the members that only a platform file has, as likeness does.
func platformLikeness(root *jsontree.Node) (points int) {
	members := membersOf[KindPlatform]()
	for _, name := range [...]string{"targets", "queues", "policy", "defaultTarget", "defaults", "prices"} {
		if m := root.Get(name); m != nil {
			points++
			if members[plain(name)].fitsSome(m) {
				points++
			}
		}
	}
	return points
}

// likeness scores the members that a document of the kind has: one point for the name in
// any case, since the schema then reports the case; two if the type matches; and more for
// members that hardly occur in other formats. Two proofs are two members with values of the right type, or one that
// only this kind has.
func (k Kind) likeness(read []spelled) (points, proofs int) {
	members, own := membersOf[k](), k.NameMember()
	for _, m := range read {
		shape := members[m.name]
		if shape == nil {
			continue
		}
		points++
		weight := 0
		switch s := signOf()[m.name]; {
		case s.weight > 0 && s.kind == k, s.weight > 0 && s.kind == "" && (m.Len() > 0 || m.Is(jsontree.String)):
			weight = s.weight
		case own != "name" && strings.EqualFold(m.name, own):
			weight = 1
		}
		fits := shape.fitsSome(m.Node) || isPlaceholder(m.Node)
		if fits {
			points += 1 + weight
		}
		switch {
		case weight == onlyOne, weight == 1 && k != KindSubmitJob:
			proofs += 2
		case fits:
			proofs++
		}
	}
	return points, proofs
}

// spelled is a member with the name that is meant.
type spelled struct {
	*jsontree.Node
	name string
}

// spellingsOf reads the members other than those whose names begin with $, once for all kinds that they are compared
// with.
func spellingsOf(root *jsontree.Node) []spelled {
	read := make([]spelled, 0, root.Len())
	for m := range root.Children() {
		if !strings.HasPrefix(m.Name, "$") {
			read = append(read, spelled{m, meant(root, m)})
		}
	}
	return read
}

// meant returns the name of a member of root as plain does. For a misspelt one, that is the name of the characteristic
// member that the object lacks.
func meant(root, m *jsontree.Node) string {
	if _, ok := signOf()[m.Name]; ok {
		return m.Name
	}
	name := plain(m.Name)
	if _, ok := signOf()[name]; ok || isMember()[name] {
		return name
	}
	if near := nearMark(m.Name); near != "" && root.Get(near) == nil {
		return plain(near)
	}
	return name
}

// membersOf holds the top-level members of each kind of document, by the name that plain returns. They are collected on
// first use.
var membersOf = func() map[Kind]func() map[string]*shape {
	out := map[Kind]func() map[string]*shape{}
	for kind, top := range shapes {
		out[kind] = sync.OnceValue(func() map[string]*shape {
			members := map[string]*shape{}
			top().each(func(s *shape) {
				for name, m := range s.members {
					members[plain(name)] = m.shape
				}
			})
			return members
		})
	}
	return out
}()

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
		if !strings.HasPrefix(m.Name, "$") && members[plain(m.Name)] != nil {
			n++
		}
	}
	return n
}
