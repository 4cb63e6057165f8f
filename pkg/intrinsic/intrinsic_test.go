package intrinsic_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/intrinsic"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// template has what every function refers to. %s is the value of the property P.
const template = `{
 "Parameters": {"Project": {"Type": "String"}, "On": {"Type": "String"}, "Size": {"Type": "Number"}, "Zones": {"Type": "CommaDelimitedList"}, "Ids": {"Type": "List<AWS::EC2::Subnet::Id>"},
  "Image": {"Type": "AWS::SSM::Parameter::Value<String>"}, "Given": {"Type": "String"}, "Any": {"Type": "String"}, "Later": {"Type": "String"}},
 "Mappings": {"M": {"x": {"y": "mapped", "l": ["m1", "m2"], "f": {"Fn::FindInMap": ["M", "x", "f"]}}}},
 "Conditions": {"IsOn": {"Fn::Equals": [{"Ref": "On"}, "true"]}, "IsOff": {"Fn::Not": [{"Condition": "IsOn"}]}, "Both": {"Fn::And": [{"Condition": "IsOn"}, {"Condition": "IsOff"}]},
  "Either": {"Fn::Or": [{"Condition": "IsOn"}, {"Condition": "IsOff"}]}, "Open": {"Fn::Equals": [{"Ref": "Given"}, "1"]}, "Loop": {"Condition": "Round"}, "Round": {"Fn::Not": [{"Condition": "Loop"}]},
  "Account": {"Fn::Equals": [{"Ref": "AWS::AccountId"}, "123456789012"]}, "Same": {"Fn::Equals": [{"Ref": "AWS::AccountId"}, {"Ref": "AWS::AccountId"}]}, "Another": {"Fn::Equals": [{"Ref": "Any"}, "x"]},
  "No": {"Fn::And": [{"Condition": "Open"}, {"Condition": "IsOn"}]}, "Perhaps": {"Fn::Or": [{"Condition": "Open"}, {"Condition": "IsOn"}]}, "Deep": {"Fn::Equals": [{"Fn::Select": [1, {"Fn::Split": ["-", "a-b"]}]}, "b"]},
  "Wrong": {"Fn::Sub": "x"}},
 "Resources": {"R": {"Type": "T", "Properties": {"P": %s}}}}`

// evaluator returns an evaluator of the template with an expression, and the expression.
func evaluator(t testing.TB, expression, region string) (*intrinsic.Evaluator, *jsontree.Node) {
	t.Helper()
	root, problems := jsontree.Parse(diag.NewSource("t.json", fmt.Sprintf(template, expression)))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	values := map[string]string{"Project": "team", "On": "false", "Size": "30", "Zones": "a, b", "Ids": "s1,s2", "Any": intrinsic.Other, "Later": "{{resolve:ssm:a}}"}
	e := intrinsic.New(root).With(values, values)
	e.Region, e.Exports = region, map[string]string{"team-Ids": "s1,s2"}
	e.Assigned = func(name string, r *jsontree.Node, attribute string) (string, bool) {
		return strings.TrimSuffix("id of "+name+"."+attribute, "."), attribute != "Secret"
	}
	return e, root.At("Resources", "R", "Properties", "P")
}

// text writes a value and everything in it.
func text(e *intrinsic.Evaluator, n *jsontree.Node) string {
	v := e.Value(n)
	switch {
	case v.Result == intrinsic.Absent:
		return "absent"
	case v.Result == intrinsic.Unknown:
		return "? " + v.Why.String()
	case v.Node.Is(jsontree.Array):
		list, v := e.Elements(n)
		if v.Result == intrinsic.Unknown {
			return "? " + v.Why.String()
		}
		var parts []string
		for _, element := range list {
			if element.Result == intrinsic.Unknown {
				parts = append(parts, "?")
			} else {
				parts = append(parts, text(e, element.Node))
			}
		}
		return "[" + strings.Join(parts, " ") + "]"
	case v.Node.Is(jsontree.Object):
		return string(v.Node.AppendJSON(nil))
	}
	return v.Node.Text
}

