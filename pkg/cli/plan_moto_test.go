package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// planAccount is an AWS account on moto_server, and the aws CLI that creates resources in it.
type planAccount struct {
	t        *testing.T
	endpoint string
	env      []string
}

// startPlanAccount starts a server for the test. If tools are required, a missing one fails
// the test.
func startPlanAccount(t *testing.T) *planAccount {
	t.Helper()
	testtool.Long(t)
	testtool.Need(t, "aws", "moto_server")
	m := &planAccount{t: t, endpoint: startMoto(t)}
	none := filepath.Join(t.TempDir(), "none")
	m.env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "AWS_") }),
		"AWS_ENDPOINT_URL="+m.endpoint, "AWS_REGION=us-east-1", "AWS_DEFAULT_REGION=us-east-1", "AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=y",
		"AWS_CONFIG_FILE="+none, "AWS_SHARED_CREDENTIALS_FILE="+none, "AWS_PAGER=", "AWS_MAX_ATTEMPTS=1", "NO_PROXY=127.0.0.1",
		"AWS_EC2_METADATA_DISABLED=true", "BATCHCTL_STATE_DIR="+t.TempDir())
	return m
}

// aws runs the aws CLI and returns its output without blanks around it.
func (m *planAccount) aws(args ...string) string {
	m.t.Helper()
	cmd := exec.Command("aws", args...)
	cmd.Env = m.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("aws %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// batchctl runs the program in a directory.
func (m *planAccount) batchctl(dir string, args ...string) (code int, stdout, stderr string) {
	m.t.Helper()
	cmd := exec.Command(filepath.Join(batchctlOnPath(m.t), "batchctl"), args...)
	cmd.Dir, cmd.Env = dir, m.env
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		m.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// environment creates a compute environment.
func (m *planAccount) environment(name string, resources map[string]any) {
	m.t.Helper()
	text, err := json.Marshal(resources)
	if err != nil {
		m.t.Fatal(err)
	}
	m.aws("batch", "create-compute-environment", "--compute-environment-name", name, "--type", "MANAGED", "--state", "ENABLED",
		"--service-role", "arn:aws:iam::123456789012:role/svc", "--compute-resources", string(text))
}

func (m *planAccount) queue(name, state string, environments ...string) {
	m.t.Helper()
	args := []string{"batch", "create-job-queue", "--job-queue-name", name, "--state", state, "--priority", "1", "--compute-environment-order"}
	for i, e := range environments {
		args = append(args, fmt.Sprintf("order=%d,computeEnvironment=%s", i+1, e))
	}
	m.aws(args...)
}

// fill creates the compute environments and queues that the plans are compared with.
func (m *planAccount) fill() {
	m.t.Helper()
	subnet := m.aws("ec2", "describe-subnets", "--query", "Subnets[0].SubnetId", "--output", "text")
	group := m.aws("ec2", "describe-security-groups", "--query", "SecurityGroups[0].GroupId", "--output", "text")
	m.aws("iam", "create-role", "--role-name", "svc", "--assume-role-policy-document", "{}")
	m.aws("iam", "create-instance-profile", "--instance-profile-name", "svc")
	on := func(members map[string]any) map[string]any {
		members["subnets"], members["securityGroupIds"] = []string{subnet}, []string{group}
		if _, ok := members["instanceTypes"]; ok {
			members["instanceRole"], members["minvCpus"] = "arn:aws:iam::123456789012:instance-profile/svc", 0
		}
		return members
	}
	m.environment("fixed", on(map[string]any{"type": "EC2", "maxvCpus": 64, "instanceTypes": []string{"m5.large", "m5.4xlarge"}}))
	m.environment("any", on(map[string]any{"type": "SPOT", "maxvCpus": 256, "instanceTypes": []string{"optimal"}, "bidPercentage": 60}))
	m.environment("fargate", on(map[string]any{"type": "FARGATE", "maxvCpus": 16}))
	m.queue("main", "ENABLED", "fixed", "any")
	m.queue("off", "DISABLED", "fixed")
	m.queue("serverless", "ENABLED", "fargate")
}

const plannedJob = `{"name": "train", "image": "public.ecr.aws/docker/library/busybox:1.37", "command": ["true"], "queue": "QUEUE",
  "environment": { "EPOCHS": "10" }, "resources": { "vcpus": 2, "memory": "4 GiB" }, "timeout": "90m"}`

func TestPlanAgainstMoto(t *testing.T) {
	t.Parallel()
	m := startPlanAccount(t)
	m.fill()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	job := strings.Replace(plannedJob, "QUEUE", "main", 1)
	write("job.json", job)
	write("changed.json", strings.Replace(job, `"10"`, `"20"`, 1))
	write("big.json", strings.Replace(job, `"memory": "4 GiB"`, `"memory": "3000 GiB"`, 1))
	write("off.json", strings.Replace(job, `"main"`, `"off"`, 1))
	write("lost.json", strings.Replace(job, `"main"`, `"nowhere"`, 1))
	write("fargate.json", strings.Replace(job, `"main"`, `"serverless", "platformCapabilities": ["FARGATE"], "executionRoleArn": "arn:aws:iam::123456789012:role/svc"`, 1))

	expect := func(code int, lines []string, args ...string) {
		t.Helper()
		got, out, err := m.batchctl(dir, append(args, "--target", "aws")...)
		if got != code {
			t.Errorf("batchctl %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out, err)
		}
		for _, line := range lines {
			if !strings.Contains(out+err, line) {
				t.Errorf("batchctl %s: no line %q in\n%s%s", strings.Join(args, " "), line, out, err)
			}
		}
	}
	expect(4, []string{
		"target      aws 123456789012 us-east-1\n",
		"            new: no definition of this name is registered at aws 123456789012 us-east-1\n",
		"            ENABLED, VALID\n",
		"  runs on   fixed (EC2, ENABLED, VALID): 1 job per m5.large, at most 32 at once (maxvCpus 64, 0 now)",
		"  then on   any (SPOT, ENABLED, VALID): 1 job per m6i.large, at most 128 at once (maxvCpus 256, 0 now)",
		"            first on fixed (EC2): 0.144 USD\n",
		"              m5.large at 0.096 USD/h x 1h30m = 0.144 USD\n",
		"              other instance types: 0.096 USD an hour\n",
		"            then on any (SPOT): 0.0532 to 0.0864 USD\n",
	}, "plan", "job.json", "--verbose", "--out", "job.plan")
	expect(0, nil, "submit", "job.json", "--check", "job.plan")
	expect(0, []string{"no change: revision 1 has this content"}, "plan", "job.json", "--out", "job.plan")
	expect(4, []string{`change: a new revision; revision 1 differs`,
		`              containerProperties.environment[EPOCHS].value: "10" -> "20"` + "\n  submit"}, "plan", "changed.json")
	expect(1, []string{"not on    fixed (EC2, ENABLED, VALID): its largest type m5.4xlarge leaves at most"}, "plan", "big.json")
	expect(1, []string{"problem     job train: job queue off is DISABLED and rejects jobs"}, "plan", "off.json")
	expect(1, []string{"no job queue nowhere at aws 123456789012 us-east-1"}, "plan", "lost.json")
	expect(4, []string{"fargate (FARGATE, ENABLED, VALID): Fargate has 2 vCPU, 4096 MiB, at most 8 at once (maxvCpus 16)",
		"(2 vCPU at 0.04048 USD + 4 GB at 0.004445 USD)/h x 1h30m = 0.148 USD"}, "plan", "fargate.json", "--verbose")

	write("other.json", `{"targets": {"prod": {"region": "us-east-1", "accountId": "999999999999"}}}`)
	if code, _, err := m.batchctl(dir, "plan", "job.json", "--platform", "other.json", "--target", "prod"); code != 3 ||
		!strings.Contains(err, "target prod is account 999999999999, but the credentials are for account 123456789012") {
		t.Errorf("the wrong account: exit code %d\n%s", code, err)
	}

	// The target changes after the plan: first the environment, then the queue.
	m.aws("batch", "update-compute-environment", "--compute-environment", "fixed", "--state", "DISABLED")
	expect(4, []string{`  computeEnvironments[fixed].state: "ENABLED" -> "DISABLED"`, "1 change since the plan was created: nothing was sent"},
		"submit", "job.json", "--check", "job.plan")
	expect(0, []string{"not on    fixed (EC2, DISABLED, VALID): it is DISABLED", "m6i.large at 0.096 USD/h x 1h30m x 60 % (bidPercentage) = 0.0864 USD"}, "plan", "job.json", "--verbose", "--out", "job.plan")
	m.aws("batch", "update-job-queue", "--job-queue", "main", "--state", "DISABLED")
	expect(4, []string{`  queues[main].state: "ENABLED" -> "DISABLED"`}, "submit", "job.json", "--check", "job.plan")
}
