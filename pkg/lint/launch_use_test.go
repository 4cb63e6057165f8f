package lint

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
)

// A web server in an Auto Scaling group, with everything that rules about hosts find.
const (
	webServer = `
  Web:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateName: web
      LaunchTemplateData:
        ImageId: !Ref Image
        KeyName: k
        BlockDeviceMappings: [{ DeviceName: /dev/xvda, Ebs: { VolumeSize: 8 } }]
        UserData: !Base64 |
          #!/bin/bash
          systemctl start ecs
`
	unknownImage = "Parameters:\n  Image: { Type: AWS::EC2::Image::Id }\n"
	ecsImage     = "Parameters:\n  Image: { Type: 'AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>', Default: /aws/service/ecs/optimized-ami/amazon-linux-2023/recommended/image_id }\n"
	exported     = "Outputs:\n  Web: { Value: !Ref Web, Export: { Name: web-id } }\n"
	plainHost    = "  Bastion:\n    Type: AWS::EC2::Instance\n    Properties: { UserData: !Base64 'systemctl start httpd' }\n"
	usingHosts   = `  Hosts:
    Type: AWS::Batch::ComputeEnvironment
    Properties:
      Type: MANAGED
      ComputeResources: { Type: EC2, MinvCpus: 0, MaxvCpus: 4, InstanceTypes: [m5], InstanceRole: "arn:aws:iam::123456789012:instance-profile/ecsInstanceRole", Subnets: [subnet-0123456789abcdef0], SecurityGroupIds: [sg-0123456789abcdef0], `
	provider = `  Capacity:
    Type: AWS::ECS::CapacityProvider
    Properties: { AutoScalingGroupProvider: { AutoScalingGroupArn: !Ref Group } }
  Group:
    Type: AWS::AutoScaling::AutoScalingGroup
    Properties: { MinSize: "0", MaxSize: "1", LaunchTemplate: { LaunchTemplateId: !Ref Web, Version: "1" } }
`
)

// A script outside of an archive is an error for an environment, and a warning if the use of its template is a guess.
func TestArchivesOfGuessedHosts(t *testing.T) {
	const template = "Resources:\n  Web:\n    Type: AWS::EC2::LaunchTemplate\n    Properties: { LaunchTemplateData: { UserData: !Base64 \"#!/bin/bash\\necho '{}' > /etc/docker/daemon.json\\n\" } }\n"
	for text, want := range map[string]diag.Severity{
		template: diag.Warning,
		template + usingHosts + "LaunchTemplate: { LaunchTemplateId: !Ref Web, Version: '1' } }\n": diag.Error,
	} {
		found := byRule(checkDocs(document.Options{Hosts: true, Kind: document.KindTemplate}, [2]string{"t.yaml", text}), "userdata-mime-required")
		if len(found) != 1 || found[0].Severity != want {
			t.Errorf("%s\n%v, want one %s", text, found, want)
		}
	}
}

