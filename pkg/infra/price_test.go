package infra

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/catalog"
)

// TestEvaluate: which resources and exports a template has, with its own parameters and with given ones. What functions
// return is tested in pkg/intrinsic.
func TestEvaluate(t *testing.T) {
	const template = `{
 "Parameters": {"Project": {"Type": "String", "Default": "team"}, "On": {"Type": "String", "Default": "false"}, "Image": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/name"}, "Given": {"Type": "String"}},
 "Conditions": {"IsOn": {"Fn::Equals": [{"Ref": "On"}, "true"]}, "Open": {"Fn::Equals": [{"Ref": "Given"}, "1"]}, "Loop": {"Condition": "Loop"}},
 "Resources": {"R": {"Type": "T", "Properties": {"Project": {"Ref": "Project"}, "Image": {"Ref": "Image"}, "Ids": {"Fn::Split": [",", {"Fn::ImportValue": "ids"}]}, "Members": {"Fn::If": ["Open", 1, 2]}}},
  "Never": {"Type": "T", "Condition": "IsOn"}, "Perhaps": {"Type": "T", "Condition": "Open"}, "Round": {"Type": "T", "Condition": "Loop"}},
 "Outputs": {"O": {"Value": {"Fn::Join": [",", [{"Ref": "R"}, {"Fn::GetAtt": ["Never", "Arn"]}]]}, "Export": {"Name": {"Fn::Sub": "${Project}-O"}}}, "No": {"Condition": "IsOn", "Value": "x", "Export": {"Name": "No"}}}}`
	e, err := Evaluate([]byte(template), map[string]string{"Project": "p2"}, map[string]string{"ids": "s1,s2"}, "cn-north-1")
	if err != nil || !maps.Equal(e.Exports(), map[string]string{"p2-O": "id of R,id of Never.Arn"}) {
		t.Fatalf("exports %v %v", e.Exports(), err)
	}
	var names []string
	for _, r := range e.Resources() {
		names = append(names, fmt.Sprint(r.Name, " ", r.Maybe))
	}
	if want := []string{"Perhaps true", "R false", "Round true"}; !slices.Equal(names, want) {
		t.Errorf("resources %q, want %q", names, want)
	}
	r, _ := e.resource("R")
	ids, ok := r.get("Ids").list()
	if r.get("Project").str() != "p2" || r.get("Image").isAbsent() || r.get("Image").str() != "" || !ok || len(ids) != 2 || r.get("Members").get("A").isAbsent() || !r.get("None").get("A").isAbsent() {
		t.Errorf("properties %+v", r)
	}
	yaml, err := Evaluate([]byte("Parameters:\n  A: {Type: String, Default: x}\nResources:\n  R:\n    Type: T\n    Properties:\n      P: !Sub '${A}-y'\n"), nil, nil, "")
	if err != nil || yaml.Resources()[0].get("P").str() != "x-y" {
		t.Errorf("YAML: %v %v", yaml, err)
	}
	for _, text := range []string{"", "[]", "null", "a: [", "just text"} {
		if _, err := Evaluate([]byte(text), nil, nil, ""); err == nil {
			t.Errorf("%q is taken for a template", text)
		}
	}
}

// priced is a price in one line: charges, the sum, usage, what is unknown.
func priced(p *Price) string {
	var parts []string
	for _, c := range p.Charges {
		parts = append(parts, fmt.Sprintf("%s %.4g..%.4g %s%s", c.Resource, c.Low, c.High, c.What, c.How))
	}
	parts = append(parts, fmt.Sprintf("= %.4g..%.4g", p.Low, p.High))
	for _, u := range p.Usage {
		parts = append(parts, "+ "+u)
	}
	for _, m := range p.Unknown {
		parts = append(parts, "? "+strings.Join(m.Resources, ", ")+": "+m.Why)
	}
	return strings.Join(parts, "\n")
}

