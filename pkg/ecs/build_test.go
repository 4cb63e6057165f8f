package ecs

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/plan"
)

var update = flag.Bool("update", false, "rewrite the expected files in testdata")

// jobOf plans the text of a job file and returns its last job.
func jobOf(t *testing.T, name, text string) *plan.Job {
	t.Helper()
	f, problems := document.Load(diag.NewSource(name, text), document.Options{})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	p, problems := plan.Build([]*document.File{f}, nil, plan.Options{Queue: "none", Staging: "/"})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return p.Jobs[len(p.Jobs)-1]
}

func textOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// shown is the task as the command prints it: requests, then what does not hold.
func shown(t *testing.T, task *Task) string {
	t.Helper()
	var b strings.Builder
	requests, err := task.Requests()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, r.Input, "", "  "); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "# %s\n%s\n", r.Command, &pretty)
	}
	for _, lost := range task.Lost {
		fmt.Fprintf(&b, "# lost: %s\n", lost)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	const jobs = "../../jobs/"
	fargate := Options{Cluster: "small", Region: "us-east-1", Subnets: []string{"subnet-1", "subnet-2"}, SecurityGroups: []string{"sg-1"}}
	gpu := Options{Cluster: "gpu", Region: "us-east-1"}
	own := gpu
	own.Subnets, own.CapacityProvider = []string{"subnet-1"}, "gpu-spot"
	for name, c := range map[string]struct {
		path string
		o    Options
		vary func(*plan.Job)
	}{
		"train-1gpu": {path: jobs + "train-1gpu.json", o: gpu},
		"train-4gpu": {path: jobs + "train-4gpu.json", o: own},
		"train-8gpu": {path: jobs + "train-8gpu.json", o: gpu},
		"train-mpi":  {path: jobs + "train-mpi.json", o: gpu},
		"image-gpu":  {path: jobs + "image-gpu.json", o: gpu},
		"sidecar":    {path: "testdata/sidecar.json", o: gpu},
		"host":       {path: "testdata/host.json", o: gpu},
		"fargate":    {path: "testdata/fargate.json", o: fargate},
		"overridden": {path: "testdata/host.json", o: gpu, vary: func(j *plan.Job) {
			j.Submit.Parameters = map[string]string{"epochs": "20"}
			j.Submit.ContainerOverrides = &types.ContainerOverrides{Environment: []types.KeyValuePair{{Name: aws.String("MODE"), Value: aws.String("slow")}},
				ResourceRequirements: []types.ResourceRequirement{{Type: types.ResourceTypeVcpu, Value: aws.String("8")}, {Type: types.ResourceTypeGpu, Value: aws.String("2")}}}
		}},
		"fargate-overridden": {path: "testdata/fargate.json", o: fargate, vary: func(j *plan.Job) {
			//lint:ignore SA1019 older requests ask with them
			j.Submit.ContainerOverrides = &types.ContainerOverrides{Command: []string{"large"}, Vcpus: aws.Int32(1), Memory: aws.Int32(2048)}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			job := jobOf(t, c.path, textOf(t, c.path))
			if c.vary != nil {
				c.vary(job)
			}
			task, err := Build(job, job.Register, c.o)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+".golden")
			got := shown(t, task)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(textOf(t, path), got); d != "" {
				t.Errorf("%s (-want +got):\n%s", path, d)
			}
		})
	}
}

// simple is a job file with more members.
func simple(more string) string {
	return `{"name": "j", "image": "registry.example.com/j:1.0.0", "command": ["j"], "resources": {"vcpus": 1, "memory": "1 GiB"}` + more + `}`
}

func TestRefusals(t *testing.T) {
	task := func(properties string) string {
		return `{"name": "j", "jobDefinition": {"type": "container", "platformCapabilities": ["FARGATE"], "containerProperties": {"image": "registry.example.com/j:1.0.0", "command": ["j"],
			"executionRoleArn": "arn:aws:iam::123456789012:role/e", "resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "2048"}]` + properties + `}}}`
	}
	ec2 := Options{Cluster: "c"}
	onFargate := Options{Cluster: "c", LaunchType: Fargate, Subnets: []string{"subnet-1"}}
	for name, c := range map[string]struct {
		text string
		o    Options
		want string
	}{
		"array":                {simple(`, "array": {"size": 3}`), ec2, "it is an array"},
		"matrix":               {simple(`, "array": {"matrix": {"A": [1, 2]}}`), ec2, "it is an array"},
		"dependency":           {`{"name": "w", "jobs": [` + simple("") + `, ` + strings.Replace(simple(`, "dependsOn": ["j"]`), `"j"`, `"k"`, 1) + `]}`, ec2, "it depends on other jobs"},
		"unknown parameter":    {simple(`, "parameters": {}`), ec2, ""},
		"no subnets":           {task(""), ec2, "needs subnets"},
		"GPU on Fargate":       {textOf(t, "../../jobs/train-1gpu.json"), onFargate, "Fargate has no GPUs"},
		"shared memory":        {textOf(t, "../../jobs/train-1gpu.json"), onFargate, "shared memory"},
		"host volume":          {textOf(t, "testdata/host.json"), onFargate, "directory on the host"},
		"privileged":           {textOf(t, "testdata/host.json"), onFargate, "privileged"},
		"spot of Fargate":      {textOf(t, "testdata/host.json"), Options{Cluster: "c", CapacityProvider: "FARGATE_SPOT", Subnets: []string{"s"}}, "privileged"},
		"variable of Batch":    {simple(`, "outputs": {"/o": "s3://b/$${AWS_BATCH_JOB_ID}/${AWS_BATCH_JQ_NAME}/"}`), ec2, "contains AWS_BATCH_JQ_NAME, which only AWS Batch sets; use ${AWS_BATCH_JOB_ID}"},
		"index of a child":     {simple(`, "inputs": {"/i": "s3://b/${AWS_BATCH_JOB_ARRAY_INDEX}"}`), ec2, "contains AWS_BATCH_JOB_ARRAY_INDEX"},
		"local output":         {simple(`, "outputs": {"/o": "results/"}`), ec2, "outputs with a local path"},
		"ids, and a text":      {simple(`, "outputs": {"/o": "s3://b/$${AWS_BATCH_JQ_NAME}/${AWS_BATCH_JOB_ID}/${AWS_BATCH_JOB_ATTEMPT}/"}`), ec2, ""},
		"Fargate with subnets": {task(""), onFargate, ""},
	} {
		t.Run(name, func(t *testing.T) {
			job := jobOf(t, "job.json", c.text)
			_, err := Build(job, job.Register, c.o)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			cannot, ok := errors.AsType[*CannotError](err)
			if !ok || !slices.ContainsFunc(cannot.Reasons, func(r string) bool { return strings.Contains(r, c.want) && strings.Contains(r, ";") }) {
				t.Errorf("%v: %+v", err, cannot)
			}
		})
	}
}

