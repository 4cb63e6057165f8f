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
	"github.com/batchctl/batchctl/pkg/intrinsic"
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
	document.KindJobDefinition: "job-definition", document.KindJobQueue: "job-queue",
	document.KindComputeEnvironment: "compute-environment",
	document.KindSchedulingPolicy:   "scheduling-policy", document.KindConsumableResource: "consumable-resource",
	document.KindServiceEnvironment: "service-environment",
}

// mapper builds the requests of the resources of a template, in one scenario and with one
// guess for unknown values.
type mapper struct {
	template *template
	values   *intrinsic.Evaluator
	unknown  []Unchecked
	guessing guessing
	source   source                     // of the request that is being built
	readings map[*jsontree.Node]reading // those of earlier guesses; may be nil
	around   []shape.Object             // those around the member that is being built, the outermost first
	// update is the UpdateComputeEnvironment request of the resource that is being built; nil without one.
	update *jsontree.Node
	found  diag.List
}

// request returns the request that CloudFormation builds from a resource, or that another service sends.
func (m *mapper) request(r *jsontree.Node, s source) *jsontree.Node {
	m.source, m.update = s, nil
	root := m.object(s.members, s.shapeOf(), s.path)
	if root == nil {
		root = jsontree.NewObject(s.place)
	}
	root.Name = ""
	if member := s.kind.NameMember(); s.service == nil && root.Get(member) == nil {
		name := jsontree.NewString(ownName(r), r)
		if name.Key.End > name.Key.Start {
			name.Span = name.Key
		}
		root.Set(member, name)
	}
	return root
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
	m.template.building = path
	evaluated := m.evaluated(m.source, n, path)
	v := evaluated.Node
	switch {
	case evaluated.Result == intrinsic.Absent:
		return nil
	case evaluated.Result == intrinsic.Unknown:
		m.skip(n, evaluated.Why)
		return m.guess(n, s)
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
	switch service := m.source.service; {
	case service == nil:
		m.checkState(v, path)
		return inCase(coerced(v, s.Kind), s, path)
	case v != n && v.Is(jsontree.String) && (s.Kind == jsontree.Object || s.Kind == jsontree.Array):
		m.skip(n, intrinsic.Because("the text is filled in later"))
		return m.guess(n, s)
	case service.typed && (v == n || m.source.quoted[n]):
		return v.Clone()
	}
	return coerced(v, s.Kind)
}

// guess returns a value for an unknown one. A text or a number that a service sends is present, whatever it is.
func (m *mapper) guess(n *jsontree.Node, s *shape.Shape) *jsontree.Node {
	v := m.guessing.value(n, s, 0)
	switch {
	case v != nil || m.source.service == nil || s == nil:
	case s.Kind == jsontree.String:
		return jsontree.NewString(m.guessing.textsOf(s)[0], n)
	case s.Kind == jsontree.Number:
		return jsontree.NewInt(1, n)
	}
	return v
}

// checkState warns about the state of an environment in another case. CloudFormation's schema of queues lists the
// states, and rejects any other; that of environments does not, and templates in use have "Enabled".
func (m *mapper) checkState(v *jsontree.Node, path string) {
	state := v.Str()
	if upper := strings.ToUpper(state); path == "ComputeEnvironment.State" && state != upper &&
		(upper == "ENABLED" || upper == "DISABLED") {
		m.found = append(m.found, diag.Diagnostic{
			Severity: diag.Warning, Rule: "ce-state-enum", Source: v.Source, Span: v.Span,
			Message: fmt.Sprintf("State is documented as %s, not %s", upper, diag.Quote(state)), Hint: "write " + upper,
		})
	}
}

// caseless are the members whose values CloudFormation reads in any case. The list is that of
// enumCaseInsensitive in cfn-lint's schemas of AWS::Batch, of 2026-11.
var caseless = []string{
	"Action", "AllocationStrategy", "AssignPublicIp", "Iam", "IdleResourceAssignmentStrategy", "InSharePreemption",
	"JobQueueType", "LogDriver", "Permissions",
	"PlatformCapabilities", "ServiceEnvironmentType", "Strategy", "TransitEncryption", "Type", "UserdataType",
}

// inCase writes a value of such a member as the API spells it.
func inCase(n *jsontree.Node, s *shape.Shape, path string) *jsontree.Node {
	if !n.Is(jsontree.String) || path != "ComputeEnvironment.State" &&
		!slices.Contains(caseless, path[strings.LastIndexByte(path, '.')+1:]) {
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
	case kind == jsontree.Bool && n.Is(jsontree.String) && (strings.EqualFold(n.Text, "true") ||
		strings.EqualFold(n.Text, "false")):
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
		m.around = append(m.around, shape.Object{Node: n, Shape: s, Name: path[strings.LastIndexByte(path, '.')+1:],
			Spell: capital})
		defer func() { m.around = m.around[:len(m.around)-1] }()
	}
	for c := range n.Children() {
		written, _ := m.source.isDynamic(c)
		if s.Element != nil {
			m.put(out, written, m.member(c, s.Element, path), c)
			continue
		}
		name, below := memberOf(written), path+"."+written
		switch member := s.Members[name]; {
		case apimodel.IsTemplateMember(below) && !apimodel.IsTemplateMember(path):
			m.templateMember(c, below)
		case member == nil || written == name && !m.source.anyCase() || slices.Contains(ofRequests, below):
			m.surplus(c, out, s, path)
		default:
			m.put(out, name, asSent(m.member(c, member, below), below), c)
		}
	}
	return out
}

// member returns the native form of a member's value.
func (m *mapper) member(n *jsontree.Node, s *shape.Shape, path string) *jsontree.Node {
	if _, dynamic := m.source.isDynamic(n); dynamic {
		m.skip(n, runtimeOnly(n.Str()))
		return m.guess(n, s)
	}
	return m.build(n, s, path)
}

// ofTemplates are the members that no request has.
var ofTemplates = map[string]*shape.Shape{
	"ComputeEnvironment.ReplaceComputeEnvironment": {Kind: jsontree.Bool},
	"JobDefinition.ResourceRetentionPolicy": {Kind: jsontree.Object,
		Members: map[string]*shape.Shape{"skipDeregisterOnUpdate": {Kind: jsontree.Bool}}},
}

// templateMember checks a member that the request does not have. CloudFormation reads it, or sends it when it updates
// the environment.
func (m *mapper) templateMember(c *jsontree.Node, path string) {
	if s := ofTemplates[path]; s != nil {
		s.Compare(m.build(c, s, path), nil, nil, func(n, _ *jsontree.Node, s, _ *shape.Shape) {
			if n != nil && s != nil && !n.Is(s.Kind) {
				wanted := map[jsontree.Kind]string{jsontree.Bool: "true or false", jsontree.Object: "an object"}[s.Kind]
				m.found = append(m.found, diag.Diagnostic{
					Rule: document.RuleWrongType, Source: n.Source, Span: n.Span,
					Message: fmt.Sprintf("%s must be %s, not %s", capital(n.Name), wanted, n.Kind),
				})
			}
		})
		return
	}
	if m.update == nil {
		m.update = jsontree.NewObject(c)
		m.update.Set("computeEnvironment", jsontree.NewString("environment", c))
	}
	steps := strings.Split(path, ".")[1:]
	s, at := shape.Of(document.KindUpdateComputeEnvironment), m.update
	for i, step := range steps {
		if s = s.Members[memberOf(step)]; s == nil {
			return // a later version of CloudFormation
		}
		if i < len(steps)-1 {
			if at.Get(memberOf(step)) == nil {
				at.Set(memberOf(step), jsontree.NewObject(c))
			}
			at = at.Get(memberOf(step))
		}
	}
	m.put(at, memberOf(c.Name), m.build(c, s, path), c)
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
		m.unknown = append(m.unknown, Unchecked{c, intrinsic.OnlyDeployed(c.Name)})
		return
	}
	what, service := path[strings.LastIndexByte(path, '.')+1:], m.source.name()
	absent := diag.Diagnostic{
		Rule: document.RuleUnknownMember, Source: c.Source, Span: nameSpan(c),
		Message: fmt.Sprintf("%s has no member %s in %s", what, diag.Quote(c.Name), service),
	}
	if name, dynamic := m.source.isDynamic(c); dynamic {
		c = c.Valued(jsontree.String, c.Text)
		c.Name = name
	}
	suggestion := shape.Suggest(c, m.around)
	switch meant := suggestion.Meant; {
	case slices.Contains(ofRequests, path+"."+c.Name):
		absent.Hint = "remove it: the API has this member, but CloudFormation does not"
	case m.source.service != nil && m.source.service.hint != "" && s.Members[memberOf(c.Name)] == nil &&
		shape.Of(m.source.kind).Members[memberOf(c.Name)] != nil:
		absent.Hint = m.source.service.hint
	case shape.IsNote(c.Name) && m.source.service == nil:
		absent.Hint = "move it to Metadata, beside Properties"
	case suggestion.Hint != "":
		absent.Hint = suggestion.Hint
		if c.Name == what && c.Is(jsontree.Object) { // the object's own members, one level too deep
			for inner := range m.object(c, s, path).Children() {
				m.put(out, inner.Name, inner, inner)
			}
		}
		if suggestion.Renames {
			m.put(out, meant, m.build(c, s.Members[meant], path+"."+capital(meant)), c)
		} else if meant != "" {
			m.unknown = append(m.unknown, Unchecked{c, intrinsic.OnlyDeployed(c.Name)})
			m.put(out, meant, m.guessing.value(c, s.Members[meant], 0), c)
		}
	default:
		absent.Severity, absent.Message, absent.Hint = diag.Warning, document.NotInModel(c.Name),
			service+" rejects a member that it does not have"
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