// The rules about hosts apply where AWS Batch or Amazon ECS starts them, and to files whose kind you force.
func TestRulesAboutHostsNeedAUse(t *testing.T) {
	resources := func(parameters string, parts ...string) string {
		text := parameters + "Resources:" + webServer
		for _, p := range parts {
			text += p
		}
		return text
	}
	host := []string{"launch-imdsv2", "launch-ebs-encrypted", "launch-key-pair", "userdata-ecs-start"}
	archive := []string{"launch-imdsv2", "launch-ebs-encrypted", "launch-key-pair", "userdata-mime-required", "userdata-ecs-start"}
	sized := []string{"launch-imdsv2", "launch-ebs-encrypted", "launch-root-size", "launch-key-pair", "userdata-ecs-start"}
	for _, tt := range []struct {
		name string
		docs [][2]string
		kind document.Kind
		want []string
	}{
		{"nothing uses it", [][2]string{{"t.yaml", resources(unknownImage)}}, "", nil},
		{"the kind is forced", [][2]string{{"t.yaml", resources(unknownImage)}}, document.KindTemplate, host},
		{"a forced kind and an ECS-optimised image", [][2]string{{"t.yaml", resources(ecsImage)}}, document.KindTemplate, sized},
		{"an environment uses it", [][2]string{{"t.yaml", resources(unknownImage, usingHosts, "LaunchTemplate: { LaunchTemplateId: !Ref Web, Version: '1' } }\n")}}, "", archive},
		{"a capacity provider uses it", [][2]string{{"t.yaml", resources(unknownImage, provider)}}, "", host},
		{"an environment beside it", [][2]string{{"t.yaml", resources(unknownImage, "  Policy:\n    Type: AWS::Batch::SchedulingPolicy\n    Properties: {}\n", plainHost)}}, "", host},
		{"another file uses its name", [][2]string{
			{"t.yaml", resources(unknownImage)},
			{"ce.yaml", "Resources:\n" + usingHosts + "LaunchTemplate: { LaunchTemplateName: web, Version: '1' } }\n"}}, "", host},
		{"another file imports it", [][2]string{
			{"t.yaml", resources(unknownImage) + exported},
			{"ce.yaml", "Resources:\n" + usingHosts + "LaunchTemplate: { LaunchTemplateId: !ImportValue web-id, Version: '1' } }\n"}}, "", host},
		{"another file uses another one", [][2]string{
			{"t.yaml", resources(unknownImage) + exported},
			{"ce.yaml", "Resources:\n" + usingHosts + "LaunchTemplate: { LaunchTemplateName: other, Version: '1' } }\n"}}, "", nil},
		{"a request uses its name", [][2]string{
			{"lt.json", `{ "LaunchTemplateName": "web", "LaunchTemplateData": { "KeyName": "k" } }`},
			{"ce.json", `{ "computeEnvironmentName": "a", "type": "MANAGED", "computeResources": { "type": "EC2", "maxvCpus": 4, "launchTemplate": { "launchTemplateName": "web", "version": "1" } } }`}},
			"", []string{"launch-imdsv2", "launch-key-pair"}},
		{"no request uses it", [][2]string{{"lt.json", `{ "LaunchTemplateName": "web", "LaunchTemplateData": { "KeyName": "k" } }`}}, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, d := range checkDocs(document.Options{Hosts: true, Kind: tt.kind}, tt.docs...) {
				if d.Source.Name == tt.docs[0][0] && (strings.HasPrefix(d.Rule, "launch-") || strings.HasPrefix(d.Rule, "userdata-")) {
					got = append(got, d.Rule)
				}
			}
			slices.Sort(got)
			slices.Sort(tt.want)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A script is user data by its name, its form, the cluster that it joins or --kind: one that installs the agent may be
// for an image, whose cloud-init has finished.
func TestPlainScriptsAreNoUserData(t *testing.T) {
	const start = "#!/bin/bash\n# for AWS Batch: the agent of aws batch\nset -e\nyum install -y ecs-init\nsystemctl start ecs\n"
	for _, tt := range []struct {
		name, text string
		kind       document.Kind
		want       int
	}{
		{"install_on_ami.sh", start, "", 0},
		{"install_on_ami.sh", start, document.KindUserData, 1},
		{"user-data.sh", start, "", 1},
		{"host.sh", start + "echo ECS_CLUSTER=a >> /etc/ecs/ecs.config\n", "", 1},
		{"host.sh", "#cloud-config\nruncmd:\n- systemctl start ecs\n", "", 1},
	} {
		found := checkDocs(document.Options{Hosts: true, Kind: tt.kind}, [2]string{tt.name, tt.text})
		if got := len(byRule(found, "userdata-ecs-start")); got != tt.want {
			t.Errorf("%s (--kind %q): %d problems, want %d", tt.name, tt.kind, got, tt.want)
		}
	}
}
