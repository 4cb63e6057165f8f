package templates

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/infra"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

type object = map[string]any

func everyTemplate() []Template { return append(Infra(), Root()) }

func parse(t *testing.T, body []byte) object {
	t.Helper()
	var o object
	if err := json.Unmarshal(body, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// section returns one of a template's sections, empty where it has none.
func section(o object, name string) object {
	s, _ := o[name].(object)
	return s
}

// at follows names through objects; nil where one is missing.
func at(v any, names ...string) any {
	for _, name := range names {
		o, _ := v.(object)
		v = o[name]
	}
	return v
}

// walk calls visit for v and for everything in it.
func walk(v any, visit func(any)) {
	visit(v)
	switch v := v.(type) {
	case object:
		for _, inner := range v {
			walk(inner, visit)
		}
	case []any:
		for _, inner := range v {
			walk(inner, visit)
		}
	}
}

// used is what a template refers to.
type used struct {
	names      map[string]bool // Ref, Fn::GetAtt, Fn::Sub, DependsOn
	conditions map[string]bool
	mappings   map[string]bool
	imports    []string // without the project's prefix
}

func uses(t *testing.T, template object) used {
	t.Helper()
	u := used{map[string]bool{}, map[string]bool{}, map[string]bool{}, nil}
	walk(template, func(v any) {
		o, _ := v.(object)
		for name, v := range o {
			switch name {
			case "Ref":
				u.names[v.(string)] = true
			case "Fn::GetAtt":
				u.names[v.([]any)[0].(string)] = true
			case "Fn::Sub":
				for _, name := range substituted(v) {
					u.names[name] = true
				}
			case "DependsOn":
				for _, name := range list(v) {
					u.names[name.(string)] = true
				}
			case "Fn::If":
				u.conditions[v.([]any)[0].(string)] = true
			case "Condition":
				if name, ok := v.(string); ok { // elsewhere a policy's condition, an object
					u.conditions[name] = true
				}
			case "Fn::FindInMap":
				u.mappings[v.([]any)[0].(string)] = true
			case "Fn::ImportValue":
				name, ok := strings.CutPrefix(at(v, "Fn::Sub").(string), "${Project}-")
				if !ok {
					t.Errorf("an import without the project's prefix: %v", v)
				}
				u.imports = append(u.imports, name)
			}
		}
	})
	return u
}

// substituted returns the names that a Fn::Sub asks for from outside.
func substituted(v any) (names []string) {
	text, own := v, object{}
	if pair, ok := v.([]any); ok {
		text, own = pair[0], pair[1].(object)
	}
	for _, m := range regexp.MustCompile(`\$\{([^}]+)\}`).FindAllStringSubmatch(text.(string), -1) {
		if name, _, _ := strings.Cut(m[1], "."); own[name] == nil {
			names = append(names, name)
		}
	}
	return names
}

// exports returns a template's exports, by name without prefix, with the output's name.
func exports(template object) map[string]string {
	all := map[string]string{}
	for output, v := range section(template, "Outputs") {
		if name, ok := at(v, "Export", "Name", "Fn::Sub").(string); ok {
			all[strings.TrimPrefix(name, "${Project}-")] = output
		}
	}
	return all
}

func TestReferences(t *testing.T) {
	for _, template := range everyTemplate() {
		o := parse(t, template.Body)
		u := uses(t, o)
		for name := range u.names {
			if section(o, "Parameters")[name] == nil && section(o, "Resources")[name] == nil && !strings.HasPrefix(name, "AWS::") {
				t.Errorf("%s: nothing is called %s", template.Name, name)
			}
		}
		for what, names := range map[string]map[string]bool{"Parameters": u.names, "Conditions": u.conditions, "Mappings": u.mappings} {
			for name := range section(o, what) {
				if !names[name] && name != "Project" {
					t.Errorf("%s: %s %s is not used", template.Name, what, name)
				}
			}
		}
		for name := range u.conditions {
			if section(o, "Conditions")[name] == nil && !strings.HasPrefix(name, "{%") { // of a state machine
				t.Errorf("%s: no condition is called %s", template.Name, name)
			}
		}
	}
}

// forUsers is the exports that no template imports, and who does.
var forUsers = map[string]string{
	"RepositoryUri":      "image names in job files",
	"JobRoleArn":         "jobRoleArn in job files",
	"ExecutionRoleArn":   "executionRoleArn in job files",
	"SubmitterRoleArn":   "profiles of those who submit",
	"SubmitterPolicyArn": "templates of the user's own roles",
	"StagingPolicyArn":   "the same",
	"TaskPolicyArn":      "the same",
	"DataBucketArn":      "the same",
}

func TestExports(t *testing.T) {
	known, imported := map[string]bool{}, map[string]bool{}
	for _, template := range Infra() {
		o := parse(t, template.Body)
		for _, name := range uses(t, o).imports {
			imported[name] = true
			if !known[name] {
				t.Errorf("%s imports %s, which no earlier template exports", template.Name, name)
			}
		}
		for name := range exports(o) {
			if known[name] {
				t.Errorf("%s is exported twice", name)
			}
			known[name] = !template.Optional // so that nothing can import from an optional one
		}
	}
	for name := range known {
		if imported[name] == (forUsers[name] != "") {
			t.Errorf("export %s: imported %v, in the table of exports for users %v", name, imported[name], forUsers[name] != "")
		}
	}
	for name := range forUsers {
		if _, ok := known[name]; !ok {
			t.Errorf("%s is in the table and no export", name)
		}
	}
}

// What changes with every deployment is handed on by parameters, not by exports.
func TestHandedOn(t *testing.T) {
	outputs := map[string]string{}
	got := map[string]string{}
	for _, template := range Infra() {
		o := parse(t, template.Body)
		for name := range section(o, "Parameters") {
			if from := outputs[name]; from != "" {
				got[template.Name+"."+name] = from
			}
		}
		for name, v := range section(o, "Outputs") {
			if at(v, "Export") == nil {
				outputs[name] = template.Name
			}
		}
	}
	if want := map[string]string{"batch.GpuLaunchTemplateVersion": "gpu-host", "iam.DataBucket": "data"}; !maps.Equal(got, want) {
		t.Errorf("handed on %v, want %v", got, want)
	}
}

func TestParameters(t *testing.T) {
	for _, template := range everyTemplate() {
		for name, v := range section(parse(t, template.Body), "Parameters") {
			p := v.(object)
			where := template.Name + "." + name
			if d, _ := p["Description"].(string); len(d) < 8 || !strings.HasSuffix(d, ".") {
				t.Errorf("%s is not described: %q", where, d)
			}
			if p["AllowedPattern"] != nil && p["Type"] != "CommaDelimitedList" && p["ConstraintDescription"] == nil {
				t.Errorf("%s: no word says what its pattern asks for", where)
			}
			if why := refusal(p); why != "" {
				t.Errorf("%s: %s", where, why)
			}
		}
	}
}

// refusal returns why a parameter rejects its own default, or that it accepts any value.
func refusal(p object) string {
	fallback, has := p["Default"]
	text := ""
	if number, ok := fallback.(float64); ok {
		text = strconv.FormatFloat(number, 'f', -1, 64)
	} else if has {
		text = fallback.(string)
	}
	values := []string{text}
	if p["Type"] == "CommaDelimitedList" {
		values = strings.Split(text, ",")
	}
	for _, value := range values {
		switch {
		case p["AllowedValues"] != nil:
			if !slices.Contains(p["AllowedValues"].([]any), fallback) {
				return "the default is not among the values"
			}
		case p["AllowedPattern"] != nil:
			if has && !regexp.MustCompile("^(?:"+p["AllowedPattern"].(string)+")$").MatchString(value) {
				return "the default does not match the pattern: " + value
			}
		case p["MinValue"] != nil:
			most, bounded := p["MaxValue"].(float64)
			if n, _ := fallback.(float64); n < p["MinValue"].(float64) || bounded && n > most {
				return "the default is out of range"
			}
		default:
			return "takes any value"
		}
	}
	return ""
}

func TestPartitions(t *testing.T) {
	for _, template := range everyTemplate() {
		walk(parse(t, template.Body)["Resources"], func(v any) {
			text, _ := v.(string)
			if strings.Contains(text, "arn:aws") {
				t.Errorf("%s: an ARN of one partition: %s", template.Name, text)
			}
			if strings.Contains(text, "dkr.ecr") && !strings.Contains(text, "${AWS::URLSuffix}") {
				t.Errorf("%s: a host name of one partition: %s", template.Name, text)
			}
		})
	}
}

// CreateChangeSet takes 51,200 bytes in place of a bucket's URL.
func TestSize(t *testing.T) {
	for _, template := range everyTemplate() {
		if len(template.Body) > 51200 {
			t.Errorf("%s has %d bytes", template.Name, len(template.Body))
		}
	}
}

func TestLayout(t *testing.T) {
	for _, template := range everyTemplate() {
		tree, problems := jsontree.Parse(diag.NewSource(template.Name, string(template.Body)))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if want := jsontree.Format(tree, jsontree.Width); string(template.Body) != want {
			t.Errorf("%s is laid out otherwise: batchctl fmt --write templates/infra/%s.json", template.Name, template.Name)
		}
	}
}

// Every file is in the list, and every stack in the root.
func TestComplete(t *testing.T) {
	files, err := filepath.Glob("infra/*.json")
	if err != nil || len(files) != len(everyTemplate()) {
		t.Errorf("%d templates, %d files: %v", len(everyTemplate()), len(files), err)
	}
	root := map[string]object{}
	for _, v := range section(parse(t, Root().Body), "Resources") {
		root[at(v, "Properties", "TemplateURL").(string)] = v.(object)
	}
	for _, template := range Infra() {
		stack := root[template.Name+".json"]
		if stack == nil {
			t.Errorf("the root does not deploy %s", template.Name)
			continue
		}
		if got := stack["Condition"] != nil; got != (template.Optional || template.Name == "endpoints") {
			t.Errorf("%s: optional in the list %v, in the root %v", template.Name, template.Optional, got)
		}
		o := parse(t, template.Body)
		given := at(stack, "Properties", "Parameters").(object)
		for name := range given {
			if section(o, "Parameters")[name] == nil {
				t.Errorf("the root gives %s a parameter %s that it does not have", template.Name, name)
			}
		}
		for name, v := range section(o, "Parameters") {
			if at(v, "Default") == nil && given[name] == nil {
				t.Errorf("the root does not give %s its parameter %s", template.Name, name)
			}
		}
		_, isIAM := o["Resources"], false
		walk(o["Resources"], func(v any) {
			kind, _ := at(v, "Type").(string)
			isIAM = isIAM || strings.HasPrefix(kind, "AWS::IAM::")
		})
		if isIAM != slices.Contains(template.Capabilities, "CAPABILITY_IAM") {
			t.Errorf("%s: capabilities %v", template.Name, template.Capabilities)
		}
	}
}

// A stack that imports what another exports has to come after it in the root, too.
func TestRootOrder(t *testing.T) {
	resources := section(parse(t, Root().Body), "Resources")
	byFile := map[string]string{}
	for name, v := range resources {
		byFile[at(v, "Properties", "TemplateURL").(string)] = name
	}
	exporter := map[string]string{}
	for _, template := range Infra() {
		for name := range exports(parse(t, template.Body)) {
			exporter[name] = byFile[template.Name+".json"]
		}
	}
	for _, template := range Infra() {
		stack := resources[byFile[template.Name+".json"]]
		after := map[string]bool{}
		for _, name := range list(at(stack, "DependsOn")) {
			after[name.(string)] = true
		}
		for name := range uses(t, object{"of": at(stack, "Properties")}).names {
			after[name] = true
		}
		for _, name := range uses(t, parse(t, template.Body)).imports {
			if from := exporter[name]; !after[from] {
				t.Errorf("root: %s imports %s and does not wait for %s", template.Name, name, from)
			}
		}
	}
}

// TestMonitoredQueues checks that the alarm and the dashboard add up the metrics of each queue, which AWS Batch
// publishes by the name of the queue.
func TestMonitoredQueues(t *testing.T) {
	var queues, watched []string
	var dashboard string
	for _, template := range Infra() {
		e, err := infra.Evaluate(template.Body, map[string]string{"Project": "p2"}, nil, "us-east-1")
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range e.Resources() {
			switch name, _ := r.Text("JobQueueName"); r.Type {
			case "AWS::Batch::JobQueue":
				queues = append(queues, name)
			case "AWS::CloudWatch::Dashboard":
				dashboard, _ = r.Text("DashboardBody")
			case "AWS::CloudWatch::Alarm":
				for n := 0; ; n++ {
					queue, ok := r.Text("Metrics", strconv.Itoa(n), "MetricStat", "Metric", "Dimensions", "0", "Value")
					if !ok && n > 0 {
						break
					}
					if ok {
						watched = append(watched, queue)
					}
				}
			}
		}
	}
	slices.Sort(queues)
	slices.Sort(watched)
	if !slices.Equal(queues, watched) || len(queues) == 0 {
		t.Errorf("the alarm watches %q of the queues %q", watched, queues)
	}
	if !json.Valid([]byte(dashboard)) {
		t.Errorf("the dashboard is not JSON: %s", dashboard)
	}
	list := `JobQueueName=(\"` + strings.Join(queues, `\" OR \"`) + `\")`
	if n := strings.Count(dashboard, list); n != 3 {
		t.Errorf("%d graphs have %s, want 3: %s", n, list, dashboard)
	}
}

// fixedNames are the names that do not depend on the project, and why they are not in each other's way.
var fixedNames = map[string]string{
	"AWS::Logs::LogGroup /aws/batch/job": "the log group of AWS Batch itself, which BatchLogGroup creates once per account; the default is not to",
}

// notNames are properties that end in Name and do not name the resource: a service of AWS, a reference to another
// resource, a text for people, a name inside another resource.
var notNames = []string{
	"AWS::EC2::VPCEndpoint ServiceName", "AWS::IAM::RolePolicy RoleName", "AWS::IAM::RolePolicy PolicyName", "AWS::ImageBuilder::InfrastructureConfiguration InstanceProfileName",
	"AWS::Logs::MetricFilter LogGroupName", "AWS::SNS::Topic DisplayName", "AWS::CloudWatch::Alarm MetricName",
}

// namesOf returns the names of all resources and exports of a project, with the type before each.
func namesOf(t *testing.T, project string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	everything := map[string]string{"Project": project, "Nat": "true", "Zones": "3", "BatchLogGroup": "true", "AlarmEmail": "a@b.example", "BudgetEmail": "a@b.example", "DataBucket": "data"}
	for _, template := range Infra() {
		e, err := infra.Evaluate(template.Body, everything, nil, "us-east-1")
		if err != nil {
			t.Fatal(err)
		}
		if got, want := len(e.Resources()), len(section(parse(t, template.Body), "Resources")); got != want {
			t.Fatalf("%s: %d resources of %d", template.Name, got, want)
		}
		for _, r := range e.Resources() {
			add := func(path ...string) {
				name, ok := r.Text(path...)
				if !ok {
					t.Errorf("%s.%s: the value of %v is unknown", template.Name, r.Name, path)
				}
				all[r.Type+" "+name] = true
			}
			for property := range section(section(parse(t, template.Body), "Resources")[r.Name].(object), "Properties") {
				if (strings.HasSuffix(property, "Name") || property == "Namespace") && !slices.Contains(notNames, r.Type+" "+property) {
					add(property)
				}
			}
			switch r.Type {
			case "AWS::Budgets::Budget":
				add("Budget", "BudgetName")
			case "AWS::Logs::MetricFilter":
				add("MetricTransformations", "0", "MetricNamespace")
			}
		}
		for name := range e.Exports() {
			all["export "+name] = true
		}
	}
	return all
}

// TestTwoProjects: the stacks of two projects do not share a name, also where one project's name begins with the
// other's.
func TestTwoProjects(t *testing.T) {
	for _, pair := range [][2]string{{"batchctl", "p2"}, {"p2", "p2-gpu"}, {"p2", "p2-cpu"}, {"p2", "p2-spot"}, {"p2", "p22"}} {
		first, second := namesOf(t, pair[0]), namesOf(t, pair[1])
		if len(first) < 40 || len(first) != len(second) {
			t.Errorf("%s has %d names, %s has %d", pair[0], len(first), pair[1], len(second))
		}
		for name := range first {
			if shared := second[name]; shared != (fixedNames[name] != "") {
				t.Errorf("%s and %s: %s is shared: %v, and in the table of fixed names: %v", pair[0], pair[1], name, shared, fixedNames[name] != "")
			}
		}
	}
}