// TestFunctions: each function with known, absent and unknown arguments.
func TestFunctions(t *testing.T) {
	for expression, want := range map[string]string{
		`"plain"`: "plain", `7`: "7", `true`: "true", `{"a": 1}`: `{"a":1}`, `{"Ref": "R", "Fn::Sub": "x"}`: `{"Ref":"R","Fn::Sub":"x"}`, `"{{resolve:ssm:a}}"`: "? a part of the text is replaced later",
		`"${self:custom.queue}"`: "? a part of the text is replaced later",
		// Ref.
		`{"Ref": "Project"}`: "team", `{"Ref": "Size"}`: "30", `{"Ref": "Zones"}`: "[a b]", `{"Ref": "Ids"}`: "[s1 s2]", `{"Ref": "Image"}`: "? the parameter Image is a name in Parameter Store",
		`{"Ref": "Given"}`: "? the parameter Given has no default value", `{"Ref": "Any"}`: "? the parameter Any can have another value", `{"Ref": "Later"}`: "? a part of the text is replaced later",
		`{"Ref": "R"}`: "id of R", `{"Ref": "Nowhere"}`: "? the template has no parameter or resource Nowhere", `{"Ref": "AWS::NoValue"}`: "absent", `{"Ref": ["R"]}`: "? Ref has the wrong arguments",
		`{"Ref": "AWS::Region"}`: "eu-west-1", `{"Ref": "AWS::Partition"}`: "aws", `{"Ref": "AWS::URLSuffix"}`: "amazonaws.com", `{"Ref": "AWS::AccountId"}`: "id of AWS::AccountId",
		`{"Ref": "AWS::NotificationARNs"}`: "? only CloudFormation can resolve AWS::NotificationARNs",
		// GetAtt.
		`{"Fn::GetAtt": ["R", "Arn"]}`: "id of R.Arn", `{"Fn::GetAtt": "R.Arn"}`: "id of R.Arn", `{"Fn::GetAtt": ["R", "A.B"]}`: "id of R.A.B", `{"Fn::GetAtt": ["R", {"Ref": "Project"}]}`: "id of R.team",
		`{"Fn::GetAtt": ["R", "Secret"]}`: "? only CloudFormation can resolve R.Secret", `{"Fn::GetAtt": ["S", "Arn"]}`: "? the template has no parameter or resource S", `{"Fn::GetAtt": ["R"]}`: "? Fn::GetAtt needs a text",
		// Sub.
		`{"Fn::Sub": "${Project}/${!x}/${R.Arn}"}`: "team/${x}/id of R.Arn", `{"Fn::Sub": ["${A}-${Size}-${A}", {"A": {"Ref": "Project"}}]}`: "team-30-team", `{"Fn::Sub": "a${b"}`: "a${b",
		`{"Fn::Sub": "${Given}"}`: "? the parameter Given has no default value", `{"Fn::Sub": "${Zones}"}`: "? Fn::Sub needs a text", `{"Fn::Sub": "${AWS::NoValue}"}`: "? Fn::Sub needs a text",
		`{"Fn::Sub": {"Ref": "Project"}}`: "? Fn::Sub has the wrong arguments", `{"Fn::Sub": ["{{resolve:ssm:${A}}}", {"A": "b"}]}`: "? a part of the text is replaced later",
		// Join, Split, Select.
		`{"Fn::Join": ["-", ["a", {"Ref": "Size"}, {"Ref": "AWS::NoValue"}]]}`: "a-30", `{"Fn::Join": ["-", ["a", {"Ref": "Given"}]]}`: "? the parameter Given has no default value",
		`{"Fn::Join": [",", {"Ref": "Zones"}]}`: "a,b", `{"Fn::Join": [",", "a"]}`: "? Fn::Join needs a list", `{"Fn::Join": [",", [["a"]]]}`: "? Fn::Join needs a text", `{"Fn::Join": []}`: "? Fn::Join needs a list",
		`{"Fn::Join": ["+", {"Fn::If": ["IsOn", [], [{"Fn::If": ["IsOff", "a", "b"]}, "c"]]}]}`: "a+c",
		`{"Fn::Split": [",", "a, b,c"]}`: "[a  b c]", `{"Fn::Split": ["", "a"]}`: "? Fn::Split has the wrong arguments", `{"Fn::Split": [",", {"Ref": "Given"}]}`: "? the parameter Given has no default value",
		`{"Fn::Select": ["1", {"Ref": "Zones"}]}`: "b", `{"Fn::Select": [0, ["11", {"Ref": "Given"}]]}`: "11", `{"Fn::Select": ["0", {"Fn::Split": [",", "11,1"]}]}`: "11",
		`{"Fn::Select": [9, {"Ref": "Zones"}]}`: "? Fn::Select has no element of that number", `{"Fn::Select": [0, [{"Ref": "Given"}]]}`: "? the parameter Given has no default value",
		`{"Fn::Select": ["x", []]}`: "? Fn::Select has no element of that number", `{"Fn::Select": [0, {"Fn::GetAZs": ""}]}`: "? only CloudFormation can resolve Fn::GetAZs", `{"Fn::Select": [{"Ref": "Given"}, ["a"]]}`: "? the parameter Given has no default value",
		// FindInMap, ImportValue, Base64.
		`{"Fn::FindInMap": ["M", "x", "y"]}`: "mapped", `{"Fn::FindInMap": ["M", "x", "l"]}`: "[m1 m2]", `{"Fn::FindInMap": ["M", "x", "z"]}`: "? the mapping M has no such entry",
		`{"Fn::FindInMap": ["M", "x", "z", {"DefaultValue": {"Ref": "Size"}}]}`: "30", `{"Fn::FindInMap": ["M", "x", "f"]}`: "? the mapping M has no such entry", `{"Fn::FindInMap": ["M", {"Ref": "Given"}, "y"]}`: "? the parameter Given has no default value",
		`{"Fn::ImportValue": {"Fn::Sub": "${Project}-Ids"}}`: "s1,s2", `{"Fn::ImportValue": "other"}`: "? only CloudFormation can resolve the export other", `{"Fn::Base64": {"Ref": "Project"}}`: "dGVhbQ==", `{"Fn::Base64": {"Ref": "Given"}}`: "? the parameter Given has no default value",
		`{"Fn::GetAZs": ""}`: "? only CloudFormation can resolve Fn::GetAZs",
		// If.
		`{"Fn::If": ["IsOn", 1, 2]}`: "2", `{"Fn::If": ["Either", 1, 2]}`: "1", `{"Fn::If": ["Both", 1, {"Ref": "AWS::NoValue"}]}`: "absent", `{"Fn::If": ["Open", 1, 2]}`: "? only CloudFormation knows whether the condition Open holds",
		`{"Fn::If": ["Loop", 1, 2]}`: "? the condition Loop refers to itself", `{"Fn::If": ["None", 1, 2]}`: "? the template has no condition None", `{"Fn::If": ["IsOn", 1]}`: "? Fn::If has the wrong arguments",
		`{"Fn::If": ["Account", 1, 2]}`: "? only CloudFormation knows whether the condition Account holds", `{"Fn::If": ["Same", 1, 2]}`: "1", `{"Fn::If": ["Another", 1, 2]}`: "2", `{"Fn::If": ["No", 1, 2]}`: "2",
		`{"Fn::If": ["Perhaps", 1, 2]}`: "? only CloudFormation knows whether the condition Open holds", `{"Fn::If": ["Deep", 1, 2]}`: "1", `{"Fn::If": ["Wrong", 1, 2]}`: "? only CloudFormation knows whether the condition Wrong holds",
		// Lists: an element can be unknown, but not whether it exists.
		`[{"Ref": "Given"}, "b", {"Ref": "AWS::NoValue"}]`: "[? b]", `[{"Fn::If": ["Open", "a", {"Ref": "AWS::NoValue"}]}, "b"]`: "? only CloudFormation knows whether the condition Open holds",
	} {
		if e, n := evaluator(t, expression, "eu-west-1"); text(e, n) != want {
			t.Errorf("%s is %s, want %s", expression, text(e, n), want)
		}
	}
}

