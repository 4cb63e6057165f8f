package local

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/apimodel"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// keptAnswer is an answer of the engine, decoded.
type keptAnswer struct {
	operation string
	value     any
}

// answeringEngine is an engine that keeps its answers.
type answeringEngine struct {
	*baseEngine
	answers []keptAnswer
}

// ask sends a request, which must succeed, and keeps the answer.
func (w *answeringEngine) ask(operation, body string) any {
	w.t.Helper()
	status, text := w.send(operation, w.fill(body))
	if status != http.StatusOK {
		w.t.Fatalf("%s %s: %d %s", operation, body, status, text)
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		w.t.Fatal(err)
	}
	w.answers = append(w.answers, keptAnswer{operation, value})
	return value
}

// askEverything returns an engine with jobs in all states, and with its answers to every kind of request. It must be
// called in a synctest bubble.
func askEverything(t *testing.T) *answeringEngine {
	t.Helper()
	w := &answeringEngine{baseEngine: emptyEngine(t, Options{VCPUs: 8})}
	for _, base := range modeltest.BaseRequests {
		if base.Answer == "" {
			w.ask(base.Operation, base.Body)
		}
	}
	w.queueOn("serverless", types.CRTypeFargate, 4)
	w.register("fargate", "1", "2048", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.PlatformCapabilities = []types.PlatformCapability{"FARGATE"}
		in.ContainerProperties.ExecutionRoleArn = aws.String("arn:aws:iam::123456789012:role/r")
	})
	w.register("logging", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.ContainerProperties.LogConfiguration = &types.LogConfiguration{LogDriver: "awslogs", Options: map[string]string{"awslogs-group": "own"}}
	})
	w.register("licensed", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.ConsumableResourceProperties = &types.ConsumableResourceProperties{ConsumableResourceList: []types.ConsumableResourceRequirement{
			{ConsumableResource: aws.String("licence"), Quantity: aws.Int64(1)}}}
	})
	w.submit("logging")
	w.submit("licensed")
	w.submit("fargate", modeltest.To("serverless"))
	w.submit("work", modeltest.Words("fail"), func(in *awsbatch.SubmitJobInput) { in.RetryStrategy = &types.RetryStrategy{Attempts: aws.Int32(2)} })
	w.submit("work", modeltest.Words("fail"), modeltest.Array(2))
	time.Sleep(time.Minute)
	synctest.Wait()
	w.idle()
	running := w.submit("work", modeltest.Words("1h"), modeltest.Array(6))
	w.submit("fargate", modeltest.To("serverless"), modeltest.Words("1h"))
	synctest.Wait()
	w.submit("nodes", func(in *awsbatch.SubmitJobInput) {
		in.NodeOverrides = &types.NodeOverrides{NodePropertyOverrides: []types.NodePropertyOverride{{TargetNodes: aws.String("0:"),
			ContainerOverrides: &types.ContainerOverrides{Command: []string{"1h"}}}}}
	}) // waits for 2 vCPUs
	w.submit("work", modeltest.Words("true"), modeltest.Depends(running, "")) // PENDING
	w.cancel(w.submit("work", modeltest.Words("true"), modeltest.Depends(running, "")), "unwanted")
	synctest.Wait()
	w.askAboutAll()
	return w
}

