package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/shape"
)

// These rules report unknown members and wrong types under the names of the table of
// rules, in addition to the schema. They read the user's text, because values of a
// wrong type are not lowered.

// written yields the text of RegisterJobDefinition requests: a native file, or the
// jobDefinition of a compact job.
func (p *Pass) written(visit func(j Job, root *jsontree.Node)) {
	for _, j := range p.Jobs() {
		switch {
		case j.compact():
			if n := j.Node.Get("jobDefinition"); n != nil {
				visit(j, n)
			}
		case j.File.Kind == document.KindJobDefinition && j.Node.Is(jsontree.Object):
			visit(j, j.Node)
		}
	}
}

// schemaRules returns the rules about members that the API does not have and values of the
// wrong JSON type. The AWS CLI rejects both before it sends a request.
func schemaRules() []*Rule {
	return []*Rule{
		rule("jobdef-unknown-member", High, checkUnknownMembers,
			"The API has no such member: a typo, the wrong case, or the capitals of CloudFormation. The AWS CLI rejects it. A member that resembles no known one may be newer than batchctl's API model, so it is only a warning.",
			api("RegisterJobDefinition")).sometimesWarns(),
		rule("jobdef-wrong-json-type", High, checkTypes,
			"A value does not have the JSON type that the API requires. Values in resourceRequirements and environment are strings; counts are numbers.",
			api("RegisterJobDefinition")),
		warns(rule("whole-number-form", High, checkWholeNumbers,
			"A request has a whole number with a fraction or an exponent, such as 3600.0 or 36e2, as programs write that calculate with floating point numbers. "+
				"batchctl takes it. The AWS CLI and boto3 reject it before they send the request: \"Invalid type for parameter\".",
			"tried with aws-cli 1.45 and boto3 1.43")).keepingMeaning(),
		stringMap("parameters-string-map", []string{"parameters"},
			"The values of parameters are strings, even for numbers, because Ref:: inserts text into the command.",
			api("RegisterJobDefinition.parameters")),
		stringMap("log-options-string-map", []string{"logConfiguration.options",
			"containerProperties.logConfiguration.options",
			"ecsProperties.taskProperties[].containers[].logConfiguration.options",
			"ecsProperties.taskProperties[].containers[].firelensConfiguration.options",
			"nodeProperties.nodeRangeProperties[].container.logConfiguration.options",
			"nodeProperties.nodeRangeProperties[].ecsProperties.taskProperties[].containers[].logConfiguration.options"},
			"The options of a log driver are strings, even for values such as true and 10.",
			api("LogConfiguration.options")),
		stringMap("tag-value-string", []string{"tags", "computeResources.tags"}, "The value of a tag is a string.",
			api("TagrisTagsMap")),
		over("array-size-integer", High, (*Pass).Jobs, checkArraySize,
			"The size of an array is a whole number.", api("ArrayProperties.size")),
	}
}

// checkUnknownMembers reports members that the API does not have.
func checkUnknownMembers(p *Pass) {
	p.written(func(j Job, root *jsontree.Node) {
		request := shape.Object{Node: root, Shape: shape.Of(document.KindJobDefinition)}
		request.Unknown(func(n *jsontree.Node, around []shape.Object) {
			if slices.Contains(j.File.Reported, n) {
				return
			}
			s, isNew := j.unknownMember(n, around)
			if isNew {
				j.reportAs(diag.Warning, nil, document.NotInModel(n.Name), s.hint, key(n))
				return
			}
			if s.meant != "" {
				p.noteMisspelt(j.File, s.meant, n)
			}
			j.ReportFix(s.fix, fmt.Sprintf("the API has no member %s here", quote(n.Name)), s.hint, key(n))
		})
	})
}

// checkTypes reports values of another JSON type than that of the API.
func checkTypes(p *Pass) {
	p.written(func(j Job, root *jsontree.Node) {
		request := shape.Of(document.KindJobDefinition)
		request.Compare(root, nil, nil, func(n, parent *jsontree.Node, s, in *shape.Shape) {
			if s == nil || in == nil || n.Is(s.Kind) || in.Element != nil && strings.HasPrefix(n.Name, "$") {
				return
			}
			switch parent.Name {
			case "parameters", "tags", "options":
				if in.Element != nil {
					return // other rules check these
				}
			}
			reportWrongType(j, n, s.Kind)
		})
	})
}

