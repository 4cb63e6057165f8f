package infra

import (
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// TestAddQueues adds queues to platform files and leaves the rest unchanged.
func TestAddQueues(t *testing.T) {
	queues := []Queue{{Alias: "cpu", JobQueue: "team-cpu"}, {Alias: "gpu", JobQueue: "team-gpu"}}
	const cpu, gpu = "    \"cpu\": {\n      \"jobQueue\": \"team-cpu\"\n    }", "    \"gpu\": {\n      \"jobQueue\": \"team-gpu\"\n    }"
	for _, test := range []struct {
		old, want string
		added     []string
	}{
		{"{}\n", "{\n  \"queues\": {\n" + cpu + ",\n" + gpu + "\n  }\n}\n", []string{"cpu", "gpu"}},
		{"{ \"$comment\": \"ours\" }\n", "{ \"$comment\": \"ours\",\n  \"queues\": {\n" + cpu + ",\n" + gpu + "\n  } }\n", []string{"cpu", "gpu"}},
		{"{ \"queues\": {} }", "{ \"queues\": {\n" + cpu + ",\n" + gpu + "\n  } }", []string{"cpu", "gpu"}},
		// An alias keeps its queue: of another prefix, or without a name.
		{`{"queues":{"$comment":"kept","cpu":{"jobQueue":"elsewhere"}}}`, "{\"queues\":{\"$comment\":\"kept\",\"cpu\":{\"jobQueue\":\"elsewhere\"},\n" + strings.Replace(cpu, "cpu", "team-cpu", 1) + ",\n" + gpu + "}}", []string{"team-cpu", "gpu"}},
		{`{"queues":{"cpu":{"jobQueue":"elsewhere"},"team-cpu":{"jobQueue":"third"},"gpu":{}}}`, `{"queues":{"cpu":{"jobQueue":"elsewhere"},"team-cpu":{"jobQueue":"third"},"gpu":{}}}`, nil},
		{`{"queues":{"a":{"jobQueue":"team-cpu"},"b":{"jobQueue":"arn:aws:batch:us-east-1:123456789012:job-queue/team-gpu"}}}`,
			`{"queues":{"a":{"jobQueue":"team-cpu"},"b":{"jobQueue":"arn:aws:batch:us-east-1:123456789012:job-queue/team-gpu"}}}`, nil},
	} {
		text, added, err := AddQueues(diag.NewSource("batchctl.json", test.old), queues)
		var names []string
		for _, q := range added {
			names = append(names, q.Alias)
		}
		if err != nil || text != test.want || !slices.Equal(names, test.added) {
			t.Errorf("%s: %v %q\n%s", test.old, err, names, text)
		}
		if _, problems := jsontree.Parse(diag.NewSource("x", text)); problems.HasErrors() {
			t.Errorf("%s: no JSON any more: %s", test.old, text)
		}
	}
	if _, _, err := AddQueues(diag.NewSource("batchctl.json", "[1"), queues); err == nil {
		t.Error("a file that cannot be read was written")
	}
}

// TestAddStaging adds the place for what is too long to a target, and touches nothing else.
func TestAddStaging(t *testing.T) {
	for _, test := range []struct {
		old, want string
		added     bool
	}{
		{"{}\n", "{\n  \"targets\": {\n    \"prod\": { \"staging\": \"s3://b/staging\" }\n  }\n}\n", true},
		{`{ "targets": { "prod": { "region": "us-east-1" } } }`, "{ \"targets\": { \"prod\": { \"region\": \"us-east-1\",\n      \"staging\": \"s3://b/staging\" } } }", true},
		{`{ "targets": { "other": {} } }`, "{ \"targets\": { \"other\": {},\n    \"prod\": { \"staging\": \"s3://b/staging\" } } }", true},
		{`{ "targets": { "prod": { "staging": "s3://ours" } } }`, `{ "targets": { "prod": { "staging": "s3://ours" } } }`, false},
	} {
		text, added, err := AddStaging(diag.NewSource("batchctl.json", test.old), "prod", "s3://b/staging")
		if err != nil || text != test.want || added != test.added {
			t.Errorf("%s: %v %v\n%s", test.old, err, added, text)
		}
		if _, problems := jsontree.Parse(diag.NewSource("x", text)); problems.HasErrors() {
			t.Errorf("%s: no JSON any more: %s", test.old, text)
		}
	}
}

// TestAddProjectTag adds the tag that the policies of the templates require, and keeps another value.
func TestAddProjectTag(t *testing.T) {
	for _, test := range []struct{ old, want, value string }{
		{"{}\n", "{\n  \"defaults\": {\n    \"tags\": { \"Project\": \"trial\" }\n  }\n}\n", "trial"},
		{`{ "defaults": { "timeout": "1h" } }`, "{ \"defaults\": { \"timeout\": \"1h\",\n    \"tags\": { \"Project\": \"trial\" } } }", "trial"},
		{`{ "defaults": { "tags": { "Team": "x" } } }`, "{ \"defaults\": { \"tags\": { \"Team\": \"x\",\n      \"Project\": \"trial\" } } }", "trial"},
		{`{ "defaults": { "tags": { "Project": "prod" } } }`, `{ "defaults": { "tags": { "Project": "prod" } } }`, "prod"},
	} {
		text, value, err := AddProjectTag(diag.NewSource("batchctl.json", test.old), "trial")
		if err != nil || text != test.want || value != test.value {
			t.Errorf("%s: %v %q\n%s", test.old, err, value, text)
		}
		if _, problems := jsontree.Parse(diag.NewSource("x", text)); problems.HasErrors() {
			t.Errorf("%s: no JSON any more: %s", test.old, text)
		}
	}
	if _, _, err := AddProjectTag(diag.NewSource("batchctl.json", "[1"), "trial"); err == nil {
		t.Error("no error for a file that is not an object")
	}
}