// askAboutAll lists and describes everything that the engine has.
func (w *answeringEngine) askAboutAll() {
	w.t.Helper()
	var all []string
	for _, queue := range []string{"default", "fair", "other", "serverless"} {
		for _, status := range types.JobStatus("").Values() {
			list := w.ask("ListJobs", fmt.Sprintf(`{"jobQueue": %q, "jobStatus": %q}`, queue, status)).(map[string]any)
			for _, j := range list["jobSummaryList"].([]any) {
				all = append(all, j.(map[string]any)["jobId"].(string))
			}
		}
		w.ask("ListJobs", fmt.Sprintf(`{"jobQueue": %q, "filters": [{"name": "JOB_NAME", "values": ["*"]}]}`, queue))
		w.ask("GetJobQueueSnapshot", fmt.Sprintf(`{"jobQueue": %q}`, queue))
	}
	for _, id := range all {
		j := w.ask("DescribeJobs", fmt.Sprintf(`{"jobs": [%q]}`, id)).(map[string]any)["jobs"].([]any)[0].(map[string]any)
		parts, mark, member := 0., ":", "arrayJobId"
		if array, ok := j["arrayProperties"].(map[string]any); ok {
			parts, _ = array["size"].(float64)
		} else if nodes, ok := j["nodeProperties"].(map[string]any); ok {
			parts, mark, member = nodes["numNodes"].(float64), "#", "multiNodeJobId"
		}
		for i := range int(parts) {
			w.ask("DescribeJobs", fmt.Sprintf(`{"jobs": ["%s%s%d"]}`, id, mark, i))
		}
		for _, status := range types.JobStatus("").Values() {
			if parts > 0 {
				w.ask("ListJobs", fmt.Sprintf(`{%q: %q, "jobStatus": %q}`, member, id, status))
			}
		}
	}
	for _, operation := range []string{"DescribeComputeEnvironments", "DescribeJobDefinitions", "DescribeJobQueues", "ListConsumableResources", "ListSchedulingPolicies", "ListClusters"} {
		w.ask(operation, `{}`)
	}
	for _, name := range []string{"even", "spare"} {
		w.ask("DescribeSchedulingPolicies", fmt.Sprintf(`{"arns": [%q]}`, model.ARN(model.KindPolicy, name)))
	}
	w.ask("DescribeConsumableResource", `{"consumableResource": "licence"}`)
	w.ask("ListJobsByConsumableResource", `{"consumableResource": "licence"}`)
}

