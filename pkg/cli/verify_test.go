package cli_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/ecr"

	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// account is an AWS account on moto_server.
type account struct {
	*testing.T
	endpoint, dir string
	cfg           aws.Config
	rpc           *rpc.Client
	batch         *awsbatch.Client
}

// openAccount starts moto_server. If tools are required, its absence fails the test.
func openAccount(t *testing.T) *account {
	t.Helper()
	a := &account{T: t, endpoint: startMoto(t), dir: t.TempDir()}
	a.cfg = aws.Config{Region: "eu-central-1", BaseEndpoint: &a.endpoint, Credentials: credentials.NewStaticCredentialsProvider("x", "y", "")}
	testtool.MotoLoads(t, a.endpoint, a.cfg.Region, "ec2")
	a.rpc, a.batch = rpc.New(a.cfg), awsbatch.NewFromConfig(a.cfg)
	return a
}

func (a *account) must(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

func (a *account) json(s rpc.Service, operation string, in any) {
	a.Helper()
	a.must(a.rpc.JSON(a.Context(), s, operation, in, &struct{}{}))
}

func (a *account) query(s rpc.Service, operation string, out any, pairs ...string) {
	a.Helper()
	in := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		in.Set(pairs[i], pairs[i+1])
	}
	a.must(a.rpc.Query(a.Context(), s, operation, in, out))
}

// role creates a role that a service may assume.
func (a *account) role(name, service string) {
	a.Helper()
	a.query(rpc.IAM, "CreateRole", &struct{}{}, "RoleName", name, "AssumeRolePolicyDocument",
		`{"Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"Service":"`+service+`"}}]}`)
}

// furnish creates what the good job needs: a queue on c5.large, its roles, image,
// secret and log group.
func (a *account) furnish() {
	a.Helper()
	a.role("batch", "batch.amazonaws.com")
	a.role("ec2", "ec2.amazonaws.com")
	a.role("task", "ecs-tasks.amazonaws.com")
	a.query(rpc.IAM, "CreateInstanceProfile", &struct{}{}, "InstanceProfileName", "ecsInstanceRole")
	a.query(rpc.IAM, "AddRoleToInstanceProfile", &struct{}{}, "InstanceProfileName", "ecsInstanceRole", "RoleName", "ec2")
	var subnets struct {
		IDs []string `xml:"subnetSet>item>subnetId"`
	}
	var groups struct {
		IDs []string `xml:"securityGroupInfo>item>groupId"`
	}
	a.query(rpc.EC2, "DescribeSubnets", &subnets)
	a.query(rpc.EC2, "DescribeSecurityGroups", &groups)
	_, err := a.batch.CreateComputeEnvironment(a.Context(), &awsbatch.CreateComputeEnvironmentInput{ComputeEnvironmentName: aws.String("cpu"), Type: types.CETypeManaged,
		State: types.CEStateEnabled, ServiceRole: aws.String("arn:aws:iam::123456789012:role/batch"), ComputeResources: &types.ComputeResource{Type: types.CRTypeEc2, MinvCpus: aws.Int32(0),
			MaxvCpus: aws.Int32(16), InstanceTypes: []string{"c5.large"}, InstanceRole: aws.String("arn:aws:iam::123456789012:instance-profile/ecsInstanceRole"),
			Subnets: subnets.IDs[:1], SecurityGroupIds: groups.IDs[:1]}})
	a.must(err)
	_, err = a.batch.CreateJobQueue(a.Context(), &awsbatch.CreateJobQueueInput{JobQueueName: aws.String("cpu"), Priority: aws.Int32(1), State: types.JQStateEnabled,
		ComputeEnvironmentOrder: []types.ComputeEnvironmentOrder{{Order: aws.Int32(1), ComputeEnvironment: aws.String("cpu")}}})
	a.must(err)
	images := ecr.NewFromConfig(a.cfg)
	_, err = images.CreateRepository(a.Context(), &ecr.CreateRepositoryInput{RepositoryName: aws.String("train")})
	a.must(err)
	_, err = images.PutImage(a.Context(), &ecr.PutImageInput{RepositoryName: aws.String("train"), ImageTag: aws.String("1"), ImageManifest: aws.String(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",` +
		`"config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":2,"digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},"layers":[]}`)})
	a.must(err)
	a.json(rpc.SSM, "PutParameter", map[string]string{"Name": "/prod/key", "Value": "x", "Type": "SecureString"})
	_, err = cloudwatchlogs.NewFromConfig(a.cfg).CreateLogGroup(a.Context(), &cloudwatchlogs.CreateLogGroupInput{LogGroupName: aws.String("/team/train")})
	a.must(err)
}

