package cli_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/exit"
)

const infraRepo = `{"AWSTemplateFormatVersion": "2010-09-09", "Parameters": {"Project": {"Type": "String"}},
 "Resources": {
  "Repository": {"Type": "AWS::ECR::Repository", "Properties": {"RepositoryName": {"Ref": "Project"}}},
  "Log": {"Type": "AWS::Logs::LogGroup", "DeletionPolicy": "Retain", "Properties": {"LogGroupName": "/batch/kept", "RetentionInDays": 30}}},
 "Outputs": {"RepositoryName": {"Value": {"Ref": "Repository"}}}}`

const infraBatch = `{"AWSTemplateFormatVersion": "2010-09-09",
 "Parameters": {"Project": {"Type": "String"}, "RepositoryName": {"Type": "String"}, "MaxvCpus": {"Type": "Number", "Default": 16}},
 "Resources": {
  "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}},
  "Subnet": {"Type": "AWS::EC2::Subnet", "Properties": {"VpcId": {"Ref": "Vpc"}, "CidrBlock": "10.0.0.0/24"}},
  "Group": {"Type": "AWS::EC2::SecurityGroup", "Properties": {"GroupDescription": "hosts", "VpcId": {"Ref": "Vpc"}}},
  "Role": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Version": "2012-10-17",
   "Statement": [{"Effect": "Allow", "Principal": {"Service": "batch.amazonaws.com"}, "Action": "sts:AssumeRole"}]}}},
  "Profile": {"Type": "AWS::IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": "Role"}]}},
  "Environment": {"Type": "AWS::Batch::ComputeEnvironment", "Properties": {"ComputeEnvironmentName": "machines", "Type": "MANAGED", "State": "ENABLED",
   "ServiceRole": {"Fn::GetAtt": ["Role", "Arn"]},
   "ComputeResources": {"Type": "EC2", "MinvCpus": 0, "MaxvCpus": 16, "InstanceTypes": ["m5.large"],
    "InstanceRole": {"Fn::GetAtt": ["Profile", "Arn"]}, "Subnets": [{"Ref": "Subnet"}], "SecurityGroupIds": [{"Ref": "Group"}]}}},
  "Queue": {"Type": "AWS::Batch::JobQueue", "Properties": {"JobQueueName": "cpu", "Priority": 1, "State": "ENABLED",
   "ComputeEnvironmentOrder": [{"Order": 1, "ComputeEnvironment": {"Ref": "Environment"}}]}}},
 "Outputs": {"CpuQueueArn": {"Value": {"Ref": "Queue"}}}}`

