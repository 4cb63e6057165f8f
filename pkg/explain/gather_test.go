package explain

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// services answers operations with texts, and rejects unknown ones.
type services map[string]string

func (s services) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	operation := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	refusal := `{"__type":"AccessDeniedException","message":"User is not authorized"}`
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		_, operation, _ = strings.Cut(target, ".")
	} else if form, err := url.ParseQuery(string(body)); err == nil && form.Get("Action") != "" {
		operation = form.Get("Action")
		refusal = `<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>`
	}
	answer := &http.Response{StatusCode: 200, Header: http.Header{}, Request: r}
	text, known := s[operation]
	if !known {
		answer.StatusCode, text = 403, refusal
		answer.Header.Set("X-Amzn-Errortype", "AccessDeniedException")
	}
	answer.Body = io.NopCloser(strings.NewReader(text))
	return answer, nil
}

func (s services) gatherer() *Gatherer {
	return NewGatherer(aws.Config{Region: "eu-central-1", HTTPClient: s, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}, "aws 1 eu-central-1", false)
}

const testJob = "3f2a91c0-1111-4222-8333-444455556666"

// waiting returns an account in which a job is RUNNABLE on a compute environment with an instance
// that has run for 20 minutes.
func waiting() services {
	now := time.Now()
	ago := func(d time.Duration) string { return now.Add(-d).UTC().Format(time.RFC3339) }
	return services{
		"describejobs": fmt.Sprintf(`{"jobs":[{"jobId":%q,"jobName":"train","jobQueue":"q","jobDefinition":"d","status":"RUNNABLE","createdAt":%d,
			"container":{"image":"x","environment":[{"name":"DB_PASSWORD","value":"hunter2-Xyz9"}],"resourceRequirements":[{"type":"VCPU","value":"4"},{"type":"MEMORY","value":"8192"}]}}]}`, testJob, now.Add(-25*time.Minute).UnixMilli()),
		"describejobqueues": `{"jobQueues":[{"jobQueueArn":"arn:q","jobQueueName":"q","state":"ENABLED","status":"VALID","priority":1,"computeEnvironmentOrder":[{"order":1,"computeEnvironment":"arn:ce/g5"}]}]}`,
		"describecomputeenvironments": `{"computeEnvironments":[{"computeEnvironmentArn":"arn:ce/g5","computeEnvironmentName":"g5","uuid":"u-1","state":"ENABLED","status":"VALID","ecsClusterArn":"arn:aws:ecs:eu-central-1:1:cluster/g5_Batch",
			"computeResources":{"type":"EC2","maxvCpus":64,"desiredvCpus":8,"instanceTypes":["g5.2xlarge"],"subnets":["s"]}}]}`,
		"getjobqueuesnapshot": `{"frontOfQueue":{"jobs":[{"jobArn":"arn:aws:batch:eu-central-1:1:job/` + testJob + `","earliestTimeAtPosition":1}],"lastUpdatedAt":1}}`,
		"DescribeAutoScalingGroups": `<R><DescribeAutoScalingGroupsResult><AutoScalingGroups>
			<member><AutoScalingGroupName>g5-asg-7</AutoScalingGroupName><DesiredCapacity>1</DesiredCapacity><Instances><member><InstanceId>i-1</InstanceId></member></Instances></member>
			<member><AutoScalingGroupName>g5x-asg-7</AutoScalingGroupName><Instances><member><InstanceId>i-9</InstanceId></member></Instances></member>
			</AutoScalingGroups></DescribeAutoScalingGroupsResult></R>`,
		"DescribeScalingActivities": `<R><DescribeScalingActivitiesResult><Activities><member><StatusCode>Successful</StatusCode><Description>Launching a new EC2 instance: i-1</Description><StartTime>` + ago(20*time.Minute) + `</StartTime></member></Activities></DescribeScalingActivitiesResult></R>`,
		"DescribeInstances":         `<R><reservationSet><item><instancesSet><item><instanceId>i-1</instanceId><instanceType>g5.2xlarge</instanceType><instanceState><name>running</name></instanceState><launchTime>` + ago(20*time.Minute) + `</launchTime></item></instancesSet></item></reservationSet></R>`,
		"ListContainerInstances":    `{"containerInstanceArns":[]}`,
	}
}

func gathered(t *testing.T, s services) *Bundle {
	t.Helper()
	b, err := s.gatherer().Gather(t.Context(), testJob)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := gathered(t, waiting())
		if len(b.NotGathered) > 0 || len(b.Groups) != 1 || len(b.Instances) != 1 || len(b.Clusters) != 1 || b.Front == nil {
			t.Errorf("%+v", b)
		}
		if v := str(b.Subject.Job.Container.Environment[0].Value); v != "************" {
			t.Errorf("a password was kept: %q", v)
		}
		if a := Explain(b); a.Verdict == nil || a.Verdict.Cause != "agent-not-registered" || !strings.Contains(a.Verdict.Fix.Platform, "systemctl start ecs") {
			t.Errorf("%+v", a)
		}
	})
}

