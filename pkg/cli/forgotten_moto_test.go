package cli_test

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/exit"
)

// forgetfulQueue creates a queue in moto, with its compute environment and network.
const forgetfulQueue = `
import boto3, sys
def client(name): return boto3.client(name, endpoint_url=sys.argv[1], region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
ec2, batch = client("ec2"), client("batch")
vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
group = ec2.create_security_group(GroupName="g", Description="g", VpcId=vpc)["GroupId"]
role = client("iam").create_role(RoleName="r", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
batch.create_compute_environment(computeEnvironmentName="cefg", type="MANAGED", state="ENABLED", serviceRole=role,
    computeResources={"type": "FARGATE", "maxvCpus": 16, "subnets": [subnet], "securityGroupIds": [group]})
batch.create_job_queue(jobQueueName="cpu", state="ENABLED", priority=1, computeEnvironmentOrder=[{"order": 1, "computeEnvironment": "cefg"}])
`

// forgetful is a moto_server whose jobs can be deleted.
type forgetful struct {
	t        *testing.T
	endpoint string
	dir      string
}

func startForgetful(t *testing.T) *forgetful {
	t.Helper()
	f := &forgetful{t: t, endpoint: startMoto(t), dir: t.TempDir()}
	withoutDocker(t, f.endpoint)
	makeQueue(t, forgetfulQueue, f.endpoint)
	return f
}

func (f *forgetful) post(path, body string) error {
	answer, err := http.Post(f.endpoint+"/moto-api/"+path, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// types runs batchctl, checks its exit code, and returns its output.
func (f *forgetful) types(code int, args ...string) string {
	f.t.Helper()
	cmd := exec.Command(filepath.Join(batchctlOnPath(f.t), "batchctl"), args...)
	none := filepath.Join(f.dir, "none")
	cmd.Dir, cmd.Env = f.dir, append(os.Environ(), "BATCHCTL_STATE_DIR="+filepath.Join(f.dir, "state"), "BATCHCTL_TARGET=aws",
		"AWS_ENDPOINT_URL="+f.endpoint, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b",
		"AWS_CONFIG_FILE="+none, "AWS_SHARED_CREDENTIALS_FILE="+none, "NO_PROXY=127.0.0.1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != code {
		f.t.Fatalf("batchctl %q: %v, want exit code %d\n%s", args, err, code, &out)
	}
	return out.String()
}

func (f *forgetful) wants(text string, parts ...string) {
	f.t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			f.t.Errorf("no %q in\n%s", part, text)
		}
	}
}

// TestForgottenByMoto watches a workflow with an array on moto until it finishes.
// Then moto forgets the jobs, and the answers must come from the ledger.
func TestForgottenByMoto(t *testing.T) {
	t.Parallel()
	f := startForgetful(t)
	flow := `{ "name": "flow",
		"defaults": { "image": "public.ecr.aws/docker/library/busybox:1.36", "command": ["true"], "queue": "cpu", "resources": { "vcpus": 1, "memory": "512 MiB" }, "timeout": "1m" },
		"jobs": [{ "name": "prepare" }, { "name": "work", "array": { "size": 3 }, "dependsOn": ["prepare"] }, { "name": "collect", "dependsOn": ["work"] }] }`
	if err := os.WriteFile(filepath.Join(f.dir, "flow.json"), []byte(flow), 0o600); err != nil {
		t.Fatal(err)
	}
	f.wants(f.types(exit.OK, "submit", "flow.json", "--wait"), "target: aws 123456789012 us-east-1 at "+f.endpoint, "collect")
	f.wants(f.types(exit.OK, "status"), "prepare", "work", "3 of 3 ended SUCCEEDED:3", "collect")
	f.types(exit.OK, "logs", "work") // moto has no log of these jobs: no error
	f.wants(f.types(exit.NotDone, "stop", "--submission", "flow.json"), "prepare  not stopped: SUCCEEDED already", "collect  not stopped: SUCCEEDED already")

	// Another machine has no record of the workflow: it finds the jobs by their tags.
	state, elsewhere := filepath.Join(f.dir, "state"), filepath.Join(f.dir, "elsewhere")
	if err := os.Rename(state, elsewhere); err != nil {
		t.Fatal(err)
	}
	f.wants(f.types(exit.OK, "status", "flow"), "flow\n", "prepare", "work", "collect")
	f.wants(f.types(exit.OK, "status", "flow.json"), "prepare", "work", "collect")
	f.wants(f.types(exit.OK, "status", "--submission", "work"), "prepare", "work", "collect")
	f.wants(f.types(exit.NotDone, "stop", "flow"), "prepare  not stopped: SUCCEEDED already", "collect  not stopped: SUCCEEDED already")
	f.wants(f.types(exit.OK, "cost", "flow.json", "--since", "1d", "--by", "workflow"), "flow ")
	f.wants(f.types(exit.NotDone, "status", "flaw"), "no job or workflow has the id or name flaw, did you mean flow?")
	if err := errors.Join(os.RemoveAll(state), os.Rename(elsewhere, state)); err != nil {
		t.Fatal(err)
	}

	if err := f.post("reset", ""); err != nil {
		t.Fatal(err)
	}
	const memory = "SUCCEEDED, 3 of 3 ended SUCCEEDED:3"
	f.wants(f.types(exit.OK, "status", "work"), "status      "+memory, "(from the ledger; AWS Batch no longer has it)")
	f.wants(f.types(exit.OK, "status", "--submission", "flow.json"), "prepare", "work", "collect", "from the ledger")
	f.wants(f.types(exit.OK, "wait", "--submission", "collect"), "from the ledger")
	f.wants(f.types(exit.NotDone, "stop", "work"), "not stopped: AWS Batch no longer has it")
	f.wants(f.types(exit.OK, "status", "work:1"), "UNKNOWN-EXPIRED") // of a child nothing was remembered
}
