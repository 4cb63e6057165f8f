package cfn

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/apimodel"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/shape"
)

// The members of a resource are those of its request with a capital letter, at every
// depth. These tables hold the differences. They come from comparing CloudFormation's
// registry with the API's model member by member.
var (
	// otherNames are members with another name in CloudFormation.
	otherNames = map[string]string{"S3FilesVolumeConfiguration": "s3filesVolumeConfiguration"}
	// ofRequests are members that only the API has.
	ofRequests = []string{"JobDefinition.ContainerProperties.InstanceType"}
)

// arnTypes are the resource types in ARNs by kind of request.
var arnTypes = map[document.Kind]string{
	document.KindJobDefinition: "job-definition", document.KindJobQueue: "job-queue", document.KindComputeEnvironment: "compute-environment",
	document.KindSchedulingPolicy: "scheduling-policy", document.KindConsumableResource: "consumable-resource",
}

// nameMembers are the members for the names of resources. CloudFormation generates a
// name if the template has none.
var nameMembers = map[document.Kind]string{
	document.KindJobDefinition: "jobDefinitionName", document.KindJobQueue: "jobQueueName", document.KindComputeEnvironment: "computeEnvironmentName",
	document.KindSchedulingPolicy: "name", document.KindConsumableResource: "consumableResourceName",
}

// mapper builds the requests of the resources of a template, in one scenario and with one
// guess for unknown values.
type mapper struct {
	template *template
	scenario scenario
	unknown  []*jsontree.Node
	guessing guessing
	naming   int            // depth of names being resolved, which may refer to themselves
	around   []shape.Object // those around the member that is being built, the outermost first
	found    diag.List
}

