package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
)

// foundIn loads documents under paths, and returns the rules that find something, each
// with the file of the problem.
func foundIn(t *testing.T, o document.Options, docs ...[2]string) []string {
	t.Helper()
	return ruleAndFile(checkDocs(o, docs...))
}

// errorsIn is foundIn without the warnings.
func errorsIn(t *testing.T, docs ...[2]string) []string {
	t.Helper()
	return ruleAndFile(slices.DeleteFunc(checkDocs(document.Options{}, docs...), func(d diag.Diagnostic) bool { return d.Severity != diag.Error }))
}

func checkDocs(o document.Options, docs ...[2]string) diag.List {
	var files []*document.File
	var all diag.List
	for _, d := range docs {
		f, problems := document.Load(diag.NewSource(d[0], d[1]), o)
		files, all = append(files, f), append(all, problems...)
	}
	all = Settle(append(all, Check(files, nil, Rules())...))
	all.Sort()
	return all
}

func ruleAndFile(all diag.List) (out []string) {
	for _, d := range all {
		out = append(out, d.Rule+" "+d.Source.Name)
	}
	return out
}

func without(list []string, rules ...string) []string {
	return slices.DeleteFunc(list, func(s string) bool {
		rule, _, _ := strings.Cut(s, " ")
		return slices.Contains(rules, rule)
	})
}

// Every thing that a describe operation printed is checked, not only the first.
func TestEveryRequestOfDescribe(t *testing.T) {
	queues := `{ "jobQueues": [
		{ "jobQueueName": "a", "jobQueueArn": "arn:aws:batch:us-east-1:123456789012:job-queue/a", "state": "ENABLED", "status": "VALID", "priority": 1,
		  "computeEnvironmentOrder": [{ "order": 1, "computeEnvironment": "arn:aws:batch:us-east-1:123456789012:compute-environment/m" }], "tags": { "aws:x": "y" } },
		{ "jobQueueName": "b", "jobQueueArn": "arn:aws:batch:us-east-1:123456789012:job-queue/b", "state": "DISABLED", "status": "VALID", "priority": 2000,
		  "computeEnvironmentOrder": [{ "order": 1, "computeEnvironment": "m" }, { "order": 1, "computeEnvironment": "n" }] }] }`
	environments := `{ "computeEnvironments": [
		{ "computeEnvironmentName": "m", "computeEnvironmentArn": "arn:aws:batch:us-east-1:123456789012:compute-environment/m", "type": "MANAGED", "state": "ENABLED", "status": "VALID",
		  "computeResources": { "type": "EC2", "minvCpus": 0, "maxvCpus": 8, "instanceTypes": ["m5.large"], "subnets": ["subnet-12345678"], "securityGroupIds": ["sg-12345678"], "instanceRole": "ecsInstanceRole" } },
		{ "computeEnvironmentName": "n", "computeEnvironmentArn": "arn:aws:batch:us-east-1:123456789012:compute-environment/n", "type": "MANAGED", "state": "ENABLED", "status": "VALID",
		  "computeResources": { "type": "FARGATE", "minvCpus": 4, "maxvCpus": 8, "subnets": ["subnet-12345678"], "securityGroupIds": ["sg-12345678"] } }] }`
	submit := `{ "jobName": "j", "jobQueue": "b", "jobDefinition": "d" }`
	got := foundIn(t, document.Options{FromDescribe: true}, [2]string{"queues.json", queues}, [2]string{"environments.json", environments}, [2]string{"submit.json", submit})
	want := []string{
		"ce-fargate-no-minvcpus environments.json",
		"tag-aws-prefix queues.json", "queue-priority-range queues.json", "queue-ce-duplicate-order queues.json", "queue-mix-fargate-ec2 queues.json",
		"submit-queue-enabled submit.json",
	}
	if d := cmp.Diff(want, without(got, "stuck-queue-no-fuse")); d != "" {
		t.Error(d)
	}
}

