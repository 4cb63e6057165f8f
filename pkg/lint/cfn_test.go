package lint

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/cfn"
	"github.com/batchctl/batchctl/pkg/lint/shape"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

func loadText(t testing.TB, name, text string) (*document.File, diag.List) {
	t.Helper()
	f, problems := document.Load(diag.NewSource(name, text), document.Options{Hosts: true})
	if f == nil {
		return nil, problems
	}
	found := Settle(append(problems, Check([]*document.File{f}, nil, Rules())...))
	found.Sort()
	return f, found
}

// Each template has the problems that its archive expects, at its lines.
func TestTemplates(t *testing.T) {
	for _, archive := range golden.Glob(t, "testdata/templates/*.txtar") {
		t.Run(archive.Name, func(t *testing.T) {
			f, found := loadText(t, "template.yaml", archive.Text(t, "template.yaml"))
			var b strings.Builder
			for _, d := range found {
				b.WriteString(d.Error() + "\n")
				if d.Fix != nil {
					t.Errorf("%v has an edit, which is of JSON", d)
				}
				if d.Span.End <= d.Span.Start {
					t.Errorf("%v marks nothing", d)
				}
			}
			for _, n := range cfn.NotKnown(f) {
				line, col := f.Source.Position(n.Node.Span.Start)
				fmt.Fprintf(&b, "not checked: %d:%d: %s\n", line, col, n.Why)
			}
			archive.Want(t, "want", b.String())
		})
	}
}

// capitalised returns a native value in the form of a CloudFormation template.
func capitalised(n *jsontree.Node, s *shape.Shape) *jsontree.Node {
	out := n.Clone()
	if !n.Is(jsontree.Object) && !n.Is(jsontree.Array) {
		return out
	}
	out = (*jsontree.Arena)(nil).New(n.Kind, "", n)
	for c := range n.Children() {
		var below *shape.Shape
		name := c.Name
		switch {
		case s != nil && s.Element != nil:
			below = s.Element
		case s != nil && s.Members[name] != nil:
			below, name = s.Members[name], strings.ToUpper(name[:1])+name[1:]
			if name == "S3filesVolumeConfiguration" {
				name = "S3FilesVolumeConfiguration"
			}
		}
		child := capitalised(c, below)
		if n.Is(jsontree.Array) {
			out.Append(child)
		} else if name != "$schema" && name != "$comment" {
			out.Set(name, child)
		}
	}
	return out
}

// asTemplateText returns a native request as a template with one resource.
func asTemplateText(root *jsontree.Node, kind document.Kind) string {
	name := strings.TrimPrefix(strings.TrimPrefix(string(kind), "Register"), "Create")
	return fmt.Sprintf(`{"Resources":{"It":{"Type":%q,"Properties":%s}}}`, "AWS::Batch::"+name, capitalised(root, shape.Of(kind)).AppendJSON(nil))
}

// inTemplates reports whether CloudFormation has resources for requests of the kind.
func inTemplates(kind document.Kind) bool {
	return kind != document.KindSubmitJob && shape.Of(kind) != nil
}

// A mistake in a request is the same mistake in a template, under the same name.
func TestRulesInTemplates(t *testing.T) {
	// What cannot be in a template, or is another thing there.
	other := map[string]string{
		"jobdef-unknown-member":         "is unknown-member",
		"ce-instancerole-required":      "is cfn-instance-role",
		"stuck-queue-no-fuse":           "is cfn-queue-time-limit",
		"submit-arn-region-mismatch":    "a template has no Region",
		"jobdef-wrong-json-type":        "CloudFormation makes text of numbers and numbers of text",
		"whole-number-form":             "CloudFormation, and not the AWS CLI, reads the number",
		"tag-value-string":              "as above",
		"parameters-string-map":         "as above",
		"log-options-string-map":        "as above",
		"jobdef-name-required":          "CloudFormation makes up a name",
		"job-instance-type-single-node": "CloudFormation has no InstanceType there",
		"retry-attempts-required":       "an empty RetryStrategy, as the AWS CDK writes it, counts as absent",
		"jobdef-type-enum":              "CloudFormation reads the value in any case",
		"resource-type-enum":            "as above",
		"fargate-no-instancetype":       "CloudFormation has no InstanceType there",
	}
	tried := 0
	for _, r := range Rules() {
		bad := example(t, r.Name).Bad
		if !isSingle(bad) {
			continue
		}
		native := loaded(bad)
		if !inTemplates(native.Kind) || len(native.Jobs)+len(native.Requests) != 1 {
			continue
		}
		text := asTemplateText(native.Root, native.Kind)
		tried++
		_, found := loadText(t, "t.json", text)
		if len(byRule(found, r.Name)) > 0 {
			delete(other, r.Name)
		} else if other[r.Name] == "" {
			t.Errorf("%s is not found in\n%s\nfound are %v", r.Name, text, found)
		}
	}
	if tried < 100 {
		t.Errorf("only %d rules tried", tried)
	}
}

