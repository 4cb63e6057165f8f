package document

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// textOf returns the text at the location of a node.
func textOf(n *jsontree.Node) string {
	if n == nil || n.Source == nil {
		return ""
	}
	return n.Source.Text[n.Span.Start:n.Span.End]
}

// TestSpans checks that the requests have the locations of the user's text.
func TestSpans(t *testing.T) {
	const text = `{"name": "train", "image": "train:1", "queue": "gpu",
  "resources": {"vcpus": 8, "memory": "30 GiB", "sharedMemory": "8 GiB"},
  "environment": {"DATASET": "s3://data"}, "secrets": {"KEY": "arn"},
  "retryStrategy": 3, "timeout": "2h", "array": {"size": 4},
  "jobDefinition": {"schedulingPriority": 7}}`
	f := load(t, text, Options{})
	tests := []struct {
		request *jsontree.Node
		path    []string
		want    string
	}{
		{f.Jobs[0].Register, nil, text},
		{f.Jobs[0].Register, []string{"jobDefinitionName"}, `"train"`},
		{f.Jobs[0].Register, []string{"containerProperties", "image"}, `"train:1"`},
		{f.Jobs[0].Register, []string{"containerProperties", "resourceRequirements"}, `{"vcpus": 8, "memory": "30 GiB", "sharedMemory": "8 GiB"}`},
		{f.Jobs[0].Register, []string{"containerProperties", "resourceRequirements", "0"}, `8`},
		{f.Jobs[0].Register, []string{"containerProperties", "resourceRequirements", "0", "type"}, `"vcpus"`},
		{f.Jobs[0].Register, []string{"containerProperties", "resourceRequirements", "0", "value"}, `8`},
		{f.Jobs[0].Register, []string{"containerProperties", "resourceRequirements", "1", "value"}, `"30 GiB"`},
		{f.Jobs[0].Register, []string{"containerProperties", "linuxParameters", "sharedMemorySize"}, `"8 GiB"`},
		{f.Jobs[0].Register, []string{"containerProperties", "environment", "0", "name"}, `"DATASET"`},
		{f.Jobs[0].Register, []string{"containerProperties", "environment", "0", "value"}, `"s3://data"`},
		{f.Jobs[0].Register, []string{"containerProperties", "secrets", "0", "valueFrom"}, `"arn"`},
		{f.Jobs[0].Register, []string{"retryStrategy", "attempts"}, `3`},
		{f.Jobs[0].Register, []string{"timeout", "attemptDurationSeconds"}, `"2h"`},
		{f.Jobs[0].Register, []string{"schedulingPriority"}, `7`},
		{f.Jobs[0].Submit, []string{"jobQueue"}, `"gpu"`},
		{f.Jobs[0].Submit, []string{"jobDefinition"}, `"train"`},
		{f.Jobs[0].Submit, []string{"arrayProperties", "size"}, `4`},
	}
	for _, tt := range tests {
		if got := textOf(tt.request.At(tt.path...)); got != tt.want {
			t.Errorf("%v points at %s, want %s", tt.path, got, tt.want)
		}
	}
}

// TestSpansOfASweep checks that a size that the file does not contain has the location of
// the array, and that references keep their locations when they become canonical.
func TestSpansOfASweep(t *testing.T) {
	f := load(t, `{"name": "train", "image": "train:1", "command": ["${{matrix.lr}}"], "array": {"matrix": {"lr": [1, 2]}}}`, Options{})
	size := f.Jobs[0].Submit.At("arrayProperties", "size")
	if size.Text != "2" || textOf(size) != `"array"` {
		t.Errorf("size %s points at %s", size.Text, textOf(size))
	}
	command := f.Jobs[0].Register.At("containerProperties", "command", "0")
	if command.Text != "${{ matrix.lr }}" || textOf(command) != `"${{matrix.lr}}"` {
		t.Errorf("command %s points at %s", command.Text, textOf(command))
	}
	if f.Jobs[0].Array.Get("matrix") == nil {
		t.Error("the job does not know its array")
	}
}

// TestSpansOfDefaults checks that a member has its location in the job if the job contains
// it, and otherwise in the defaults.
func TestSpansOfDefaults(t *testing.T) {
	platform := load(t, `{"defaults": {"tags": {"A": "platform", "B": "platform"}, "environment": {"X": "1"}}}`, Options{}).Platform
	f := load(t, `{"name": "a", "image": "i", "tags": {"A": "job"}, "environment": [{"name": "Y", "value": "2"}]}`, Options{Platform: platform})
	register := f.Jobs[0].Register
	if got := textOf(register.Get("tags")); got != `{"A": "job"}` {
		t.Errorf("tags point at %s", got)
	}
	if n := register.At("tags", "B"); n.Source != platform.Root.Source || textOf(n) != `"platform"` {
		t.Errorf("tag B points at %s", textOf(n))
	}
	environment := register.At("containerProperties", "environment")
	if got := textOf(environment.At("0", "name")); got != `"X"` {
		t.Errorf("X points at %s", got)
	}
	if got := textOf(environment.At("1", "name")); got != `"Y"` {
		t.Errorf("Y points at %s", got)
	}
}

// inside reports a node whose location is outside its source.
func inside(n *jsontree.Node) bool {
	if n.Source != nil && !within(n.Source, n.Span) {
		return false
	}
	for child := range n.Children() {
		if !inside(child) {
			return false
		}
	}
	return true
}

func within(src *diag.Source, s diag.Span) bool {
	return 0 <= s.Start && s.Start <= s.End && s.End <= len(src.Text)
}