// checkArraySize reports a size of an array that is not a whole number.
func checkArraySize(j Job) {
	n := j.Node.Get("arrayProperties").Get("size")
	if j.compact() {
		n = j.Node.Get("submitJob").Get("arrayProperties").Get("size")
	}
	if _, whole := n.Int(); n != nil && !whole {
		hint, fix := "", unquote(n)
		if fix != nil {
			hint = "write " + n.Text
		}
		j.ReportFix(fix, "the size of an array must be a whole number, not "+written(n), hint, n)
	}
}

// checkWholeNumbers reports whole numbers that are not written as such. A number that is not whole has the wrong type.
func checkWholeNumbers(p *Pass) {
	p.everyText(func(j Job, root *jsontree.Node) {
		if j.compact() {
			return
		}
		shape.Of(j.File.Kind).Compare(root, nil, nil, func(n, _ *jsontree.Node, s, _ *shape.Shape) {
			if s == nil || !s.Whole || !n.Is(jsontree.Number) || !strings.ContainsAny(n.Text, ".eE") {
				return
			}
			if i, whole := n.Int(); whole {
				text := strconv.FormatInt(i, 10)
				j.ReportFix(rewrite(n, text), fmt.Sprintf("the AWS CLI and boto3 reject %s in place of a whole number",
					n.Text), "write "+text, n)
			}
		})
	})
}

// stringMap returns a rule for maps of strings, in requests and in compact jobs.
func stringMap(name string, paths []string, doc, source string) *Rule {
	at := in(nil, paths...)
	return rule(name, High, func(p *Pass) {
		p.everyText(func(j Job, root *jsontree.Node) {
			for _, route := range at.routes {
				p.reached = route.appendFrom(p.reached[:0], root)
				for _, m := range p.reached {
					for v := range m.Children() {
						if m.Is(jsontree.Object) && !v.Is(jsontree.String) && !strings.HasPrefix(v.Name, "$") {
							reportWrongType(j, v, jsontree.String)
						}
					}
				}
			}
		})
	}, doc, source)
}

// everyText yields the text of all requests: native files, jobs, and the native parts
// of jobs.
func (p *Pass) everyText(visit func(j Job, root *jsontree.Node)) {
	for _, j := range p.Jobs() {
		visit(j, j.Node)
		if j.compact() {
			visit(j, j.Node.Get("jobDefinition"))
			visit(j, j.Node.Get("submitJob"))
		}
	}
	for _, f := range p.Files {
		if isRequest := f.Kind.NameMember() != "" && f.Kind != document.KindJob &&
			f.Kind != document.KindWorkflow; isRequest && len(f.Jobs) == 0 {
			visit(p.topLevel(f), f.Root)
		}
	}
}

// topLevel returns a Job for problems of a file without jobs.
func (p *Pass) topLevel(f *document.File) Job {
	return Job{Job: &document.Job{Node: f.Root}, userFile: userFile{f}, pass: p}
}

// reportWrongType reports a value that is not of the wanted kind. There is a fix only if the
// text of the value stays the same: a number or boolean gets quotes, or loses them.
func reportWrongType(j Job, n *jsontree.Node, kind jsontree.Kind) {
	label := n.Name
	if label == "" {
		label = "an element"
	}
	hint, fix := "", unquote(n)
	switch {
	case n.Is(jsontree.Null):
		hint, fix = "remove it", nil
	case kind == jsontree.String && (n.Is(jsontree.Number) || n.Is(jsontree.Bool)):
		hint, fix = "write "+quote(n.Text), rewrite(n, quote(n.Text))
	case kind == jsontree.Number && fix != nil:
		hint = "write " + n.Text
	case kind == jsontree.Bool && (n.Str() == "true" || n.Str() == "false"):
		hint, fix = "write "+n.Text, rewrite(n, n.Text)
	default:
		fix = nil
	}
	j.ReportFix(fix, fmt.Sprintf("%s must be %s, not %s", label, kind, n.Kind), hint, n)
}

// written describes a value for a message: a number by its text, any other by its kind.
func written(n *jsontree.Node) string {
	if n.Is(jsontree.Number) {
		return n.Text
	}
	return n.Kind.String()
}
