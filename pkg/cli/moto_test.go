package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/pkg/wire"
)

// motoQueue creates a queue in moto, with its compute environment and network.
const motoQueue = `
import boto3, sys
def client(name): return boto3.client(name, endpoint_url=sys.argv[1], region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
ec2 = client("ec2")
vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
group = ec2.create_security_group(GroupName="g", Description="g", VpcId=vpc)["GroupId"]
iam = client("iam")
role = iam.create_role(RoleName="batch", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
profile = iam.create_instance_profile(InstanceProfileName="batch")["InstanceProfile"]["Arn"]
batch = client("batch")
batch.create_compute_environment(computeEnvironmentName="machines", type="MANAGED", state="ENABLED", serviceRole=role,
    computeResources=dict(type="EC2", minvCpus=0, maxvCpus=16, instanceTypes=["m5.large"], instanceRole=profile, subnets=[subnet], securityGroupIds=[group]))
batch.create_job_queue(jobQueueName="cpu", state="ENABLED", priority=1, computeEnvironmentOrder=[dict(order=1, computeEnvironment="machines")])
`

// moto is a moto_server with a queue, an independent implementation of AWS Batch. Its jobs
// succeed at once.
func moto(t *testing.T) (endpoint string) {
	t.Helper()
	endpoint = startMoto(t)
	withoutDocker(t, endpoint)
	makeQueue(t, motoQueue, endpoint)
	return endpoint
}

// withoutDocker has moto's jobs succeed at once.
func withoutDocker(t *testing.T, endpoint string) {
	t.Helper()
	answer, err := http.Post(endpoint+"/moto-api/config", "application/json", strings.NewReader(`{"batch":{"use_docker":false}}`))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
}

// makeQueue runs a Python script that creates a queue at an endpoint.
func makeQueue(t *testing.T, script, endpoint string) {
	t.Helper()
	if made, err := exec.Command("python3", "-c", script, endpoint).CombinedOutput(); err != nil {
		t.Fatalf("make a queue: %v\n%s", err, made)
	}
}

// startMoto is testtool.Moto for tests that need boto3 too.
func startMoto(t *testing.T) string {
	t.Helper()
	testtool.Long(t)
	testtool.Need(t, "python3")
	testtool.Works(t, "python3", "-c", "import boto3")
	return testtool.Moto(t)
}

// user is a person at a command line, with a target and a ledger.
type user struct {
	t       *testing.T
	dir     string
	environ []string
}

func newUser(t *testing.T, endpoint string) *user {
	dir := t.TempDir()
	none := filepath.Join(dir, "none")
	return &user{t, dir, append(os.Environ(), "BATCHCTL_STATE_DIR="+filepath.Join(dir, "state"), "BATCHCTL_TARGET=aws", "AWS_ENDPOINT_URL="+endpoint,
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "AWS_CONFIG_FILE="+none, "AWS_SHARED_CREDENTIALS_FILE="+none,
		"AWS_EC2_METADATA_DISABLED=true", "NO_PROXY=127.0.0.1")}
}

func (u *user) write(name, text string) {
	u.t.Helper()
	if err := os.WriteFile(filepath.Join(u.dir, name), []byte(text), 0o600); err != nil {
		u.t.Fatal(err)
	}
}

// types runs a command line, checks its exit code, and returns its output.
func (u *user) types(code int, line string) (out, said string) {
	u.t.Helper()
	cmd := exec.Command("batchctl", strings.Fields(line)...)
	cmd.Dir, cmd.Env = u.dir, u.environ
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		u.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		u.t.Fatalf("batchctl %s: exit code %d, want %d\n%s%s", line, got, code, &stdout, &stderr)
	}
	return stdout.String(), stderr.String()
}

func (u *user) wants(text string, parts ...string) {
	u.t.Helper()
	squeezed := strings.Join(strings.Fields(text), " ")
	for _, p := range parts {
		if !strings.Contains(squeezed, strings.Join(strings.Fields(p), " ")) {
			u.t.Errorf("no %q in:\n%s", p, text)
		}
	}
}

const (
	jobJSON = `{"name": "train", "image": "public.ecr.aws/docker/library/busybox:1.36", "command": ["true"], "queue": "cpu",
		"resources": {"vcpus": 1, "memory": "64 MiB"}, "timeout": "1m"}`
	flowJSON = `{"name": "flow", "defaults": {"image": "public.ecr.aws/docker/library/busybox:1.36", "command": ["true"], "queue": "cpu",
		"resources": {"vcpus": 1, "memory": "64 MiB"}, "timeout": "1m"}, "jobs": [{"name": "prepare"}, {"name": "report", "dependsOn": ["prepare"]}]}`
)