// TestPositions: a computed value is at its function, and a chosen one at its own place.
func TestPositions(t *testing.T) {
	for expression, want := range map[string]string{
		`{"Fn::Join": ["", ["1", "1"]]}`: `{"Fn::Join": ["", ["1", "1"]]}`, `{"Fn::Select": ["0", ["11", "1"]]}`: `"11"`, `{"Fn::If": ["IsOff", "on", "off"]}`: `"on"`,
		`{"Fn::Select": [0, {"Fn::Split": [",", "11,1"]}]}`: `{"Fn::Split": [",", "11,1"]}`, `{"Ref": "Size"}`: `{"Ref": "Size"}`, `{"Fn::FindInMap": ["M", "x", "y"]}`: `"mapped"`,
	} {
		e, n := evaluator(t, expression, "")
		v := e.Value(n)
		if got := v.Node.Source.Text[v.Node.Span.Start:v.Node.Span.End]; got != want {
			t.Errorf("%s is at %s, want %s", expression, got, want)
		}
	}
}

// TestPartitions: the pseudo parameters that depend on the Region.
func TestPartitions(t *testing.T) {
	for region, want := range map[string]string{
		"us-east-1": "aws amazonaws.com", "cn-north-1": "aws-cn amazonaws.com.cn", "us-gov-west-1": "aws-us-gov amazonaws.com", "us-iso-east-1": "aws-iso c2s.ic.gov", "us-isob-east-1": "aws-iso-b sc2s.sgov.gov",
		"eu-isoe-west-1": "aws-iso-e cloud.adc-e.uk", "us-isof-south-1": "aws-iso-f csp.hci.ic.gov", "eusc-de-east-1": "aws-eusc amazonaws.eu", "": "? only CloudFormation can resolve AWS::Partition",
	} {
		if e, n := evaluator(t, `{"Fn::Sub": "${AWS::Partition} ${AWS::URLSuffix}"}`, region); text(e, n) != want {
			t.Errorf("%q: %s, want %s", region, text(e, n), want)
		}
	}
}

