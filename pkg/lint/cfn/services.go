package cfn

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/intrinsic"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/shape"
)

// Other services send requests to AWS Batch: Step Functions, EventBridge and its Scheduler and Pipes. Their definitions
// are resources of a template or documents of their own, and hold requests whose members have capital letters.

// source is where a document has the members of a request: a resource of AWS Batch, or a part of another one.
type source struct {
	kind document.Kind
	// members is the object with the members, and place is where a member is absent.
	members, place *jsontree.Node
	// path is the first element of paths, such as JobDefinition.
	path string
	// service sends the request; nil for CloudFormation.
	service *service
	// replaced are the values that CloudFormation puts into a state machine, and quoted the functions in quotes of the
	// text with its definition.
	replaced *jsontree.Node
	quoted   map[*jsontree.Node]bool
}

// service is a service other than CloudFormation that sends requests.
type service struct {
	name string
	// shape is that of the members that the service has; nil: all of the request.
	shape func() *shape.Shape
	// typed means that the service rejects a number in quotes. CloudFormation converts the values of the others.
	typed bool
	// anyCase means that members can begin with a small letter.
	anyCase bool
	// hint tells how to send the members that the service does not have.
	hint string
}

// toSend is the hint about a member of SubmitJob that EventBridge does not send.
const toSend = "set it in the job definition, or submit the job with EventBridge Scheduler or Step Functions"

// The services.
var (
	// Step Functions rejects a wrong type when you create the state machine ("The value for the field 'Size' must be an
	// INTEGER", quoted in aws/aws-cdk#12284).
	stepFunctions = &service{name: "Step Functions", typed: true}
	scheduler     = &service{name: "EventBridge Scheduler", typed: true, anyCase: true}
	// BatchParameters of the Amazon EventBridge API reference, and PipeTargetBatchJobParameters of that of Pipes.
	eventBridge = &service{name: "EventBridge", hint: toSend, shape: sync.OnceValue(func() *shape.Shape {
		return some("arrayProperties", "jobDefinition", "jobName", "jobQueue", "retryStrategy")
	})}
	pipes = &service{name: "EventBridge Pipes", hint: toSend, shape: sync.OnceValue(func() *shape.Shape {
		return some("arrayProperties", "containerOverrides", "dependsOn", "jobDefinition", "jobName", "jobQueue",
			"parameters", "retryStrategy")
	})}
)

// some returns the shape of SubmitJob with only these members, and attempts as the only member of retryStrategy.
func some(members ...string) *shape.Shape {
	all := shape.Of(document.KindSubmitJob)
	s := &shape.Shape{Kind: jsontree.Object, Members: map[string]*shape.Shape{}}
	for _, m := range members {
		s.Members[m] = all.Members[m]
	}
	s.Members["retryStrategy"] = &shape.Shape{Kind: jsontree.Object,
		Members: map[string]*shape.Shape{"attempts": all.Members["retryStrategy"].Members["attempts"]}}
	return s
}

// shapeOf returns the shape of the members of a request.
func (s source) shapeOf() *shape.Shape {
	if s.service != nil && s.service.shape != nil {
		return s.service.shape()
	}
	return shape.Of(s.kind)
}

// name returns the name of the service that sends the request.
func (s source) name() string {
	if s.service == nil {
		return "CloudFormation"
	}
	return s.service.name
}

// anyCase reports whether members can begin with a small letter.
func (s source) anyCase() bool { return s.service != nil && s.service.anyCase }

// The types of resources that send requests to AWS Batch.
const (
	stateMachine = "AWS::StepFunctions::StateMachine"
	samMachine   = "AWS::Serverless::StateMachine"
	eventRule    = "AWS::Events::Rule"
	schedule     = "AWS::Scheduler::Schedule"
	pipe         = "AWS::Pipes::Pipe"
)