// request returns the request that CloudFormation builds from a resource.
func (m *mapper) request(r *jsontree.Node, kind document.Kind) *jsontree.Node {
	properties := r.Get("Properties")
	if !properties.Is(jsontree.Object) {
		properties = jsontree.NewObject(r)
	}
	path := strings.TrimPrefix(r.Get("Type").Str(), "AWS::Batch::")
	root := m.object(properties, shape.Of(kind), path)
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

// nameOf returns the name under which the request of a resource creates it.
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

// ownName replaces the name that CloudFormation generates from a logical id.
func ownName(r *jsontree.Node) string { return r.Name[:min(len(r.Name), 100)] }

// memberOf returns the API's name of a member of CloudFormation.
func memberOf(member string) string {
	if other, ok := otherNames[member]; ok {
		return other
	}
	if member == "" {
		return ""
	}
	return strings.ToLower(member[:1]) + member[1:]
}

// build returns the native form of a value, or nil if it is absent.
func (m *mapper) build(n *jsontree.Node, s *shape.Shape, path string) *jsontree.Node {
	v, result := m.value(n, 0)
	switch {
	case result == knownAbsent:
		return nil
	case result == unknown:
		m.unknown = append(m.unknown, n)
		return m.guessing.value(n, s, 0)
	case s == nil:
		return v.Clone()
	case s.Kind == jsontree.Object && v.Is(jsontree.Object):
		return m.object(v, s, path)
	case s.Kind == jsontree.Array && v.Is(jsontree.Array):
		list := (*jsontree.Arena)(nil).New(jsontree.Array, "", v)
		for e := range v.Children() {
			list.Append(m.build(e, s.Element, path))
		}
		return list
	}
	m.checkState(v, path)
	return inCase(coerced(v, s.Kind), s, path)
}

// checkState warns about the state of an environment in another case. CloudFormation's schema of queues lists the
// states, and rejects any other; that of environments does not, and templates in use have "Enabled".
func (m *mapper) checkState(v *jsontree.Node, path string) {
	state := v.Str()
	if upper := strings.ToUpper(state); path == "ComputeEnvironment.State" && state != upper && (upper == "ENABLED" || upper == "DISABLED") {
		m.found = append(m.found, diag.Diagnostic{
			Severity: diag.Warning, Rule: "ce-state-enum", Source: v.Source, Span: v.Span, Message: fmt.Sprintf("State is documented as %s, not %s", upper, diag.Quote(state)), Hint: "write " + upper,
		})
	}
}

// caseless are the members whose values CloudFormation reads in any case. The list is that of
// enumCaseInsensitive in cfn-lint's schemas of AWS::Batch, of 2026-11.
var caseless = []string{
	"Action", "AllocationStrategy", "AssignPublicIp", "Iam", "IdleResourceAssignmentStrategy", "InSharePreemption", "JobQueueType", "LogDriver", "Permissions",
	"PlatformCapabilities", "ServiceEnvironmentType", "Strategy", "TransitEncryption", "Type", "UserdataType",
}

// inCase writes a value of such a member as the API spells it.
func inCase(n *jsontree.Node, s *shape.Shape, path string) *jsontree.Node {
	if !n.Is(jsontree.String) || path != "ComputeEnvironment.State" && !slices.Contains(caseless, path[strings.LastIndexByte(path, '.')+1:]) {
		return n
	}
	for _, word := range s.Words {
		if strings.EqualFold(word, n.Text) {
			n.Text = word
		}
	}
	return n
}

// coerced returns a scalar in the required type, as CloudFormation converts it.
func coerced(n *jsontree.Node, kind jsontree.Kind) *jsontree.Node {
	out := n.Clone()
	switch {
	case kind == jsontree.String && (n.Is(jsontree.Number) || n.Is(jsontree.Bool)):
		out.Kind = jsontree.String
	case kind == jsontree.Bool && n.Is(jsontree.String) && (strings.EqualFold(n.Text, "true") || strings.EqualFold(n.Text, "false")):
		out.Kind, out.Text = jsontree.Bool, strings.ToLower(n.Text)
	case kind == jsontree.Number && n.Is(jsontree.String):
		if decimal().MatchString(n.Text) {
			out.Kind = jsontree.Number
		}
	}
	return out
}

// decimal matches a number of JSON without an exponent.
var decimal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`) })

// object returns the native form of an object: a structure, or a map, whose keys are the
// user's own.
func (m *mapper) object(n *jsontree.Node, s *shape.Shape, path string) *jsontree.Node {
	out := jsontree.NewObject(n)
	if s.Element == nil {
		m.around = append(m.around, shape.Object{Node: n, Shape: s, Name: path[strings.LastIndexByte(path, '.')+1:], Spell: capital})
		defer func() { m.around = m.around[:len(m.around)-1] }()
	}
	for c := range n.Children() {
		if s.Element != nil {
			m.put(out, c.Name, m.build(c, s.Element, path), c)
			continue
		}
		name, below := memberOf(c.Name), path+"."+c.Name
		switch member := s.Members[name]; {
		case apimodel.IsTemplateMember(below):
		case member == nil || c.Name == name || slices.Contains(ofRequests, below):
			m.surplus(c, out, s, path)
		default:
			m.put(out, name, asSent(m.build(c, member, below), below), c)
		}
	}
	return out
}

// asSent returns a value in the form of the API. The AWS CDK writes RetryStrategy: {} by default.
// Such stacks deploy, although the API itself rejects an empty retryStrategy.
func asSent(n *jsontree.Node, path string) *jsontree.Node {
	if path == "JobDefinition.RetryStrategy" && n.Is(jsontree.Object) && n.Len() == 0 {
		return nil
	}
	return n
}

// put adds a member unless it exists already: the first one counts.
func (m *mapper) put(out *jsontree.Node, name string, value, from *jsontree.Node) {
	if value == nil || out.Get(name) != nil {
		return
	}
	value.Key = from.Key
	out.Set(name, value)
}

// surplus reports a member that the resource does not have. If its correct name is
// obvious, its value is checked nevertheless.
func (m *mapper) surplus(c, out *jsontree.Node, s *shape.Shape, path string) {
	if strings.HasPrefix(c.Name, "Fn::") {
		m.unknown = append(m.unknown, c)
		return
	}
	what := path[strings.LastIndexByte(path, '.')+1:]
	absent := diag.Diagnostic{
		Rule: document.RuleUnknownMember, Source: c.Source, Span: nameSpan(c), Message: fmt.Sprintf("%s has no member %s in CloudFormation", what, diag.Quote(c.Name)),
	}
	suggestion := shape.Suggest(c, m.around)
	switch meant := suggestion.Meant; {
	case slices.Contains(ofRequests, path+"."+c.Name):
		absent.Hint = "remove it: the API has this member, but CloudFormation does not"
	case shape.IsNote(c.Name):
		absent.Hint = "move it to Metadata, beside Properties"
	case suggestion.Hint != "":
		absent.Hint = suggestion.Hint
		if suggestion.Renames {
			m.put(out, meant, m.build(c, s.Members[meant], path+"."+capital(meant)), c)
		} else if meant != "" {
			m.unknown = append(m.unknown, c)
			m.put(out, meant, m.guessing.value(c, s.Members[meant], 0), c)
		}
	default:
		absent.Severity, absent.Message, absent.Hint = diag.Warning, document.NotInModel(c.Name), "CloudFormation rejects a member that it does not have"
	}
	m.found = append(m.found, absent)
}

// nameSpan returns the location of a member's name.
func nameSpan(n *jsontree.Node) diag.Span {
	if n.Key.End > n.Key.Start {
		return n.Key
	}
	return n.Span
}
