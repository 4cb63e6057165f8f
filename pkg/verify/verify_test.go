package verify

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/plan"
)

// services answers operations with texts, and rejects unknown ones.
type services map[string]string

func (s services) Do(r *http.Request) (*http.Response, error) {
	operation := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	if _, target, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "."); ok {
		operation = target
	}
	a := &http.Response{StatusCode: 200, Header: http.Header{}, Request: r}
	text, known := s[operation]
	if !known {
		a.StatusCode, text = 403, `{"__type":"AccessDeniedException","message":"User is not authorized"}`
		if operation == "" {
			text = `<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>`
		}
		a.Header.Set("X-Amzn-Errortype", "AccessDeniedException")
	}
	a.Body = io.NopCloser(strings.NewReader(text))
	return a, nil
}

func planned() *plan.Plan {
	return &plan.Plan{Jobs: []*plan.Job{{Name: "train",
		Register: &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("train"), Type: types.JobDefinitionTypeContainer, ContainerProperties: &types.ContainerProperties{
			Image: aws.String("1.dkr.ecr.eu-central-1.amazonaws.com/x:1"), JobRoleArn: aws.String("arn:aws:iam::1:role/r"), Secrets: []types.Secret{{Name: aws.String("K"), ValueFrom: aws.String("k")}},
			LogConfiguration:     &types.LogConfiguration{LogDriver: types.LogDriverAwslogs, Options: map[string]string{"awslogs-group": "g"}},
			ResourceRequirements: []types.ResourceRequirement{{Type: types.ResourceTypeVcpu, Value: aws.String("2")}, {Type: types.ResourceTypeMemory, Value: aws.String("1024")}}}},
		Submit: &awsbatch.SubmitJobInput{JobName: aws.String("train"), JobQueue: aws.String("q"), JobDefinition: aws.String("train")}}}}
}

func outcomes(t *testing.T, s services, p *plan.Plan) map[string]Result {
	t.Helper()
	results, err := New(aws.Config{Region: "eu-central-1", HTTPClient: s, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}).Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]Result{}
	for _, r := range results {
		found[r.Check] = r
	}
	return found
}

// TestDenied checks that, without permissions, no check passes or fails.
func TestDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		found := outcomes(t, services{}, planned())
		for _, check := range []string{"queue", "image", "roles", "secrets", "log-group"} {
			if r := found[check]; r.Outcome != NotChecked || !strings.HasPrefix(r.Why, "not allowed: ") {
				t.Errorf("%s: %+v", check, r)
			}
		}
		for check, r := range found {
			if r.Outcome != NotChecked {
				t.Errorf("%s: %+v", check, r)
			}
		}
	})
}

const aQueue = `{"jobQueues":[{"jobQueueArn":"a","jobQueueName":"q","state":"ENABLED","status":"VALID","priority":1,"computeEnvironmentOrder":[{"order":1,"computeEnvironment":"arn:ce/c"}]}]}`

func environment(members string) string {
	return `{"computeEnvironments":[{"computeEnvironmentArn":"arn:ce/c","computeEnvironmentName":"c",` + members + `}]}`
}

func TestEnvironments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for members, want := range map[string]Outcome{
			`"state":"ENABLED","status":"VALID","computeResources":{"type":"EC2","maxvCpus":8,"instanceTypes":["c5.large"],"subnets":[]}`:                         Pass,
			`"state":"ENABLED","status":"VALID","computeResources":{"type":"EC2","maxvCpus":1,"instanceTypes":["c5.large"],"subnets":[]}`:                         Fail,
			`"state":"DISABLED","status":"VALID","computeResources":{"type":"EC2","maxvCpus":8,"instanceTypes":["c5.large"],"subnets":[]}`:                        Fail,
			`"state":"ENABLED","status":"INVALID","statusReason":"gone","computeResources":{"type":"EC2","maxvCpus":8,"instanceTypes":["c5.large"],"subnets":[]}`: Fail,
			`"state":"ENABLED","status":"VALID","computeResources":{"type":"EC2","maxvCpus":8,"instanceTypes":["p9.new"],"subnets":[]}`:                           NotChecked,
			`"state":"ENABLED","status":"VALID","type":"UNMANAGED"`:                                                                                               NotChecked,
		} {
			s := services{"describejobqueues": aQueue, "describecomputeenvironments": environment(members)}
			if r := outcomes(t, s, planned())["environments"]; r.Outcome != want {
				t.Errorf("%s: %+v", members, r)
			}
		}
	})
}

func TestShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := services{"describejobqueues": strings.Replace(aQueue, `"priority"`, `"schedulingPolicyArn":"p","priority"`, 1)}
		if r := outcomes(t, s, planned())["queue"]; r.Outcome != Fail || !strings.Contains(r.Why, "shareIdentifier") {
			t.Errorf("%+v", r)
		}
		p := planned()
		p.Jobs[0].Submit.ShareIdentifier = aws.String("a")
		if r := outcomes(t, s, p)["queue"]; r.Outcome != Pass {
			t.Errorf("%+v", r)
		}
		if r := outcomes(t, services{"describejobqueues": aQueue}, p)["queue"]; r.Outcome != Fail {
			t.Errorf("%+v", r)
		}
	})
}

// TestRegistered checks that a definition that the file only names is queried, and then checked
// like one in the file.
func TestRegistered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := planned()
		p.Jobs[0].Register, p.Jobs[0].Submit.JobDefinition = nil, aws.String("arn:aws:batch:eu-central-1:1:job-definition/train:2")
		found := outcomes(t, services{"describejobdefinitions": `{"jobDefinitions":[{"jobDefinitionName":"train","revision":2,"type":"container","containerProperties":{"image":"1.dkr.ecr.eu-central-1.amazonaws.com/x:1"}}]}`,
			"DescribeImages": `{"imageDetails":[]}`}, p)
		if found["definition"].Outcome != Pass || found["image"].Outcome != Fail {
			t.Errorf("%+v", found)
		}
		p.Jobs[0].Submit.JobDefinition = aws.String("train:3")
		if r := outcomes(t, services{"describejobdefinitions": `{"jobDefinitions":[]}`}, p)["definition"]; r.Outcome != Fail {
			t.Errorf("%+v", r)
		}
	})
}

func TestQuotas(t *testing.T) {
	for instance, want := range map[string]string{"c5.large": "L-1216C47A", "g5.xlarge": "L-DB2E81BA", "gr6.4xlarge": "L-DB2E81BA", "p4d.24xlarge": "L-417A185B", "m7i-flex.large": "L-1216C47A",
		"trn1.2xlarge": "", "inf2.xlarge": "", "x2gd.large": "", "": ""} {
		if _, code := quotaOf(types.CRTypeEc2, instance); code != want {
			t.Errorf("%s: %s, want %s", instance, code, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := services{"describejobqueues": aQueue, "describecomputeenvironments": environment(`"state":"ENABLED","status":"VALID","computeResources":{"type":"SPOT","maxvCpus":8,"instanceTypes":["g5.xlarge"],"subnets":[]}`),
			"GetServiceQuota": `{"Quota":{"Value":0}}`}
		if r := outcomes(t, s, planned())["quota"]; r.Outcome != Fail || !strings.Contains(r.What, "L-3819A6DF") {
			t.Errorf("%+v", r)
		}
		s["GetServiceQuota"] = `{"Quota":{"Value":64}}`
		if r := outcomes(t, s, planned())["quota"]; r.Outcome != Pass {
			t.Errorf("%+v", r)
		}
	})
}