const (
	open     = `{ "jobQueueName": "cpu", "state": "ENABLED", "priority": 1, "computeEnvironmentOrder": [{ "order": 1, "computeEnvironment": "e" }] }`
	shut     = `{ "jobQueueName": "cpu", "state": "DISABLED", "priority": 1, "computeEnvironmentOrder": [{ "order": 1, "computeEnvironment": "e" }] }`
	large    = `{ "computeEnvironmentName": "e", "type": "MANAGED", "computeResources": { "type": "EC2", "minvCpus": 0, "maxvCpus": 64, "instanceTypes": ["m5"], "subnets": ["subnet-12345678"], "securityGroupIds": ["sg-12345678"], "instanceRole": "ecsInstanceRole" } }`
	small    = `{ "computeEnvironmentName": "e", "type": "MANAGED", "computeResources": { "type": "EC2", "minvCpus": 0, "maxvCpus": 64, "instanceTypes": ["m5.large"], "subnets": ["subnet-12345678"], "securityGroupIds": ["sg-12345678"], "instanceRole": "ecsInstanceRole" } }`
	eight    = `{ "name": "j", "image": "a:1", "resources": { "vcpus": 8, "memory": "1 GiB" }, "queue": "cpu", "timeout": "1h" }`
	homeless = `{ "name": "j", "image": "a:1", "resources": { "vcpus": 8, "memory": "1 GiB" }, "timeout": "1h" }`
)

// The queue and the environments with which a job is compared.
func TestQueuesOfOneName(t *testing.T) {
	for _, tt := range []struct {
		name string
		docs [][2]string
		want []string
	}{
		{"elsewhere", [][2]string{{"a/q.json", shut}, {"b/e.json", small}, {"c/j.json", eight}}, []string{"stuck-vcpu-gt-instance c/j.json", "submit-queue-enabled c/j.json"}},
		{"that of the directory", [][2]string{{"a/q.json", open}, {"a/e.json", large}, {"b/q.json", shut}, {"b/e.json", small}, {"a/j.json", eight}}, nil},
		{"that of the other directory", [][2]string{{"a/q.json", open}, {"a/e.json", large}, {"b/q.json", shut}, {"b/e.json", small}, {"b/j.json", eight}},
			[]string{"stuck-vcpu-gt-instance b/j.json", "submit-queue-enabled b/j.json"}},
		{"ambiguous", [][2]string{{"a/q.json", open}, {"a/e.json", large}, {"b/q.json", shut}, {"b/e.json", small}, {"c/j.json", eight}}, nil},
		{"another one, there already", [][2]string{{"a/q.json", open}, {"a/e.json", large}, {"a/j.json", strings.Replace(eight, `"cpu"`, `"everything"`, 1)}}, []string{"submit-queue-exists a/j.json"}},
		{"none", [][2]string{{"a/q.json", open}, {"a/e.json", small}, {"a/j.json", homeless}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := without(foundIn(t, document.Options{}, tt.docs...), "stuck-queue-no-fuse")
			if d := cmp.Diff(tt.want, got); d != "" && len(tt.want)+len(got) > 0 {
				t.Error(d)
			}
		})
	}
}