func (a *account) run(args ...string) (code int, stdout, stderr string) {
	a.Helper()
	none := filepath.Join(a.dir, "none")
	cmd := exec.Command(filepath.Join(batchctlOnPath(a.T), "batchctl"), args...)
	cmd.Dir = a.dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "AWS_") }), "AWS_ENDPOINT_URL="+a.endpoint, "AWS_REGION=eu-central-1",
		"AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=y", "AWS_CONFIG_FILE="+none, "AWS_SHARED_CREDENTIALS_FILE="+none, "NO_PROXY=127.0.0.1",
		"AWS_EC2_METADATA_DISABLED=true", "BATCHCTL_STATE_DIR="+filepath.Join(a.dir, "state"))
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		a.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// expect runs the program and checks its exit code and lines. A line is a pattern.
func (a *account) expect(code int, lines []string, args ...string) (stdout string) {
	a.Helper()
	got, out, errs := a.run(args...)
	if got != code {
		a.Errorf("batchctl %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out, errs)
	}
	for _, line := range lines {
		if !regexp.MustCompile("(?m)" + line).MatchString(out + errs) {
			a.Errorf("batchctl %s: no line %q in\n%s%s", strings.Join(args, " "), line, out, errs)
		}
	}
	return out
}

func (a *account) write(name, text string) {
	a.Helper()
	a.must(os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o600))
}

const goodJob = `{
  "name": "train",
  "image": "123456789012.dkr.ecr.eu-central-1.amazonaws.com/train:1",
  "command": ["true"],
  "queue": "cpu",
  "jobRoleArn": "arn:aws:iam::123456789012:role/task",
  "executionRoleArn": "arn:aws:iam::123456789012:role/task",
  "secrets": { "KEY": "arn:aws:ssm:eu-central-1:123456789012:parameter/prod/key" },
  "logConfiguration": { "logDriver": "awslogs", "options": { "awslogs-group": "/team/train" } },
  "resources": { "vcpus": 1, "memory": "512 MiB" },
  "timeout": "1h"
}
`