// TestQuotes: what one resource costs a month.
func TestQuotes(t *testing.T) {
	const hosts, group = "\n+ instances and their volumes while jobs run", "\n+ instances and their volumes while tasks run"
	environment := func(resources string) string {
		return `"Type": "AWS::Batch::ComputeEnvironment", "Properties": {"Type": "MANAGED", "ComputeResources": {` + resources + `}}`
	}
	for resource, want := range map[string]string{
		`"Type": "AWS::EC2::NatGateway"`: "R 32.85..32.85 NAT gateway\n= 32.85..32.85\n+ traffic through the NAT gateway, 0.045 USD for each GB",
		`"Type": "AWS::EC2::EIP"`:        "R 3.65..3.65 public IPv4 address\n= 3.65..3.65",
		`"Type": "AWS::EC2::VPCEndpoint", "Properties": {"VpcEndpointType": "Gateway"}`:    "= 0..0",
		`"Type": "AWS::EC2::VPCEndpoint", "Properties": {}`:                                "= 0..0",
		`"Type": "AWS::EC2::VPCEndpoint", "Properties": {"VpcEndpointType": "Interface"}`:  "= 0..0\n? R: an interface endpoint costs money in each zone, and its subnets are unknown",
		`"Type": "AWS::EC2::VPCEndpoint", "Properties": {"VpcEndpointType": {"Ref": "P"}}`: "= 0..0\n? R: the price of this type of VPC endpoint is unknown",
		`"Type": "AWS::EC2::VPCEndpoint", "Properties": {"VpcEndpointType": "Interface", "SubnetIds": ["a", {"Ref": "P"}, "c"]}`: "R 21.9..21.9 interface endpoint in 3 zones\n= 21.9..21.9\n" +
			"+ traffic through interface endpoints, 0.01 USD for each GB",
		`"Type": "AWS::CloudWatch::Alarm", "Properties": {"Metrics": [{"Expression": "SUM(METRICS())"}, {"MetricStat": {}}, {"MetricStat": {}}]}`: "R 0.2..0.2 alarm on 2 metrics\n" +
			"= 0.2..0.2",
		`"Type": "AWS::EC2::Volume", "Properties": {"Size": 100}`:                                                                        "R 10..10 volume of 100 GB, gp2\n= 10..10",
		`"Type": "AWS::EC2::Volume", "Properties": {"Size": "100", "VolumeType": "gp3", "Iops": 4000, "Throughput": 225}`:                "R 17..17 volume of 100 GB, gp3\n= 17..17",
		`"Type": "AWS::EC2::Volume", "Properties": {"Size": 100, "VolumeType": "gp3", "Iops": 3000, "Throughput": 125}`:                  "R 8..8 volume of 100 GB, gp3\n= 8..8",
		`"Type": "AWS::EC2::Volume", "Properties": {"Size": 100, "VolumeType": "io2"}`:                                                   "= 0..0\n? R: no price of io2 volumes in us-east-1 (prices of 2026-07-20)",
		`"Type": "AWS::EC2::Volume", "Properties": {"SnapshotId": "snap-1"}`:                                                             "= 0..0\n? R: batchctl does not know the size and type of a volume",
		`"Type": "AWS::EC2::Instance", "Properties": {"InstanceType": "m5.large", "BlockDeviceMappings": [{"Ebs": {"VolumeSize": 10}}]}`: "R 71.08..71.08 instance m5.large\n= 71.08..71.08",
		`"Type": "AWS::EC2::Instance", "Properties": {"InstanceType": "m5.large"}`:                                                       "R 70.08..70.08 instance m5.large\n= 70.08..70.08\n+ the root volume of the instance",
		`"Type": "AWS::SecretsManager::Secret"`:                                                                                          "R 0.4..0.4 secret\n= 0.4..0.4",
		`"Type": "AWS::KMS::Key"`:                                                                                                        "R 1..1 KMS key\n= 1..1",
		`"Type": "AWS::KMS::Alias"`:                                                                                                      "= 0..0",
		`"Type": "AWS::CloudWatch::Alarm"`:                                                                                               "R 0.1..0.1 alarm\n= 0.1..0.1",
		`"Type": "AWS::CloudWatch::Dashboard"`:                                                                                           "R 3..3 dashboard\n= 3..3",
		`"Type": "AWS::Budgets::Budget"`:                                                                                                 "= 0..0",
		`"Type": "AWS::IAM::Role"`:                                                                                                       "= 0..0",
		`"Type": "AWS::SSM::Parameter"`:                                                                                                  "= 0..0",
		`"Type": "AWS::SSM::Parameter", "Properties": {"Tier": "Advanced"}`:                                                              "= 0..0\n? R: batchctl does not know what SSM::Parameter costs",
		`"Type": "AWS::FSx::FileSystem"`:                                                                                                 "= 0..0\n? R: batchctl does not know what FSx::FileSystem costs",
		`"Type": "AWS::Logs::LogGroup"`:                                                                                                  "= 0..0\n+ logs that arrive, 0.5 USD for each GB\n+ logs that are kept, 0.03 USD for each GB a month",
		`"Type": "AWS::ECR::Repository"`:                                                                                                 "= 0..0\n+ images, 0.1 USD for each GB a month",
		`"Type": "AWS::ECS::Cluster", "Properties": {"ClusterSettings": [{"Name": "containerInsights", "Value": "disabled"}]}`:           "= 0..0",
		`"Type": "AWS::ECS::Cluster", "Properties": {"ClusterSettings": [{"Name": "containerInsights", "Value": "enhanced"}]}`:           "= 0..0\n+ metrics of Container Insights",
		environment(`"Type": "EC2", "MinvCpus": 0, "InstanceTypes": ["m5.large"]`):                                                       "= 0..0" + hosts,
		environment(`"Type": "EC2", "InstanceTypes": ["m5.large"]`):                                                                      "= 0..0" + hosts,
		environment(`"Type": "EC2", "MinvCpus": 3, "InstanceTypes": ["m5.large", "m5.xlarge"]`):                                          "R 140.2..140.2 compute environment, 3 vCPUs of minvCpus always on\n= 140.2..140.2" + hosts,
		environment(`"Type": "EC2", "MinvCpus": 2, "InstanceTypes": ["m5.large", "g5.xlarge"]`):                                          "R 70.08..734.4 compute environment, 2 vCPUs of minvCpus always on\n= 70.08..734.4" + hosts,
		environment(`"Type": "EC2", "MinvCpus": {"Ref": "P"}, "InstanceTypes": ["m5.large"]`):                                            "= 0..0" + hosts + "\n? R: batchctl does not know minvCpus of a compute environment",
		environment(`"Type": "EC2", "MinvCpus": 2, "InstanceTypes": {"Ref": "P"}`):                                                       "= 0..0" + hosts + "\n? R: batchctl does not know the instance types that minvCpus keeps running",
		`"Type": "AWS::Batch::ComputeEnvironment", "Properties": {"ComputeResources": {"Ref": "P"}}`:                                     "= 0..0" + hosts + "\n? R: batchctl does not know minvCpus of a compute environment",
		environment(`"Type": "FARGATE", "MaxvCpus": 4`):                                                                                  "= 0..0\n+ Fargate while jobs run",
		`"Type": "AWS::Batch::ComputeEnvironment", "Properties": {"Type": "UNMANAGED"}`:                                                  "= 0..0",
		`"Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": {"MinSize": "0", "MaxSize": "4"}`:                                   "= 0..0" + group,
		`"Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": {"MinSize": "0", "DesiredCapacity": "2", "LaunchTemplate": {"LaunchTemplateId": {"Ref": "L"}}}`: "R 140.2..140.2 Auto Scaling group, 2 x m5.large always on\n= 140.2..140.2" + group,
		`"Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": {"MinSize": "1", "MixedInstancesPolicy": {}}`:                                                   "= 0..0" + group + "\n? R: no price of the instances that an Auto Scaling group keeps running in us-east-1 (prices of 2026-07-20)",
	} {
		body := `{"Parameters": {"P": {"Type": "String"}}, "Resources": {"R": {` + resource + `}, "L": {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": {"InstanceType": "m5.large"}}}}}`
		if got := priced(PriceOf([]Template{{Name: "t", Body: []byte(body)}}, nil, nil, "us-east-1")); got != want {
			t.Errorf("%s\n got %s\nwant %s", resource, got, want)
		}
	}
}

