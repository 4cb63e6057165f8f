package lint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

func TestCheckRequest(t *testing.T) {
	for _, tt := range []struct{ operation, text, want string }{
		{"RegisterJobDefinition", `{ "jobDefinitionName": "a b", "type": "container", "containerProperties": { "image": "busybox:1", "vcpus": 1, "memory": 512 } }`, "jobdef-name-charset"},
		{"SubmitJob", `{ "jobName": "a", "jobQueue": "q", "jobDefinition": "d", "arrayProperties": { "size": 1 } }`, "array-size-min"},
		{"DescribeJobs", `{ "jobs": [] }`, ""},
		{"CancelJob", `{ "jobId": "a", "reason": "` + strings.Repeat("r", 1025) + `" }`, "job-reason-length"},
		{"CreateJobQueue", `{ "jobQueueName": "q", "priority": 1001, "computeEnvironmentOrder": [{ "order": 1, "computeEnvironment": "c" }] }`, "queue-priority-range"},
		{"CreateSchedulingPolicy", `{ "name": "p q" }`, "scheduling-policy-name-charset"},
		{"CreateConsumableResource", `{ "consumableResourceName": "r", "totalQuantity": -1 }`, "consumable-total-nonnegative"},
		{"ListJobs", `{ "jobQueue": "" }`, ""},
		{"RegisterJobDefinition", `[]`, ""},
		{"SubmitJob", `null`, ""},
	} {
		root, _ := jsontree.Parse(diag.NewSource("request", tt.text))
		got := ""
		for _, d := range CheckRequest(tt.operation, root) {
			if d.Severity == diag.Error {
				got += d.Rule
			}
		}
		if got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.operation, tt.text, got, tt.want)
		}
	}
	for _, operation := range []string{"SubmitJob", "RegisterJobDefinition", "CreateJobQueue", "CreateComputeEnvironment", "CancelJob"} {
		CheckRequest(operation, nil) // nothing at all
	}
}

// A definition is checked together with a submission of the same run that names it.
func TestSubmissionAgainstItsDefinition(t *testing.T) {
	definition := file(`{ "jobDefinitionName": "train", "type": "container", "containerProperties": {
		"image": "registry.example.com/train:1", "command": ["train", "Ref::epochs"],
		"resourceRequirements": [{ "type": "VCPU", "value": "1" }, { "type": "MEMORY", "value": "2048" }] } }`)
	submit := file(`{ "jobName": "a", "jobQueue": "q", "jobDefinition": "train" }`)
	found := Check([]*document.File{definition, submit}, nil, Rules())
	if len(byRule(found, "submit-ref-unresolved")) != 1 || len(byRule(found, "ref-without-default")) != 0 {
		t.Errorf("together: %v", found)
	}
	alone := Check([]*document.File{definition}, nil, Rules())
	if len(byRule(alone, "ref-without-default")) != 1 {
		t.Errorf("alone: %v", alone)
	}
}

func file(text string) *document.File {
	f, _ := document.Load(diag.NewSource("t.json", text), document.Options{})
	return f
}

func TestImageTag(t *testing.T) {
	for ref, want := range map[string]string{
		"busybox": "", "busybox:1.37": "1.37", "registry.example.com:5000/a": "", "registry.example.com:5000/a:latest": "latest",
	} {
		if tag, digest := imageTag(ref); tag != want || digest {
			t.Errorf("%s: %q %v", ref, tag, digest)
		}
	}
	if _, digest := imageTag("a:1@sha256:00"); !digest {
		t.Error("a digest is not seen")
	}
}

// No document of any kind causes a panic of a rule, and every problem has a location
// inside its text.
func FuzzCheck(f *testing.F) {
	for _, text := range exampleTexts() {
		f.Add(text)
	}
	f.Add(`{ "type": "multinode", "nodeProperties": { "nodeRangeProperties": [[], {}, { "container": [] }, { "ecsProperties": { "taskProperties": [{ "containers": [1] }] } }] } }`)
	f.Add(`{ "eksProperties": { "podProperties": { "containers": [{ "image": "a b", "command": ["Ref::x"], "env": [{ "name": "AWS_BATCH_X" }] }] } } }`)
	platform := platformOf(f, "stuck-memory-gt-instance")
	platform.Policy = document.Policy{RequiredTags: []string{"T"}, AllowedImages: []string{"a*b"}, DenyLatestTag: true, MaxAttempts: 1, MaxTimeout: 60,
		MaxvCpus: .5, MaxMemoryMiB: 1, MaxGPUs: new(int), MaxArraySize: 1, AllowedQueues: []string{"a*"}, AllowedJobRoles: []string{"a*"},
		AllowedExecutionRoles: []string{"arn:*b"}, Owner: "o", Waiver: "w"}
	f.Fuzz(func(t *testing.T, text string) {
		for _, kind := range []document.Kind{"", document.KindJob, document.KindWorkflow, document.KindPlatform, document.KindJobDefinition, document.KindSubmitJob,
			document.KindComputeEnvironment, document.KindJobQueue, document.KindSchedulingPolicy, document.KindConsumableResource} {
			src := diag.NewSource("t.json", text)
			if doc, _ := document.Load(src, document.Options{Kind: kind}); doc != nil {
				inside(t, Check([]*document.File{doc}, platform, Rules()))
			}
		}
		root, _ := jsontree.Parse(diag.NewSource("t.json", text))
		for _, operation := range []string{"RegisterJobDefinition", "SubmitJob", "CreateComputeEnvironment", "CreateJobQueue", "CreateSchedulingPolicy", "CreateConsumableResource", "CancelJob", "DescribeJobs"} {
			inside(t, CheckRequest(operation, root))
		}
	})
}

