package plan

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/document"
)

// TestMeasure checks for each kind of job where the variable is, and what the command begins with.
func TestMeasure(t *testing.T) {
	const workflow = `{"name": "w", "defaults": {"queue": "q", "image": "i:1", "command": ["c", "x"], "resources": {"vcpus": 1, "memory": "64 MiB"}, "measure": true}, "jobs": [
		{"name": "plain"},
		{"name": "off", "measure": false},
		{"name": "staged", "inputs": {"/data": "s3://b/k"}},
		{"name": "shell", "array": {"matrix": {"n": [1, 2]}}},
		{"name": "binary", "array": {"matrix": {"n": [1, 2]}, "launcher": "batchctl"}},
		{"name": "launched", "command": ["batchctl", "measure", "--", "c"]},
		{"name": "metrics", "metrics": {"x": "(\\d+)"}}]}`
	p, diags := Build([]*document.File{fileOf(t, workflow)}, nil, Options{})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	got := map[string]string{}
	for _, j := range p.Jobs {
		command := j.Register.ContainerProperties.Command
		if o := j.Submit.ContainerOverrides; o != nil {
			for _, v := range o.Environment {
				got[j.Name] += aws.ToString(v.Name) + "=" + aws.ToString(v.Value) + " "
			}
		}
		if len(command) > 3 && command[0] == "sh" { // the launcher of arrays is a long text
			command = command[:2]
		}
		got[j.Name] += strings.Join(command[:min(len(command), 6)], " ")
	}
	for name, want := range map[string]string{
		"plain":    "BATCHCTL_MEASURE=1 batchctl measure -- c x",
		"off":      "c x",
		"staged":   "BATCHCTL_MEASURE=1 batchctl stage -- c x",
		"shell":    "BATCHCTL_MEASURE=1 batchctl measure -- sh -c ",
		"binary":   "BATCHCTL_MEASURE=1 batchctl child c x",
		"launched": "BATCHCTL_MEASURE=1 batchctl measure -- c",
		"metrics":  `BATCHCTL_METRICS={"x":"(\\d+)"} BATCHCTL_MEASURE=1 batchctl measure -- c x`,
	} {
		if !strings.HasPrefix(got[name], want) {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}

func TestMeasureSeveralContainers(t *testing.T) {
	p, diags := Build([]*document.File{fileOf(t, `{"name": "a", "queue": "q", "measure": true, "jobDefinition": {"ecsProperties": {"taskProperties": [{"containers": [
		{"name": "a", "image": "i", "command": ["c"], "resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "64"}]},
		{"name": "b", "image": "i", "resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "64"}]}]}]}}}`)}, nil, Options{})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	for _, c := range p.Jobs[0].Register.EcsProperties.TaskProperties[0].Containers {
		if len(c.Environment) != 1 || *c.Environment[0].Name != "BATCHCTL_MEASURE" || len(c.Command) > 1 {
			t.Errorf("%s: %v %q", *c.Name, c.Environment, c.Command)
		}
	}
}

func TestMeasureIsSetOtherwise(t *testing.T) {
	_, diags := Build([]*document.File{fileOf(t, `{"name": "a", "queue": "q", "image": "i", "command": ["c"], "measure": true, "environment": {"BATCHCTL_MEASURE": "0"}}`)}, nil, Options{})
	if len(diags) != 1 || !strings.Contains(diags[0].Message, `the job sets BATCHCTL_MEASURE to "0", but its measure sets it to "1"`) {
		t.Error(diags)
	}
}