// sends reports whether a resource sends requests to AWS Batch, or may do so with a definition in another file.
func sends(f *document.File, r *jsontree.Node) bool {
	switch kind := r.Get("Type").Str(); kind {
	case stateMachine, samMachine:
		file := document.DefinitionFile(r)
		src := f.Definitions[file.Str()]
		return document.StartsJobs(r) || src != nil && document.MentionsJobs(src.Text) ||
			src == nil && file != nil && strings.Contains(strings.ToLower(f.Source.Text), "batch:submitjob")
	case eventRule, schedule, pipe:
		return document.StartsJobs(r)
	}
	return false
}

// reading has the sources of a resource in a scenario, which are the same for all guesses, and what is not checked.
type reading struct {
	sources []source
	unknown []Unchecked
}

// sources returns the requests of a resource, or of the root of another document.
func (m *mapper) sources(r *jsontree.Node) []source {
	read, again := m.readings[r]
	if !again {
		before := len(m.unknown)
		read.sources = m.read(r)
		read.unknown = slices.Clone(m.unknown[before:])
		if m.readings != nil {
			m.readings[r] = read
		}
	} else {
		m.unknown = append(m.unknown, read.unknown...)
	}
	return read.sources
}

// read is sources, which remembers the result.
func (m *mapper) read(r *jsontree.Node) []source {
	switch m.template.file.Kind {
	case document.KindStateMachine:
		return m.states(r, nil)
	case document.KindEventBridge:
		return m.ofEventBridge(r)
	}
	properties := m.known(r.Get("Properties"))
	switch kind := r.Get("Type").Str(); kind {
	case stateMachine, samMachine:
		return m.machine(properties, document.DefinitionFile(r))
	case eventRule, schedule, pipe:
		return m.ofEventBridge(properties)
	default:
		if !properties.Is(jsontree.Object) {
			properties = jsontree.NewObject(r)
		}
		return []source{{kind: batchResources[kind], members: properties, place: properties,
			path: strings.TrimPrefix(kind, "AWS::Batch::")}}
	}
}

// skip records that a value is not checked.
func (m *mapper) skip(n *jsontree.Node, why intrinsic.Reason) {
	m.unknown = append(m.unknown, Unchecked{n, why})
}

// known returns the value of a node; nil if it is absent or unknown. An unknown value that may start jobs is not
// checked.
func (m *mapper) known(n *jsontree.Node) *jsontree.Node {
	v := m.values.Value(n)
	if v.Result == intrinsic.Unknown && document.StartsJobs(n) {
		m.skip(n, v.Why)
	}
	if v.Result != intrinsic.Known {
		return nil
	}
	return v.Node
}

// machine returns the requests of a state machine in a template, whose definition can be in a file.
func (m *mapper) machine(properties, file *jsontree.Node) []source {
	replaced := m.known(properties.Get("DefinitionSubstitutions"))
	if d := properties.Get("Definition"); d != nil {
		return m.states(d, replaced)
	}
	if d := properties.Get("DefinitionString"); d != nil {
		root, quoted := m.inText(d)
		all := m.states(root, replaced)
		for i := range all {
			all[i].quoted = quoted
		}
		return all
	}
	if file == nil {
		return nil
	}
	found := m.template.cached(file,
		func(n *jsontree.Node) inText { return treeOf(m.template.file.Definitions[n.Str()]) })
	if found.root == nil {
		m.skip(file, found.why)
	}
	return m.states(found.root, replaced)
}

// mostValues bounds the values of a state machine that are searched: a mapping of the template can refer to itself.
const mostValues = 1 << 15

// states returns the requests of the states below a node: also of those in branches and maps.
func (m *mapper) states(n, replaced *jsontree.Node) []source {
	left := mostValues
	var visit func(n *jsontree.Node) []source
	visit = func(n *jsontree.Node) (all []source) {
		if left--; left <= 0 {
			if left == 0 {
				m.skip(n, intrinsic.Because("the definition has more than "+strconv.Itoa(mostValues)+" values"))
			}
			return nil
		}
		if intrinsic.Function(n) != nil {
			n = m.known(n)
		}
		resource := n.Get("Resource")
		if strings.Contains(resource.Str(), "${") {
			resource = m.replace(resource, replaced).Node
		}
		if operation := operationOf(resource); operation != "" {
			return m.task(n, operation, replaced)
		}
		for child := range n.Children() {
			all = append(all, visit(child)...)
		}
		return all
	}
	return visit(n)
}

