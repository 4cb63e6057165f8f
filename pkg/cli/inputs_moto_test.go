package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/exit"
)

// s3Flow has a job whose output is the input of the next one, an array.
const s3Flow = `{
  "name": "flow",
  "defaults": {
    "image": "registry.example.com/train:1", "resources": { "vcpus": 1, "memory": "64 MiB" }, "timeout": "5m",
    "environment": { "AWS_ENDPOINT_URL_S3": "SERVER", "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "RUN": "7" }
  },
  "jobs": [
    { "name": "split", "command": ["sh", "-c", "mkdir parts; for x in $(cat raw/*.txt raw/more/*.txt); do echo $x >parts/$x; done"],
      "inputs": { "raw": "s3://data/raw/" }, "outputs": { "parts": "s3://data/run-${RUN}/parts/" } },
    { "name": "train", "dependsOn": ["split"], "command": ["sh", "-c", "cat part >model; echo $1 >>model", "sh", "${{ matrix.part }}"],
      "array": { "matrix": { "part": ["a", "b"] } },
      "inputs": { "part": "s3://data/run-${RUN}/parts/${{ matrix.part }}" },
      "outputs": { "model": "s3://data/run-${RUN}/${{ matrix.part }}/${AWS_BATCH_JOB_ARRAY_INDEX}/" } }
  ]
}`

// s3Lines has a child that fails until a mark exists.
const s3Lines = `{
  "name": "lines", "image": "registry.example.com/train:1", "resources": { "vcpus": 1, "memory": "64 MiB" }, "timeout": "5m",
  "environment": { "AWS_ENDPOINT_URL_S3": "SERVER", "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "MARK": "DIR/mark" },
  "array": { "commands": "commands.txt", "size": 3 },
  "outputs": { "said": { "destination": "s3://data/lines/${AWS_BATCH_JOB_ARRAY_INDEX}/", "when": "always" } }
}`

const s3Published = `{
  "name": "published", "image": "registry.example.com/train:1", "command": ["cat", "config.yaml", "data/sub/b"],
  "resources": { "vcpus": 1, "memory": "64 MiB" }, "timeout": "5m",
  "inputs": { "config.yaml": "config.yaml", "data": "data" }, "outputs": { "config.yaml": "results/" }
}`

// TestInputsInS3 runs jobs whose files are in moto's buckets.
func TestInputsInS3(t *testing.T) {
	t.Parallel()
	server := moto(t)
	for _, bucket := range []string{"/data", "/staging"} {
		object(t, http.MethodPut, server+bucket, "")
	}
	t.Run("flow", func(t *testing.T) { testFlowInS3(t, server) })
	t.Run("task", func(t *testing.T) { testTaskInS3(t, server) })
	t.Run("published", func(t *testing.T) { testPublishedInS3(t, server) })
}

// testTaskInS3 runs the command of a job as a task of Amazon ECS: the id in its location is that of the task.
func testTaskInS3(t *testing.T, server string) {
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v4/container/task" {
			_, _ = io.WriteString(w, `{"TaskARN":"arn:aws:ecs:us-east-1:123456789012:task/gpu/158d1c8083dd49d6"}`)
		}
	}))
	defer metadata.Close()
	u := newUser(t, "")
	u.environ = append(u.environ, "AWS_ENDPOINT_URL_S3="+server, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b",
		"ECS_CONTAINER_METADATA_URI_V4="+metadata.URL+"/v4/container",
		`BATCHCTL_STAGE={"version":1,"outputs":[{"from":"model","to":"s3://data/runs/${AWS_BATCH_JOB_ID}/${AWS_BATCH_JOB_ATTEMPT}/model"}]}`)
	u.types(exit.OK, "stage -- cp /dev/null model")
	if got := object(t, http.MethodHead, server+"/data/runs/158d1c8083dd49d6/1/model", ""); got != "" {
		t.Errorf("the model has %q", got)
	}
	metadata.Close()
	_, err := u.types(64, "stage -- cp /dev/null model")
	u.wants(err, "${AWS_BATCH_JOB_ID}: AWS Batch did not start this container, and the id of its ECS task is unknown: ")
}

