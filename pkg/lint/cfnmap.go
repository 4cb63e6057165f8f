package lint

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// The members of a resource are those of its request with a capital letter, at every
// depth. What differs stands here; the resource types of CloudFormation's registry were
// compared with the API's model member by member.
var (
	// otherNames are members that CloudFormation writes otherwise.
	otherNames = map[string]string{"S3FilesVolumeConfiguration": "s3filesVolumeConfiguration"}
	// ofTemplates are members that only CloudFormation has: what it does with the
	// resource, and not what it asks of AWS Batch.
	ofTemplates = []string{
		"JobDefinition.ResourceRetentionPolicy", "ComputeEnvironment.ReplaceComputeEnvironment", "ComputeEnvironment.UpdatePolicy",
		"ComputeEnvironment.ComputeResources.UpdateToLatestImageVersion",
	}
	// ofRequests are members that only the API has.
	ofRequests = []string{"JobDefinition.ContainerProperties.InstanceType"}
)

// arnWords are what ARNs call the things that requests create.
var arnWords = map[document.Kind]string{
	document.KindJobDefinition: "job-definition", document.KindJobQueue: "job-queue", document.KindComputeEnvironment: "compute-environment",
	document.KindSchedulingPolicy: "scheduling-policy", document.KindConsumableResource: "consumable-resource",
}

// nameMembers hold the names of what requests create. CloudFormation makes one up where
// a template says none.
var nameMembers = map[document.Kind]string{
	document.KindJobDefinition: "jobDefinitionName", document.KindJobQueue: "jobQueueName", document.KindComputeEnvironment: "computeEnvironmentName",
	document.KindSchedulingPolicy: "name", document.KindConsumableResource: "consumableResourceName",
}

// requestShapes are the shapes of the requests.
var requestShapes = sync.OnceValue(func() map[document.Kind]*shape {
	seen := map[reflect.Type]*shape{}
	return map[document.Kind]*shape{
		document.KindJobDefinition:      shapeOf(reflect.TypeFor[awsbatch.RegisterJobDefinitionInput](), seen),
		document.KindJobQueue:           shapeOf(reflect.TypeFor[awsbatch.CreateJobQueueInput](), seen),
		document.KindComputeEnvironment: shapeOf(reflect.TypeFor[awsbatch.CreateComputeEnvironmentInput](), seen),
		document.KindSchedulingPolicy:   shapeOf(reflect.TypeFor[awsbatch.CreateSchedulingPolicyInput](), seen),
		document.KindConsumableResource: shapeOf(reflect.TypeFor[awsbatch.CreateConsumableResourceInput](), seen),
	}
})

// mapper makes requests of the resources of a template, in one world and with one guess
// for what is not known.
type mapper struct {
	template *cfnTemplate
	world    world
	unknown  []*jsontree.Node
	guessing guessing
	naming   int // a name is being followed, which may refer to itself
	found    diag.List
}

// request is the request that CloudFormation makes of a resource.
func (m *mapper) request(r *jsontree.Node, kind document.Kind) *jsontree.Node {
	properties := r.Get("Properties")
	if !properties.Is(jsontree.Object) {
		properties = jsontree.NewObject(r)
	}
	path := strings.TrimPrefix(r.Get("Type").Str(), "AWS::Batch::")
	root := m.object(properties, requestShapes()[kind], path)
	if root == nil {
		root = jsontree.NewObject(properties)
	}
	root.Name = ""
	if member := nameMembers[kind]; root.Get(member) == nil {
		name := jsontree.NewString(ownName(r), r)
		if name.Key.End > name.Key.Start {
			name.Span = name.Key
		}
		root.Set(member, name)
	}
	return root
}

// nameOf is the name under which the request of a resource creates it.
func (m *mapper) nameOf(r *jsontree.Node, kind document.Kind) string {
	member := nameMembers[kind]
	written := r.Get("Properties").Get(capital(member))
	if m.naming > 0 || written == nil {
		return ownName(r)
	}
	m.naming++
	defer func() { m.naming-- }()
	if name, ok := m.text(written, 0); ok && name != "" {
		return name
	}
	return ownName(r)
}

// ownName stands for the name that CloudFormation makes of a logical id.
func ownName(r *jsontree.Node) string { return r.Name[:min(len(r.Name), 100)] }

func capital(member string) string { return strings.ToUpper(member[:1]) + member[1:] }

func memberOf(member string) string {
	if other, ok := otherNames[member]; ok {
		return other
	}
	if member == "" {
		return ""
	}
	return strings.ToLower(member[:1]) + member[1:]
}

// build makes the native form of a value; nil for one that is not there.
func (m *mapper) build(n *jsontree.Node, s *shape, path string) *jsontree.Node {
	v, told := m.value(n, 0)
	switch {
	case told == toldAbsent:
		return nil
	case told == toldNot:
		m.unknown = append(m.unknown, n)
		return m.guessing.value(n, s, 0)
	case s == nil:
		return v.Clone()
	case s.kind == jsontree.Object && v.Is(jsontree.Object):
		return m.object(v, s, path)
	case s.kind == jsontree.Array && v.Is(jsontree.Array):
		list := (*jsontree.Arena)(nil).New(jsontree.Array, "", v)
		for e := range v.Children() {
			list.Append(m.build(e, s.of, path))
		}
		return list
	}
	return coerced(v, s.kind)
}

