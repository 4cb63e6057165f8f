package templates

import (
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// aws is the address of moto_server.
type aws string

// moto starts moto_server. Where tools are required its absence fails the test.
func moto(t *testing.T) aws { return aws(testtool.Moto(t, "MOTO_EC2_LOAD_DEFAULT_AMIS=true")) }

// send makes one call; moto finds the service in the credential's scope.
func (a aws) send(t *testing.T, service, path, kind, body string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", string(a)+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=a/20261122/us-east-1/"+service+"/aws4_request, SignedHeaders=host, Signature=0")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %v: %s", service, body[:min(len(body), 100)], answer.Status, err, text)
	}
	return text
}

// query makes a call of the Query protocol and reads its XML into out.
func (a aws) query(t *testing.T, service, action string, form url.Values, out any) {
	t.Helper()
	form.Set("Action", action)
	text := a.send(t, service, "/", "application/x-www-form-urlencoded", form.Encode())
	if err := xml.Unmarshal(text, out); err != nil {
		t.Fatalf("%s: %v: %s", action, err, text)
	}
}

// batch makes a call of AWS Batch and reads its JSON into out.
func (a aws) batch(t *testing.T, operation string, out any) {
	t.Helper()
	if err := json.Unmarshal(a.send(t, "batch", "/v1/"+operation, "application/json", "{}"), out); err != nil {
		t.Fatal(err)
	}
}

// create makes a stack from a template and returns its outputs.
func (a aws) create(t *testing.T, template Template, parameters map[string]string) map[string]string {
	t.Helper()
	form := url.Values{"StackName": {"batchctl-" + template.Name}, "TemplateBody": {string(template.Body)}}
	for i, capability := range template.Capabilities {
		form.Set("Capabilities.member."+strconv.Itoa(i+1), capability)
	}
	i := 1
	for name, value := range parameters {
		form.Set("Parameters.member."+strconv.Itoa(i)+".ParameterKey", name)
		form.Set("Parameters.member."+strconv.Itoa(i)+".ParameterValue", value)
		i++
	}
	a.query(t, "cloudformation", "CreateStack", form, new(struct{}))
	var stack struct {
		Status  string `xml:"DescribeStacksResult>Stacks>member>StackStatus"`
		Outputs []struct {
			Key   string `xml:"OutputKey"`
			Value string `xml:"OutputValue"`
		} `xml:"DescribeStacksResult>Stacks>member>Outputs>member"`
	}
	a.query(t, "cloudformation", "DescribeStacks", url.Values{"StackName": form["StackName"]}, &stack)
	if stack.Status != "CREATE_COMPLETE" {
		t.Fatalf("%s: %s", template.Name, stack.Status)
	}
	outputs := map[string]string{}
	for _, o := range stack.Outputs {
		outputs[o.Key] = o.Value
	}
	return outputs
}

// TestMoto creates all stacks in their order on moto, which resolves the imports and rejects unknown
// ones, and checks the resources.
func TestMoto(t *testing.T) {
	t.Parallel()
	a := moto(t)
	var role struct {
		Arn string `xml:"CreateRoleResult>Role>Arn"`
	}
	a.query(t, "iam", "CreateRole", url.Values{"RoleName": {"service"}, "AssumeRolePolicyDocument": {"{}"}}, &role)
	given := map[string]map[string]string{
		// moto does not split the default of a list.
		"network": {"Zones": "3", "Nat": "true", "PrivateSubnetCidrs": "10.40.0.0/20,10.40.16.0/20,10.40.32.0/20"},
		// moto knows no service-linked role.
		"batch":     {"ServiceRoleArn": role.Arn, "CpuInstanceTypes": "c6i,m6i,r6i", "GpuInstanceTypes": "g4dn,g5"},
		"gpu-image": {"BuildInstanceTypes": "g4dn.xlarge"},
		"budget":    {"BudgetEmail": "team@example.com"},
		"iam":       {"DataBucket": "data", "SubmitterPrincipal": "arn:aws:iam::123456789012:root"},
	}
	outputs := map[string]string{}
	for _, template := range Infra() {
		for name, value := range a.create(t, template, given[template.Name]) {
			outputs[name] = value
		}
	}
	checkQueues(t, a, outputs)
	checkLaunchTemplate(t, a, outputs["GpuLaunchTemplateId"])
}