// The environments with which a definition is compared if no file submits it. A run over
// directories sees definitions and environments that have nothing to do with each other.
func TestEnvironmentsBesideADefinition(t *testing.T) {
	const definition = `{ "jobDefinitionName": "big", "type": "container", "timeout": { "attemptDurationSeconds": 60 }, "containerProperties": { "image": "a:1", "resourceRequirements": [{ "type": "VCPU", "value": "8" }, { "type": "MEMORY", "value": "512" }] } }`
	const nodes = `{ "jobDefinitionName": "many", "type": "multinode", "timeout": { "attemptDurationSeconds": 60 }, "nodeProperties": { "numNodes": 2, "mainNode": 0, "nodeRangeProperties": [{ "targetNodes": "0:", "container": { "image": "a:1", "resourceRequirements": [{ "type": "VCPU", "value": "1" }, { "type": "MEMORY", "value": "512" }] } }] } }`
	spot := strings.Replace(small, `"EC2"`, `"SPOT"`, 1)
	for _, tt := range []struct {
		name string
		docs [][2]string
		want []string
	}{
		{"beside it", [][2]string{{"a/big.json", definition}, {"a/e.json", small}}, []string{"stuck-vcpu-gt-instance a/big.json"}},
		{"another one is larger", [][2]string{{"a/big.json", definition}, {"a/e.json", small}, {"a/f.json", strings.Replace(large, `"e"`, `"f"`, 1)}}, nil},
		{"elsewhere", [][2]string{{"a/big.json", definition}, {"b/e.json", small}}, nil},
		{"nodes beside Spot instances", [][2]string{{"a/many.json", nodes}, {"a/e.json", spot}}, []string{"stuck-mnp-on-spot a/e.json"}},
		{"nodes, and Spot instances elsewhere", [][2]string{{"a/many.json", nodes}, {"b/e.json", spot}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := without(errorsIn(t, tt.docs...), "ce-spot-fleet-role")
			if d := cmp.Diff(tt.want, got); d != "" && len(tt.want)+len(got) > 0 {
				t.Error(d)
			}
		})
	}
}

const (
	needy   = `{ "jobDefinitionName": "train", "type": "container", "timeout": { "attemptDurationSeconds": 60 }, "containerProperties": { "image": "a:1", "command": ["Ref::x"], "resourceRequirements": [{ "type": "VCPU", "value": "1" }, { "type": "MEMORY", "value": "512" }] } }`
	content = `{ "jobDefinitionName": "train", "type": "container", "timeout": { "attemptDurationSeconds": 60 }, "containerProperties": { "image": "a:1", "command": ["x"], "resourceRequirements": [{ "type": "VCPU", "value": "1" }, { "type": "MEMORY", "value": "512" }] } }`
	plain   = `{ "jobName": "j", "jobQueue": "q", "jobDefinition": "train" }`
)

// Which definition a submission runs when files define the name more than once.
func TestDefinitionsOfOneName(t *testing.T) {
	const unresolved = "submit-ref-unresolved"
	for _, tt := range []struct {
		name string
		docs [][2]string
		want []string
	}{
		{"one, elsewhere", [][2]string{{"definitions/train.json", needy}, {"submit.json", plain}}, []string{unresolved + " definitions/train.json"}},
		{"by ARN", [][2]string{{"train.json", needy}, {"submit.json", strings.Replace(plain, `"train"`, `"arn:aws:batch:us-east-1:123456789012:job-definition/train"`, 1)}}, []string{unresolved + " train.json"}},
		{"a revision that is not here", [][2]string{{"train.json", needy}, {"submit.json", strings.Replace(plain, `"train"`, `"train:7"`, 1)}}, []string{"ref-without-default train.json"}},
		{"the last one counts", [][2]string{{"1.json", needy}, {"2.json", content}, {"submit.json", plain}}, []string{"ref-without-default 1.json"}},
		{"the last one counts, too", [][2]string{{"1.json", content}, {"2.json", needy}, {"submit.json", plain}}, []string{unresolved + " 2.json"}},
		{"that of the directory", [][2]string{{"a/train.json", content}, {"b/train.json", needy}, {"a/submit.json", plain}}, []string{"ref-without-default b/train.json"}},
		{"ambiguous", [][2]string{{"a/train.json", content}, {"b/train.json", needy}, {"c/submit.json", plain}}, []string{"ref-without-default b/train.json"}},
		{"nothing is missing in another directory", [][2]string{{"a/train.json", content}, {"c/submit.json", strings.Replace(plain, "train", "other", 1)}}, nil},
		{"something is missing beside it", [][2]string{{"a/train.json", content}, {"a/submit.json", strings.Replace(plain, "train", "other", 1)}}, []string{"submit-jobdefinition-exists a/submit.json"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, foundIn(t, document.Options{}, tt.docs...)); d != "" {
				t.Error(d)
			}
		})
	}
}