// TestRefusedRequests checks settings that only native requests can have.
func TestRefusedRequests(t *testing.T) {
	for want, change := range map[string]func(*plan.Job){
		"runs job definition x:3":   func(j *plan.Job) { j.Register, j.Submit.JobDefinition = nil, aws.String("x:3") },
		"only registers a job":      func(j *plan.Job) { j.Submit = nil },
		"several nodes":             func(j *plan.Job) { j.Register.NodeProperties = &types.NodeProperties{} },
		"for EKS":                   func(j *plan.Job) { j.Register.EksProperties = &types.EksProperties{} },
		"consumable resources":      func(j *plan.Job) { j.Register.ConsumableResourceProperties = &types.ConsumableResourceProperties{} },
		"depends on other jobs":     func(j *plan.Job) { j.When = document.WhenFailure },
		"no parameter gone":         func(j *plan.Job) { j.Register.ContainerProperties.Command = []string{"Ref::gone"} },
		"is not a valid number":     func(j *plan.Job) { j.Register.ContainerProperties.ResourceRequirements[0].Value = aws.String("many") },
		"its definition has no con": func(j *plan.Job) { j.Register.ContainerProperties = nil },
	} {
		j := jobOf(t, "job.json", simple(""))
		change(j)
		_, err := Build(j, j.Register, Options{Cluster: "c"})
		cannot, ok := errors.AsType[*CannotError](err)
		if !ok || len(cannot.Reasons) != 1 || !strings.Contains(cannot.Reasons[0], want) {
			t.Errorf("%s: %v %+v", want, err, cannot)
		}
	}
}

func TestLosses(t *testing.T) {
	for more, want := range map[string]string{
		``:                                   "",
		`, "retryStrategy": {"attempts": 1}`: "",
		`, "retryStrategy": {"attempts": 3}`: "makes one attempt, not 3",
		`, "timeout": "1h"`:                  "after 3600 s",
		`, "environment": {"ID": "$AWS_BATCH_JOB_ID"}`:         "AWS_BATCH_...",
		`, "outputs": {"/o": "s3://b/${AWS_BATCH_JOB_ID}/"}`:   "${AWS_BATCH_JOB_ID} in its locations becomes the task's id",
		`, "inputs": {"/i": "s3://b/k"}`:                       "",
		`, "schedulingPriority": 3, "shareIdentifier": "team"`: "has no queue",
	} {
		j := jobOf(t, "job.json", simple(more))
		task, err := Build(j, j.Register, Options{Cluster: "c"})
		if err != nil {
			t.Errorf("%s: %v", more, err)
			continue
		}
		if got := strings.Join(task.Lost, "\n"); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q", more, got)
		}
	}
}

func TestStamped(t *testing.T) {
	j := jobOf(t, "job.json", simple(""))
	task, err := Build(j, j.Register, Options{Cluster: "c"})
	if err != nil {
		t.Fatal(err)
	}
	run := task.Stamped("TOKEN")
	if *run.ClientToken != "TOKEN" || *run.StartedBy != "TOKEN" || len(run.Tags) != 1 || *run.Tags[0].Key != "batchctl:submission-id" || *run.Tags[0].Value != "TOKEN" ||
		*run.Overrides.ContainerOverrides[0].Environment[0].Value != "TOKEN" {
		t.Errorf("%+v", run)
	}
	if task.Run.Overrides != nil || task.Run.ClientToken != nil || len(task.Run.Tags) != 0 {
		t.Errorf("the task itself was changed: %+v", task.Run)
	}
}

func TestMeaning(t *testing.T) {
	for reason, want := range map[string]string{"RESOURCE:GPU": "free GPUs", "RESOURCE:MEMORY": "free memory", "AGENT": "agent", "ATTRIBUTE": "attribute",
		"Capacity is unavailable at this time. Please try again later or in a different availability zone": "no capacity", "RESOURCE:OTHER": "does not fit on any instance", "odd": "Developer Guide"} {
		if got := Meaning(reason); !strings.Contains(got, want) {
			t.Errorf("%s: %s", reason, got)
		}
	}
}
