package document

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

const expected = `expected a job ("name" and "image"), a workflow ("jobs"), a platform file ("targets", "queues", ` +
	`"policy"), or an AWS request such as RegisterJobDefinition ("jobDefinitionName") or SubmitJob ("jobName")`

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
	return schemaOfOurs(root) || !first.Is(jsontree.Object) || KindWorkflow.shared(root) > 1 || KindJob.shared(first) > 0 || traitsOf(first).known > 0
}

// contents counts the members other than $schema and $comment.
func contents(root *jsontree.Node) (n int) {
	for m := range root.Children() {
		if !strings.HasPrefix(m.Name, "$") {
			n++
		}
	}
	return n
}

// schemaOfOurs reports whether the $schema is one of batchctl's, even if it tells no kind.
func schemaOfOurs(root *jsontree.Node) bool {
	location, _, _ := strings.Cut(root.Get("$schema").Str(), "#")
	return strings.Contains(location, "batchctl") || path.Base(location) == "native.schema.json"
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
	case "containerproperties", "nodeproperties", "ecsproperties", "eksproperties", "computeresources", "computeenvironmentorder",
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

// membersOf holds the top-level members of each kind of document, by name and by name in
// lower case.
var membersOf = membersEach()

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

// kindOfSchema returns the kind of an embedded schema by its file name. native.schema.json
// has several kinds; its fragment or else the members select one.
func kindOfSchema(location string) Kind {
	location, fragment, _ := strings.Cut(location, "#")
	switch name, _ := withoutVersion(path.Base(location)); name {
	case "job.schema.json":
		return KindJob
	case "workflow.schema.json":
		return KindWorkflow
	case "platform.schema.json":
		return KindPlatform
	case "joblist.schema.json":
		return KindJobList
	case "resources.schema.json":
		return KindResources
	case "native.schema.json":
		if kind := Kind(path.Base(fragment)); kind.native() {
			return kind
		}
	}
	return ""
}

// FormatVersion is the version of job files, workflow files, platform files, job lists and files of resources. Another
// version would have another schema, such as job.v2.schema.json.
const FormatVersion = 1

// withoutVersion splits the file name of a schema: job.v2.schema.json is version 2 of job.schema.json. A name without a
// version is version 1.
func withoutVersion(file string) (name string, version int) {
	kind, rest, _ := strings.Cut(file, ".")
	digits, suffix, _ := strings.Cut(rest, ".")
	digits, versioned := strings.CutPrefix(digits, "v")
	if !versioned || suffix != "schema.json" {
		return file, 1
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return file, 1
	}
	return kind + "." + suffix, n
}

// schemaVersion returns the version of the format that a $schema names; 0 if the schema is not one of batchctl's.
func schemaVersion(location string) int {
	if kindOfSchema(location) == "" {
		return 0
	}
	location, _, _ = strings.Cut(location, "#")
	_, version := withoutVersion(path.Base(location))
	return version
}

// newerDocument is the problem of a document in a later version of its format.
func newerDocument(root *jsontree.Node, version int) diag.Diagnostic {
	n := root.Get("$schema")
	return problem(RuleDocumentKind, n.Source, n.Span, "update batchctl",
		"%s is version %d of the format, and this batchctl reads version %d", path.Base(n.Str()), version, FormatVersion)
}

// notADocument is the problem of a document without any member that tells its kind.
func notADocument(root *jsontree.Node) diag.Diagnostic {
	d := diag.Diagnostic{
		Rule: RuleDocumentKind, Source: root.Source, Span: brace(root),
		Message: "unknown type of document", Hint: expected,
	}
	if what := otherTool(root); what != "" {
		d.Message, d.Hint = "this is "+what+", not a document of AWS Batch", expected
		return d
	}
	if !root.Is(jsontree.Object) {
		d.Message = fmt.Sprintf("a document must be an object, not %s", root.Kind)
		d.Span = root.Span
	}
	return d
}

// notAJobFile is the problem of a template for commands that accept only jobs. Comparing
// it with a job would report every member.
func notAJobFile(root *jsontree.Node) diag.Diagnostic {
	return problem(RuleDocumentKind, root.Source, brace(root), "check it with batchctl validate, and deploy it with CloudFormation",
		"this is a CloudFormation template, not a job file")
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