// TestDefaultsAreNotCompared: a condition compares only the values that no deployment changes.
func TestDefaultsAreNotCompared(t *testing.T) {
	e, n := evaluator(t, `{"Fn::If": ["IsOn", 1, {"Ref": "On"}]}`, "")
	e = e.With(map[string]string{"On": "false"}, nil)
	if got := text(e, n); got != "? only CloudFormation knows whether the condition IsOn holds" {
		t.Error(got)
	}
	e.Decide = func(*jsontree.Node) intrinsic.Truth { return intrinsic.No }
	if got := text(e.With(map[string]string{"On": "false"}, nil), n); got != "false" {
		t.Error(got)
	}
}

// TestTarget: the resource that a value is a reference to.
func TestTarget(t *testing.T) {
	for expression, want := range map[string]string{
		`{"Ref": "R"}`: "R ", `{"Fn::GetAtt": ["R", "Arn"]}`: "R Arn", `{"Fn::GetAtt": "R.Arn"}`: "R Arn", `{"Fn::Sub": "${R.Arn}"}`: "R Arn", `{"Fn::Sub": "${R}"}`: "R ", `{"Fn::Sub": "a${R}"}`: " ", `{"Fn::Sub": "${R}${R}"}`: " ",
		`"R"`: " ", `{"Fn::Sub": "${"}`: " ", `{"Fn::Sub": ["${R}", {}]}`: " ",
	} {
		_, n := evaluator(t, expression, "")
		if name, attribute := intrinsic.Target(n); name+" "+attribute != want {
			t.Errorf("%s refers to %q %q, want %q", expression, name, attribute, want)
		}
	}
}