// operationOf returns the operation of AWS Batch that an ARN of Step Functions or EventBridge Scheduler names, such as
// SubmitJob; "" for any other value. The partition can be that of the stack.
func operationOf(n *jsontree.Node) document.Kind {
	text := n.Str()
	for _, service := range [...]string{":states:::batch:", ":aws-sdk:batch:"} {
		if _, operation, ok := strings.Cut(text, service); ok {
			if operation, _, _ = strings.Cut(operation, "."); operation != "" {
				return document.Kind(capital(operation))
			}
		}
	}
	if intrinsic.Function(n) != nil || n.Is(jsontree.Array) {
		for child := range n.Children() {
			if operation := operationOf(child); operation != "" {
				return operation
			}
		}
	}
	return ""
}

// task returns the request of a state.
func (m *mapper) task(state *jsontree.Node, operation document.Kind, replaced *jsontree.Node) []source {
	members := cmp.Or(state.Get("Arguments"), state.Get("Parameters"))
	if members == nil {
		m.skip(state.Get("Resource"), intrinsic.Because("the request is the input of the state"))
		return nil
	}
	return m.sent(source{kind: operation, members: members, place: members, service: stepFunctions, replaced: replaced})
}

// sent returns a request if batchctl checks its operation and its members are known.
func (m *mapper) sent(s source) []source {
	if s.path = cmp.Or(s.path, string(s.kind)); shape.Of(s.kind) == nil {
		m.skip(s.place, intrinsic.Because("batchctl does not check "+string(s.kind)))
		return nil
	}
	switch v := m.evaluated(s, s.members, ""); {
	case v.Result != intrinsic.Known:
		m.skip(s.members, v.Why)
	case !v.Node.Is(jsontree.Object):
		m.skip(s.members, intrinsic.Because("the request is not an object"))
	default:
		s.members = v.Node
		return []source{s}
	}
	return nil
}

// ofEventBridge returns the requests of a rule with its targets, a list of targets, a schedule or a pipe.
func (m *mapper) ofEventBridge(n *jsontree.Node) (all []source) {
	targets := n
	if n.Is(jsontree.Object) {
		targets = m.known(n.Get("Targets"))
	}
	for t := range targets.Children() {
		t = m.known(t)
		all = append(all, m.target(m.known(t.Get("BatchParameters")), t.Get("Arn"),
			source{path: "BatchParameters", service: eventBridge})...)
	}
	if target := m.known(n.Get("Target")); target.Is(jsontree.Object) {
		all = append(all, m.scheduled(target)...)
	}
	parameters := m.known(n.Get("TargetParameters"))
	return append(all, m.target(m.known(parameters.Get("BatchJobParameters")), n.Get("Target"),
		source{path: "BatchJobParameters", service: pipes})...)
}

// target returns the request of a target, whose ARN is that of the job queue.
func (m *mapper) target(parameters, queue *jsontree.Node, s source) []source {
	if !parameters.Is(jsontree.Object) {
		return nil
	}
	s.kind, s.place, s.members = document.KindSubmitJob, parameters, parameters.Clone()
	if queue != nil {
		s.members.Set("JobQueue", queue.Clone())
	}
	return m.sent(s)
}

// scheduled returns the request of a schedule, whose input is the text of the request.
func (m *mapper) scheduled(target *jsontree.Node) []source {
	operation := operationOf(target.Get("Arn"))
	if operation == "" {
		return nil
	}
	input := target.Get("Input")
	if input == nil {
		m.skip(target.Get("Arn"), intrinsic.Because("the target has no Input"))
		return nil
	}
	members, _ := m.inText(input)
	if members == nil {
		return nil
	}
	return m.sent(source{kind: operation, members: members, place: members, service: scheduler})
}

