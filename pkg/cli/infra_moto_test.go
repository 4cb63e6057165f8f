package cli_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/testtool"
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

// withCreatedStacks is a proxy for moto, whose change sets cannot import, and whose stacks from change sets do not
// export. It executes a change set that creates a stack by CreateStack, with the same template, parameters and tags.
// From then on it replaces the id of the empty stack.
func withCreatedStacks(t *testing.T, endpoint string) string {
	t.Helper()
	to, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host }}
	// send passes a request on with another body, and returns the answer.
	send := func(r *http.Request, body string) *httptest.ResponseRecorder {
		again := r.Clone(r.Context())
		again.Body, again.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		answer := httptest.NewRecorder()
		pass.ServeHTTP(answer, again)
		return answer
	}
	idIn := regexp.MustCompile(`<(Id|StackId)>([^<]+)<`)
	var mu sync.Mutex
	// The requests and the empty stacks are by change set; ids are pairs of an old and a new one.
	sets, empty, ids := map[string]url.Values{}, map[string]string{}, []string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		form, _ := url.ParseQuery(strings.NewReplacer(ids...).Replace(string(body))) // JSON calls are not forms
		set := form.Get("ChangeSetName")
		var answer *httptest.ResponseRecorder
		switch action := form.Get("Action"); {
		case action == "CreateChangeSet" && form.Get("ChangeSetType") == "CREATE":
			answer = send(r, form.Encode())
			found := map[string]string{}
			for _, m := range idIn.FindAllStringSubmatch(answer.Body.String(), -1) {
				found[m[1]] = m[2]
			}
			sets[found["Id"]], empty[found["Id"]] = form, found["StackId"]
		case action == "ExecuteChangeSet" && sets[set] != nil:
			send(r, url.Values{"Action": {"DeleteStack"}, "Version": {"2010-05-15"}, "StackName": {empty[set]}}.Encode())
			create := maps.Clone(sets[set])
			create.Set("Action", "CreateStack")
			answer = send(r, create.Encode())
			if m := idIn.FindStringSubmatch(answer.Body.String()); answer.Code == http.StatusOK && m != nil {
				ids = append(ids, url.QueryEscape(empty[set]), url.QueryEscape(m[2]))
				answer.Body = bytes.NewBufferString("<ExecuteChangeSetResponse><ExecuteChangeSetResult/></ExecuteChangeSetResponse>")
				answer.Header().Del("Content-Length")
			}
			delete(sets, set)
		default:
			answer = send(r, strings.NewReplacer(ids...).Replace(string(body)))
		}
		maps.Copy(w.Header(), answer.Header())
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
	testtool.MotoLoads(t, server, "us-east-1", "cloudformation")
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
	u.wants(said, "target: aws 123456789012 us-east-1", "create stack team-repo? --yes\n", "stack team-repo: created\n", "stack team-batch: created\n", "next: batchctl infra outputs")
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
	u.types(exit.OK, "infra diff --json"+with)
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
	u.wants(said, "disabling job queue cpu\n", "delete 2 stacks? --yes\n")
	out, _ = u.types(exit.OK, "infra status"+with)
	u.wants(out, "team-repo   NOT_DEPLOYED", "team-batch  NOT_DEPLOYED")
	_, said = u.types(exit.OK, "infra destroy --yes"+with)
	u.wants(said, "no stacks that batchctl created\n")
}