// TestPriceElsewhere: a Region without prices has no sum that looks like one.
func TestPriceElsewhere(t *testing.T) {
	body := `{"Resources": {"Nat": {"Type": "AWS::EC2::NatGateway"}, "Key": {"Type": "AWS::KMS::Key"}, "Log": {"Type": "AWS::Logs::LogGroup"}, "Nat2": {"Type": "AWS::EC2::NatGateway"}}}`
	p := PriceOf([]Template{{Name: "t", Body: []byte(body)}}, nil, nil, "eu-west-9")
	want := "= 0..0\n+ logs that arrive, price unknown in eu-west-9\n+ logs that are kept, price unknown in eu-west-9\n+ traffic through the NAT gateway, price unknown in eu-west-9\n" +
		"? Key: no price of KMS key in eu-west-9 (prices of 2026-07-20)\n? Nat, Nat2: no price of nat-gateway in eu-west-9 (prices of 2026-07-20)"
	if got := priced(p); got != want || p.Known() {
		t.Errorf("got %s\nwant %s", got, want)
	}
	prices, err := catalog.ReadPrices(strings.NewReader("# date: 2026-11-01\n"+catalog.PricesHead+"\neu-west-9,nat-gateway,0.05\neu-west-9,month:kms-key,2\n"), "own.csv")
	if err != nil {
		t.Fatal(err)
	}
	if p := PriceOf([]Template{{Name: "t", Body: []byte(body)}}, nil, prices, "eu-west-9"); !p.Known() || math.Abs(p.High-75) > 1e-9 || p.Prices != "own.csv of 2026-11-01" {
		t.Errorf("own prices: %+v", p)
	}
}

