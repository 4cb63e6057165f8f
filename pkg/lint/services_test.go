package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/cfn"
	"github.com/batchctl/batchctl/pkg/lint/shape"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// embedding is a document that sends a SubmitJob request.
type embedding struct {
	name string
	text func(request *jsontree.Node) string
}

// capitals returns a SubmitJob request with the members of other services.
func capitals(request *jsontree.Node) string {
	return string(capitalised(request, shape.Of(document.KindSubmitJob)).AppendJSON(nil))
}

// state returns a state that submits a job.
func state(resource string, request *jsontree.Node) string {
	return `{"Type":"Task","Resource":"` + resource + `","Parameters":` + capitals(request) + `,"End":true}`
}

func machine(state string) string { return `{"StartAt":"S","States":{"S":` + state + `}}` }

func resource(kind, properties string) string {
	return `{"Resources":{"It":{"Type":"` + kind + `","Properties":{` + properties + `}}}}`
}

const syncTask = "arn:aws:states:::batch:submitJob.sync"

// embeddings are the documents in which a request is checked.
var embeddings = []embedding{
	{"m.asl.json", func(r *jsontree.Node) string { return machine(state(syncTask, r)) }},
	{"m.asl", func(r *jsontree.Node) string { return machine(state("arn:aws:states:::batch:submitJob", r)) }},
	{"callback.json", func(r *jsontree.Node) string {
		return machine(state("arn:aws-us-gov:states:::batch:submitJob.waitForTaskToken", r))
	}},
	{"arguments.json", func(r *jsontree.Node) string {
		return machine(strings.Replace(state("arn:aws-cn:states:::aws-sdk:batch:submitJob", r), "Parameters", "Arguments", 1))
	}},
	{"nested.json", func(r *jsontree.Node) string {
		return machine(`{"Type":"Parallel","Branches":[` + machine(`{"Type":"Map","ItemProcessor":`+machine(`{"Type":"Map","Iterator":`+machine(state(syncTask, r))+`}`)+`}`) + `]}`)
	}},
	{"state.json", func(r *jsontree.Node) string { return state(syncTask, r) }},
	{"m.asl.yaml", func(r *jsontree.Node) string { return inYAML(machine(state(syncTask, r))) }},
	{"string.json", func(r *jsontree.Node) string {
		return resource("AWS::StepFunctions::StateMachine", `"DefinitionString":`+jsonString(machine(state(syncTask, r))))
	}},
	{"string.yaml", func(r *jsontree.Node) string {
		text := strings.ReplaceAll(machine(state(syncTask, r)), `,"End"`, ",\n\n \"End\"")
		return inYAML(resource("AWS::StepFunctions::StateMachine", `"DefinitionString":`+jsonString(text)))
	}},
	{"sub.json", func(r *jsontree.Node) string {
		text := strings.ReplaceAll(machine(state(syncTask, r)), "${", "${!")
		return resource("AWS::StepFunctions::StateMachine", `"DefinitionString":{"Fn::Sub":`+jsonString(strings.Replace(text, "arn:aws:", "arn:${AWS::Partition}:", 1))+`}`)
	}},
	{"join.json", func(r *jsontree.Node) string {
		before, after, _ := strings.Cut(machine(state(syncTask, r)), "aws:states")
		return resource("AWS::StepFunctions::StateMachine", `"DefinitionString":{"Fn::Join":["",[`+jsonString(before)+`,{"Ref":"AWS::Partition"},`+jsonString(":states"+after)+`]]}`)
	}},
	{"object.yaml", func(r *jsontree.Node) string {
		return inYAML(resource("AWS::StepFunctions::StateMachine", `"Definition":`+machine(state(syncTask, r))))
	}},
	{"sam.yaml", func(r *jsontree.Node) string {
		return inYAML(resource("AWS::Serverless::StateMachine", `"Definition":`+machine(state(syncTask, r))))
	}},
	{"tojson.json", func(r *jsontree.Node) string {
		return resource("AWS::StepFunctions::StateMachine", `"DefinitionString":{"Fn::ToJsonString":`+machine(state(syncTask, r))+`}`)
	}},
	{"schedule.yaml", func(r *jsontree.Node) string {
		return inYAML(resource("AWS::Scheduler::Schedule", `"ScheduleExpression":"rate(1 day)","Target":{"Arn":"arn:aws:scheduler:::aws-sdk:batch:submitJob","RoleArn":"r","Input":`+jsonString(capitals(r))+`}`))
	}},
	{"schedule.json", func(r *jsontree.Node) string {
		return `{"Name":"s","ScheduleExpression":"rate(1 day)","Target":{"Arn":"arn:aws:scheduler:::aws-sdk:batch:submitJob","RoleArn":"r","Input":` + jsonString(string(r.AppendJSON(nil))) + `}}`
	}},
	{"argument.sh", func(r *jsontree.Node) string {
		return "#!/bin/sh\nset -e\nsudo -u me aws --region eu-west-1 batch submit-job --cli-input-json '" + strings.ReplaceAll(string(r.AppendJSON(nil)), "'", `'\''`) + "' --output text\n"
	}},
	{"quoted.sh", func(r *jsontree.Node) string {
		escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`")
		return "#!/bin/sh\naws batch submit-job --cli-input-json=\"" + escape.Replace(string(r.AppendJSON(nil))) + "\"\n"
	}},
	{"here.sh", func(r *jsontree.Node) string {
		return "#!/bin/bash\nif true; then\n  cat > job.json <<'END'\n" + string(r.AppendJSON(nil)) + "\nEND\nfi\n"
	}},
	{"open.sh", func(r *jsontree.Node) string {
		escape := strings.NewReplacer(`\`, `\\`, `$`, `\$`, "`", "\\`")
		return "#!/bin/bash\ncat > job.json <<-END\n\t" + escape.Replace(string(r.AppendJSON(nil))) + "\n\tEND\n"
	}},
}

// inYAML returns JSON as YAML.
func inYAML(text string) string { return strings.TrimPrefix(yamlOf(tree(text), -2), "\n") }

// fault is a problem in any of the forms of a request: the place is the text without quotes, escapes and capitals.
type fault struct{ rule, place string }

// differences compares the problems of a request and of a document with it. In YAML, an object begins with its first
// member.
func differences(want, got []fault) string {
	return cmp.Diff(want, got, cmp.Comparer(func(a, b fault) bool {
		return a.rule == b.rule && (a.place == b.place || strings.ContainsAny(a.place[:1]+b.place[:1], "{["))
	}))
}

// faultsIn returns the problems of a document, sorted.
func faultsIn(t testing.TB, name, text string) (all []fault) {
	_, found := loadText(t, name, text)
	if len(found) > 0 {
		inside(t.(*testing.T), found)
	}
	for _, d := range found {
		if d.Rule == "submit-arn-region-mismatch" {
			continue // a template has no Region
		}
		place := strings.ToLower(strings.NewReplacer(`\`, "", `"`, "", "'", "", " ", "", "\n", "").Replace(d.Source.Text[d.Span.Start:d.Span.End]))
		all = append(all, fault{d.Rule, place})
	}
	slices.SortStableFunc(all, func(a, b fault) int { return strings.Compare(a.rule, b.rule) })
	return all
}

// submissions returns the examples of rules that are one SubmitJob request.
func submissions(t testing.TB) (all []*jsontree.Node) {
	for _, text := range exampleTexts() {
		f, problems := document.Load(diag.NewSource("t.json", text), document.Options{})
		if f == nil || f.Kind != document.KindSubmitJob || slices.ContainsFunc(problems, func(d diag.Diagnostic) bool { return strings.HasPrefix(d.Rule, "json-") }) {
			continue
		}
		root := jsontree.NewObject(f.Root)
		for m := range f.Root.Children() {
			if !strings.HasPrefix(m.Name, "$") {
				root.Set(m.Name, m.Clone())
			}
		}
		all = append(all, root)
	}
	if len(all) < 30 {
		t.Fatalf("only %d submissions", len(all))
	}
	return all
}

// A fault of a request is the same fault, at the same value, in every document that sends it.
func TestFaultsInEveryDocument(t *testing.T) {
	tried := 0
	for _, r := range submissions(t) {
		text := string(r.AppendJSON(nil))
		want := faultsIn(t, "plain.json", text)
		for _, e := range embeddings {
			tried++
			if diff := differences(want, faultsIn(t, e.name, e.text(tree(text)))); diff != "" {
				t.Errorf("%s: %s\n%s\n%s", e.name, text, e.text(tree(text)), diff)
			}
		}
	}
	t.Logf("%d documents", tried)
}

// Random edits of requests are the same faults in every document.
func TestRandomFaultsInEveryDocument(t *testing.T) {
	all := submissions(t)
	values := []string{`1`, `-5`, `"5"`, `""`, `"a b"`, `"arn:aws:batch:us-east-1:123456789012:job-queue/q"`, `{}`, `[]`, `true`, `20000`, `["x"]`, `{"size":1}`}
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		root := rapid.SampledFrom(all).Draw(t, "request").Clone()
		for range rapid.IntRange(0, 2).Draw(t, "edits") {
			members := slices.Collect(root.Children())
			m := rapid.SampledFrom(members).Draw(t, "member")
			if rapid.Bool().Draw(t, "remove") && len(members) > 2 {
				root.Remove(m)
			} else {
				root.Set(m.Name, tree(rapid.SampledFrom(values).Draw(t, "value")))
			}
		}
		e := rapid.SampledFrom(embeddings).Draw(t, "document")
		text := string(root.AppendJSON(nil))
		want := faultsIn(outer, "plain.json", text)
		isUnclear := slices.ContainsFunc(want, func(f fault) bool { return f.rule == document.RuleDocumentKind })
		if isUnclear || document.Recognize(diag.NewSource("plain.json", text)) != document.Ours {
			return // its kind is lost
		}
		if diff := differences(want, faultsIn(outer, e.name, e.text(tree(text)))); diff != "" {
			t.Fatalf("%s: %s\n%s", e.name, text, diff)
		}
	})
}