// inText returns the tree of JSON that a text of a template contains, with the functions that complete its values; nil
// if that is unknown, which is recorded.
func (m *mapper) inText(n *jsontree.Node) (root *jsontree.Node, quoted map[*jsontree.Node]bool) {
	chosen, why := m.chosen(n)
	if chosen == nil {
		m.skip(n, why)
		return nil, nil
	}
	if object := chosen.Get("Fn::ToJsonString"); object != nil {
		return object, nil
	}
	found := m.template.cached(chosen, treeIn)
	if found.root == nil && intrinsic.Function(chosen) != nil { // a parameter, or another function, can have the text
		if text := m.values.Value(chosen); text.Result == intrinsic.Unknown {
			found.why = text.Why
		} else if text.Node.Is(jsontree.String) {
			found = treeIn(text.Node)
		}
	}
	if found.root == nil {
		m.skip(n, found.why)
	}
	return found.root, found.quoted
}

// chosen returns the branch that Fn::If chooses; nil if that is unknown.
func (m *mapper) chosen(n *jsontree.Node) (*jsontree.Node, intrinsic.Reason) {
	for { // a template has no more than 100 levels
		branches := n.Get("Fn::If")
		if branches.Len() != 3 {
			return n, intrinsic.Reason{}
		}
		holds, why := m.values.Condition(branches.Index(0).Str())
		switch holds {
		case intrinsic.Yes:
			n = branches.Index(1)
		case intrinsic.No:
			n = branches.Index(2)
		default:
			return nil, why
		}
	}
}

// evaluated returns a value of a request. What only an execution of a state machine knows, and what another program
// fills in, is unknown. The path leads to the value.
func (m *mapper) evaluated(s source, n *jsontree.Node, path string) intrinsic.Value {
	v := m.values.Value(n)
	if s.service == nil || v.Result != intrinsic.Known {
		return v
	}
	if s.replaced != nil && strings.Contains(v.Node.Str(), "${") {
		if v = m.replace(v.Node, s.replaced); v.Result != intrinsic.Known {
			return v
		}
	}
	text := v.Node.Str()
	if s.service == stepFunctions && strings.HasPrefix(text, "{%") {
		return intrinsic.Value{Result: intrinsic.Unknown, Node: n, Why: runtimeOnly(text)}
	}
	if found := document.Placeholder(path[strings.LastIndexByte(path, '.')+1:], text); found != "" {
		return intrinsic.Value{Result: intrinsic.Unknown, Node: n, Why: intrinsic.Because(found + " is a placeholder")}
	}
	return v
}

// runtimeOnly is the reason that a value is an expression.
func runtimeOnly(expression string) intrinsic.Reason {
	return intrinsic.Because("only an execution knows " + expression)
}

// replace evaluates a text with the names of DefinitionSubstitutions.
func (m *mapper) replace(n, values *jsontree.Node) intrinsic.Value {
	var out strings.Builder
	for rest := n.Text; ; {
		before, tail, found := strings.Cut(rest, "${")
		out.WriteString(before)
		if !found {
			return intrinsic.Value{Result: intrinsic.Known, Node: n.Valued(jsontree.String, out.String())}
		}
		name, after, closed := strings.Cut(tail, "}")
		value := values.Get(name)
		if !closed || value == nil {
			out.WriteString("${")
			rest = tail
			continue
		}
		v := m.values.Value(value)
		if v.Result != intrinsic.Known {
			return v
		}
		out.WriteString(v.Node.Text)
		rest = after
	}
}

// isDynamic reports whether only an execution of a state machine knows the value of a member, and returns the member's
// name: that of "JobName.$" is JobName.
func (s source) isDynamic(n *jsontree.Node) (name string, dynamic bool) {
	if s.service != stepFunctions {
		return n.Name, false
	}
	return strings.CutSuffix(n.Name, ".$")
}