// TestPriceOfChanges: what each kind of change adds to the bill.
func TestPriceOfChanges(t *testing.T) {
	old := `{"Resources": {"Nat": {"Type": "AWS::EC2::NatGateway"}, "Kept": {"Type": "AWS::KMS::Key", "DeletionPolicy": "Retain"}, "Secret": {"Type": "AWS::SecretsManager::Secret"},
	 "Disk": {"Type": "AWS::EC2::Volume", "Properties": {"Size": 100}}, "Hosts": {"Type": "AWS::Batch::ComputeEnvironment", "Properties": {"ComputeResources": {"Type": "EC2", "MinvCpus": 2, "InstanceTypes": ["m5.large", "g5.xlarge"]}}}}}`
	now := `{"Resources": {"Ip": {"Type": "AWS::EC2::EIP"}, "Secret": {"Type": "AWS::SecretsManager::Secret", "Properties": {"Description": "x"}}, "Disk": {"Type": "AWS::EC2::Volume", "Properties": {"Size": 50}},
	 "Never": {"Type": "AWS::KMS::Key", "Condition": "No"}}, "Conditions": {"No": {"Fn::Equals": ["a", "b"]}}}`
	before, err := Evaluate([]byte(old), nil, nil, "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	after, err := Evaluate([]byte(now), nil, nil, "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		change Change
		want   string
	}{
		{Change{Action: "Add", Name: "Ip", Type: "AWS::EC2::EIP"}, "Ip 3.65..3.65 public IPv4 address\n= 3.65..3.65"},
		{Change{Action: "Remove", Name: "Nat", Type: "AWS::EC2::NatGateway"}, "Nat -32.85..-32.85 NAT gateway\n= -32.85..-32.85"},
		{Change{Action: "Remove", Name: "Kept", Type: "AWS::KMS::Key"}, "= 0..0"},
		{Change{Action: "Remove", Name: "Hosts", Type: "AWS::Batch::ComputeEnvironment"}, "Hosts -734.4..-70.08 compute environment, 2 vCPUs of minvCpus always on\n= -734.4..-70.08"},
		{Change{Action: "Modify", Name: "Secret", Type: "AWS::SecretsManager::Secret"}, "= 0..0"},
		{Change{Action: "Modify", Name: "Disk", Type: "AWS::EC2::Volume"}, "Disk -5..-5 volume of 50 GB, gp2, changed\n= -5..-5"},
		{Change{Action: "Import", Name: "Ip", Type: "AWS::EC2::EIP"}, "= 0..0"},
		{Change{Action: "Dynamic", Name: "Ip", Type: "AWS::EC2::EIP"}, "= 0..0\n? Ip: CloudFormation decides what happens to it when the change set is executed"},
		{Change{Action: "Add", Name: "Never", Type: "AWS::KMS::Key"}, "= 0..0"},
		{Change{Action: "Add", Name: "Macro", Type: "AWS::KMS::Key"}, "Macro 1..1 KMS key\n= 1..1"},
	} {
		p := NewPrice(nil, "us-east-1")
		p.change(test.change, before, after, nil)
		if got := priced(p); got != test.want {
			t.Errorf("%+v\n got %s\nwant %s", test.change, got, test.want)
		}
	}
}