// TestMotoInCI submits with variables alone: keys, or the token of a web identity. There is no HOME and no config file.
func TestMotoInCI(t *testing.T) {
	endpoint := moto(t)
	for name, variables := range map[string][]string{
		"keys":         {"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "AWS_DEFAULT_REGION=us-east-1"},
		"web identity": {"AWS_ROLE_ARN=arn:aws:iam::123456789012:role/ci", "AWS_WEB_IDENTITY_TOKEN_FILE=token", "AWS_REGION=us-east-1"},
	} {
		t.Run(name, func(t *testing.T) {
			u := inCI(t, append(variables, "AWS_ENDPOINT_URL="+endpoint)...)
			_, said := u.types(exit.OK, "submit train.json --monitor")
			u.wants(said, "target: aws 123456789012 us-east-1", "SUCCEEDED")
		})
	}
}

// TestMoto runs all steps of a submission on moto.
func TestMoto(t *testing.T) {
	endpoint := moto(t)
	u := newUser(t, endpoint)
	u.write("train.json", jobJSON)
	u.write("flow.json", flowJSON)
	u.types(exit.OK, "validate train.json flow.json")
	u.types(exit.Change, "plan train.json")

	out, said := u.types(exit.OK, "submit train.json")
	u.wants(out, "  train  cpu")
	u.wants(said, "target: aws 123456789012 us-east-1 at "+endpoint)
	u.types(exit.OK, "plan train.json")
	id := strings.Fields(out)[0]
	for _, word := range []string{"train", id} {
		out, _ = u.types(exit.OK, "status "+word)
		u.wants(out, "job         train  "+id, "SUCCEEDED", "definition  train:1")
	}
	out, _ = u.types(exit.OK, "list --name train")
	u.wants(out, id, "train  SUCCEEDED")
	u.types(exit.OK, "logs train")
	out, _ = u.types(exit.NotDone, "stop train")
	u.wants(out, "not stopped: SUCCEEDED already")
	_, said = u.types(exit.OK, "submit flow.json --wait")
	u.wants(said, "prepare", "report", "SUCCEEDED")

	// Without a ledger, a job is found by its name; the request contains its id.
	stranger := newUser(t, endpoint)
	out, _ = stranger.types(exit.OK, "status train --output json")
	var jobs []struct {
		JobName string
		Tags    map[string]string
	}
	if err := json.Unmarshal([]byte(out), &jobs); err != nil || len(jobs) != 1 || jobs[0].JobName != "train" || len(jobs[0].Tags) == 0 {
		t.Errorf("%v\n%s", err, out)
	}

	// The same definition is not registered again, and gc deregisters old revisions.
	for _, command := range []string{`["true"]`, `["false"]`, `["yes"]`} {
		u.write("train.json", strings.Replace(jobJSON, `["true"]`, command, 1))
		u.types(exit.OK, "submit train.json")
	}
	out, _ = u.types(exit.OK, "gc --keep 2 train --dry-run")
	u.wants(out, "train:3  kept", "train:2  kept", "train:1  would be deregistered")
	out, _ = u.types(exit.OK, "gc --keep 2 train")
	u.wants(out, "train:1  deregistered")
	out, _ = u.types(exit.OK, "gc --keep 2 train")
	if strings.Contains(out, "train:1") {
		t.Errorf("train:1 is still there:\n%s", out)
	}
}

// TestMotoResume loses the answer to a SubmitJob, and then denies ListJobs.
func TestMotoResume(t *testing.T) {
	t.Parallel()
	endpoint := moto(t)
	to, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	var submits atomic.Int32
	var bad atomic.Bool
	bad.Store(true)
	way := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(r *http.Response) error {
			switch name, _ := wire.Operation(r.Request.Method, r.Request.URL.Path); {
			case name == "SubmitJob" && submits.Add(1) == 2:
				return errors.New("lost") // the proxy answers 502
			case name == "ListJobs" && bad.Load():
				r.StatusCode = http.StatusForbidden
				r.Header.Set("X-Amzn-ErrorType", "AccessDeniedException")
				r.Body = io.NopCloser(strings.NewReader(`{"message":"not now"}`))
				r.Header.Del("Content-Length")
				r.ContentLength = -1
			}
			return nil
		}, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }}
	proxy := httptest.NewServer(way)
	defer proxy.Close()
	u := newUser(t, proxy.URL)
	u.write("flow.json", flowJSON)

	out, said := u.types(exit.Unknown, "submit flow.json")
	u.wants(out, "prepare")
	u.wants(said, "job report: no clear answer", "1 of 2 jobs were accepted, 1 may have been accepted", "continue: batchctl resume ")
	out, _ = u.types(exit.OK, "resume --dry-run")
	u.wants(out, "ACCEPTED")
	u.types(exit.Unknown, "resume")

	elsewhere := *u
	elsewhere.environ = append(elsewhere.environ, "AWS_REGION=eu-west-1")
	_, said = elsewhere.types(exit.NotDone, "resume")
	u.wants(said, "belongs to aws 123456789012 us-east-1", "but the current target is aws 123456789012 eu-west-1")

	bad.Store(false)
	out, said = u.types(exit.OK, "resume --settle 100ms")
	u.wants(out, "prepare", "report")
	u.wants(said, "job report: accepted as")
	if n := submits.Load(); n != 2 {
		t.Errorf("SubmitJob was sent %d times, want 2", n)
	}
	u.wants(said, "checking for duplicates again in ") // a minute after the request that had no answer
	_, said = u.types(exit.OK, "resume")
	u.wants(said, "nothing to resume")
	out, _ = u.types(exit.OK, "list --name report --output json")
	if n := strings.Count(out, `"jobId"`); n != 1 {
		t.Errorf("report is there %d times", n)
	}
}