// nested returns n levels of a function around a text: before and after are the JSON of each level.
func nested(n int, before, text, after string) *jsontree.Node {
	build := map[string]func(inner *jsontree.Node) *jsontree.Node{
		"join": func(inner *jsontree.Node) *jsontree.Node {
			list, out := jsontree.NewArray(nil), jsontree.NewObject(nil)
			parts := jsontree.NewArray(nil)
			parts.Append(inner)
			list.Append(jsontree.NewString(after, nil))
			list.Append(parts)
			out.Set("Fn::Join", list)
			return out
		},
		"sub": func(inner *jsontree.Node) *jsontree.Node {
			list, own, out := jsontree.NewArray(nil), jsontree.NewObject(nil), jsontree.NewObject(nil)
			own.Set("A", inner)
			list.Append(jsontree.NewString(after, nil))
			list.Append(own)
			out.Set("Fn::Sub", list)
			return out
		},
		"not": func(inner *jsontree.Node) *jsontree.Node {
			list, out := jsontree.NewArray(nil), jsontree.NewObject(nil)
			list.Append(inner)
			out.Set("Fn::Not", list)
			return out
		},
	}[before]
	node := jsontree.NewString(text, nil)
	for range n {
		node = build(node)
	}
	return node
}

// TestNesting: 10,000 nested functions, and texts that double at each level, end at once.
func TestNesting(t *testing.T) {
	root := jsontree.NewObject(nil)
	conditions := jsontree.NewObject(nil)
	conditions.Set("Deep", nested(10_000, "not", "", ""))
	for i := range 5_000 {
		next := jsontree.NewObject(nil)
		next.Set("Condition", jsontree.NewString(fmt.Sprint("C", (i+1)%5_000), nil))
		conditions.Set(fmt.Sprint("C", i), next)
	}
	root.Set("Conditions", conditions)
	e := intrinsic.New(root)
	for want, n := range map[string]*jsontree.Node{
		"? the functions are nested more than 100 levels deep":  nested(10_000, "join", "x", "-"),
		"? the functions are nested more than 100 levels deep ": nested(10_000, "sub", "x", "${A}${A}"),
		"? the text is longer than 1 MiB":                       nested(60, "sub", "x", "${A}${A}"),
		"":                                                      nested(60, "sub", "", "${A}${A}"),
		"x":                                                     nested(99, "join", "x", "-"),
	} {
		if got := text(e, n); got != strings.TrimRight(want, " ") {
			t.Errorf("got %.80s, want %s", got, want)
		}
	}
	if _, why := e.Condition("Deep"); why.String() != "the functions are nested more than 100 levels deep" {
		t.Error(why)
	}
	if _, why := e.Condition("C7"); why.String() != "the condition C7 refers to itself" {
		t.Error(why)
	}
}

// FuzzValue: no expression makes the evaluator panic or run without end, and each unknown value has a place and a
// reason.
func FuzzValue(f *testing.F) {
	f.Add(`{"Fn::Sub": ["${A}${A}", {"A": {"Fn::Sub": ["${A}", {"A": {"Fn::Select": [0, {"Ref": "Zones"}]}}]}}]}`)
	f.Add(`{"Fn::If": ["Loop", {"Fn::Join": [",", {"Fn::Split": ["-", {"Ref": "Project"}]}]}, {"Fn::FindInMap": ["M", "x", {"Fn::Base64": {"Ref": "AWS::NoValue"}}]}]}`)
	f.Add(`{"Fn::ImportValue": {"Fn::GetAtt": ["R", {"Fn::GetAtt": "R.Arn"}]}}`)
	f.Fuzz(func(t *testing.T, expression string) {
		root, problems := jsontree.Parse(diag.NewSource("t.json", expression))
		if problems.HasErrors() || root == nil {
			return
		}
		checkAll(t, expression, root)
	})
}

// checkAll evaluates a value and everything in it.
func checkAll(t interface {
	Fatalf(format string, arguments ...any)
	Helper()
}, expression string, n *jsontree.Node) {
	t.Helper()
	e := intrinsic.New(n).With(map[string]string{"Project": "team", "Zones": "a,b"}, nil)
	var visit func(n *jsontree.Node)
	visit = func(n *jsontree.Node) {
		v := e.Value(n)
		if v.Result == intrinsic.Unknown && (v.Node == nil || v.Why.String() == "") || v.Result == intrinsic.Known && v.Node == nil {
			t.Fatalf("%s: %+v", expression, v)
		}
		e.Elements(n)
		e.Condition(n.Name)
		for c := range n.Children() {
			visit(c)
		}
	}
	visit(n)
}
