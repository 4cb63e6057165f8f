package document

import (
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

const expected = `expected a job ("name" and "image"), a workflow ("jobs"), a platform file ("targets", "queues", ` +
	`"policy"), or an AWS request such as RegisterJobDefinition ("jobDefinitionName") or SubmitJob ("jobName")`

// kindOf finds what a document is from its $schema, else from its members. One
// member too many does not make it another kind. It returns "" for a document that
// fits nothing.
func kindOf(root *jsontree.Node) Kind {
	if kind := kindOfSchema(root.Get("$schema").Str()); kind != "" {
		return kind
	}
	best, most := Kind(""), 0
	for _, k := range kinds {
		if k.kind != KindJob && !k.kind.native() {
			continue
		}
		if n := k.kind.likeness(root); n > most {
			best, most = k.kind, n
		}
	}
	if jobs := jobsOf(root); jobs != nil && (jobs.Index(0).Is(jsontree.Object) || most < sure) {
		if isJobList(root) {
			return KindJobList
		}
		return KindWorkflow
	}
	if n := platformLikeness(root); n > 0 && (most < sure || n > most) {
		return KindPlatform
	}
	return best
}

// sure is the least likeness of a document with a member that jobs or requests alone
// have, beside another one of theirs.
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

// likeness counts the members that a document of the kind has: one point for
// the name in any case (the schema then says which case is meant), two if the
// type fits, and more for what hardly occurs elsewhere.
func (k Kind) likeness(root *jsontree.Node) int {
	members := membersOf[k]()
	points := 0
	for m := range root.Children() {
		if strings.HasPrefix(m.Name, "$") {
			continue
		}
		name := m.Name
		known := members[name]
		if known == nil {
			name = plain(name)
			known = members[name]
		}
		if known == nil {
			if name = nearMark(m.Name); name == "" || root.Get(name) != nil {
				continue
			}
			known = members[name]
		}
		if known == nil {
			continue
		}
		points++
		if known.fitsSome(m) {
			points += 1 + k.weight(plain(name), m)
		}
	}
	return points
}

// weight is what a member says beyond its being known: a name that no other kind
// has, or a value that makes a job.
func (k Kind) weight(word string, n *jsontree.Node) int {
	switch word {
	case "image", "command", "resources", "definition":
		if k == KindJob {
			return 3
		}
	case "jobqueue", "jobdefinition":
		if k == KindSubmitJob {
			return 3
		}
	case "containerproperties", "nodeproperties", "ecsproperties", "eksproperties", "computeresources", "computeenvironmentorder",
		"fairsharepolicy", "quotasharepolicy", "containeroverrides":
		if n.Len() > 0 {
			return 8
		}
	case "name":
	default:
		if word == plain(k.name()) {
			return 1
		}
	}
	return 0
}

// membersOf holds the members that a document of each kind has at its top, by
// their names and by those in small letters.
var membersOf = membersEach()

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

// kindOfSchema knows our schemas by file name. The native one holds several
// kinds, told apart by its fragment or else by the members.
func kindOfSchema(location string) Kind {
	location, fragment, _ := strings.Cut(location, "#")
	switch path.Base(location) {
	case "job.schema.json":
		return KindJob
	case "workflow.schema.json":
		return KindWorkflow
	case "platform.schema.json":
		return KindPlatform
	case "joblist.schema.json":
		return KindJobList
	case "native.schema.json":
		if kind := Kind(path.Base(fragment)); kind.native() {
			return kind
		}
	}
	return ""
}

func notADocument(root *jsontree.Node) diag.Diagnostic {
	d := diag.Diagnostic{
		Rule: RuleDocumentKind, Source: root.Source, Span: brace(root),
		Message: "unknown type of document", Hint: expected,
	}
	if !root.Is(jsontree.Object) {
		d.Message = fmt.Sprintf("a document must be an object, not %s", root.Kind)
		d.Span = root.Span
	}
	return d
}

// notAJobFile spares a template, which some commands do not take, the comparison with a job.
func notAJobFile(root *jsontree.Node) diag.Diagnostic {
	return problem(RuleDocumentKind, root.Source, brace(root), "check it with batchctl validate, and deploy it with CloudFormation",
		"this is a CloudFormation template, not a job file")
}

// isJobList tells a list of SubmitJob requests from a workflow: its first job
// has a jobName or a jobQueue and looks more like such a request than like a job.
func isJobList(root *jsontree.Node) bool {
	jobs := root.Get("jobs")
	if !jobs.Is(jsontree.Array) || root.Get("defaults") != nil {
		return false
	}
	first := jobs.Index(0)
	return (first.Get("jobName") != nil || first.Get("jobQueue") != nil) && KindSubmitJob.likeness(first) > KindJob.likeness(first)
}
