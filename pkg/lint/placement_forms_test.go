package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
)

// TestPlacementForms checks every placement rule with a job on one machine and with a multi-node
// job, as a compact file and as requests, against a platform file and against AWS files. A rule
// that finds one form and not the other lets jobs wait indefinitely.
func TestPlacementForms(t *testing.T) {
	container := func(vcpus, memory, gpus int, image string) string {
		more := ""
		if gpus > 0 {
			more = fmt.Sprintf(`, { "type": "GPU", "value": "%d" }`, gpus)
		}
		return fmt.Sprintf(`{ "image": %q, "command": ["x"], "resourceRequirements": [{ "type": "VCPU", "value": "%d" }, { "type": "MEMORY", "value": "%d" }%s] }`, image, vcpus, memory, more)
	}
	for _, c := range []struct {
		rule, kind, types    string
		maxvCpus             int
		vcpus, memory, gpus  int
		image                string
		single, nodes        bool
		ruleOfNodes, elseAWS string // "" for the same rule
	}{
		{rule: "stuck-vcpu-gt-maxvcpus", kind: "EC2", types: "c5.18xlarge", maxvCpus: 6, vcpus: 8, memory: 1000, single: true, nodes: true, ruleOfNodes: "stuck-vcpu-gt-maxvcpus"},
		{rule: "stuck-mnp-maxvcpus", kind: "EC2", types: "c5.xlarge", maxvCpus: 6, vcpus: 4, memory: 1000, nodes: true},
		{rule: "stuck-mnp-on-spot", kind: "SPOT", types: "c5.18xlarge", maxvCpus: 720, vcpus: 4, memory: 1000, nodes: true},
		{rule: "submit-ec2-job-on-fargate-queue", kind: "FARGATE", maxvCpus: 720, vcpus: 4, memory: 1000, single: true, nodes: true},
		{rule: "stuck-vcpu-gt-instance", kind: "EC2", types: "c5.xlarge", maxvCpus: 720, vcpus: 8, memory: 1000, single: true, nodes: true},
		{rule: "stuck-memory-gt-instance", kind: "EC2", types: "c5.xlarge", maxvCpus: 720, vcpus: 4, memory: 9000, single: true, nodes: true},
		{rule: "stuck-memory-equals-nominal", kind: "EC2", types: "c5.xlarge", maxvCpus: 720, vcpus: 4, memory: 8192, single: true, nodes: true},
		{rule: "memory-may-not-fit", kind: "EC2", types: "m6i.2xlarge", maxvCpus: 720, vcpus: 4, memory: 31500, single: true, nodes: true},
		{rule: "stuck-gpu-no-gpu-instance", kind: "EC2", types: "c5.xlarge", maxvCpus: 720, vcpus: 4, memory: 1000, gpus: 1, single: true, nodes: true},
		{rule: "stuck-gpu-optimal", kind: "EC2", types: "optimal", maxvCpus: 720, vcpus: 4, memory: 1000, gpus: 1, single: true, nodes: true},
		{rule: "stuck-gpu-unsupported-family", kind: "EC2", types: "g4ad.xlarge", maxvCpus: 720, vcpus: 4, memory: 1000, gpus: 1, single: true, nodes: true},
		{rule: "stuck-gpu-count-gt-instance", kind: "EC2", types: "g4dn.xlarge", maxvCpus: 720, vcpus: 4, memory: 1000, gpus: 2, single: true, nodes: true},
	} {
		if c.image == "" {
			c.image = "a:1"
		}
		types := ""
		if c.types != "" {
			types = fmt.Sprintf(`, "instanceTypes": [%q]`, c.types)
		}
		platform := fmt.Sprintf(`{ "queues": { "q": { "jobQueue": "q", "computeEnvironments": [{ "type": %q, "maxvCpus": %d%s }] } } }`, c.kind, c.maxvCpus, types)
		environment := fmt.Sprintf(`{ "computeEnvironmentName": "e", "type": "MANAGED", "computeResources": { "type": %q, "maxvCpus": %d%s, "subnets": ["subnet-12345678"], "securityGroupIds": ["sg-12345678"] } }`, c.kind, c.maxvCpus, types)
		queue := `{ "jobQueueName": "q", "state": "ENABLED", "priority": 1, "computeEnvironmentOrder": [{ "order": 1, "computeEnvironment": "e" }] }`
		one := container(c.vcpus, c.memory, c.gpus, c.image)
		for _, multiNode := range []bool{false, true} {
			if multiNode && !c.nodes || !multiNode && !c.single {
				continue
			}
			definition := `"type": "container", "containerProperties": ` + one
			if multiNode {
				definition = `"type": "multinode", "nodeProperties": { "numNodes": 2, "mainNode": 0, "nodeRangeProperties": [{ "targetNodes": "0:", "container": ` + one + ` }] }`
			}
			requests := [][2]string{
				{"definition.json", `{ "jobDefinitionName": "d", "timeout": { "attemptDurationSeconds": 60 }, ` + definition + ` }`},
				{"submit.json", `{ "jobName": "j", "jobQueue": "q", "jobDefinition": "d" }`},
			}
			compact := [2]string{"job.json", `{ "name": "j", "queue": "q", "timeout": "1h", "jobDefinition": { ` + definition + ` } }`}
			for name, docs := range map[string][][2]string{
				"requests, platform file": append(slices.Clone(requests), [2]string{"batchctl.json", platform}),
				"requests, AWS files":     append(slices.Clone(requests), [2]string{"e.json", environment}, [2]string{"q.json", queue}),
				"compact, platform file":  {compact, {"batchctl.json", platform}},
			} {
				t.Run(fmt.Sprintf("%s/multi-node %v/%s", c.rule, multiNode, name), func(t *testing.T) {
					var rules []string
					for _, d := range checkWith(t, docs) {
						rules = append(rules, d.Rule)
					}
					if !slices.Contains(rules, c.rule) {
						t.Errorf("found %s", strings.Join(rules, ", "))
					}
				})
			}
		}
	}
}

// checkWith checks documents under the platform file among them, as Check does for a directory.
func checkWith(t *testing.T, docs [][2]string) diag.List {
	t.Helper()
	var files []*document.File
	var platform *document.Platform
	var all diag.List
	for _, d := range docs {
		f, problems := document.Load(diag.NewSource(d[0], d[1]), document.Options{})
		if f.Platform != nil {
			platform = f.Platform
		} else {
			files = append(files, f)
		}
		all = append(all, problems...)
	}
	return Settle(append(all, Check(files, platform, Rules())...))
}