// withStackOutputs is a proxy for moto, which loses the outputs of a stack that a change set
// created. After each ExecuteChangeSet it updates the stack with its own template.
func withStackOutputs(t *testing.T, endpoint string) string {
	t.Helper()
	to, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		form, _ := url.ParseQuery(string(body)) // JSON calls are not forms
		if form.Get("Action") != "ExecuteChangeSet" {
			pass.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		pass.ServeHTTP(answer, r)
		update := url.Values{"Action": {"UpdateStack"}, "Version": {"2010-05-15"}, "StackName": {form.Get("StackName")}, "UsePreviousTemplate": {"true"}}
		again, err := http.NewRequestWithContext(r.Context(), http.MethodPost, endpoint, strings.NewReader(update.Encode()))
		if err != nil {
			t.Error(err)
			return
		}
		again.Header = r.Header.Clone()
		updated, err := http.DefaultClient.Do(again)
		if err != nil || updated.StatusCode != http.StatusOK {
			t.Errorf("update the stack: %v %v", updated, err)
			return
		}
		updated.Body.Close()
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestInfra runs all steps on moto: diff, deploy, outputs, a job on the new queue, an update,
// status, destroy.
func TestInfra(t *testing.T) {
	server := startMoto(t)
	withoutDocker(t, server)
	u := newUser(t, withStackOutputs(t, server))
	if err := os.Mkdir(filepath.Join(u.dir, "stacks"), 0o700); err != nil {
		t.Fatal(err)
	}
	u.write("stacks/10-repo.json", infraRepo)
	u.write("stacks/20-batch.json", infraBatch)
	u.write("job.json", `{ "name": "hello", "image": "public.ecr.aws/docker/library/busybox:1.36", "command": ["true"], "resources": { "vcpus": 1, "memory": "1 GiB" }, "timeout": "5m" }`)
	u.write("batchctl.json", "{\n  \"$comment\": \"ours\",\n  \"targets\": { \"prod\": { \"region\": \"us-east-1\" } }\n}\n")
	with := " --templates stacks --prefix team"

	out, _ := u.types(exit.Change, "infra diff"+with)
	u.wants(out, "stack team-repo: create\n", "stack team-batch: create\n", "+ add")
	out, said := u.types(exit.OK, "infra deploy --yes"+with)
	u.wants(out, "+ add  Queue        Batch::JobQueue\n")
	u.wants(said, "target: aws 123456789012 us-east-1", "create stack team-repo? yes (--yes)\n", "stack team-repo: created\n", "stack team-batch: created\n", "next: batchctl infra outputs")
	for line := range strings.Lines(out + said) {
		if strings.HasPrefix(line, "  ") && len(line) > 81 {
			t.Errorf("wider than 80 columns: %s", line)
		}
	}
	out, said = u.types(exit.OK, "infra deploy --yes"+with)
	u.wants(said, "stack team-repo: unchanged\n", "stack team-batch: unchanged\n")
	if strings.Contains(out+said, "?") {
		t.Errorf("asked about nothing: %s%s", out, said)
	}
	u.types(exit.OK, "infra diff"+with)
	out, _ = u.types(exit.OK, "infra outputs"+with)
	u.wants(out, `"cpu": {`, `"jobQueue": "cpu"`, `"m5.large"`)
	out, _ = u.types(exit.OK, "infra outputs --json"+with)
	u.wants(out, `"output": "RepositoryName"`, `"value": "team"`)
	_, said = u.types(exit.OK, "infra outputs --write"+with)
	u.wants(said, "batchctl.json: queue cpu (cpu): added\n")
	_, said = u.types(exit.OK, "infra outputs --write"+with)
	u.wants(said, "batchctl.json: queue cpu (cpu): as it was\n")
	text, err := os.ReadFile(filepath.Join(u.dir, "batchctl.json"))
	if err != nil {
		t.Fatal(err)
	}
	u.wants(string(text), `"$comment": "ours"`, `"prod": { "region": "us-east-1" }`, `"computeEnvironment": "machines"`)
	u.types(exit.OK, "submit job.json --wait")

	u.write("stacks/20-batch.json", strings.Replace(infraBatch, `"Queue": {`, `"Log": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/batch/more"}}, "Queue": {`, 1))
	out, _ = u.types(exit.Change, "infra diff"+with)
	u.wants(out, "stack team-repo: unchanged\nstack team-batch: update\n  + add  Log  Logs::LogGroup\n")
	out, _ = u.types(exit.OK, "infra deploy --only batch --json --yes"+with)
	u.wants(out, `"outcome": "updated"`, `"resource": "Log"`)

	out, _ = u.types(exit.OK, "infra status"+with)
	u.wants(out, "team-repo   UPDATE_COMPLETE", "team-batch  UPDATE_COMPLETE")
	out, said = u.types(exit.OK, "infra destroy --yes"+with)
	u.wants(out, "disable  queue cpu", "delete   stack team-batch\ndelete   stack team-repo\n", "keep     /batch/kept", "its template retains it")
	u.wants(said, "disabling job queue cpu\n", "delete 2 stacks? yes (--yes)\n")
	out, _ = u.types(exit.OK, "infra status"+with)
	u.wants(out, "team-repo   NOT_DEPLOYED", "team-batch  NOT_DEPLOYED")
	_, said = u.types(exit.OK, "infra destroy --yes"+with)
	u.wants(said, "no stacks that batchctl made\n")
}

// TestInfraLongTemplate deploys a template that is too long for a request. Without a bucket
// the error says what to do; with one, the template is uploaded. The stack's own bucket needs
// no flag.
func TestInfraLongTemplate(t *testing.T) {
	server := startMoto(t)
	withoutDocker(t, server)
	// moto reads templates only from URLs of localhost.
	u := newUser(t, strings.Replace(withStackOutputs(t, server), "127.0.0.1", "localhost", 1))
	u.environ = append(u.environ, "NO_PROXY=localhost")
	if err := os.Mkdir(filepath.Join(u.dir, "stacks"), 0o700); err != nil {
		t.Fatal(err)
	}
	long := strings.Replace(infraRepo, `"Resources"`, `"Metadata": {"Padding": "`+strings.Repeat("x", 60000)+`"}, "Resources"`, 1)
	u.write("stacks/20-repo.json", long)
	with := " --yes --templates stacks --prefix team"

	_, said := u.types(exit.NotDone, "infra deploy"+with)
	u.wants(said, "template repo has 60", "CloudFormation accepts more than 51200 only from a bucket", "name a bucket: --template-bucket NAME or create one: batchctl infra deploy --only data")
	_, said = u.types(exit.NotDone, "infra deploy --template-bucket nobodys"+with)
	u.wants(said, "template repo: s3://nobodys/templates/", "NoSuchBucket")

	u.write("stacks/10-data.json", `{"AWSTemplateFormatVersion": "2010-09-09", "Parameters": {"Project": {"Type": "String"}},
 "Resources": {"Bucket": {"Type": "AWS::S3::Bucket", "Properties": {}}},
 "Outputs": {"DataBucket": {"Value": {"Ref": "Bucket"}}, "StagingUrl": {"Value": {"Fn::Sub": "s3://${Bucket}/staging"}}}}`)
	_, said = u.types(exit.OK, "infra deploy"+with)
	u.wants(said, "stack team-data: created", "bytes: uploaded to s3://team-data-", "stack team-repo: created")
	_, said = u.types(exit.OK, "infra deploy"+with)
	u.wants(said, "stack team-repo: unchanged")

	// The staging location is added to the platform file, once.
	u.write("batchctl.json", `{ "targets": { "aws": { "region": "us-east-1" } } }`+"\n")
	_, said = u.types(exit.OK, "infra outputs --write"+strings.TrimPrefix(with, " --yes"))
	u.wants(said, "batchctl.json: staging of target aws (s3://team-data-", "/staging): added")
	_, said = u.types(exit.OK, "infra outputs --write"+strings.TrimPrefix(with, " --yes"))
	u.wants(said, "/staging): as it was")
	u.types(exit.OK, "validate batchctl.json")

	u.write("stacks/20-repo.json", strings.Replace(infraRepo, `"Resources"`, `"Metadata": {"Padding": "`+strings.Repeat("x", 1<<20)+`"}, "Resources"`, 1))
	_, said = u.types(exit.NotDone, "infra deploy"+with)
	u.wants(said, "CloudFormation accepts at most 1048576", "split it into several templates")
}