// Values that only CloudFormation knows are neither right nor wrong: without any values of
// a template, no new problem appears.
func TestUnknownValues(t *testing.T) {
	type base struct {
		text  string
		paths [][]string
	}
	var templates []base
	texts := exampleTexts()
	whole := bases(t)
	for _, name := range whole.Names("*") {
		texts = append(texts, whole.Text(t, name))
	}
	for _, text := range texts {
		native, _ := loadSource(diag.NewSource("t.json", text), nil, nil)
		if native == nil || !inTemplates(native.Kind) || len(native.Jobs)+len(native.Requests) != 1 {
			continue
		}
		text := asTemplateText(native.Root, native.Kind)
		root, _ := jsontree.Parse(diag.NewSource("t.json", text))
		b := base{text: text}
		var visit func(n *jsontree.Node, path []string)
		visit = func(n *jsontree.Node, path []string) {
			i := 0
			for c := range n.Children() {
				step := c.Name
				if n.Is(jsontree.Array) {
					step = fmt.Sprint(i)
				}
				i++
				below := append(slices.Clone(path), step)
				b.paths = append(b.paths, below)
				visit(c, below)
			}
		}
		visit(root.At("Resources", "It", "Properties"), []string{"Resources", "It", "Properties"})
		if len(b.paths) > 0 {
			templates = append(templates, b)
		}
	}
	if len(templates) < 50 {
		t.Fatalf("only %d templates", len(templates))
	}
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SampledFrom(templates).Draw(t, "template")
		root, _ := jsontree.Parse(diag.NewSource("t.json", b.text))
		for _, path := range rapid.SliceOfN(rapid.SampledFrom(b.paths), 1, 3).Draw(t, "unknown") {
			root = unknownAt(root, path)
		}
		before, now := rulesIn(b.text), rulesIn(string(root.AppendJSON(nil)))
		for rule, message := range now {
			if _, was := before[rule]; !was {
				t.Fatalf("%s (%s) is found in\n%s\nand not in\n%s", rule, message, root.AppendJSON(nil), b.text)
			}
		}
	})
}

// unknownAt returns a copy of a tree with a reference to nothing at a path.
func unknownAt(n *jsontree.Node, path []string) *jsontree.Node {
	if len(path) == 0 {
		unknown := jsontree.NewObject(nil)
		unknown.Set("Ref", jsontree.NewString("Given", nil))
		return unknown
	}
	out := (*jsontree.Arena)(nil).New(n.Kind, n.Text, nil)
	i := 0
	for c := range n.Children() {
		step := c.Name
		if n.Is(jsontree.Array) {
			step = fmt.Sprint(i)
		}
		i++
		name, child := c.Name, c.Clone()
		if step == path[0] {
			child = unknownAt(c, path[1:])
		}
		if n.Is(jsontree.Array) {
			out.Append(child)
		} else {
			out.Set(name, child)
		}
	}
	return out
}

func rulesIn(text string) map[string]string {
	f, problems := document.Load(diag.NewSource("t.json", text), document.Options{Hosts: true})
	out := map[string]string{}
	for _, d := range Settle(append(problems, Check([]*document.File{f}, nil, Rules())...)) {
		out[d.Rule] = d.Message
	}
	return out
}