// What the files lack is an error only where the name looks like a slip of the pen: a
// queue or definition may be there already, and names differ by a word.
func TestSlipOrAnotherOne(t *testing.T) {
	for _, tt := range []struct {
		created, named string
		slip           bool
	}{
		{"cpu-ce", "gpu-ce", false},
		{"train-cpu", "train-gpu", false},
		{"batch-a", "batch-b", false},
		{"app-dev", "app-prd", false},
		{"data-import", "data-export", false},
		{"main", "mail", false},
		{"train-large", "train", false},
		{"train-1", "train-2", false},
		{"g5-main", "g6-main", false},
		{"trainer", "trained-model", false},
		{"main", "mian", true},
		{"train", "tarin", true},
		{"train-gpu", "trian-gpu", true},
		{"train-gpu", "Train_GPU", true},
		{"resnet-train", "resnettrain", true},
		{"resnet-train", "resnt-train", true},
		{"resnet-train", "resnet-traim", true},
	} {
		t.Run(tt.created+" "+tt.named, func(t *testing.T) {
			environment := strings.Replace(large, `"e"`, `"`+tt.created+`"`, 1)
			queue := strings.Replace(open, `"e"`, `"`+tt.named+`"`, 1)
			definition := strings.Replace(content, `"train"`, `"`+tt.created+`"`, 1)
			submission := strings.Replace(plain, `"train"`, `"`+tt.named+`"`, 1)
			for _, docs := range [][][2]string{{{"e.json", environment}, {"q.json", queue}}, {{"train.json", definition}, {"submit.json", submission}}} {
				if got := errorsIn(t, docs...); (len(got) > 0) != tt.slip {
					t.Errorf("errors: %v", got)
				}
			}
		})
	}
}

// A queue of one name is another one in the directory of another account.
func TestQueueWithAndWithoutPolicy(t *testing.T) {
	fair := strings.Replace(open, `"priority"`, `"schedulingPolicyArn": "arn:aws:batch:us-east-1:123456789012:scheduling-policy/fair", "priority"`, 1)
	if got := errorsIn(t, [2]string{"dev/q.json", open}, [2]string{"prod/q.json", fair}); got != nil {
		t.Error(got)
	}
	for _, files := range [][][2]string{{{"a.json", open}, {"b.json", fair}}, {{"b.json", fair}, {"a.json", open}}} {
		if d := cmp.Diff([]string{"queue-scheduling-policy-immutable b.json"}, errorsIn(t, files...)); d != "" {
			t.Errorf("%s first: %s", files[0][0], d)
		}
	}
}

// A share identifier without a priority is an error also on a queue that no file creates. An unknown definition
// may have a priority.
func TestShareWithoutPriority(t *testing.T) {
	const definition = `{ "jobDefinitionName": "d", "type": "container"%s, "containerProperties": { "image": "x:1", "resourceRequirements": [ { "type": "VCPU", "value": "1" }, { "type": "MEMORY", "value": "512" } ] } }`
	const submit = `{ "jobName": "a", "jobQueue": "q", "jobDefinition": "d", "shareIdentifier": "team"%s }`
	for _, tt := range []struct {
		definition, submit string
		want               []string
	}{
		{fmt.Sprintf(definition, ""), fmt.Sprintf(submit, ""), []string{"submit-priority-required-fairshare submit.json"}},
		{fmt.Sprintf(definition, `, "schedulingPriority": 1`), fmt.Sprintf(submit, ""), nil},
		{fmt.Sprintf(definition, ""), fmt.Sprintf(submit, `, "schedulingPriorityOverride": 0`), nil},
		{`{ "jobQueueName": "other", "priority": 1 , "computeEnvironmentOrder": [ { "order": 1, "computeEnvironment": "c" } ] }`, fmt.Sprintf(submit, ""), nil},
	} {
		if got := errorsIn(t, [2]string{"other.json", tt.definition}, [2]string{"submit.json", tt.submit}); !slices.Equal(got, tt.want) {
			t.Errorf("%s, %s: %q, want %q", tt.definition, tt.submit, got, tt.want)
		}
	}
}