// TestGatherNames gathers jobs with the names that submit gives them.
func TestGatherNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := waiting()
		s["describejobs"] = strings.Replace(s["describejobs"], `"train"`, `"train-h4vjdqarcfbcfaztircfkvlgmy"`, 1)
		if a := Explain(gathered(t, s)); a.Job != "train" {
			t.Errorf("%+v", a)
		}
	})
}

// TestGatherDenied removes one permission after the other.
func TestGatherDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for operation, want := range map[string]string{
			"DescribeAutoScalingGroups": evidenceScaling, "DescribeScalingActivities": evidenceScaling, "DescribeInstances": evidenceInstances,
			"ListContainerInstances": evidenceCluster, "getjobqueuesnapshot": evidenceSnapshot, "describecomputeenvironments": evidenceEnvironments,
			"describejobqueues": evidenceQueue,
		} {
			s := waiting()
			delete(s, operation)
			b := gathered(t, s)
			if !slices.ContainsFunc(b.NotGathered, func(g Gap) bool { return g.What == want && g.Denied && strings.HasPrefix(g.Why, "not allowed: ") }) {
				t.Errorf("%s: %+v", operation, b.NotGathered)
			}
			if a := Explain(b); a.Verdict != nil && a.Verdict.Cause == "agent-not-registered" && want != evidenceSnapshot {
				t.Errorf("%s: a verdict without its evidence: %+v", operation, a)
			}
		}
	})
}

// failedWith returns an account in which a job has failed for a reason.
func failedWith(statusReason, reason string) services {
	return services{"describejobs": fmt.Sprintf(`{"jobs":[{"jobId":%q,"jobName":"train","jobQueue":"q","jobDefinition":"d","status":"FAILED","createdAt":1,"stoppedAt":5,"statusReason":%q,
		"container":{"image":"111122223333.dkr.ecr.eu-central-1.amazonaws.com/train:1","reason":%q,"jobRoleArn":"arn:aws:iam::1:role/train","logStreamName":"s"},"attempts":[{"statusReason":%[2]q,"container":{"reason":%[3]q,"logStreamName":"s"}}]}]}`,
		testJob, statusReason, reason),
		"GetLogEvents": `{"events":[{"timestamp":4,"message":"the last line\n"}]}`}
}

func TestGatherFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := failedWith("Task failed to start", "CannotPullContainerError: pull access denied for train, repository does not exist or may require 'docker login'")
		s["DescribeImages"] = `{"imageDetails":[]}`
		if a := Explain(gathered(t, s)); a.Verdict == nil || a.Verdict.Cause != "image-not-found" {
			t.Errorf("%+v", a)
		}
		delete(s, "DescribeImages")
		b := gathered(t, s)
		if a := Explain(b); a.Verdict == nil || a.Verdict.Cause != "image-no-access" || len(b.NotGathered) != 1 {
			t.Errorf("ECR may not be asked: %+v, %+v", a, b.NotGathered)
		}

		s = failedWith("ECS was unable to assume the role 'arn:aws:iam::1:role/train'", "")
		s["GetRole"] = `<R><GetRoleResult><Role><AssumeRolePolicyDocument>%7B%22Statement%22%3A%5B%5D%7D</AssumeRolePolicyDocument></Role></GetRoleResult></R>`
		if a := Explain(gathered(t, s)); a.Verdict == nil || !strings.Contains(a.Verdict.Summary, "trust policy of role train") {
			t.Errorf("%+v", a)
		}

		s = failedWith("Host EC2 (instance i-0abc) terminated.", "")
		s["DescribeInstances"] = `<R><reservationSet><item><instancesSet><item><instanceId>i-0abc</instanceId><instanceState><name>terminated</name></instanceState><stateReason><code>Server.SpotInstanceTermination</code><message>Spot instance termination</message></stateReason><spotInstanceRequestId>sir-1</spotInstanceRequestId></item></instancesSet></item></reservationSet></R>`
		s["DescribeSpotInstanceRequests"] = `<R><spotInstanceRequestSet><item><spotInstanceRequestId>sir-1</spotInstanceRequestId><instanceId>i-0abc</instanceId><status><code>instance-terminated-no-capacity</code><message>no capacity</message><updateTime>2026-01-01T00:00:00.000Z</updateTime></status></item></spotInstanceRequestSet></R>`
		a := Explain(gathered(t, s))
		if a.Verdict == nil || a.Verdict.Cause != "spot-reclaim" || a.Verdict.Confidence != High || !slices.ContainsFunc(a.Verdict.Evidence, func(e Evidence) bool { return strings.Contains(e.Text, "no-capacity") }) {
			t.Errorf("%+v", a.Verdict)
		}

		s = failedWith("Essential container in task exited", "")
		delete(s, "GetLogEvents")
		if b := gathered(t, s); len(b.NotGathered) != 1 || b.NotGathered[0].What != evidenceLog {
			t.Errorf("the log may not be read: %+v", b.NotGathered)
		}
	})
}
