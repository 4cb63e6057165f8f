package plan

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

const oneJob = `{ "name": "one", "image": "registry.example.com/a:1", "resources": { "vcpus": 1, "memory": 512 } }`

func fileOf(t *testing.T, text string) *document.File {
	t.Helper()
	f, diags := document.Load(diag.NewSource("t.json", text), document.Options{})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	return f
}

func TestQueueOption(t *testing.T) {
	platform := &document.Platform{Queues: []document.Queue{gpuQueue, cpuQueue}}
	for _, tt := range []struct {
		name, option, job string
		platform          *document.Platform
		want, reason      string
	}{
		{"for a job that names none", "default", oneJob, nil, "default", "set for every job that does not name a queue"},
		{"not for one that does", "default", `{ "jobName": "x", "jobQueue": "mine", "jobDefinition": "d" }`, nil, "mine", "named in the request"},
		{"by alias", "gpu", oneJob, platform, "gpu-job-queue", "set for every job that does not name a queue by its alias gpu: g5.8xlarge (1 GPU, 32 vCPU, 124931 MiB for jobs)"},
		{"an ARN stays one", "arn:aws:batch:us-east-1:123456789012:job-queue/cpu-job-queue", oneJob, platform,
			"arn:aws:batch:us-east-1:123456789012:job-queue/cpu-job-queue", "set for every job that does not name a queue: c5.large (2 vCPU, 3682 MiB for jobs)"},
		{"the only queue", "", `{ "name": "x", "definition": "d:1" }`, &document.Platform{Queues: []document.Queue{cpuQueue}}, "cpu-job-queue", "the platform file's only queue"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, problems := Build([]*document.File{fileOf(t, tt.job)}, tt.platform, Options{Queue: tt.option})
			if problems.HasErrors() {
				t.Fatal(problems)
			}
			if got := p.Jobs[0].Queue; got.Queue != tt.want || got.Reason != tt.reason || *p.Jobs[0].Submit.JobQueue != tt.want {
				t.Errorf("%+v", got)
			}
		})
	}
	if p, problems := Build([]*document.File{fileOf(t, oneJob)}, platform, Options{Queue: "gpus"}); p != nil || len(problems) != 1 {
		t.Errorf("an unknown queue of the command line: %v", problems)
	}
}

// A tree that does not fit the SDK's shape is a problem at the member, even without an earlier
// check.
func TestShapeErrorHasItsPlace(t *testing.T) {
	text := `{ "jobName": "x", "jobQueue": "q", "jobDefinition": "d", "arrayProperties": { "size": 99999999999 } }`
	root, _ := jsontree.Parse(diag.NewSource("t.json", text))
	f := &document.File{Kind: document.KindSubmitJob, Jobs: []*document.Job{{Name: "x", Node: root, Submit: root}}}
	p, problems := Build([]*document.File{f}, nil, Options{})
	if p != nil || len(problems) != 1 || text[problems[0].Span.Start:problems[0].Span.End] != "99999999999" {
		t.Fatalf("%v", problems)
	}
}

func TestBuildNothing(t *testing.T) {
	p, problems := Build(nil, nil, Options{})
	if p == nil || len(p.Jobs) != 0 || len(problems) != 0 {
		t.Fatal(p, problems)
	}
	if text, err := p.JSON(nil); err != nil || string(text) != "{\n  \"version\": 1,\n  \"requests\": [],\n  \"jobs\": []\n}\n" {
		t.Errorf("%s, %v", text, err)
	}
}