// yamlOf writes a value as YAML after a key or a dash: functions in their short form if
// possible, and texts of several lines as literal blocks.
func yamlOf(n *jsontree.Node, indent int) string {
	pad := strings.Repeat(" ", indent+2)
	short := ""
	for only := range n.Children() {
		name := strings.TrimPrefix(only.Name, "Fn::")
		if n.Is(jsontree.Object) && n.Len() == 1 && (only.Name == "Ref" || name != only.Name) && !onlyFunction(only) {
			short, n = " !"+name, only
		}
		break
	}
	switch {
	case n.Is(jsontree.String) && strings.Contains(n.Text, "\n") && strings.Trim(n.Text, "\n") != "" && !strings.ContainsAny(n.Text, "\r\x00\x1b\u0085"):
		text := strings.TrimSuffix(n.Text, "\n")
		sign := "-"
		if text != n.Text && !strings.HasSuffix(text, "\n") {
			sign = ""
		} else if text != n.Text {
			break
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s |2%s\n", short, sign)
		for line := range strings.SplitSeq(text, "\n") {
			b.WriteString(pad + line + "\n")
		}
		return b.String()
	case n.Is(jsontree.Object) && n.Len() > 0:
		var b strings.Builder
		b.WriteString(short + "\n")
		for c := range n.Children() {
			fmt.Fprintf(&b, "%s%q:%s", pad, c.Name, yamlOf(c, indent+2))
		}
		return b.String()
	case n.Is(jsontree.Array) && n.Len() > 0:
		var b strings.Builder
		b.WriteString(short + "\n")
		for c := range n.Children() {
			b.WriteString(pad + "-" + yamlOf(c, indent+2))
		}
		return b.String()
	}
	return short + " " + string(n.AppendJSON(nil)) + "\n"
}

// onlyFunction reports whether an object is a reference or a function, which the short form cannot contain.
func onlyFunction(n *jsontree.Node) bool {
	for c := range n.Children() {
		return n.Get("Ref") != nil || n.Len() == 1 && strings.HasPrefix(c.Name, "Fn::")
	}
	return false
}

// A template has the same problems in YAML as in JSON.
func TestTemplatesInYAML(t *testing.T) {
	tried := 0
	texts := exampleTexts()
	files, err := filepath.Glob("../../templates/infra/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		texts = append(texts, read(t, file))
	}
	for _, json := range texts {
		root, slips := jsontree.Parse(diag.NewSource("t.json", json))
		f, before := loadText(t, "t.json", json)
		if len(slips) > 0 || f == nil || f.Kind != document.KindTemplate && f.Kind != document.KindLaunchTemplate {
			continue
		}
		tried++
		text := strings.TrimPrefix(yamlOf(root, -2), "\n")
		g, found := loadText(t, "t.yaml", text)
		if g == nil {
			t.Fatalf("%s\nis in YAML\n%s\n%v", json, text, found)
		}
		if got, want := string(g.Root.AppendJSON(nil)), string(root.AppendJSON(nil)); got != want {
			t.Errorf("in YAML %s\nin JSON %s", got, want)
		}
		said := func(l diag.List) (out []string) {
			for _, d := range l {
				out = append(out, d.Rule+": "+d.Message)
			}
			return out
		}
		if got, want := said(found), said(before); !slices.Equal(got, want) {
			t.Errorf("%s\nin YAML %q\nin JSON %q", json, got, want)
		}
		inside(t, found)
	}
	if tried < 40 {
		t.Errorf("only %d templates", tried)
	}
}

// No template causes a panic of a rule, or a problem outside its text.
func FuzzTemplate(f *testing.F) {
	for _, archive := range golden.Glob(f, "testdata/templates/*.txtar") {
		f.Add(archive.Text(f, "template.yaml"))
	}
	f.Add("Conditions: {A: !Not [Condition: A], B: !And [!Condition A, !Equals [!Ref P, x]]}\nResources:\n  J: {Type: AWS::Batch::JobQueue, Condition: B, Properties: {JobQueueName: !Sub '${J}', Priority: !If [A, !Ref J, []]}}\n")
	f.Add("Conditions: {A: !And [Condition: A, Condition: A]}\nMappings: {M: {k: {l: !FindInMap [M, !FindInMap [M, k, l], !FindInMap [M, k, l]]}}}\nResources:\n  J: {Type: AWS::Batch::JobQueue, Condition: A, Properties: {Priority: !FindInMap [M, k, l]}}\n")
	f.Add("Resources: {J: {Type: AWS::Batch::JobDefinition, Properties: !If [x, {Fn::Sub: [a]}, 1]}, K: {Type: AWS::Batch::ComputeEnvironment, Properties: {ComputeResources: {Fn::FindInMap: [a, b, c]}}}}\n")
	f.Add("Resources: {R: {Type: AWS::IAM::Role, Properties: {RoleName: !Ref S}}, S: {Type: AWS::IAM::Role, Properties: {RoleName: !Sub '${R}${R}'}}, P: {Type: AWS::IAM::InstanceProfile, Properties: {InstanceProfileName: !Ref R, Roles: [!Ref S]}}, K: {Type: AWS::Batch::ComputeEnvironment, Properties: {ServiceRole: !Ref P, ComputeResources: {InstanceRole: !If [x, !Ref R, !Select [0, [!Ref S]]]}}}}\n")
	f.Add("Resources: {J: {Type: AWS::Batch::JobQueue, Properties: {JobQueueName: " + strings.Repeat("{Fn::Sub: ['${A}${A}', {A: ", 24) + "x" + strings.Repeat("}]}", 24) + "}}}\n")
	f.Add("Parameters: {P: {Type: String}}\nConditions: {A: !Equals [!Ref P, x]}\nResources: {J: {Type: AWS::Batch::JobQueue, Condition: A, Properties: {Priority: !Ref P}}}\n")
	for _, archive := range golden.Glob(f, "testdata/services/*.txtar") {
		for _, name := range archive.Names("*/*") {
			f.Add(archive.Text(f, name))
		}
	}
	for _, e := range embeddings {
		f.Add(e.text(tree(`{"jobName": "a b", "jobQueue": "q", "jobDefinition": "d", "arrayProperties": {"size": 1}}`)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"t.yaml", "t.sh"} {
			doc, problems := document.Load(diag.NewSource(name, text), document.Options{Hosts: true})
			inside(t, problems)
			if doc != nil {
				cfn.NotKnown(doc)
				inside(t, Check([]*document.File{doc}, nil, Rules()))
			}
		}
	})
}

// The AWS CDK writes the type of an environment in lower case. Hosts of an unmanaged
// environment join the cluster that their script names.
func TestScriptsOfUnmanagedHosts(t *testing.T) {
	for kind, want := range map[string]bool{"UNMANAGED": false, "unmanaged": false, "MANAGED": true, "managed": true} {
		_, found := loadText(t, "t.yaml", `
Resources:
  Hosts:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        UserData:
          Fn::Base64: |
            #!/bin/bash
            echo ECS_CLUSTER=mine >> /etc/ecs/ecs.config
  Environment:
    Type: AWS::Batch::ComputeEnvironment
    Properties:
      Type: `+kind+`
      ComputeResources: { LaunchTemplate: { LaunchTemplateId: !Ref Hosts } }
`)
		if got := slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.Rule == "userdata-ecs-cluster" }); got != want {
			t.Errorf("%s: userdata-ecs-cluster is reported: %v", kind, got)
		}
	}
}

