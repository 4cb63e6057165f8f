package once

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/clienttest"
	"github.com/batchctl/batchctl/pkg/plan"
)

// TestNames checks that a name goes to AWS with the submission id and is shown without it.
func TestNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_-]{0,127}`).Draw(t, "name")
		wire := client.JobName(name, client.NewSubmissionID())
		if len(wire) > client.MaxJobName || client.DisplayName(wire) != client.CutName(name) {
			t.Fatalf("%s became %s, which is shown as %s", name, wire, client.DisplayName(wire))
		}
		if suffix := wire[len(wire)-client.SuffixLen:]; suffix != strings.ToLower(suffix) {
			t.Fatalf("the suffix %s would be lost in a listing that ignores case", suffix)
		}
	})
	for _, name := range []string{"train", "a-b", "x-" + strings.Repeat("a", 26), "train-abcdefghijklmnopqrstuvwxyz", "train-ABCDEFGHIJKLMNOPQRSTUVWXYZ", strings.Repeat("q", 128), ""} {
		if client.DisplayName(name) != name {
			t.Errorf("%s is shown as %s", name, client.DisplayName(name))
		}
	}
}

func TestStamped(t *testing.T) {
	in := &awsbatch.SubmitJobInput{JobName: aws.String("train"), Tags: map[string]string{"Team": "x"},
		ContainerOverrides: &types.ContainerOverrides{Environment: []types.KeyValuePair{{Name: aws.String("A"), Value: aws.String("1")}}}}
	id := client.NewSubmissionID()
	out := stamped(in, id, true, true)
	if len(in.Tags) != 1 || len(in.ContainerOverrides.Environment) != 1 || *in.JobName != "train" {
		t.Error("the plan was changed")
	}
	if out.Tags[client.SubmissionTag] != id || len(out.ContainerOverrides.Environment) != 2 || *out.ContainerOverrides.Environment[1].Value != id {
		t.Errorf("%+v", out)
	}
	in.ContainerOverrides.Environment[0].Name = aws.String(client.SubmissionVariable)
	if out := stamped(in, id, true, true); len(out.ContainerOverrides.Environment) != 1 {
		t.Error("the user's own variable is set twice")
	}
	in.ContainerOverrides = nil
	if out := stamped(in, id, false, true); out.ContainerOverrides != nil {
		t.Error("a job of several containers got overrides for one")
	}
	in.ContainerOverrides = &types.ContainerOverrides{Command: []string{strings.Repeat("x", plan.MaxOverrides-plan.OverridesReserve-20)}}
	if out := stamped(in, id, true, true); len(out.ContainerOverrides.Environment) != 0 {
		t.Error("the variable was added although it does not fit")
	}
	for i := range client.TagLimit {
		in.Tags[clienttest.TestID(i)] = "x"
	}
	if out := stamped(in, id, true, true); out.Tags[client.SubmissionTag] != "" || !strings.HasPrefix(*out.JobName, "train-") {
		t.Error("51 tags")
	}
}

// TestWorkflowTags checks that the jobs of a workflow have its name and submission as tags, unless
// that leaves no room for another tag, and that tags of another submission are removed.
func TestWorkflowTags(t *testing.T) {
	many := map[string]string{}
	for i := range client.TagLimit - 1 {
		many[clienttest.TestID(i)] = "x"
	}
	for _, tt := range []struct {
		title string
		in    map[string]string
		want  string
	}{
		{"recon (v2)", nil, "recon _v2_ beef0001"},
		{"recon", map[string]string{"Team": "x", client.WorkflowTag: "old", client.RunTag: "older"}, "recon beef0001"},
		{"", map[string]string{client.WorkflowTag: "old", client.RunTag: "older"}, " "},
		{"recon", many, " "},
	} {
		size := len(tt.in)
		r := &run{name: "beef0001", title: tt.title, tasks: []*plannedJob{{}, {intent: intent{submit: &awsbatch.SubmitJobInput{Tags: tt.in}}}}}
		tagWorkflow(r)
		tags := r.tasks[1].submit.Tags
		if got := tags[client.WorkflowTag] + " " + tags[client.RunTag]; got != tt.want || len(tt.in) != size {
			t.Errorf("%q with %d tags: %q, want %q", tt.title, size, got, tt.want)
		}
	}
	job := types.JobDetail{JobId: aws.String("1"), Tags: map[string]string{"Team": "x", client.WorkflowTag: "recon", client.RunTag: "beef0001", client.SubmissionTag: "s"}}
	if tags := retryTags(job); len(tags) != 2 || tags["Team"] != "x" || tags[client.RetryTag] != "1" {
		t.Errorf("a retry has the tags %v", tags)
	}
}