// coerced is a scalar in the type that is wanted, which CloudFormation sees to.
func coerced(n *jsontree.Node, kind jsontree.Kind) *jsontree.Node {
	out := n.Clone()
	switch {
	case kind == jsontree.String && (n.Is(jsontree.Number) || n.Is(jsontree.Bool)):
		out.Kind = jsontree.String
	case kind == jsontree.Bool && n.Is(jsontree.String) && (strings.EqualFold(n.Text, "true") || strings.EqualFold(n.Text, "false")):
		out.Kind, out.Text = jsontree.Bool, strings.ToLower(n.Text)
	case kind == jsontree.Number && n.Is(jsontree.String):
		if digits := strings.TrimPrefix(n.Text, "-"); isDecimal(digits) && (len(digits) < 2 || digits[0] != '0' || digits[1] == '.') {
			out.Kind = jsontree.Number
		}
	}
	return out
}

// object makes the native form of an object: a structure, or a map, whose keys are the
// user's own.
func (m *mapper) object(n *jsontree.Node, s *shape, path string) *jsontree.Node {
	out := jsontree.NewObject(n)
	for c := range n.Children() {
		if s.of != nil {
			m.put(out, c.Name, m.build(c, s.of, path), c)
			continue
		}
		name, below := memberOf(c.Name), path+"."+c.Name
		switch member := s.members[name]; {
		case slices.Contains(ofTemplates, below):
		case member == nil || c.Name == name || slices.Contains(ofRequests, below):
			m.surplus(c, n, out, s, path)
		default:
			m.put(out, name, asSent(m.build(c, member, below), below), c)
		}
	}
	return out
}

// asSent is a value as the API takes it. The AWS CDK writes the type of an environment
// in small letters and RetryStrategy: {} where there is none, and stacks of it are
// deployed; the API itself refuses an empty retryStrategy.
func asSent(n *jsontree.Node, path string) *jsontree.Node {
	switch {
	case path == "ComputeEnvironment.Type" && (strings.EqualFold(n.Str(), "MANAGED") || strings.EqualFold(n.Str(), "UNMANAGED")):
		n.Text = strings.ToUpper(n.Text)
	case path == "JobDefinition.RetryStrategy" && n.Is(jsontree.Object) && n.Len() == 0:
		return nil
	}
	return n
}

// put adds a member, unless it is there already: of two the first counts.
func (m *mapper) put(out *jsontree.Node, name string, value, from *jsontree.Node) {
	if value == nil || out.Get(name) != nil {
		return
	}
	value.Key = from.Key
	out.Set(name, value)
}

// surplus reports a member that the resource does not have. Where its right name is
// plain, what it says is checked all the same.
func (m *mapper) surplus(c, parent, out *jsontree.Node, s *shape, path string) {
	if strings.HasPrefix(c.Name, "Fn::") {
		m.unknown = append(m.unknown, c)
		return
	}
	var names []string
	for name := range s.members {
		if below := path + "." + capital(name); !slices.Contains(ofRequests, below) {
			names = append(names, capital(name))
		}
	}
	slices.Sort(names)
	hint, near := "", ""
	for _, name := range names {
		if strings.EqualFold(name, c.Name) {
			near = name
		}
	}
	if near == "" {
		near = nearIn(c.Name, slices.Values(names))
	}
	switch {
	case near != "" && parent.Get(near) != nil:
		hint = "did you mean " + quote(near) + "? It is there already"
	case near != "":
		hint = "write " + quote(near)
		m.put(out, memberOf(near), m.build(c, s.members[memberOf(near)], path+"."+near), c)
	case slices.Contains(ofRequests, path+"."+c.Name):
		hint = "the API has it, CloudFormation does not"
	}
	what := path[strings.LastIndexByte(path, '.')+1:]
	m.found = append(m.found, diag.Diagnostic{Rule: document.RuleUnknownMember, Source: c.Source, Span: key(c).Span, Message: fmt.Sprintf("%s has no member %s in CloudFormation", what, quote(c.Name)), Hint: hint})
}

// asTemplate says a problem of a request in the words of the template: members have
// capital letters, and no edit of JSON mends it.
func asTemplate(d diag.Diagnostic) diag.Diagnostic {
	d.Fix = nil
	generic := d.Rule == document.RuleMissingMember || d.Rule == document.RuleUnknownMember || strings.Contains(d.Message, " needs ")
	d.Message, d.Hint = inCapitals(d.Message, generic), inCapitals(d.Hint, generic)
	return d
}

var memberWord = lazy(`"?[a-z][A-Za-z0-9]*"?:?`)

// inCapitals gives members in a sentence their capital letters: those whose name can be
// no other word, those that are written "name": as in JSON, and the first word. With
// all, each one that stands in quotes or behind "needs" too.
func inCapitals(sentence string, all bool) string {
	needs := strings.Index(sentence, " needs ")
	var out strings.Builder
	done := 0
	for _, at := range memberWord().FindAllStringIndex(sentence, -1) {
		word := sentence[at[0]:at[1]]
		bare, quoted := strings.Trim(word, `":`), word[0] == '"'
		apart := at[0] == 0 || quoted || strings.IndexByte(" ([,.", sentence[at[0]-1]) >= 0
		if !apart || !memberNames()[bare] {
			continue
		}
		if strings.ToLower(bare) != bare || strings.HasSuffix(word, `":`) || at[0] == 0 && !quoted || all && (quoted || needs >= 0 && at[0] > needs) {
			out.WriteString(sentence[done:at[0]] + strings.Replace(word, bare, capital(bare), 1))
			done = at[1]
		}
	}
	return out.String() + sentence[done:]
}

// memberNames are the members of the requests.
var memberNames = sync.OnceValue(func() map[string]bool {
	names, seen := map[string]bool{}, map[*shape]bool{}
	var visit func(s *shape)
	visit = func(s *shape) {
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		for name, member := range s.members {
			names[name] = true
			visit(member)
		}
		visit(s.of)
	}
	for s := range maps.Values(requestShapes()) {
		visit(s)
	}
	return names
})

func sortedNames(members map[string]*shape) []string {
	return slices.Sorted(maps.Keys(members))
}