// The members that want a role or a profile, each with a reference of each form.
func TestRoleKindsInTemplates(t *testing.T) {
	const template = `{ "Resources": { "R": { "Type": "AWS::IAM::Role" }, "P": { "Type": "AWS::IAM::InstanceProfile" },
		"Same": { "Type": "AWS::IAM::Role" }, "ProfileOfSame": { "Type": "AWS::IAM::InstanceProfile", "Properties": { "InstanceProfileName": { "Ref": "Same" }, "Roles": [{ "Ref": "Same" }] } },
		"E": { "Type": "AWS::Batch::ComputeEnvironment", "Properties": { "Type": "MANAGED", "ServiceRole": %[1]s, "ComputeResources": { "Type": "SPOT", "SpotIamFleetRole": %[1]s, "InstanceRole": %[2]s } } },
		"D": { "Type": "AWS::Batch::JobDefinition", "Properties": { "Type": "container", "ContainerProperties": { "Image": "a:1", "JobRoleArn": %[1]s, "ExecutionRoleArn": %[1]s } } },
		"T": { "Type": "AWS::Batch::JobDefinition", "Properties": { "Type": "container", "EcsProperties": { "TaskProperties": [{ "TaskRoleArn": %[1]s, "ExecutionRoleArn": %[1]s }] } } },
		"N": { "Type": "AWS::Batch::JobDefinition", "Properties": { "Type": "multinode", "NodeProperties": { "NodeRangeProperties": [{ "Container": { "Image": "a:1", "JobRoleArn": %[1]s } }] } } } } }`
	for _, tt := range []struct {
		role, profile string
		want          int
	}{
		{`{ "Fn::GetAtt": ["P", "Arn"] }`, `{ "Ref": "R" }`, 8},
		{`{ "Fn::GetAtt": "P.Arn" }`, `{ "Fn::GetAtt": "R.Arn" }`, 8},
		{`{ "Fn::GetAtt": ["R", "Arn"] }`, `{ "Ref": "P" }`, 0},
		{`{ "Fn::Sub": "arn:aws:iam::123456789012:role/${P}" }`, `{ "Fn::Sub": "arn:aws:iam::123456789012:instance-profile/${R}" }`, 0},
		{`{ "Fn::Sub": "${P.Arn}" }`, `{ "Fn::Sub": "${R}" }`, 8},
		{`{ "Fn::If": ["C", { "Ref": "R" }, { "Fn::GetAtt": ["P", "Arn"] }] }`, `{ "Fn::If": ["C", { "Ref": "R" }, { "Ref": "P" }] }`, 8},
		{`{ "Ref": "Elsewhere" }`, `"name"`, 0},
		{`{ "Fn::GetAtt": ["R", "Arn"] }`, `{ "Ref": "Same" }`, 0}, // a profile has the name of this role
		{`{ "Fn::GetAtt": ["R", "Arn"] }`, `{ "Fn::GetAtt": ["Same", "Arn"] }`, 1},
	} {
		f, problems := document.Load(diag.NewSource("t.json", fmt.Sprintf(template, tt.role, tt.profile)), document.Options{Hosts: true})
		if f == nil {
			t.Fatal(problems)
		}
		if found := byRule(Check([]*document.File{f}, nil, Rules()), "cfn-role-kind"); len(found) != tt.want {
			t.Errorf("%s and %s: %d problems, want %d: %v", tt.role, tt.profile, len(found), tt.want, found)
		}
	}
}