// A value that only an execution knows is neither right nor wrong: in its place, no new problem appears.
func TestValuesOfExecutions(t *testing.T) {
	var all []*jsontree.Node
	for _, r := range submissions(t) {
		all = append(all, tree(machine(state(syncTask, r))))
	}
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		root := rapid.SampledFrom(all).Draw(t, "machine").Clone()
		before := faultsIn(outer, "m.asl", string(root.AppendJSON(nil)))
		n := root.At("States", "S", "Parameters")
		for n.Len() > 0 {
			below := rapid.SampledFrom(slices.Collect(n.Children())).Draw(t, "member")
			if n.Is(jsontree.Object) && (below.Len() == 0 || rapid.Bool().Draw(t, "here")) {
				n.Remove(below)
				n.Set(below.Name+".$", jsontree.NewString("$.x", nil))
				break
			}
			n = below
		}
		text := string(root.AppendJSON(nil))
		for _, f := range faultsIn(outer, "m.asl", text) {
			if !slices.ContainsFunc(before, func(b fault) bool { return b.rule == f.rule }) {
				t.Fatalf("%s at %s is new in\n%s", f.rule, f.place, text)
			}
		}
	})
}

// No value that only an execution, a shell or CloudFormation knows is a fault, and each is reported as not checked.
func TestUnknownValuesOfServices(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"m.asl.json", machine(`{"Type":"Task","Resource":"` + syncTask + `","Parameters":{"JobName.$":"$.name","JobQueue":"${Queue}","JobDefinition":"d","ArrayProperties":{"Size.$":"$.n"},"Parameters":{"a.$":"$.a"}}}`),
			"only an execution knows $.name; ${Queue} is a placeholder; only an execution knows $.n; only an execution knows $.a"},
		{"m.asl.json", machine(`{"Type":"Task","Resource":"` + syncTask + `","Arguments":{"JobName":"{% $x %}","JobQueue":"q","JobDefinition":"d","ArrayProperties":"{% $a %}"}}`),
			"only an execution knows {% $x %}; only an execution knows {% $a %}"},
		{"m.asl.json", machine(`{"Type":"Task","Resource":"` + syncTask + `","Arguments":"{% $all %}"}`), "only an execution knows {% $all %}"},
		{"m.asl.json", machine(`{"Type":"Task","Resource":"` + syncTask + `"}`), "the request is the input of the state"},
		{"m.asl.json", machine(`{"Type":"Task","Resource":"arn:aws:states:::aws-sdk:batch:terminateJob","Parameters":{"JobId":"x"}}`), "batchctl does not check TerminateJob"},
		{"m.asl.json", machine(`{"Type":"Task","Resource":"` + syncTask + `","Parameters":{"JobName":"a","JobQueue":"q","JobDefinition":"d","ArrayProperties":{"Size":${Size}}}}`), "${Size} is a placeholder"},
		{"t.yaml", "Mappings: { M: { k: { l: { a: { 'Fn::FindInMap': [M, k, l] }, b: [ { 'Fn::FindInMap': [M, k, l] } ] } } } }\nResources:\n  M:\n    Type: AWS::StepFunctions::StateMachine\n    Properties: { Definition: { 'Fn::FindInMap': [M, k, l] }, Tags: { x: ':states:::batch:submitJob' } }\n", "the definition has more than 32768 values"},
		{"t.json", resource("AWS::StepFunctions::StateMachine", `"DefinitionString":"{ ... ":states:::batch:submitJob"`), ""},
		{"t.json", resource("AWS::StepFunctions::StateMachine", `"DefinitionString":"{ \"a\" \":states:::batch:submitJob\" ] "`), "the text is not JSON: *"},
		{"t.json", `{"Parameters":{"D":{"Type":"String"}},` + resource("AWS::StepFunctions::StateMachine", `"DefinitionString":{"Fn::If":["C",{"Ref":"D"},":states:::batch:submitJob"]}`)[1:], "the template has no condition C"},
		{"t.json", `{"Parameters":{"N":{"Type":"String"}},` + resource("AWS::StepFunctions::StateMachine", `"DefinitionString":{"Fn::Sub":`+jsonString(machine(`{"Type":"Task","Resource":"`+syncTask+`","Parameters":{"JobName":"${N}","JobQueue":"q","JobDefinition":"d"}}`))+`}`)[1:],
			"the parameter N has no default value"},
		{"t.yaml", "Resources:\n  M:\n    Type: AWS::Serverless::StateMachine\n    Properties: { DefinitionUri: m.asl.json, Policies: [ { Action: 'batch:SubmitJob' } ] }\n", "the definition is in another file"},
		{"t.yaml", "Resources:\n  M:\n    Type: AWS::Serverless::StateMachine\n    Properties: { DefinitionUri: m.asl.json }\n", ""},
		{"s.sh", "#!/bin/sh\naws batch submit-job --cli-input-json \"$JOB\"\n", "only the shell knows the request"},
		{"s.sh", "#!/bin/sh\naws batch submit-job --cli-input-json '{}' )\n", "the shell cannot read the script"},
		{"s.sh", "#!/bin/sh\naws batch submit-job\n" + strings.Repeat("# x\n", 1<<18), "the script is longer than 1 MiB"},
		{"s.sh", "#!/bin/sh\naws batch submit-job --job-name x\naws batch describe-jobs --jobs x\n", "batchctl reads only the --cli-input-json of aws batch submit-job"},
		{"s.sh", "#!/bin/sh\naws batch submit-job --cli-input-json file://job.json\n", ""},
		{"s.sh", "#!/bin/sh\ncat > j <<END\n{\"jobName\":\"$NAME\",\"jobQueue\":\"$(queue)\",\"jobDefinition\":\"d\"}\nEND\n", "the shell or another program fills it in; the shell or another program fills it in"},
		{"s.sh", "#!/bin/sh\ncat > j <<END\n{\"version\": 2}\nEND\naws s3 cp j s3://batch/\n", ""},
		{"e.json", `{"Rule":"r","Targets":[{"Arn":"${Queue}","BatchParameters":{"JobDefinition":"d","JobName":"n"}}]}`, "${Queue} is a placeholder"},
		{"e.json", `{"ScheduleExpression":"rate(1 day)","Target":{"Arn":"arn:aws:scheduler:::aws-sdk:batch:submitJob","Input":"{\"JobName\":\"<aws.scheduler.execution-id>\",\"JobQueue\":\"q\",\"JobDefinition\":\"d\"}"}}`, "<aws.scheduler.execution-id> is a placeholder"},
	} {
		f, found := loadText(t, tt.name, tt.text)
		if len(found) > 0 && tt.name != "t.json" {
			t.Errorf("%s: %v", tt.text, found)
		}
		var got []string
		if f != nil {
			for _, u := range cfn.NotKnown(f) {
				got = append(got, u.Why.String())
			}
		}
		slices.Sort(got)
		want := strings.Split(tt.want, "; ")
		slices.Sort(want)
		if tt.want == "" {
			want = nil
		}
		if len(want) == 1 && strings.HasSuffix(want[0], "*") && len(got) == 1 && strings.HasPrefix(got[0], strings.TrimSuffix(want[0], "*")) {
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%s", tt.text, diff)
		}
	}
}

// The documents in bad have the problems in want, and those in good have none.
func TestServices(t *testing.T) {
	for _, archive := range golden.Glob(t, "testdata/services/*.txtar") {
		t.Run(archive.Name, func(t *testing.T) {
			var b strings.Builder
			for _, name := range archive.Names("*/*") {
				f, found := loadText(t, name, archive.Text(t, name))
				inside(t, found)
				for _, d := range found {
					fmt.Fprintf(&b, "%v\n\t%s\n", d.Error(), d.Hint)
					if strings.HasPrefix(name, "good/") {
						t.Error(d)
					}
				}
				for _, n := range cfn.NotKnown(f) {
					line, col := f.Source.Position(n.Node.Span.Start)
					fmt.Fprintf(&b, "not checked: %s:%d:%d: %s\n", name, line, col, n.Why)
				}
			}
			archive.Want(t, "want", b.String())
		})
	}
}