// platformOf returns the platform file of a bad example.
func platformOf(t testing.TB, rule string) *document.Platform {
	t.Helper()
	f, ok := example(t, rule).Bad.Platform()
	if !ok {
		t.Fatalf("%s has no platform file", rule)
	}
	return file(f.Text).Platform
}

func inside(t *testing.T, found diag.List) {
	for _, d := range found {
		if d.Source != nil && (d.Span.Start < 0 || d.Span.End < d.Span.Start || d.Span.End > len(d.Source.Text)) {
			t.Fatalf("%s: span %v of %d bytes", d.Rule, d.Span, len(d.Source.Text))
		}
	}
}

// This measures all rules for a thousand files with a platform, as in a check of a
// directory.
func BenchmarkCheck(b *testing.B) {
	platform := platformOf(b, "stuck-memory-gt-instance")
	var files []*document.File
	text := example(b, "stuck-memory-gt-instance").Good[0].Text
	for range 1000 {
		files = append(files, file(text))
	}
	for b.Loop() {
		if found := Check(files, platform, Rules()); found.HasErrors() {
			b.Fatal(found)
		}
	}
}

// Files that are compared with each other, in few and in many directories: the time for
// one file must not grow with their number.
func BenchmarkDirectories(b *testing.B) {
	for _, queues := range []bool{false, true} {
		for _, directories := range []int{10, 100} {
			b.Run(fmt.Sprintf("queues=%v/directories=%d", queues, directories), func(b *testing.B) {
				var files []*document.File
				add := func(name, text string) {
					f, problems := document.Load(diag.NewSource(name, text), document.Options{})
					if f == nil {
						b.Fatal(problems)
					}
					files = append(files, f)
				}
				for d := range directories {
					for i := range 10 {
						id := fmt.Sprintf("%d-%d", d, i)
						add(fmt.Sprintf("d%d/nodes%d.json", d, i), `{ "jobDefinitionName": "nodes`+id+`", "type": "multinode", "timeout": { "attemptDurationSeconds": 60 },
							"nodeProperties": { "numNodes": 2, "mainNode": 0, "nodeRangeProperties": [{ "targetNodes": "0:", "container": { "image": "a:1", "resourceRequirements": [{ "type": "VCPU", "value": "1" }, { "type": "MEMORY", "value": "512" }] } }] } }`)
						add(fmt.Sprintf("d%d/environment%d.json", d, i), `{ "computeEnvironmentName": "e`+id+`", "type": "MANAGED",
							"computeResources": { "type": "EC2", "minvCpus": 0, "maxvCpus": 64, "instanceTypes": ["m5.xlarge"], "subnets": ["subnet-0a1b2c3d"], "securityGroupIds": ["sg-0a1b2c3d"], "instanceRole": "ecsInstanceRole" } }`)
						if queues {
							add(fmt.Sprintf("d%d/queue%d.json", d, i), `{ "jobQueueName": "q`+id+`", "priority": 1, "computeEnvironmentOrder": [{ "order": 1, "computeEnvironment": "e`+id+`" }] }`)
							add(fmt.Sprintf("d%d/submit%d.json", d, i), `{ "jobName": "j", "jobQueue": "q`+id+`", "jobDefinition": "nodes`+id+`" }`)
						}
					}
				}
				for b.Loop() {
					if found := Check(files, nil, Rules()); found.HasErrors() {
						b.Fatal(found)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(files)), "ns/file")
			})
		}
	}
}

// The parameters and the tags of a request are around a part of it, so no rule misses them there.
func TestPartsHaveNoParameters(t *testing.T) {
	const part = `{ "image": "a:1", "vcpus": 1, "memory": 512, "command": ["run", "Ref::vcpus"] }`
	if found := byRule(checkDocs(document.Options{}, [2]string{"part.json", part}), "ref-without-default"); len(found) > 0 {
		t.Errorf("%v", found)
	}
	whole := `{ "jobDefinitionName": "a", "type": "container", "containerProperties": ` + part + ` }`
	if found := byRule(checkDocs(document.Options{}, [2]string{"whole.json", whole}), "ref-without-default"); len(found) != 1 {
		t.Errorf("%d problems in a whole request, want 1", len(found))
	}
}

// A timeout that is a number gets the form of its document: an object in a request, a text with a unit in a job file.
func TestTimeoutAsNumber(t *testing.T) {
	for text, want := range map[string]string{
		`{ "jobName": "a", "jobQueue": "q", "jobDefinition": "d", "timeout": 60 }`:                                        `{ "attemptDurationSeconds": 60 }`,
		`{ "name": "a", "image": "b:1", "command": ["c"], "resources": { "vcpus": 1, "memory": "1GiB" }, "timeout": 60 }`: `"60s"`,
	} {
		found := byRule(checkDocs(document.Options{}, [2]string{"t.json", text}), document.RuleWrongType)
		if len(found) != 1 || found[0].Fix == nil || found[0].Fix.Edits[0].Text != want {
			t.Errorf("%s: %+v, want the fix %s", text, found, want)
		}
	}
}