func checkQueues(t *testing.T, a aws, outputs map[string]string) {
	t.Helper()
	var environments struct {
		ComputeEnvironments []struct {
			ComputeEnvironmentArn string
			ComputeResources      struct {
				Type, InstanceRole        string
				Subnets, SecurityGroupIds []string
				LaunchTemplate            struct{ LaunchTemplateId string }
			}
		}
	}
	a.batch(t, "describecomputeenvironments", &environments)
	kinds := map[string]string{}
	for _, e := range environments.ComputeEnvironments {
		r := e.ComputeResources
		kinds[e.ComputeEnvironmentArn] = r.Type
		if r.LaunchTemplate.LaunchTemplateId == outputs["GpuLaunchTemplateId"] {
			kinds[e.ComputeEnvironmentArn] += " GPU"
		}
		if r.InstanceRole != outputs["InstanceProfileArn"] || strings.Join(r.Subnets, ",") != outputs["SubnetIds"] || !slices.Equal(r.SecurityGroupIds, []string{outputs["HostSecurityGroupId"]}) {
			t.Errorf("compute environment %+v does not hold what the other stacks made: %v", e, outputs)
		}
	}
	var queues struct {
		JobQueues []struct {
			JobQueueName            string
			Priority                int
			ComputeEnvironmentOrder []struct {
				Order              int
				ComputeEnvironment string
			}
		}
	}
	a.batch(t, "describejobqueues", &queues)
	var got []string
	for _, q := range queues.JobQueues {
		var order []string
		for _, e := range q.ComputeEnvironmentOrder {
			order = append(order, strconv.Itoa(e.Order)+" "+kinds[e.ComputeEnvironment])
		}
		slices.Sort(order)
		got = append(got, q.JobQueueName+" "+strconv.Itoa(q.Priority)+": "+strings.Join(order, ", "))
	}
	slices.Sort(got)
	want := []string{"batchctl-cpu 10: 1 EC2", "batchctl-cpu-spot 10: 1 SPOT", "batchctl-cpu-spot-first 10: 1 SPOT, 2 EC2", "batchctl-gpu 10: 1 EC2 GPU", "batchctl-gpu-shared 10: 1 EC2 GPU",
		"batchctl-gpu-spot 10: 1 SPOT GPU", "batchctl-gpu-spot-first 10: 1 SPOT GPU, 2 EC2 GPU", "batchctl-gpu-urgent 100: 1 EC2 GPU"}
	if !slices.Equal(got, want) {
		t.Errorf("queues %q, want %q", got, want)
	}
}

// checkLaunchTemplate compares moto's user data with that of render, so that the other tests render as
// CloudFormation does.
func checkLaunchTemplate(t *testing.T, a aws, id string) {
	t.Helper()
	var versions struct {
		UserData string `xml:"launchTemplateVersionSet>item>launchTemplateData>userData"`
		Image    string `xml:"launchTemplateVersionSet>item>launchTemplateData>imageId"`
		Tokens   string `xml:"launchTemplateVersionSet>item>launchTemplateData>metadataOptions>httpTokens"`
	}
	a.query(t, "ec2", "DescribeLaunchTemplateVersions", url.Values{"LaunchTemplateId": {id}, "Version": {"2016-11-15"}}, &versions)
	text, err := base64.StdEncoding.DecodeString(versions.UserData)
	o := parse(t, file("gpu-host"))
	want := render(t, o, at(o, "Resources", "GpuLaunchTemplate", "Properties", "LaunchTemplateData", "UserData"))
	if err != nil || string(text) != want {
		t.Errorf("user data: %v\n%s", err, text)
	}
	if !strings.HasPrefix(versions.Image, "ami-") || versions.Tokens != "required" {
		t.Errorf("launch template: %+v", versions)
	}
}

// TestPackage lets the aws CLI put the templates into a bucket and the root into a form
// that deploys, as users do, and one template be deployed by it.
func TestPackage(t *testing.T) {
	t.Parallel()
	testtool.Long(t)
	testtool.Need(t, "aws", "moto_server")
	a := moto(t)
	r, err := http.NewRequestWithContext(t.Context(), "PUT", string(a)+"/templates", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("make a bucket: %v %v", answer, err)
	}
	answer.Body.Close()
	cli := func(arguments ...string) {
		t.Helper()
		command := exec.Command("aws", append([]string{"cloudformation"}, arguments...)...)
		command.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+string(a), "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "AWS_DEFAULT_REGION=us-east-1", "AWS_CONFIG_FILE=/dev/null")
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("aws cloudformation %s: %v\n%s", arguments[0], err, output)
		}
	}
	out := filepath.Join(t.TempDir(), "packaged.json")
	cli("package", "--template-file", "infra/root.json", "--s3-bucket", "templates", "--use-json", "--output-template-file", out)
	body, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	stacks := section(parse(t, body), "Resources")
	for name, stack := range stacks {
		if address, _ := at(stack, "Properties", "TemplateURL").(string); !strings.HasPrefix(address, "http") {
			t.Errorf("%s is at %q", name, address)
		}
	}
	if len(stacks) != len(Infra()) {
		t.Errorf("%d stacks", len(stacks))
	}
	cli("deploy", "--template-file", "infra/iam.json", "--stack-name", "batchctl-iam", "--capabilities", "CAPABILITY_IAM")
}