// TestRequiredMembers checks that answers have every member that the API model requires. The exception is startedAt of
// a job that has not started. The AWS CLI's example of DescribeJobs has a SUBMITTED job without it. The user guide's
// example of a job state change event, which "resembles the JobDetail object", has a RUNNABLE one.
func TestRequiredMembers(t *testing.T) {
	required := requiredMembers(t)
	for structure, members := range apimodel.Get().Optional {
		for _, m := range members {
			delete(required, structure+"."+m)
		}
	}
	client, checked := reflect.TypeFor[*awsbatch.Client](), map[string]int{}
	started := map[bool]int{}
	var check func(typ reflect.Type, value any, path string)
	check = func(typ reflect.Type, value any, path string) {
		for typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		switch v := value.(type) {
		case []any:
			for i, e := range v {
				check(typ.Elem(), e, fmt.Sprintf("%s[%d]", path, i))
			}
		case map[string]any:
			if typ.Kind() == reflect.Map {
				for name, e := range v {
					check(typ.Elem(), e, path+"."+name)
				}
				return
			}
			for i := range typ.NumField() {
				f := typ.Field(i)
				name := typ.Name() + "." + f.Name
				member, has := v[strings.ToLower(f.Name[:1])+f.Name[1:]]
				switch {
				case name == "JobDetail.StartedAt":
					started[has]++
					if has != hasStarted(v) {
						t.Errorf("%s %v: startedAt is there: %v", v["status"], v["jobId"], has)
					}
				case name == "DescribeServiceJobOutput.StartedAt":
					if has != hasStarted(v) {
						t.Errorf("service job %v: startedAt is there: %v", v["jobId"], has)
					}
				case required[name] && !has:
					t.Errorf("%s has no %s", path, f.Name)
				}
				if required[name] {
					checked[name]++
				}
				if has {
					check(f.Type, member, path+"."+f.Name)
				}
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		for _, a := range askEverything(t).answers {
			if m, ok := client.MethodByName(a.operation); ok {
				check(m.Type.Out(0), a.value, a.operation)
			}
		}
	})
	if started[true] == 0 || started[false] == 0 {
		t.Errorf("%d jobs have started, %d have not", started[true], started[false])
	}
	for name := range required {
		structure, _, _ := strings.Cut(name, ".")
		if strings.HasSuffix(structure, "Output") && checked[name] == 0 {
			t.Errorf("no answer has a %s", structure)
		}
	}
}

// hasStarted reports whether a described job has been RUNNING. The parent of an array never is.
func hasStarted(job map[string]any) bool {
	if array, ok := job["arrayProperties"].(map[string]any); ok && array["size"] != nil {
		return false
	}
	attempts, _ := job["attempts"].([]any)
	return job["status"] == "RUNNING" || slices.ContainsFunc(attempts, func(a any) bool { return a.(map[string]any)["startedAt"] != nil })
}

// TestAnswersLeadSomewhere looks for the ARNs, ids and names in all answers of the engine, and passes each to the
// operations that take it. What is described exists.
func TestAnswersLeadSomewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := askEverything(t)
		found := map[string]map[string]bool{} // by kind
		note := func(kind, text string) {
			if found[kind] == nil {
				found[kind] = map[string]bool{}
			}
			found[kind][text] = true
		}
		service := false
		var walk func(member string, value any)
		walk = func(member string, value any) {
			switch v := value.(type) {
			case []any:
				for _, e := range v {
					walk(member, e)
				}
			case map[string]any:
				for name, e := range v {
					walk(name, e)
				}
			case string:
				if member == "jobId" && service {
					member = "service " + member
				}
				if m := ownARN.FindStringSubmatch(v); m != nil && strings.Contains(v, "/quota-share/") {
					note("quota-share ARN", v)
				} else if m != nil && m[1] != "training-job" { // the engine is not SageMaker
					note(m[1]+" ARN", v)
				} else if namedBy[member] != "" || member == "logStreamName" {
					note(member, v)
				}
			}
		}
		for _, a := range w.answers {
			service = strings.Contains(a.operation, "ServiceJob")
			walk("", a.value)
		}
		for kind, request := range reachedBy {
			if len(found[kind]) == 0 {
				t.Errorf("no answer has a %s", kind)
			}
			for text := range found[kind] {
				for one := range strings.SplitSeq(request, "; ") {
					if !strings.HasSuffix(kind, "log-group ARN") || strings.Contains(text, ":log-stream:") {
						w.reach(kind, text, one)
					} else {
						w.reach(kind, text, `DescribeLogGroups {}`)
					}
				}
			}
		}
		if len(found["logStreamName"]) == 0 {
			t.Error("no answer has a log stream")
		}
		for name := range found["logStreamName"] {
			w.readStream(name)
		}
		delete(found, "logStreamName")
		for kind, all := range found {
			if request := namedBy[kind]; request != "" {
				for text := range all {
					w.reach(kind, text, request)
				}
			} else if reachedBy[kind] == "" {
				t.Errorf("no operation takes a %s: %v", kind, all)
			}
		}
		for kind := range namedBy {
			if len(found[kind]) == 0 {
				t.Errorf("no answer has a %s", kind)
			}
		}
	})
}

// reach sends a request with an identifier, whose answer must have it.
func (w *answeringEngine) reach(kind, text, request string) {
	w.t.Helper()
	operation, body, _ := strings.Cut(request, " ")
	if _, rest, ok := strings.Cut(text, "/"); ok { // an ARN in ECS has its cluster
		cluster, _, _ := strings.Cut(rest, "/")
		body = strings.ReplaceAll(body, "CLUSTER", cluster)
	}
	group, stream, _ := strings.Cut(text, ":log-stream:")
	body = strings.NewReplacer("ID", text, "GROUP", strings.TrimSuffix(group, ":*"), "STREAM", stream).Replace(body)
	status, got := w.send(operation, body)
	if status != http.StatusOK || !strings.Contains(got, text) {
		w.t.Errorf("%s %s: %s answers %d %.300s", kind, text, operation, status, got)
	}
}

