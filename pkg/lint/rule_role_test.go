package lint

import (
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
)

// TestRoles checks the trust and the policies of roles in many forms. Nothing is found where the
// template does not determine them.
func TestRoles(t *testing.T) {
	const (
		agent     = `"ManagedPolicyArns": ["arn:aws:iam::aws:policy/service-role/AmazonEC2ContainerServiceforEC2Role"]`
		execution = `"ManagedPolicyArns": ["arn:aws:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy"]`
		trust     = "cfn-role-trust"
		policy    = "cfn-instance-role-policy"
	)
	trusts := func(principal string) string {
		return `"AssumeRolePolicyDocument": { "Statement": { "Effect": "Allow", "Action": "sts:AssumeRole", "Principal": ` + principal + ` } }`
	}
	ec2 := trusts(`{ "Service": "ec2.amazonaws.com" }`)
	for _, tt := range []struct{ name, role, profile, resources, want string }{
		{"right", ec2 + "," + agent, "", "", ""},
		{"a list of services", trusts(`{ "Service": ["ecs-tasks.amazonaws.com", "ec2.amazonaws.com"] }`) + "," + agent, "", "", ""},
		{"another partition", trusts(`{ "Service": { "Fn::Sub": "ec2.${AWS::URLSuffix}" } }`) + "," + agent, "", "", ""},
		{"joined", trusts(`{ "Service": { "Fn::Join": ["", ["ec2.", { "Ref": "AWS::URLSuffix" }]] } }`) + "," + agent, "", "", ""},
		{"a parameter", trusts(`{ "Service": { "Ref": "Service" } }`) + "," + agent, "", "", ""},
		{"a condition", trusts(`{ "Service": { "Fn::If": ["A", "ec2.amazonaws.com", "x.amazonaws.com"] } }`) + "," + agent, "", "", ""},
		{"everybody", trusts(`"*"`) + "," + agent, "", "", ""},
		{"tasks", trusts(`{ "Service": "ecs-tasks.amazonaws.com" }`) + "," + agent, "", "", trust},
		{"joined tasks", trusts(`{ "Service": { "Fn::Join": [".", ["ecs-tasks", "amazonaws.com"]] } }`) + "," + agent, "", "", trust},
		{"another account", trusts(`{ "AWS": "arn:aws:iam::123456789012:root" }`) + "," + agent, "", "", trust},
		{"tagging alone", strings.Replace(ec2, "AssumeRole\"", "TagSession\"", 1) + "," + agent, "", "", trust},
		{"a similar service", trusts(`{ "Service": "ec2fleet.amazonaws.com" }`) + "," + agent, "", "", trust},

		{"no policy", ec2, "", "", policy},
		{"the policy of tasks", ec2 + "," + execution, "", "", policy},
		{"with Fn::Sub", ec2 + `, "ManagedPolicyArns": [{ "Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/CloudWatchAgentServerPolicy" }]`, "", "", policy},
		{"right with Fn::Sub", ec2 + `, "ManagedPolicyArns": [{ "Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/service-role/AmazonEC2ContainerServiceforEC2Role" }]`, "", "", ""},
		{"a policy that batchctl does not know", ec2 + `, "ManagedPolicyArns": ["arn:aws:iam::aws:policy/AmazonNewPolicy"]`, "", "", ""},
		{"a policy of the account", ec2 + `, "ManagedPolicyArns": ["arn:aws:iam::123456789012:policy/hosts"]`, "", "", ""},
		{"a parameter as policy", ec2 + `, "ManagedPolicyArns": [{ "Ref": "Policy" }]`, "", "", ""},
		{"a parameter as policies", ec2 + `, "ManagedPolicyArns": { "Ref": "Policies" }`, "", "", ""},
		{"inline", ec2 + `, "Policies": [{ "PolicyDocument": { "Statement": [{ "Effect": "Allow", "Action": ["ecs:Register*", "ecs:Poll"], "Resource": "*" }] } }]`, "", "", ""},
		{"inline without", ec2 + `, "Policies": [{ "PolicyDocument": { "Statement": [{ "Effect": "Allow", "Action": ["s3:*", "ecs:Describe*"], "Resource": "*" }] } }]`, "", "", policy},
		{"inline NotAction", ec2 + `, "Policies": [{ "PolicyDocument": { "Statement": [{ "Effect": "Allow", "NotAction": "iam:*", "Resource": "*" }] } }]`, "", "", ""},
		{"attached", ec2 + "," + execution, "", `"More": { "Type": "AWS::IAM::Policy", "Properties": { "Roles": [{ "Ref": "Role" }], "PolicyDocument": { "Statement": { "Effect": "Allow", "Action": "ecs:*" } } } }`, ""},
		{"attached without", ec2 + "," + execution, "", `"More": { "Type": "AWS::IAM::Policy", "Properties": { "Roles": [{ "Ref": "Role" }], "PolicyDocument": { "Statement": { "Effect": "Allow", "Action": "s3:*" } } } }`, policy},
		{"attached to a parameter", ec2, "", `"More": { "Type": "AWS::IAM::RolePolicy", "Properties": { "RoleName": { "Ref": "Name" }, "PolicyDocument": {} } }`, ""},
		{"its own managed policy", ec2 + `, "ManagedPolicyArns": [{ "Ref": "More" }]`, "", `"More": { "Type": "AWS::IAM::ManagedPolicy", "Properties": { "PolicyDocument": { "Statement": { "Effect": "Allow", "Action": "*" } } } }`, ""},
		{"a loop", ec2, "", `"Fn::ForEach::More": [ "X", ["a"], {} ]`, ""},

		{"another profile", trusts(`{ "Service": "ecs-tasks.amazonaws.com" }`), `"ecsInstanceRole"`, "", ""},
		{"a profile by name", trusts(`{ "Service": "ecs-tasks.amazonaws.com" }`) + "," + agent, `"arn:aws:iam::123456789012:instance-profile/hosts"`, "", trust},
		{"a profile by Ref", trusts(`{ "Service": "ecs-tasks.amazonaws.com" }`) + "," + agent, `{ "Ref": "Profile" }`, "", trust},
		{"a job that trusts EC2", ec2 + "," + agent, "", `"Job": { "Type": "AWS::Batch::JobDefinition", "Properties": { "Type": "container", "ContainerProperties": { "Image": "a:1",
			"ExecutionRoleArn": { "Fn::GetAtt": ["Role", "Arn"] }, "ResourceRequirements": [{ "Type": "VCPU", "Value": "1" }, { "Type": "MEMORY", "Value": "512" }] } } }`, trust},
		{"a node's job role", ec2 + "," + agent, "", `"Job": { "Type": "AWS::Batch::JobDefinition", "Properties": { "Type": "multinode", "NodeProperties": { "MainNode": 0, "NumNodes": 2, "NodeRangeProperties": [{ "TargetNodes": "0:",
			"Container": { "Image": "a:1", "JobRoleArn": { "Fn::Sub": "${Role.Arn}" }, "ResourceRequirements": [{ "Type": "VCPU", "Value": "1" }, { "Type": "MEMORY", "Value": "512" }] } }] } } }`, trust},
		{"Spot instances", ec2 + "," + agent, "", `"Own": { "Type": "AWS::Batch::ComputeEnvironment", "Properties": { "Type": "MANAGED", "ComputeResources": { "Type": "SPOT", "SpotIamFleetRole": { "Fn::GetAtt": "Role.Arn" } } } }`, trust},
		{"the Spot role of instances on demand", ec2 + "," + agent, "", `"Own": { "Type": "AWS::Batch::ComputeEnvironment", "Properties": { "Type": "MANAGED", "ComputeResources": { "Type": "EC2", "SpotIamFleetRole": { "Fn::GetAtt": "Role.Arn" } } } }`, ""},
		{"the service's role", ec2 + "," + agent, "", `"Own": { "Type": "AWS::Batch::ComputeEnvironment", "Properties": { "Type": "UNMANAGED", "ServiceRole": { "Fn::GetAtt": "Role.Arn" } } }`, trust},
	} {
		profile, more := tt.profile, ""
		if profile == "" {
			profile = `{ "Fn::GetAtt": ["Profile", "Arn"] }`
		}
		if tt.resources != "" {
			more = ", " + tt.resources
		}
		src := diag.NewSource("t.json", `{ "Resources": {
			"Role": { "Type": "AWS::IAM::Role", "Properties": { `+tt.role+` } },
			"Profile": { "Type": "AWS::IAM::InstanceProfile", "Properties": { "InstanceProfileName": "hosts", "Roles": [{ "Ref": "Role" }] } },
			"Environment": { "Type": "AWS::Batch::ComputeEnvironment", "Properties": { "Type": "MANAGED", "ComputeResources": { "Type": "EC2", "MinvCpus": 0, "MaxvCpus": 8, "InstanceTypes": ["m5"],
				"InstanceRole": `+profile+`, "Subnets": ["subnet-0a1b2c3d"], "SecurityGroupIds": ["sg-0a1b2c3d"] } } }`+more+` } }`)
		f, problems := document.Load(src, document.Options{Hosts: true})
		if len(problems) > 0 {
			t.Errorf("%s: %v", tt.name, problems)
			continue
		}
		var got []string
		for _, d := range Check([]*document.File{f}, nil, Rules()) {
			if d.Rule == trust || d.Rule == policy {
				got = append(got, d.Rule)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %v, want %q", tt.name, got, tt.want)
		}
	}
}
