package lint

import (
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/document"
)

// One mistake is one problem: a member that repeats the object around it, and instance types of an unknown family.
func TestMistakesAreReportedOnce(t *testing.T) {
	const (
		box      = `{ "image": "busybox:1.36", "resourceRequirements": [{ "type": "VCPU", "value": "1" }, { "type": "MEMORY", "value": "512" }] }`
		pod      = `{ "containers": [{ "image": "busybox:1.36", "resources": { "limits": { "cpu": "1", "memory": "512Mi" } } }] }`
		nodes    = `{ "numNodes": 2, "mainNode": 0, "nodeRangeProperties": [{ "targetNodes": "0:", "container": ` + box + ` }] }`
		pool     = `{ "type": "EC2", "minvCpus": 0, "maxvCpus": 4, "instanceTypes": [TYPES], "instanceRole": "ecsInstanceRole", "subnets": ["subnet-0123456789abcdef0"], "securityGroupIds": ["sg-0123456789abcdef0"] }`
		job      = `{ "jobDefinitionName": "a", "type": "container", "timeout": { "attemptDurationSeconds": 600 }, `
		hosts    = `{ "computeEnvironmentName": "a", "type": "MANAGED", "computeResources": `
		template = "Resources:\n  A:\n    Type: AWS::Batch::"
	)
	m5 := strings.Replace(pool, "TYPES", `"m5"`, 1)
	for _, tt := range []struct {
		name, file, text string
		want             []string
	}{
		{"container", "a.json", job + `"containerProperties": { "containerProperties": ` + box + ` } }`, []string{`the API has no member "containerProperties" here`}},
		{"two levels too deep", "a.json", job + `"containerProperties": { "containerProperties": { "containerProperties": ` + box + ` } } }`, []string{`the API has no member "containerProperties" here`}},
		{"a member lacks there too", "a.json", job + `"containerProperties": { "containerProperties": ` + strings.Replace(box, `"image": "busybox:1.36", `, "", 1) + ` } }`,
			[]string{"containerProperties needs image", `the API has no member "containerProperties" here`}},
		{"pod", "a.json", job + `"eksProperties": { "podProperties": { "podProperties": ` + pod + ` } } }`, []string{`the API has no member "podProperties" here`}},
		{"nodes", "a.json", strings.Replace(job, "container", "multinode", 1) + `"nodeProperties": { "nodeProperties": ` + nodes + ` } }`, []string{`the API has no member "nodeProperties" here`}},
		{"hosts", "a.json", hosts + `{ "computeResources": ` + m5 + ` } }`, []string{`unknown member "computeResources"`}},
		{"template", "a.yaml", template + "JobDefinition\n    Properties:\n      Type: container\n      Timeout: { AttemptDurationSeconds: 600 }\n      ContainerProperties:\n        ContainerProperties:\n          Image: busybox:1.36\n          ResourceRequirements: [{ Type: VCPU, Value: '1' }, { Type: MEMORY, Value: '512' }]\n",
			[]string{`ContainerProperties has no member "ContainerProperties" in CloudFormation`}},
		{"a mistake below in a template", "a.yaml", template + "JobDefinition\n    Properties:\n      Type: container\n      Timeout: { AttemptDurationSeconds: 600 }\n      ContainerProperties:\n        ContainerProperties:\n          ResourceRequirements: [{ Type: VCPU, Value: '1' }, { Type: MEMORY, Value: '512' }]\n",
			[]string{"ContainerProperties needs Image", `ContainerProperties has no member "ContainerProperties" in CloudFormation`}},
		{"instance types of a retired family", "a.json", hosts + strings.Replace(pool, "TYPES", `"f1.2xlarge", "m5", "f1.16xlarge", "f1"`, 1) + " }", []string{`"f1.2xlarge", "f1.16xlarge" and "f1" are not instance types in `}},
		{"two slips in a known family", "a.json", hosts + strings.Replace(pool, "TYPES", `"m5.larg", "m5.2large"`, 1) + " }", []string{`"m5.larg" is not an instance type in `, `"m5.2large" is not an instance type in `}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, d := range checkDocs(document.Options{Hosts: true}, [2]string{tt.file, tt.text}) {
				got = append(got, d.Message)
			}
			if !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
				t.Errorf("%s\n%q, want %q", tt.text, got, tt.want)
			}
		})
	}
}