// ownARN matches an ARN of the engine.
var ownARN = regexp.MustCompile(`^arn:aws:[a-z]+:` + model.Region + ":" + model.Account + `:([a-z-]+)[/:].`)

// readStream reads a log stream, which must be in exactly one log group.
func (w *answeringEngine) readStream(name string) {
	w.t.Helper()
	_, text := w.send("DescribeLogGroups", `{}`)
	var groups struct {
		LogGroups []struct{ LogGroupName string }
	}
	if err := json.Unmarshal([]byte(text), &groups); err != nil {
		w.t.Fatal(err)
	}
	read := 0
	for _, g := range groups.LogGroups {
		if status, _ := w.send("GetLogEvents", fmt.Sprintf(`{"logGroupName": %q, "logStreamName": %q}`, g.LogGroupName, name)); status == http.StatusOK {
			read++
		}
	}
	if read != 1 {
		w.t.Errorf("log stream %s is in %d log groups", name, read)
	}
}

// reachedBy are the requests for each kind of ARN in answers. ID is the ARN, CLUSTER the cluster that it has, GROUP the
// ARN of the log group of a stream.
var reachedBy = map[string]string{
	"job ARN":                 `DescribeJobs {"jobs": ["ID"]}`,
	"job-queue ARN":           `DescribeJobQueues {"jobQueues": ["ID"]}`,
	"job-definition ARN":      `DescribeJobDefinitions {"jobDefinitions": ["ID"]}`,
	"compute-environment ARN": `DescribeComputeEnvironments {"computeEnvironments": ["ID"]}`,
	"scheduling-policy ARN":   `DescribeSchedulingPolicies {"arns": ["ID"]}; ListSchedulingPolicies {}`,
	"consumable-resource ARN": `DescribeConsumableResource {"consumableResource": "ID"}; ListConsumableResources {}`,
	"service-job ARN":         `DescribeServiceJob {"jobId": "ID"}`,
	"service-environment ARN": `DescribeServiceEnvironments {"serviceEnvironments": ["ID"]}`,
	"quota-share ARN":         `DescribeQuotaShare {"quotaShareArn": "ID"}; ListQuotaShares {"jobQueue": "quotas"}`,
	"cluster ARN":             `DescribeClusters {"clusters": ["ID"]}; ListClusters {}`,
	"task ARN":                `DescribeTasks {"cluster": "CLUSTER", "tasks": ["ID"]}`,
	"container-instance ARN":  `DescribeContainerInstances {"cluster": "CLUSTER", "containerInstances": ["ID"]}; ListContainerInstances {"cluster": "CLUSTER"}`,
	"task-definition ARN":     `DescribeTaskDefinition {"taskDefinition": "ID"}`,
	"log-group ARN":           `DescribeLogStreams {"logGroupIdentifier": "GROUP", "logStreamNamePrefix": "STREAM"}`,
}

// namedBy are the requests for each member that has an id or a name.
var namedBy = map[string]string{
	"jobId":                  `DescribeJobs {"jobs": ["ID"]}`,
	"service jobId":          `DescribeServiceJob {"jobId": "ID"}`,
	"serviceEnvironmentName": `DescribeServiceEnvironments {"serviceEnvironments": ["ID"]}`,
	"jobDefinitionName":      `DescribeJobDefinitions {"jobDefinitionName": "ID"}`,
	"jobQueueName":           `DescribeJobQueues {"jobQueues": ["ID"]}`,
	"computeEnvironmentName": `DescribeComputeEnvironments {"computeEnvironments": ["ID"]}`,
	"consumableResourceName": `DescribeConsumableResource {"consumableResource": "ID"}`,
	"consumableResource":     `DescribeConsumableResource {"consumableResource": "ID"}`,
}