// TestPriceOfDeployments: proposals have a price: from the template and its parameters for a stack that does not exist,
// and from both templates for an update. Without permission to read the deployed template the price reports it, and
// the deployment goes ahead.
func TestPriceOfDeployments(t *testing.T) {
	body := `{"Parameters": {"Size": {"Type": "Number", "Default": 1}}, "Resources": {"A": {"Type": "AWS::EC2::Volume", "Properties": {"Size": {"Ref": "Size"}}}}}`
	prices, err := catalog.ReadPrices(strings.NewReader("# date: 2026-11-01\n"+catalog.PricesHead+"\neu-central-1,month:ebs-gp2-gb,0.12\n"), "own.csv")
	if err != nil {
		t.Fatal(err)
	}
	in(t, func(t *testing.T, c *cloud, told *[]string) {
		s := c.open(told)
		template := Template{Name: "net", Body: []byte(body)}
		s.Prices, s.Templates = prices, []Template{template}
		propose := func(do func(context.Context, Template, map[string]string) (*Proposal, error), size, want string) {
			t.Helper()
			p, err := do(t.Context(), template, map[string]string{"Size": size})
			if err != nil {
				t.Fatal(err)
			}
			if got := priced(p.Price); got != want || p.Price.Region != "eu-central-1" {
				t.Errorf("%s GB in %s\n got %s\nwant %s", size, p.Price.Region, got, want)
			}
		}
		propose(s.Diff, "100", "A 12..12 volume of 100 GB, gp2\n= 12..12")
		// The fake's change sets add A, B and C, and the template declares A.
		propose(s.Deploy, "100", "A 12..12 volume of 100 GB, gp2\n= 12..12\n+ images, price unknown in eu-central-1")
		c.template = body
		c.changes = "<member><ResourceChange><Action>Modify</Action><LogicalResourceId>A</LogicalResourceId><ResourceType>AWS::EC2::Volume</ResourceType></ResourceChange></member>"
		propose(s.Diff, "50", "A -6..-6 volume of 50 GB, gp2, changed\n= -6..-6")
		c.fault = func(_ int, operation string) error {
			if operation == "GetTemplate" {
				return &refusal{403, "AccessDenied", "not allowed"}
			}
			return nil
		}
		propose(s.Deploy, "50", "= 0..0\n? resources that are deployed: not allowed: cloudformation:GetTemplate")
		if got := c.stacks["team-net"].params["Size"]; got != "50" {
			t.Errorf("the stack has size %s", got)
		}
	})
}