func TestVerifyAgainstMoto(t *testing.T) {
	a := openAccount(t)
	a.furnish()
	a.write("good.json", goodJob)
	a.expect(0, []string{
		`^pass +queue +cpu +ENABLED and VALID$`,
		`^pass +environments +of queue cpu +1 vCPU, 512 MiB fits in cpu: c5.large`,
		`^pass +instance-profile +ecsInstanceRole +it has role ec2$`,
		`^pass +image +\S+/train:1 +it exists`,
		`^pass +roles +\S+/task +ecs-tasks.amazonaws.com may assume it$`,
		`^pass +secrets +\S+parameter/prod/key +it exists`,
		`^pass +log-group +/team/train +it exists$`,
		`next: batchctl submit good.json --target aws`,
	}, "verify", "good.json", "--target", "aws")

	bad := strings.NewReplacer("train:1", "train:2", "role/task", "role/ec2", "parameter/prod/key", "parameter/prod/gone", "/team/train", "/team/gone", `"512 MiB"`, `"64 GiB"`).Replace(goodJob)
	a.write("bad.json", bad)
	out := a.expect(1, []string{
		`^fail +environments +of queue cpu +the job fits none: cpu: its largest type c5.large`,
		`^fail +image .*the repository has no image 2; push the image`,
		`^fail +roles .*does not allow ecs-tasks.amazonaws.com to assume it`,
		`^fail +secrets .*it does not exist`,
		`^fail +log-group +/team/gone +no such log group`,
	}, "verify", "bad.json", "--target", "aws")
	if strings.Count(out, "\nfail ") != 5 {
		t.Errorf("not 5 failures:\n%s", out)
	}
	a.write("elsewhere.json", strings.NewReplacer("123456789012.dkr.ecr.eu-central-1.amazonaws.com/train:1", "busybox:1.36", `"queue": "cpu"`, `"queue": "nowhere"`).Replace(goodJob))
	a.expect(1, []string{`^fail +queue +nowhere +no job queue nowhere`, `^not checked +image +busybox:1.36 `}, "verify", "elsewhere.json", "--target", "aws")

	// A check that could not be done is a failure only with --strict.
	a.write("public.json", strings.Replace(goodJob, "123456789012.dkr.ecr.eu-central-1.amazonaws.com/train:1", "busybox:1.36", 1))
	a.expect(0, []string{`^not checked +image +busybox:1.36 `, `[1-9] not checked`}, "verify", "public.json", "--target", "aws")
	a.expect(3, []string{`could not check 2 things`}, "verify", "public.json", "--target", "aws", "--strict")
	var results []struct{ Check, Outcome string }
	if err := json.Unmarshal([]byte(a.expect(0, nil, "verify", "public.json", "--target", "aws", "--output", "json")), &results); err != nil || len(results) < 7 {
		t.Errorf("json: %v, %+v", err, results)
	}
	a.expect(2, []string{`verify checks what a job needs in AWS`}, "verify", "good.json", "--target", "local")

	_, err := a.batch.UpdateComputeEnvironment(t.Context(), &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("cpu"), State: types.CEStateDisabled})
	a.must(err)
	a.expect(1, []string{`^fail +environments .*cpu is DISABLED`}, "verify", "good.json", "--target", "aws")
	_, err = a.batch.UpdateJobQueue(t.Context(), &awsbatch.UpdateJobQueueInput{JobQueue: aws.String("cpu"), State: types.JQStateDisabled})
	a.must(err)
	a.expect(1, []string{`^fail +queue +cpu +it is DISABLED and accepts no jobs`}, "verify", "good.json", "--target", "aws")
}

// TestExplainAgainstMoto explains a job that waits indefinitely. Its account has no snapshots of
// queues, and its compute environment becomes disabled.
func TestExplainAgainstMoto(t *testing.T) {
	a := openAccount(t)
	a.furnish()
	answer, err := http.Post(a.endpoint+"/moto-api/state-manager/set-transition", "application/json",
		strings.NewReader(`{"model_name":"batch::job","transition":{"progression":"time","seconds":10000}}`))
	a.must(err)
	answer.Body.Close()
	//lint:ignore SA1019 of resourceRequirements moto makes "1.0", which is no integer
	container := &types.ContainerProperties{Image: aws.String("busybox"), Command: []string{"true"}, Vcpus: aws.Int32(1), Memory: aws.Int32(512)}
	definition, err := a.batch.RegisterJobDefinition(t.Context(), &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("train"),
		Type: types.JobDefinitionTypeContainer, ContainerProperties: container})
	a.must(err)
	job, err := a.batch.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("train"), JobQueue: aws.String("cpu"), JobDefinition: definition.JobDefinitionArn})
	a.must(err)
	a.expect(0, []string{`^job +train +[0-9a-f]{8} +[A-Z]+$`, `^answer +normal so far`, `^not checked +snapshot of the job queue: `}, "explain", "train", "--target", "aws")

	// moto leaves the job SUBMITTED. The evidence is changed to RUNNABLE and explained with the
	// current state of the account.
	_, err = a.batch.UpdateComputeEnvironment(t.Context(), &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("cpu"), State: types.CEStateDisabled})
	a.must(err)
	a.expect(0, nil, "explain", *job.JobId, "--target", "aws", "--record", "evidence.json")
	text, err := os.ReadFile(filepath.Join(a.dir, "evidence.json"))
	a.must(err)
	a.write("runnable.json", regexp.MustCompile(`"status": "(SUBMITTED|PENDING)"`).ReplaceAllString(string(text), `"status": "RUNNABLE"`))
	a.expect(0, []string{`^cause +no compute environment accepts the job: cpu is DISABLED$`, `^platform +aws batch update-compute-environment`}, "explain", "--bundle", "runnable.json")
}
