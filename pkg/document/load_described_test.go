package document

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// TestDescriptionsAreComplete compares the members that are dropped with those that only
// the SDK's output types have.
func TestDescriptionsAreComplete(t *testing.T) {
	printed := map[Kind][2]reflect.Type{
		KindJobDefinition:      {reflect.TypeFor[types.JobDefinition](), reflect.TypeFor[awsbatch.RegisterJobDefinitionInput]()},
		KindJobQueue:           {reflect.TypeFor[types.JobQueueDetail](), reflect.TypeFor[awsbatch.CreateJobQueueInput]()},
		KindComputeEnvironment: {reflect.TypeFor[types.ComputeEnvironmentDetail](), reflect.TypeFor[awsbatch.CreateComputeEnvironmentInput]()},
		KindSchedulingPolicy:   {reflect.TypeFor[types.SchedulingPolicyDetail](), reflect.TypeFor[awsbatch.CreateSchedulingPolicyInput]()},
		KindConsumableResource: {reflect.TypeFor[awsbatch.DescribeConsumableResourceOutput](), reflect.TypeFor[awsbatch.CreateConsumableResourceInput]()},
		KindSubmitJob:          {reflect.TypeFor[types.JobDetail](), reflect.TypeFor[awsbatch.SubmitJobInput]()},
	}
	for _, d := range descriptions {
		out, in := printed[d.kind][0], printed[d.kind][1]
		var want []string
		for f := range out.Fields() {
			if _, both := in.FieldByName(f.Name); f.IsExported() && !both && f.Name != "ResultMetadata" {
				want = append(want, strings.ToLower(f.Name[:1])+f.Name[1:])
			}
		}
		got := d.extra()
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-SDK +ours):\n%s", d.operation, diff)
		}
		for _, name := range d.lost {
			if !slices.Contains(got, name) {
				t.Errorf("%s: %s is not dropped", d.operation, name)
			}
		}
	}
}

// TestDescribedIsOneProblem checks that the empty members, which a describe operation prints too, are not reported.
func TestDescribedIsOneProblem(t *testing.T) {
	for _, text := range []string{
		`{"computeEnvironmentName": "x", "computeEnvironmentArn": "a", "uuid": "", "type": "MANAGED", "computeResources":
			{"type": "FARGATE", "maxvCpus": 1, "subnets": ["subnet-0123456789abcdef0"], "securityGroupIds": ["sg-0123456789abcdef0"], "tags": {}, "ec2Configuration": []}}`,
		`{"jobQueueName": "x", "jobQueueArn": "a", "priority": 1, "schedulingPolicyArn": "", "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "c"}], "jobStateTimeLimitActions": []}`,
		`{"jobDefinitionName": "x", "jobDefinitionArn": "a", "revision": 1, "type": "container", "retryStrategy": {}, "containerProperties":
			{"image": "busybox:1", "volumes": [], "linuxParameters": {"devices": [], "tmpfs": []}, "logConfiguration": {"options": {}}, "executionRoleArn": ""}}`,
	} {
		if _, problems := Load(diag.NewSource("x.json", text), Options{}); len(problems) != 1 || problems[0].Rule != RuleDocumentKind {
			t.Errorf("%s: %v", text, problems)
		}
	}
}

// TestAnswers checks that the answer of a request is not taken for the output of a describe operation.
func TestAnswers(t *testing.T) {
	for text, want := range map[string]string{
		`{"jobArn": "a", "jobName": "x", "jobId": "1"}`:                             "this is the answer of submit-job, not a request",
		`{"jobId": "1", "jobName": "x", "status": "RUNNING"}`:                       "this is the output of describe-jobs, not a request",
		`{"jobDefinitionName": "x", "jobDefinitionArn": "a", "revision": 1}`:        "this is the answer of register-job-definition, not a request",
		`{"jobQueueName": "x", "jobQueueArn": "a"}`:                                 "this is the answer of create-job-queue, not a request",
		`{"jobQueueName": "x", "jobQueueArn": "a", "priority": 1}`:                  "this is the output of describe-job-queues, not a request",
		`{"computeEnvironmentName": "x", "computeEnvironmentArn": "a"}`:             "this is the answer of create-compute-environment, not a request",
		`{"jobSummaryList": [{"jobArn": "a", "jobId": "1", "jobName": "x"}]}`:       "this is the output of list-jobs, not a request",
		`{"consumableResourceName": "x", "consumableResourceArn": "a"}`:             "this is the answer of create-consumable-resource, not a request",
		`{"consumableResourceName": "x", "consumableResourceArn": "a", "tags": {}}`: "this is the output of describe-consumable-resource, not a request",
	} {
		_, problems := Load(diag.NewSource("x.json", text), Options{})
		is := func(d diag.Diagnostic) bool { return d.Rule == RuleDocumentKind && d.Message == want }
		if !slices.ContainsFunc(problems, is) || strings.Contains(want, "answer") && len(problems) > 1 {
			t.Errorf("%s: %v, want %s", text, problems, want)
		}
	}
}

// TestFromDescribe checks the requests for the output of describe operations.
func TestFromDescribe(t *testing.T) {
	for _, a := range golden.Cases(t, "testdata/describe.txtar") {
		t.Run(a.Name, func(t *testing.T) {
			file := a.Name + ".json"
			src := diag.NewSource(file, a.Text(t, file))
			if _, diags := Load(src, Options{}); len(diags) != 1 || diags[0].Rule != RuleDocumentKind || diags[0].Hint == "" {
				t.Errorf("without FromDescribe: %v", diags)
			}
			f, diags := Load(src, Options{FromDescribe: true})
			var b strings.Builder
			b.WriteString(string(f.Kind) + " " + f.Name + "\n" + requests(t, f))
			for _, d := range diags {
				b.WriteString(d.Error() + "\n")
			}
			a.Want(t, "want", b.String())
		})
	}
}

func TestFromDescribeOfARequest(t *testing.T) {
	f := load(t, `{"jobQueueName": "q", "priority": 1}`, Options{FromDescribe: true})
	if f.Kind != KindJobQueue || len(f.Requests) != 1 || f.Requests[0].Name() == "" {
		t.Errorf("%+v", f)
	}
}

// TestNotDescribed checks that an invalid document is not mistaken for printed output.
func TestNotDescribed(t *testing.T) {
	for _, text := range []string{
		`{"jobQueueName": "q", "priority": 1, "status": "ENABLED"}`,
		`{"jobName": "a", "jobQueue": "q", "jobDefinition": "d", "nodeProperties": {}}`,
		`{"name": "a", "image": "i", "arn": "x"}`,
		`{"jobs": [{"name": "a", "image": "i", "status": "x"}]}`,
	} {
		if _, diags := Load(diag.NewSource("x", text), Options{}); len(diags) == 0 || slices.ContainsFunc(diags,
			func(d diag.Diagnostic) bool { return d.Rule == RuleDocumentKind }) {
			t.Errorf("%s: %v", text, diags)
		}
	}
}
