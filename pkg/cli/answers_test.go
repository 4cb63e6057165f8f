package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/batchctl/batchctl/pkg/cli"
	"github.com/batchctl/batchctl/pkg/cli/term"
)

// hostileText controls a terminal, and turns text around.
const hostileText = "\x1b[2J\u009b\u202e\r"

// hostileAnswers are answers of AWS Batch whose texts are hostile; those that are not here are {}.
func hostileAnswers() map[string]any {
	type m = map[string]any
	const arn = "arn:aws:batch:us-east-1:123456789012:"
	job := m{"jobId": "11111111-2222-3333-4444-555555555555", "jobArn": arn + "job/11111111-2222-3333-4444-555555555555", "jobName": "j" + hostileText, "jobQueue": arn + "job-queue/q", "status": "FAILED",
		"statusReason": hostileText, "createdAt": 1, "startedAt": 2, "stoppedAt": 3, "jobDefinition": arn + "job-definition/d" + hostileText + ":1", "tags": m{hostileText: hostileText},
		"container": m{"image": hostileText, "command": []string{hostileText}, "reason": hostileText, "exitCode": 1, "logStreamName": hostileText, "environment": []m{{"name": hostileText, "value": hostileText}}}}
	return map[string]any{
		"/v1/describejobs": m{"jobs": []m{job}},
		"/v1/listjobs":     m{"jobSummaryList": []m{job}},
		"/v1/describejobqueues": m{"jobQueues": []m{{"jobQueueName": "q", "jobQueueArn": arn + "job-queue/q", "state": "ENABLED", "status": "VALID", "priority": 1, "statusReason": hostileText, "tags": m{"a": hostileText},
			"computeEnvironmentOrder": []m{{"order": 1, "computeEnvironment": arn + "compute-environment/" + hostileText}}}}},
		"/v1/listschedulingpolicies":     m{"schedulingPolicies": []m{{"arn": arn + "scheduling-policy/p"}}},
		"/v1/describeschedulingpolicies": m{"schedulingPolicies": []m{{"arn": arn + "scheduling-policy/p", "name": "p" + hostileText, "tags": m{hostileText: hostileText}}}},
		"Logs_20140328.GetLogEvents":     m{"events": []m{{"timestamp": 1, "message": hostileText}}, "nextForwardToken": "f", "nextBackwardToken": "b"},
	}
}

// TestAnswersCannotSteerTheTerminal checks that no command prints a control character of an answer, or a
// mark that turns text around.
func TestAnswersCannotSteerTheTerminal(t *testing.T) {
	answers := hostileAnswers()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answer, ok := answers[r.URL.Path]
		if !ok {
			answer = answers[r.Header.Get("X-Amz-Target")]
		}
		if answer == nil {
			answer = map[string]any{}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	dir := t.TempDir()
	for name, value := range map[string]string{"HOME": dir, "BATCHCTL_STATE_DIR": filepath.Join(dir, "state"), "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(name, value)
	}
	job, queues := filepath.Join(dir, "job.json"), filepath.Join(dir, "queues.json")
	for path, text := range map[string]string{
		job:    `{ "name": "j", "image": "busybox:1", "command": ["true"], "queue": "q", "resources": { "vcpus": 1, "memory": "64 MiB" }, "timeout": "5m" }`,
		queues: `{ "schedulingPolicies": [{ "name": "p" }], "jobQueues": [{ "jobQueueName": "q", "priority": 2, "computeEnvironmentOrder": [{ "order": 1, "computeEnvironment": "e" }] }] }`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const id = "11111111-2222-3333-4444-555555555555"
	for _, line := range []string{"queues", "list", "list --json", "status " + id, "status " + id + " --json", "explain " + id, "logs " + id, "logs " + id + " --json", "results " + id, "results " + id + " --output csv",
		"cost " + id, "diff " + id + " " + id, "history", "advise " + id, "forecast q", "plan JOB --when", "plan JOB --json", "verify JOB", "apply QUEUES --check", "export", "export --terraform", "export --cloudformation",
		"graph " + id, "retry " + id + " --dry-run", "wait " + id} {
		var out, story strings.Builder
		words := append(strings.Fields(strings.NewReplacer("JOB", job, "QUEUES", queues).Replace(line)), "--target", "aws", "--endpoint-url", server.URL)
		cli.Main(t.Context(), append([]string{"batchctl"}, words...), term.Streams{In: strings.NewReader(""), Out: &out, Err: &story})
		for name, text := range map[string]string{"stdout": out.String(), "stderr": story.String()} {
			if at := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); at >= 0 {
				t.Errorf("%s: %s has %q", line, name, text[max(0, at-40):min(len(text), at+20)])
			}
		}
		if out.Len()+story.Len() == 0 {
			t.Errorf("%s prints nothing", line)
		}
	}
}
