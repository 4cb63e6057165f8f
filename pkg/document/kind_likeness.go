package document

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// kindOf returns the kind of a document, from its $schema or else from its members. One
// unknown member does not change the kind, and one member that other tools have too does not decide. It returns "" if
// no kind matches.
func kindOf(root *jsontree.Node) Kind {
	if kind := kindOfSchema(root.Get("$schema").Str()); kind != "" {
		return kind
	}
	if isResources(root) {
		return KindResources
	}
	if kind := kindOfOperation(operationsOf(root)); kind != "" {
		return kind
	}
	if p, ok := partOf(root); ok {
		return p.kind
	}
	best, most := Kind(""), 0
	read := spellingsOf(root)
	for _, k := range kinds {
		if k.kind != KindJob && !k.kind.native() {
			continue
		}
		if n := k.kind.likeness(read); n > most {
			best, most = k.kind, n
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
	if best == "" || schemaOfOurs(root) || best.suffices(root, read) {
		return best
	}
	return ""
}

// resemblesWorkflow reports whether the list of jobs is one of batchctl: other tools have lists of that name.
func resemblesWorkflow(root, jobs *jsontree.Node) bool {
	first := jobs.Index(0)
	return schemaOfOurs(root) || !first.Is(jsontree.Object) || KindWorkflow.shared(root) > 1 ||
		KindJob.shared(first) > 0 || traitsOf(first).known > 0
}

// isOtherTools reports whether the document is one of another tool, and has no two members that mean AWS Batch.
func isOtherTools(root *jsontree.Node) bool {
	if otherTool(root) == "" {
		return false
	}
	m := traitsOf(root)
	return m.native == 0 && m.batch < 2 && m.strong < 2
}

// suffices reports whether the document has two members of the kind with values of the right type, or one that only
// this kind has. A document with nothing but a name is a job that you have begun to write.
func (k Kind) suffices(root *jsontree.Node, read spellings) bool {
	n := 0
	k.each(read, func(name string, m *jsontree.Node, fits bool) {
		switch weight := k.weight(plain(name), m); {
		case weight >= 8, weight == 1 && k != KindSubmitJob:
			n += 2
		case fits:
			n++
		}
	})
	return n > 1 || contents(root) == 1 && root.Get(k.NameMember()) != nil
}

// sure is the least likeness of a document with two members that only jobs or requests
// have.
const sure = 5

// platformLikeness counts the members that only a platform file has, as likeness does.
func platformLikeness(root *jsontree.Node) (points int) {
	members := membersOf[KindPlatform]()
	for _, name := range [...]string{"targets", "queues", "policy", "defaultTarget", "defaults", "prices"} {
		if m := root.Get(name); m != nil {
			points++
			if members[name].fitsSome(m) {
				points++
			}
		}
	}
	return points
}

// likeness scores the members that a document of the kind has: one point for the name in
// any case, since the schema then reports the case; two if the type matches; and more for
// members that hardly occur in other formats.
func (k Kind) likeness(read spellings) (points int) {
	k.each(read, func(name string, m *jsontree.Node, fits bool) {
		points++
		if fits {
			points += 1 + k.weight(plain(name), m)
		}
	})
	return points
}

// each calls visit for the members of the document that the kind has, in any spelling, with the
// name that the kind has for them, and whether the value is of a type that it accepts.
func (k Kind) each(read spellings, visit func(name string, m *jsontree.Node, fits bool)) {
	members := membersOf[k]()
	for i := range read {
		m := &read[i]
		name := m.Name
		known := members[name]
		if known == nil {
			name = m.plain
			known = members[name]
		}
		if known == nil {
			if name = m.near(); name == "" {
				continue
			}
			known = members[name]
		}
		if known == nil {
			continue
		}
		visit(name, m.Node, known.fitsSome(m.Node) || isPlaceholder(m.Node))
	}
}

// spellings are the members of an object, read once for all kinds that they are compared with.
type spellings []spelling

// spelling is a member with the names that its own may mean.
type spelling struct {
	*jsontree.Node
	of       *jsontree.Node
	plain    string
	mark     string // the member of which the name is a misspelling, if searched
	searched bool
}

// spellingsOf reads the members other than those whose names begin with $.
func spellingsOf(root *jsontree.Node) spellings {
	read := make(spellings, 0, root.Len())
	for m := range root.Children() {
		if !strings.HasPrefix(m.Name, "$") {
			read = append(read, spelling{Node: m, of: root, plain: plain(m.Name)})
		}
	}
	return read
}

// near returns the characteristic member of which the name is a misspelling; "" without one, and if the object has that
// member too. A member of another kind is no misspelling.
func (s *spelling) near() string {
	if !s.searched {
		s.searched = true
		if isMember()[s.Name] {
			return ""
		}
		if mark := nearMark(s.Name); mark != "" && s.of.Get(mark) == nil {
			s.mark = mark
		}
	}
	return s.mark
}

// weight is the additional score of a member: for a name that no other kind has, or for a
// value that only jobs have.
func (k Kind) weight(name string, n *jsontree.Node) int {
	switch name {
	case "image", "command", "resources", "definition":
		if k == KindJob {
			return 3
		}
	case "jobqueue", "jobdefinition":
		if k == KindSubmitJob {
			return 3
		}
	case "containerproperties", "nodeproperties", "ecsproperties", "eksproperties", "computeresources",
		"computeenvironmentorder",
		"fairsharepolicy", "quotasharepolicy", "containeroverrides", "resourcesharingconfiguration":
		if n.Len() > 0 {
			return 8
		}
	case "serviceenvironmenttype":
		return 8
	case "name":
	default:
		if name == plain(k.NameMember()) {
			return 1
		}
	}
	return 0
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
	return KindSubmitJob.likeness(read) > KindJob.likeness(read)
}