// A function whose text is wrong in each scenario has one problem, and a template that is too deep only that one.
func TestOneProblemForAFunction(t *testing.T) {
	const joined = `
Parameters:
  Env: { Type: String, Default: prod, AllowedValues: [prod, dev] }
Resources:
  Q:
    Type: AWS::Batch::JobQueue
    Properties:
      Priority: 1
      JobQueueName: !Join ["-", [q, !Ref Env, "x.y"]]
      ComputeEnvironmentOrder: [{ Order: 1, ComputeEnvironment: a }]
`
	found := byRule(checkDocs(document.Options{Hosts: true}, [2]string{"t.yaml", joined}), "queue-name-charset")
	if len(found) != 1 || !strings.Contains(found[0].Message, `"q-prod-x.y"`) {
		t.Errorf("%v, want one problem", found)
	}
	const levels = 10_000
	deep := `{"Resources":{"Q":{"Type":"AWS::Batch::JobQueue","Properties":{"Priority":1,"JobQueueName":` + strings.Repeat(`{"Fn::Join":["",[`, levels) + `"a"` + strings.Repeat(`]]}`, levels) + `}}}}`
	f, problems := document.Load(diag.NewSource("t.json", deep), document.Options{Hosts: true})
	if len(problems) != 1 {
		t.Errorf("%v, want one problem", problems)
	}
	for _, d := range Check([]*document.File{f}, nil, Rules()) {
		if d.Severity == diag.Error {
			t.Errorf("%v in a template that the parser gave up", d)
		}
	}
	none := byRule(checkDocs(document.Options{Hosts: true}, [2]string{"t.yaml", "Resources:\n  Q:\n    Type: AWS::Batch::JobQueue\n    Properties: { Priority: 1 }\n"}), "queue-ce-order-required")
	if len(none) != 1 || !strings.Contains(none[0].Message, "one compute environment") {
		t.Errorf("%v, want a message with one compute environment", none)
	}
}

// Managed instances need ARNs, where Ref returns the name of a role or of an instance profile.
func TestManagedInstancesNeedARNs(t *testing.T) {
	for value, want := range map[string]int{"!Ref": 2, "!GetAtt": 0} {
		suffix := map[string]string{"!GetAtt": ".Arn"}[value]
		text := `
Resources:
  Role: { Type: AWS::IAM::Role, Properties: { AssumeRolePolicyDocument: {} } }
  Profile: { Type: AWS::IAM::InstanceProfile, Properties: { Roles: [!Ref Role] } }
  CE:
    Type: AWS::Batch::ComputeEnvironment
    Properties:
      Type: MANAGED
      ComputeResources:
        Type: ECS_MANAGED_INSTANCES
        MaxvCpus: 16
        ManagedInstancesProvider:
          InfrastructureRoleArn: ` + value + ` Role` + suffix + `
          InstanceLaunchTemplate:
            Ec2InstanceProfileArn: ` + value + ` Profile` + suffix + `
            NetworkConfiguration: { Subnets: [subnet-0123456789abcdef0], SecurityGroups: [sg-0123456789abcdef0] }
`
		found := byRule(checkDocs(document.Options{Hosts: true}, [2]string{"t.yaml", text}), "ce-managed-instances-arns")
		if len(found) != want {
			t.Errorf("%s: %v, want %d problems", value, found, want)
		}
	}
}
