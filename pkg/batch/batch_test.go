package batch

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

func TestIDs(t *testing.T) {
	const id = "4e6c7a1b-0000-4000-8000-000000000000"
	for _, tt := range []struct{ id, short, job, part string }{
		{id, "4e6c7a1b", id, ""},
		{id + ":3", "4e6c7a1b:3", id, ":3"},
		{id + "#0", "4e6c7a1b#0", id, "#0"},
		{id + ":3#2", "4e6c7a1b:3#2", id, ":3#2"},
		{"abc", "abc", "abc", ""},
		{"", "", "", ""},
	} {
		if got := ShortID(tt.id); got != tt.short {
			t.Errorf("ShortID(%q) = %q, want %q", tt.id, got, tt.short)
		}
		if job, part := SplitID(tt.id); job != tt.job || part != tt.part {
			t.Errorf("SplitID(%q) = %q, %q, want %q, %q", tt.id, job, part, tt.job, tt.part)
		}
	}
	for _, tt := range []struct {
		id      string
		array   string
		index   int
		isChild bool
	}{
		{ChildID("a", 0), "a", 0, true},
		{ChildID("a", 9999), "a", 9999, true},
		{"a", "a", 0, false},
		{"a:", "a:", 0, false},
		{"a:01", "a:01", 0, false},
		{"a:-1", "a:-1", 0, false},
		{"a:1#2", "a:1#2", 0, false},
		{"a:99999999999", "a:99999999999", 0, false},
	} {
		if array, index, isChild := SplitChildID(tt.id); array != tt.array || index != tt.index || isChild != tt.isChild {
			t.Errorf("SplitChildID(%q) = %q, %d, %t", tt.id, array, index, isChild)
		}
	}
}

func TestNames(t *testing.T) {
	const prefix = "arn:aws:batch:us-east-1:123456789012:"
	for _, tt := range []struct{ text, name, definition, revision, account string }{
		{prefix + "job-definition/train:7", "train:7", "train", "7", "123456789012"},
		{prefix + "job-queue/gpu", "gpu", "gpu", "", "123456789012"},
		{"train:7", "train:7", "train", "7", ""},
		{"train", "train", "train", "", ""},
		{"a/b", "a/b", "a/b", "", ""},
		{"", "", "", "", ""},
	} {
		if got := Name(tt.text); got != tt.name {
			t.Errorf("Name(%q) = %q, want %q", tt.text, got, tt.name)
		}
		if name, revision := SplitRevision(tt.text); name != tt.definition || revision != tt.revision {
			t.Errorf("SplitRevision(%q) = %q, %q", tt.text, name, revision)
		}
		if got := Account(tt.text); got != tt.account {
			t.Errorf("Account(%q) = %q, want %q", tt.text, got, tt.account)
		}
	}
}

func TestStates(t *testing.T) {
	ended := 0
	for _, state := range types.JobStatus("").Values() {
		if HasEnded(state) {
			ended++
		}
	}
	if ended != 2 {
		t.Errorf("%d states are final", ended)
	}
	array := types.JobDetail{ArrayProperties: &types.ArrayPropertiesDetail{Size: aws.Int32(4), StatusSummary: map[string]int32{"SUCCEEDED": 2, "FAILED": 1, "RUNNING": 1}}}
	child := types.JobDetail{ArrayProperties: &types.ArrayPropertiesDetail{Size: aws.Int32(4), Index: aws.Int32(0)}}
	for _, tt := range []struct {
		job         types.JobDetail
		isArray     bool
		size, ended int
	}{{array, true, 4, 3}, {child, false, 0, 0}, {types.JobDetail{}, false, 0, 0}} {
		if IsArray(tt.job) != tt.isArray || ArraySize(tt.job) != tt.size || EndedChildren(tt.job) != tt.ended {
			t.Errorf("IsArray, ArraySize, EndedChildren: %t, %d, %d, want %t, %d, %d",
				IsArray(tt.job), ArraySize(tt.job), EndedChildren(tt.job), tt.isArray, tt.size, tt.ended)
		}
	}
}

// TestIsChild covers moto_server, which lists children together with their array, without an
// index.
func TestIsChild(t *testing.T) {
	index := &types.ArrayPropertiesSummary{Index: aws.Int32(3)}
	for name, c := range map[string]struct {
		job  types.JobSummary
		want bool
	}{
		"a job":               {types.JobSummary{JobId: aws.String("0c2e")}, false},
		"an array":            {types.JobSummary{JobId: aws.String("0c2e"), ArrayProperties: &types.ArrayPropertiesSummary{Size: aws.Int32(4)}}, false},
		"a child":             {types.JobSummary{JobId: aws.String("0c2e:3"), ArrayProperties: index}, true},
		"a child by its id":   {types.JobSummary{JobId: aws.String("0c2e:3")}, true},
		"a node of a job":     {types.JobSummary{JobId: aws.String("0c2e#1")}, false},
		"a child by an index": {types.JobSummary{JobId: aws.String("0c2e"), ArrayProperties: index}, true},
	} {
		if got := IsChild(c.job); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestIsLocalMachine(t *testing.T) {
	const arn = "arn:aws:batch:local:000000000000:compute-environment/local"
	for _, c := range []struct {
		arn, cluster string
		want         bool
	}{
		{arn, "arn:aws:ecs:local:000000000000:cluster/AWSBatch-local", true},
		{arn, "arn:aws:ecs:local:000000000000:cluster/AWSBatch-local-5a0f1c0e-6d0e-4bd4-9b3c-b5c1a1f4f0c7", false},
		{"arn:aws:batch:us-east-1:123456789012:compute-environment/local", "AWSBatch-local", false},
		{arn, "", false},
	} {
		if got := IsLocalMachine(c.arn, c.cluster); got != c.want {
			t.Errorf("%s, %s: %v", c.arn, c.cluster, got)
		}
	}
}

// An attempt of a target has the same key whether or not the account could be queried.
func TestWithoutAccount(t *testing.T) {
	for label, want := range map[string]string{
		"aws 123456789012 us-east-1":                       "aws us-east-1",
		"aws (account not known) us-east-1":                "aws us-east-1",
		"aws us-east-1":                                    "aws us-east-1",
		"aws 123456789012 us-east-1 at http://127.0.0.1:1": "aws us-east-1 at http://127.0.0.1:1",
		"local engine at /home/me":                         "local engine at /home/me",
	} {
		if got := WithoutAccount(label); got != want {
			t.Errorf("%q becomes %q, want %q", label, got, want)
		}
	}
}