// testFlowInS3 runs a workflow locally, with its data in S3.
func testFlowInS3(t *testing.T, server string) {
	object(t, http.MethodPut, server+"/data/raw/1.txt", "a\n")
	object(t, http.MethodPut, server+"/data/raw/more/2.txt", "b\n")
	object(t, http.MethodPut, server+"/data/raw/3.txt", "b\n")
	u := newUser(t, "")
	u.environ = append(u.environ, "BATCHCTL_TARGET=local")
	u.write("flow.json", strings.ReplaceAll(s3Flow, "SERVER", server))
	u.types(exit.OK, "validate --fail-on warning flow.json")
	u.types(exit.OK, "run flow.json")
	for place, want := range map[string]string{"a/0/model": "a\na\n", "b/1/model": "b\nb\n"} {
		if got := object(t, http.MethodGet, server+"/data/run-7/"+place, ""); got != want {
			t.Errorf("%s: %q, want %q", place, got, want)
		}
	}

	// The children of a list, and the one that is retried: its URL is the same.
	u.write("lines.json", strings.NewReplacer("SERVER", server, "DIR", u.dir).Replace(s3Lines))
	u.write("commands.txt", "echo zero >said\necho one >said; test -e $MARK && echo again >said\necho two >said\n")
	u.types(exit.Problem, "run lines.json")
	u.write("mark", "")
	u.types(exit.OK, "retry lines --wait")
	u.types(exit.OK, "serve --stop")
	for place, want := range map[string]string{"0/said": "zero\n", "1/said": "again\n", "2/said": "two\n"} {
		if got := object(t, http.MethodGet, server+"/data/lines/"+place, ""); got != want {
			t.Errorf("lines/%s: %q, want %q", place, got, want)
		}
	}

	// A missing input ends the job with a message, before its program begins.
	u.write("none.json", strings.NewReplacer("SERVER", server, "s3://data/raw/", "s3://data/none").Replace(s3Flow))
	u.types(exit.Problem, "run none.json")
	out, _ := u.types(exit.OK, "logs split")
	u.wants(out, "s3://data/none")
}

// testPublishedInS3 submits a job with local files to AWS.
func testPublishedInS3(t *testing.T, server string) {
	sent, endpoint := newRecorder(t, server)
	u := newUser(t, "")
	u.environ = append(u.environ, "BATCHCTL_TARGET=")
	u.write("batchctl.json", strings.ReplaceAll(stagingPlatform, "ENDPOINT", endpoint))
	u.write("job.json", s3Published)
	u.write("config.yaml", "lr: 1\n")
	if err := os.MkdirAll(filepath.Join(u.dir, "data", "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	u.write("data/sub/b", "b\n")

	// A plan sends nothing. Without a staging location, or with a missing one, nothing is submitted.
	u.types(exit.OK, "plan job.json --offline")
	u.types(exit.OK, "submit job.json --dry-run")
	if got := order(sent.took()); strings.Contains(got, "PUT") {
		t.Errorf("sent: %s", got)
	}
	_, said := u.types(exit.Problem, "submit job.json --target bare")
	u.wants(said, "job.json:4:30: a local input needs a staging location", "[stage-no-place]", `"staging": "s3://bucket/prefix"`)
	_, said = u.types(exit.NotDone, "submit job.json --target lost")
	u.wants(said, "publish config.yaml", "create the bucket, or give the target another")
	sent.took()

	_, said = u.types(exit.OK, "submit job.json")
	u.wants(said, "published: config.yaml, 1 file, 6 B", "published: data, 1 file, 2 B", "batchctl results")
	calls := sent.took()
	got := order(calls)
	if strings.Count(got, "PUT /staging/of/us/") != 3 || strings.LastIndex(got, "PUT") > strings.Index(got, "SubmitJob") {
		t.Errorf("sent: %s", got)
	}
	command, environ := u.container(calls)
	out := u.child(0, command, environ, "AWS_ENDPOINT_URL="+endpoint, "AWS_BATCH_JOB_ID=job-1")
	if !strings.Contains(out, "lr: 1\nb\n") {
		t.Errorf("the job says %q", out)
	}
	if got := object(t, http.MethodGet, server+"/staging/of/us/outputs/job-1/0/config.yaml", ""); got != "lr: 1\n" {
		t.Errorf("the output is %q", got)
	}

	// The second time nothing is uploaded, and the definition exists already.
	sent.took()
	u.types(exit.OK, "submit job.json")
	if got := order(sent.took()); strings.Contains(got, "PUT") || strings.Contains(got, "Register") {
		t.Errorf("again: %s", got)
	}
}