// TestInfraTwoPrefixes deploys batchctl's own templates for two prefixes into one account and Region. The only
// parameters are those without which moto cannot create the stacks.
func TestInfraTwoPrefixes(t *testing.T) {
	server := startMoto(t)
	testtool.MotoLoads(t, server, "us-east-1", "cloudformation")
	withoutDocker(t, server)
	u := newUser(t, withCreatedStacks(t, server))
	u.write("batchctl.json", "{ \"targets\": { \"prod\": { \"region\": \"us-east-1\" } } }\n")
	form := url.Values{"Action": {"CreateRole"}, "Version": {"2010-05-08"}, "RoleName": {"service"}, "AssumeRolePolicyDocument": {"{}"}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=a/20261122/us-east-1/iam/aws4_request, SignedHeaders=host, Signature=0")
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("create a role: %v %v", answer, err)
	}
	answer.Body.Close()
	moto := " --with data --with budget --with ecs --parameter BudgetEmail=team@example.com --parameter ServiceRoleArn=arn:aws:iam::123456789012:role/service" +
		" --parameter PrivateSubnetCidrs=10.40.0.0/20,10.40.16.0/20,10.40.32.0/20 --parameter CpuInstanceTypes=c6i,m6i --parameter GpuInstanceTypes=g4dn,g5"
	stacks := []string{"network", "endpoints", "data", "iam", "ecr", "gpu-host", "batch", "ecs", "observability", "budget"}
	// Before anything exists, the price comes from the templates alone. Elsewhere it is unknown, or from a file.
	out, _ := u.types(exit.Change, "infra diff --prefix p2 --parameter Nat=true")
	u.wants(out, "+32.85 USD  NatGateway  NAT gateway\n", "+14.60 USD  EcrApiEndpoint ", "interface endpoint in 2 zones\n", "7 stacks together cost +186.40 USD a month (us-east-1, prices of 2026-07-20)\n")
	out, _ = u.types(exit.Change, "infra diff --prefix p2 --parameter Zones=3 --only network --only endpoints --region eu-west-1")
	u.wants(out, "the change costs 0 USD a month, without what is unknown (eu-west-1, prices of 2026-07-20)\n", "unknown: BatchEndpoint, EcrApiEndpoint and 8 others: no price of vpc-endpoint in eu-west-1 (prices of 2026-07-20)\n")
	u.write("eu.csv", "# date: 2026-11-01\nregion,item,usd_per_hour\neu-west-1,vpc-endpoint,0.011\n")
	out, _ = u.types(exit.Change, "infra diff --prefix p2 --parameter Zones=3 --only network --only endpoints --region eu-west-1 --prices eu.csv")
	u.wants(out, "the change costs +240.90 USD a month (eu-west-1, eu.csv of 2026-11-01)\n")
	for _, prefix := range []string{"batchctl", "p2"} {
		out, said := u.types(exit.OK, "infra deploy --yes --prefix "+prefix+moto)
		u.wants(out, "+14.60 USD  EcrApiEndpoint ", "interface endpoint in 2 zones\n", "the change costs +146.00 USD a month (us-east-1, prices of 2026-07-20)\n", "+3.00 USD  Dashboard ",
			"plus usage: images, 0.1 USD for each GB a month\n", "10 stacks together cost +149.90 USD a month (us-east-1, prices of 2026-07-20)\n")
		for _, name := range stacks {
			u.wants(said, "stack "+prefix+"-"+name+": created\n")
		}
	}
	out, _ = u.types(exit.OK, "infra outputs --json --prefix p2")
	u.wants(out, "/p2/jobs\"", `"value": "p2-cpu"`)
	// The platform file has the queues of both. The environments of a queue that tries Spot first are in order there,
	// in the plan and in the costs.
	_, said := u.types(exit.OK, "infra outputs --write --prefix batchctl")
	u.wants(said, "batchctl.json: queue cpu (batchctl-cpu): added\n", "batchctl.json: tag Project of every job: batchctl\n")
	_, said = u.types(exit.OK, "infra outputs --write --prefix p2")
	u.wants(said, "batchctl.json: queue p2-cpu (p2-cpu): added\n", "note: jobs for the queues of p2 need the tag Project = p2")
	_, said = u.types(exit.OK, "infra outputs --write --prefix p2")
	u.wants(said, "batchctl.json: queue p2-cpu (p2-cpu): as it was\n")
	text, err := os.ReadFile(filepath.Join(u.dir, "batchctl.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?s)"p2-gpu-spot-first": \{\s+"jobQueue": "p2-gpu-spot-first",.{1,200}"type": "SPOT",.{1,400}"type": "EC2",`).Match(text) {
		t.Errorf("the platform file does not have the environments in order:\n%s", text)
	}
	u.write("job.json", `{ "name": "hello", "image": "public.ecr.aws/docker/library/busybox:1.36", "command": ["true"], "resources": { "vcpus": 1, "memory": "1 GiB" }, "timeout": "1h", "queue": "p2-cpu-spot-first" }`)
	out, _ = u.types(exit.Change, "plan job.json")
	u.wants(out, " (Spot) to 0.085 USD (on demand); us-east-1", "  runs on   p2-", " (SPOT, ENABLED, VALID): 2 jobs per c6i.large", "  then on   p2-", " (EC2, ENABLED, VALID): 2 jobs per c6i.large")
	out, _ = u.types(exit.OK, "cost job.json")
	u.wants(out, "order       hello: first on p2-", " (SPOT), then on p2-", " (EC2)\n")
	// A value on the command line wins over the prefix.
	_, said = u.types(exit.OK, "infra deploy --yes --prefix p3 --only ecr --parameter RepositoryName=own/images")
	u.wants(said, "stack p3-ecr: created\n")
	out, _ = u.types(exit.OK, "infra outputs --json --prefix p3")
	u.wants(out, "/own/images\"")
	_, said = u.types(exit.NotDone, "infra deploy --yes --prefix p4 --only ecr --parameter RepositoryName=p2/jobs")
	u.wants(said, "RepositoryAlreadyExistsException")
	// Destroying one leaves the other. moto cannot delete the roles, in the order that it chooses.
	u.types(exit.OK, "infra destroy --json --yes --prefix p2 --only observability --only budget --only ecs --only batch")
	out, _ = u.types(exit.OK, "infra status --prefix p2")
	if n := strings.Count(out, "NOT_DEPLOYED"); n != 6 {
		t.Errorf("%d stacks of p2 are not deployed, want 6:\n%s", n, out)
	}
	u.types(exit.OK, "infra status --json --prefix p2")
	out, _ = u.types(exit.OK, "infra status --prefix batchctl")
	for _, name := range stacks {
		u.wants(out, "batchctl-"+name+" ")
	}
	if n := len(regexp.MustCompile(`batchctl-(gpu-image|ladder) +NOT_DEPLOYED`).FindAllString(out, -1)); n != 2 || strings.Count(out, "NOT_DEPLOYED") != n {
		t.Errorf("more than the image pipeline and the ladder is not deployed:\n%s", out)
	}
	_, said = u.types(exit.BadUsage, "infra deploy --yes --prefix P2")
	u.wants(said, "invalid --prefix P2: stack names cannot begin with it", "2 to 26 lower-case letters")
}

// TestInfraLongTemplate deploys a template that is too long for a request. Without a bucket
// the error says what to do; with one, the template is uploaded. The stack's own bucket needs
// no flag.
func TestInfraLongTemplate(t *testing.T) {
	server := startMoto(t)
	testtool.MotoLoads(t, server, "us-east-1", "cloudformation")
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
