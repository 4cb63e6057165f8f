package document

import (
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

func load(t *testing.T, text string, o Options) *File {
	t.Helper()
	f, diags := Load(diag.NewSource("job.json", text), o)
	if len(diags) > 0 {
		t.Fatalf("%s\n%v", text, diags)
	}
	return f
}

func TestKind(t *testing.T) {
	tests := []struct {
		text string
		want Kind
	}{
		{`{"name": "a", "image": "i"}`, KindJob},
		{`{"resources": {}}`, ""},
		{`{"volumes": [], "cluster": "a"}`, ""},
		{`{"defaults": {}, "cluster": "a"}`, ""},
		{`{"jobs": [{"id": 1, "status": "done"}]}`, ""},
		{`{"name": "a", "image": "i", "jobQueue": "q"}`, KindJob},
		{`{"jobName": "a", "image": "i", "command": [], "resources": {}}`, KindJob},
		{`{"name": "a", "jobDefinition": {}}`, KindJob},
		{`{"name": "a", "jobs": []}`, KindWorkflow},
		{`{"jobs": {}, "queues": {}}`, KindWorkflow},
		{`{"jobs": [{"jobName": "a"}]}`, KindJobList},
		{`{"jobs": [{"jobName": "a", "jobQueue": "q", "jobDefinition": "d", "tags": {}}], "name": "w"}`, KindJobList},
		{`{"name": "w", "jobs": [{"jobName": "a", "image": "i"}]}`, KindWorkflow},
		{`{"defaults": {}, "jobs": [{"jobName": "a"}]}`, KindWorkflow},
		{`{"jobs": ["jobName"]}`, KindWorkflow},
		{`{"$schema": "joblist.schema.json", "jobs": []}`, KindJobList},
		{`{"targets": {}}`, KindPlatform},
		{`{"policy": 1}`, KindPlatform},
		{`{"defaults": {}}`, KindPlatform},
		{`{"jobDefinitionName": "a", "type": "container"}`, KindJobDefinition},
		{`{"type": "container", "containerProperties": {}, "tags": {}}`, KindJobDefinition},
		{`{"JOBNAME": "a", "jobQueue": "q"}`, KindSubmitJob},
		{`{"jobDefinition": "a:1", "tags": {}}`, KindSubmitJob},
		{`{"computeEnvironmentName": "a", "type": "MANAGED"}`, KindComputeEnvironment},
		{`{"computeResources": {"type": "EC2"}}`, KindComputeEnvironment},
		{`{"type": "MANAGED", "state": "ENABLED", "serviceRole": "r"}`, KindComputeEnvironment},
		{`{"ComputeEnvironmentName": "a", "Type": "MANAGED"}`, KindComputeEnvironment},
		{`{"jobQueueName": "a", "priority": 1}`, KindJobQueue},
		{`{"priority": 1, "computeEnvironmentOrder": []}`, KindJobQueue},
		{`{"name": "a", "fairsharePolicy": {}}`, KindSchedulingPolicy},
		{`{"name": "a", "quotaSharePolicy": {}, "tags": {}}`, KindSchedulingPolicy},
		{`{"name": "a", "tags": {}}`, KindJob},
		{`{"consumableResourceName": "a"}`, KindConsumableResource},
		{`{"totalQuantity": 1, "resourceType": "REPLENISHABLE", "tags": {}}`, KindConsumableResource},
		{`{"$schema": "native.schema.json#/$defs/CreateJobQueue", "name": "a"}`, KindJobQueue},
		{`{"$schema": "native.schema.json#/$defs/Volume", "jobName": "a"}`, KindSubmitJob},
		{`{"$schema": "../schemas/job.schema.json", "jobs": []}`, KindJob},
		{`{"$schema": "https://example.com/v1/workflow.schema.json"}`, KindWorkflow},
		{`{"$schema": "platform.schema.json", "name": "a"}`, KindPlatform},
		{`{"$schema": "native.schema.json#/$defs/SubmitJob", "name": "a"}`, KindSubmitJob},
		{`{"$schema": "native.schema.json", "jobDefinitionName": "a"}`, KindJobDefinition},
		{`{"$schema": "other.json", "queues": {}}`, KindPlatform},
		{`{"$schema": 1, "name": "a", "image": "i"}`, KindJob},
		{`{}`, ""},
		{`{"$comment": "job"}`, ""},
		{`3`, ""},
	}
	for _, tt := range tests {
		f, _ := Load(diag.NewSource("x", tt.text), Options{})
		if f.Kind != tt.want {
			t.Errorf("%s: kind %q, want %q", tt.text, f.Kind, tt.want)
		}
	}
}

func TestKindForced(t *testing.T) {
	f, diags := Load(diag.NewSource("x", `{"name": "a", "image": "i"}`), Options{Kind: KindSubmitJob})
	if f.Kind != KindSubmitJob || !diags.HasErrors() {
		t.Errorf("kind %q, %v", f.Kind, diags)
	}
	f, diags = Load(diag.NewSource("x", `{"name": "a"}`), Options{Kind: "Job"})
	if len(f.Jobs) > 0 || len(diags) != 1 || diags[0].Rule != RuleDocumentKind {
		t.Errorf("an unknown kind: %v", diags)
	}
}

func TestNotJSON(t *testing.T) {
	if f, diags := Load(diag.NewSource("x", ""), Options{}); f != nil || !diags.HasErrors() {
		t.Errorf("empty text: %v, %v", f, diags)
	}
}

func TestParameters(t *testing.T) {
	flag, diags := jsontree.Parse(diag.NewSource("--parameters", `{"epochs": "1", "lr": "0.1"}`))
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	for _, text := range []string{
		`{"name": "a", "image": "i", "parameters": {"epochs": "9"}, "submitJob": {"parameters": {"epochs": "8"}}}`,
		`{"name": "a", "definition": "d", "parameters": {"epochs": "9"}}`,
		`{"name": "w", "jobs": [{"name": "a", "image": "i"}]}`,
		`{"jobs": [{"jobName": "a", "jobQueue": "q", "jobDefinition": "d"}]}`,
		`{"jobName": "a", "jobQueue": "q", "jobDefinition": "d"}`,
	} {
		job := load(t, text, Options{Parameters: flag}).Jobs[0]
		got := string(job.Submit.Get("parameters").AppendJSON(nil))
		if got != `{"epochs":"1","lr":"0.1"}` {
			t.Errorf("%s: parameters %s", text, got)
		}
		if d := job.Register.Get("parameters").Get("epochs"); d != nil && d.Str() != "9" {
			t.Errorf("%s: the definition's default became %q", text, d.Str())
		}
	}
}

func TestNames(t *testing.T) {
	for text, want := range map[string]string{
		`{"name": "a", "image": "i"}`:                                 "a",
		`{"name": "w", "jobs": [{"name": "a", "image": "i"}]}`:        "w",
		`{"jobName": "s", "jobQueue": "q", "jobDefinition": "d"}`:     "s",
		`{"jobDefinitionName": "d", "type": "container", "tags": {}}`: "d",
		`{"$schema": "native.schema.json#/$defs/SubmitJob", "jobName": "s",
		  "jobQueue": "q", "jobDefinition": "d"}`: "s",
		`{"computeEnvironmentName": "c", "type": "MANAGED"}`: "c",
		`{"jobQueueName": "q", "priority": 1}`:               "q",
		`{"name": "p", "fairsharePolicy": {}}`:               "p",
		`{"consumableResourceName": "r"}`:                    "r",
	} {
		if f := load(t, text, Options{}); f.Name != want {
			t.Errorf("%s: name %q, want %q", text, f.Name, want)
		}
	}
}

// TestNodes checks that a job's node is the user's text, even if jobs before it are left
// out.
func TestNodes(t *testing.T) {
	const text = `{"name": "w", "jobs": ["no", {"name": "a", "image": "i", "queue": 1}, 2, {"name": "b", "image": "i"}]}`
	f, diags := Load(diag.NewSource("x", text), Options{})
	if n, _ := diags.Count(); n != 3 || len(f.Jobs) != 2 {
		t.Fatalf("%d jobs, %v", len(f.Jobs), diags)
	}
	for i, step := range []string{"1", "3"} {
		if want := f.Root.At("jobs", step); f.Jobs[i].Node != want {
			t.Errorf("job %d: %v", i, f.Jobs[i].Node)
		}
	}
	if f.Jobs[0].Submit.Get("jobQueue") != nil {
		t.Error("a queue of the wrong type was lowered")
	}
}

// TestOverflow checks that a hostile file has a bounded number of problems, and always the
// same ones.
func TestOverflow(t *testing.T) {
	text := `{"name": "a", "image": "i", "volumes": [` + strings.Repeat(`{"a": 1, "b": 2},`, 2000) + `{}]}`
	render := func() string {
		f, diags := Load(diag.NewSource("x", text), Options{})
		if len(f.Jobs) > 0 {
			t.Error("an unchecked value was lowered")
		}
		var b strings.Builder
		for _, d := range diags {
			b.WriteString(d.Error())
		}
		return b.String()
	}
	first := render()
	if !strings.Contains(first, "more than 1000 problems") || strings.Count(first, "unknown member") > maxProblems+1 {
		t.Error(first[:200])
	}
	if render() != first {
		t.Error("two runs differ")
	}

	long := `{"name": "a", "image": "i", "command": [` + strings.Repeat(`"x",`, maxChildren) + `"x"]}`
	f, diags := Load(diag.NewSource("x", long), Options{})
	if len(diags) != 1 || diags[0].Rule != RuleBadValue || f.Jobs[0].Register.Get("containerProperties").Get("command") != nil {
		t.Errorf("a long array: %v", diags)
	}
}

// TestRequest checks that a request which creates something other than a job is returned
// both clean and as written.
func TestRequest(t *testing.T) {
	const text = `{"$schema": "native.schema.json", "$comment": "on demand", "jobQueueName": "q", "priority": 1,
  "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "c", "$comment": "first"}]}`
	f := load(t, text, Options{})
	const want = `{"jobQueueName":"q","priority":1,"computeEnvironmentOrder":[{"order":1,"computeEnvironment":"c"}]}`
	if got := string(f.Requests[0].AppendJSON(nil)); got != want || len(f.Jobs) > 0 {
		t.Errorf("request %s, %d jobs", got, len(f.Jobs))
	}
	if f.Root.Get("$comment") == nil || textOf(f.Requests[0].At("computeEnvironmentOrder", "0", "order")) != "1" {
		t.Error("the original tree changed, or lost its locations")
	}
	if f := load(t, `{"name": "a", "image": "i"}`, Options{}); f.Requests != nil {
		t.Error("a job became a request")
	}
}

// TestSchemaAsName checks that $schema is dropped only where it is not data.
func TestSchemaAsName(t *testing.T) {
	f := load(t, `{"$schema": "job.schema.json", "name": "a", "image": "i", "tags": {"$schema": "x", "$comment": "y"}}`, Options{})
	if got := string(f.Jobs[0].Register.Get("tags").AppendJSON(nil)); got != `{"$schema":"x"}` {
		t.Errorf("tags %s", got)
	}
	f = load(t, `{"name": "w", "jobs": [{"$schema": "job.schema.json", "name": "a", "image": "i"}]}`, Options{})
	if f.Jobs[0].Submit.Get("$schema") != nil || f.Jobs[0].Register.Get("$schema") != nil {
		t.Error("the schema of a job became a member of its requests")
	}
}
