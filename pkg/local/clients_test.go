//go:build unix

package local

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/empty"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// clientRequest is a request for the programs in testdata/clients.
type clientRequest struct {
	Service   string `json:"service"`
	Operation string `json:"operation"`
	Body      string `json:"body"`
	// Answer asks for the answer itself.
	Answer bool `json:"answer"`
}

// aClient is a client of AWS that is not Go's SDK.
type aClient struct {
	name    string
	command []string
	// refuses matches the requests that the client's own model rejects, so they are not sent.
	refuses *regexp.Regexp
	// faults are members whose null the client writes as what is not JSON.
	faults []string
}

// clients returns the clients that the tests drive, and skips the test without them.
func clients(t *testing.T) []aClient {
	t.Helper()
	python := tool(t, "python3", "-c", "import boto3, awscli.clidriver")
	node := tool(t, "node", "-e", `for (const name of ["batch", "cloudwatch-logs", "ecs"]) require("@aws-sdk/client-" + name)`)
	const program = "testdata/clients/client.py"
	// These are botocore's messages for a value that is not of the member's type, and for a structure or a list that its
	// model does not allow to be empty.
	checks := `Invalid type for parameter \S+, value: None|Missing required parameter in \S+: "\w+"|Invalid length for parameter \S+, value: 0, valid min length: 1`
	return []aClient{
		{"boto3", []string{python, program, "boto3"}, regexp.MustCompile(checks), nil},
		{"boto3 without its checks", []string{python, program, "unchecked"}, regexp.MustCompile(`object is not iterable|has no attribute|NoneType`), nil},
		{"raw JSON", []string{python, program, "raw"}, nil, nil},
		{"AWS CLI", []string{python, program, "cli"}, regexp.MustCompile(checks), nil},
		{"JavaScript", []string{node, "testdata/clients/client.js"}, nil, []string{"UpdateConsumableResourceInput.ClientToken", "SubmitServiceJobInput.ClientToken"}},
	}
}

// send sends requests to the engine at c, one after the other.
func (k aClient) send(t *testing.T, c Connection, requests []clientRequest) []outcome {
	t.Helper()
	all := decodeLines[outcome](t, run(t, k.command, toolEnvironment(t, c), requests))
	if len(all) != len(requests) {
		t.Fatalf("%s: %d outcomes of %d requests", k.name, len(all), len(requests))
	}
	return all
}

// run runs a program of testdata/clients with a list on its standard input.
func run(t *testing.T, command, env []string, in any) []byte {
	t.Helper()
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	var stderr strings.Builder
	cmd.Env, cmd.Stdin, cmd.Stderr = env, bytes.NewReader(text), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, &stderr)
	}
	return out
}

func decodeLines[T any](t *testing.T, text []byte) (all []T) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var one T
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		all = append(all, one)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// service returns the service of an operation, as boto3 names it.
func service(operation string) string {
	switch {
	case ecsOperations[operation]:
		return "ecs"
	case otherInputs[operation] != nil:
		return "logs"
	}
	return "batch"
}

// modelCase is a case from botocore's model of the API.
type modelCase struct {
	Base                                          int
	Member, Path, Value, Structure, With, Without string
	Needed                                        bool
	// Missing are the structures that no base request has; only the last line has them.
	Missing []string
}

// modelCases returns the cases of the base requests, from botocore's model.
func modelCases(t *testing.T, python string) []modelCase {
	t.Helper()
	var bases []clientRequest
	for _, b := range modeltest.BaseRequests {
		bases = append(bases, clientRequest{Service: service(b.Operation), Operation: b.Operation, Body: b.Body})
	}
	all := decodeLines[modelCase](t, run(t, []string{python, "testdata/clients/client.py", "cases"}, nil, bases))
	for _, name := range all[len(all)-1].Missing {
		if notImplemented[name] == "" {
			t.Errorf("no base request has a %s of botocore's model", name)
		}
	}
	return all[:len(all)-1]
}

// TestClientsSendEmptyMembers sends every optional member of every operation, from botocore's model, with each empty
// value that a client can send. The answer is that of the request without the member, except where the table in package
// api has another. What a client rejects itself must be what its model states.
func TestClientsSendEmptyMembers(t *testing.T) {
	all := clients(t)
	cases := modelCases(t, all[0].command[0])
	for _, k := range all {
		t.Run(k.name, func(t *testing.T) {
			w := emptyEngine(t, Options{Check: modeltest.CheckRules})
			c, _ := w.listen()
			query := k.send(t, c, []clientRequest{{Service: "logs", Operation: "StartQuery", Body: modeltest.SomeQuery, Answer: true}})
			w.names["QUERY"] = varying.FindString(string(query[0].Answer))
			var requests []clientRequest
			absent := map[int]int{} // the request without the member, by case
			last := ""
			for i, m := range cases {
				base := modeltest.BaseRequests[m.Base]
				ask := func(body string) {
					requests = append(requests, clientRequest{Service: service(base.Operation), Operation: base.Operation, Body: w.fill(body)})
				}
				if absent[i] = absent[i-1]; i == 0 || m.Without != last || m.Base != cases[i-1].Base {
					last = m.Without
					absent[i] = len(requests)
					ask(m.Without)
				}
				ask(m.With)
			}
			outcomes := k.send(t, c, requests)
			at, unsent, differing := -1, 0, 0
			for i, m := range cases {
				if at++; at == absent[i] {
					at++
				}
				e := emptyCase{operation: modeltest.BaseRequests[m.Base].Operation, member: m.Member, path: m.Path, value: m.Value}
				e.meansAs(m.Structure, m.Needed)
				got := outcomes[at]
				if got.Unsent != "" {
					unsent++
					if k.refuses == nil || !k.refuses.MatchString(got.Unsent) || e.value != "null" && !e.needed && !strings.Contains(got.Unsent, "Invalid length") {
						t.Errorf("%s: %s as %s is not sent: %s", e.operation, e.path, e.value, got.Unsent)
					}
					continue
				}
				want, err := e.want(outcomes[absent[i]], got.Message, modeltest.BaseRequests[m.Base].Answer)
				if slices.Contains(k.faults, m.Member) && m.Value == "null" {
					want = outcome{Status: http.StatusBadRequest, Message: got.Message}
				}
				if e.differs {
					differing++
				}
				if err != nil || !got.same(want) {
					t.Errorf("%s: %s as %s: %d %s, want %d %s %v", e.operation, e.path, e.value, got.Status, got.Message, want.Status, want.Message, err)
				}
			}
			t.Logf("%d cases: %d sent, %d rejected by the client's model, %d with a meaning of their own", len(cases), len(cases)-unsent, unsent, differing)
			if len(empty.Members()) > differing {
				t.Errorf("only %d cases have a meaning of their own; the table has %d members", differing, len(empty.Members()))
			}
		})
	}
}

// identifierForms are the ways in which clients name a job: only an id and an ARN are documented.
var identifierForms = []string{"id", "ARN", "name", "empty"}

// identifierRequests returns the requests that name resources in every form, with no token and an empty one: requests
// that read, and requests that end jobs. running and pending have a job for each form and operation. Each list has as
// many requests for one form as for the next, in the order of the forms.
func (w *baseEngine) identifierRequests(running, pending map[string]string) (reads, ends []clientRequest) {
	ask := func(operation, body string) {
		reads = append(reads, clientRequest{Service: service(operation), Operation: operation, Body: w.ids(body), Answer: true})
	}
	end := func(operation, body string) {
		ends = append(ends, clientRequest{Service: service(operation), Operation: operation, Body: body, Answer: true})
	}
	for _, how := range identifierForms {
		form := func(arn, id, name string) string { return map[string]string{"id": id, "ARN": arn, "name": name}[how] }
		of := func(kind, id string) string { return form(model.ARN(kind, id), id, id) }
		ecs := func(kind, id string) string { return form(model.ECSPrefix+kind+"/"+ecsKinds[kind]+id, id, id) }
		array := form(model.ARN(model.KindJob, w.names["ARRAY"]), w.names["ARRAY"], "job")
		service := form(model.ARN(model.KindServiceJob, w.names["SERVICE"]), w.names["SERVICE"], "train")
		group := form("arn:aws:logs:"+model.Region+":"+model.Account+":log-group:made", "made", "made")
		queue, cluster := of(model.KindQueue, "default"), ecs(kindCluster, "AWSBatch-local")
		for _, token := range []string{"", `, "nextToken": ""`} {
			ask("ListJobs", `{"arrayJobId": "`+array+`", "jobStatus": "SUCCEEDED"`+token+`}`)
			ask("ListJobs", `{"jobQueue": "`+queue+`", "jobStatus": "SUCCEEDED"`+token+`}`)
			ask("ListJobsByConsumableResource", `{"consumableResource": "`+of(model.KindConsumable, "licence")+`"`+token+`}`)
			ask("DescribeJobQueues", `{"jobQueues": ["`+queue+`"]`+token+`}`)
			ask("DescribeComputeEnvironments", `{"computeEnvironments": ["`+of(model.KindEnvironment, "spare")+`"]`+token+`}`)
			ask("DescribeJobDefinitions", `{"jobDefinitions": ["`+form(model.ARN(model.KindDefinition, "work:1"), "work:1", "work")+`"]`+token+`}`)
			ask("ListSchedulingPolicies", `{"maxResults": 10`+token+`}`)
			ask("ListConsumableResources", `{"maxResults": 10`+token+`}`)
			ask("ListServiceJobs", `{"jobQueue": "`+of(model.KindQueue, "sage")+`", "jobStatus": "FAILED"`+token+`}`)
			ask("ListQuotaShares", `{"jobQueue": "`+of(model.KindQueue, "quotas")+`"`+token+`}`)
			ask("DescribeServiceEnvironments", `{"serviceEnvironments": ["`+of(model.KindServiceEnvironment, "training")+`"]`+token+`}`)
			ask("ListContainerInstances", `{"cluster": "`+cluster+`"`+token+`}`)
			ask("ListTasks", `{"cluster": "`+cluster+`", "family": "nodes"`+token+`}`)
			ask("DescribeLogStreams", `{"logGroupIdentifier": "`+group+`"`+token+`}`)
			ask("FilterLogEvents", `{"logGroupIdentifier": "`+group+`"`+token+`}`)
		}
		ask("DescribeJobs", `{"jobs": ["`+array+`"]}`)
		ask("DescribeServiceJob", `{"jobId": "`+service+`"}`)
		ask("DescribeClusters", `{"clusters": ["`+cluster+`"]}`)
		ask("DescribeContainerInstances", `{"cluster": "AWSBatch-local", "containerInstances": ["`+ecs("container-instance", "local")+`"]}`)
		ask("DescribeTasks", `{"cluster": "AWSBatch-local", "tasks": ["`+ecs("task", w.names["TASK"])+`"]}`)
		ask("DescribeTaskDefinition", `{"taskDefinition": "`+form(model.ECSPrefix+kindTaskDefinition+"/work:1", "work:1", "work")+`"}`)
		ask("GetLogEvents", `{"logGroupIdentifier": "`+group+`", "logStreamName": "s"}`)
		ask("GetLogGroupFields", `{"logGroupIdentifier": "`+group+`"}`)
		ask("StartQuery", `{"logGroupIdentifiers": ["`+group+`"], "startTime": 1, "endTime": 2, "queryString": "fields @message"}`)
		for _, operation := range []string{"CancelJob", "TerminateJob", "TerminateServiceJob"} {
			id, kind, name := pending[operation+how], model.KindJob, "waits"
			if operation == "TerminateServiceJob" {
				kind, name = model.KindServiceJob, "train"
			}
			end(operation, `{"jobId": "`+form(model.ARN(kind, id), id, name)+`", "reason": "by `+how+`"}`)
			end("DescribeJobs", `{"jobs": ["`+id+`"]}`)
		}
		id := running[how]
		end("TerminateJob", `{"jobId": "`+form(model.ARN(model.KindJob, id), id, "runs")+`", "reason": "by `+how+`"}`)
	}
	return reads, ends
}

// identifierEngine returns an engine with a running job for each documented form, and a pending job for each form and
// each operation that ends jobs.
func identifierEngine(t *testing.T) (w *baseEngine, running, pending map[string]string) {
	w = emptyEngine(t, Options{})
	running, pending = map[string]string{}, map[string]string{}
	first := w.submit("work", modeltest.Words("1h"))
	for _, how := range identifierForms {
		running[how] = first
		if how == "id" || how == "ARN" {
			running[how] = w.submit("work", modeltest.Words("1h"))
		}
		pending["TerminateServiceJob"+how] = w.serve("sage", `{"ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 100}}`)
		for _, operation := range []string{"CancelJob", "TerminateJob"} {
			pending[operation+how] = w.submit("work", modeltest.Words("1h"), func(in *awsbatch.SubmitJobInput) {
				in.DependsOn = []types.JobDependency{{JobId: &first}}
			})
		}
	}
	for _, id := range running {
		w.await(id, types.JobStatusRunning)
	}
	return w, running, pending
}

// await returns when a job has a status.
func (w *testEngine) await(id string, status types.JobStatus) {
	w.t.Helper()
	changed, cancel := w.engine.subscribers.subscribe()
	defer cancel()
	for w.job(id).Status != status {
		select {
		case <-changed:
		case <-w.t.Context().Done():
			w.t.Fatalf("job %s: %s, want %s", id, w.job(id).Status, status)
		}
	}
}

// TestClientsIdentify names jobs, queues and other resources in every form, with no token and an empty one. Each client
// has the outcomes of a plain request, and an ARN does what an id or a name does.
func TestClientsIdentify(t *testing.T) {
	all := clients(t)
	w, running, pending := identifierEngine(t)
	var plain []outcome
	reads, ends := w.identifierRequests(running, pending)
	for _, requests := range [][]clientRequest{reads, ends} {
		from := len(plain)
		for _, r := range requests {
			status, answer := w.send(r.Operation, r.Body)
			o := outcome{Status: status, Answer: json.RawMessage(answer)}
			if status != http.StatusOK {
				if err := json.Unmarshal([]byte(answer), &o); err != nil {
					t.Fatalf("%v: %s", err, answer)
				}
			}
			plain = append(plain, o)
		}
		each := len(requests) / len(identifierForms)
		for i, r := range requests[:each] {
			if id, arn := plain[from+i], plain[from+each+i]; plainText(t, id) != plainText(t, arn) {
				t.Errorf("%s %s:\n by ARN: %s\n by id: %s", r.Operation, r.Body, plainText(t, arn), plainText(t, id))
			}
		}
	}
	w.ended(running, pending)
	for _, k := range all {
		t.Run(k.name, func(t *testing.T) {
			w, running, pending := identifierEngine(t)
			c, _ := w.listen()
			requests := slices.Concat(w.identifierRequests(running, pending))
			for i, got := range k.send(t, c, requests) {
				if requests[i].Service == "logs" && strings.Contains(got.Unsent, "value: 0, valid min length: 1") {
					continue // the model of CloudWatch Logs does not allow an empty text there
				}
				if text, want := plainText(t, got), plainText(t, plain[i]); text != want {
					t.Errorf("%s %s:\n%s\nwant\n%s", requests[i].Operation, requests[i].Body, text, want)
				}
			}
			w.ended(running, pending)
		})
	}
}

// ended checks that the requests ended the jobs that they named by id and by ARN, and no others.
func (w *baseEngine) ended(running, pending map[string]string) {
	w.t.Helper()
	for _, how := range identifierForms {
		ends := how == "id" || how == "ARN"
		for _, operation := range []string{"CancelJob", "TerminateJob"} {
			id := pending[operation+how]
			if ends && operation == "TerminateJob" {
				w.want(id, types.JobStatusFailed, "by "+how)
				continue
			}
			// A PENDING job is cancelled after its dependencies have ended.
			w.want(id, types.JobStatusPending, "")
			if cancelled := aws.ToBool(w.job(id).IsCancelled); cancelled != (ends && operation == "CancelJob") {
				w.t.Errorf("%s by %s: isCancelled is %t", operation, how, cancelled)
			}
		}
		if d := w.service(pending["TerminateServiceJob"+how]); (d.Status == types.ServiceJobStatusFailed) != ends || ends && aws.ToString(d.StatusReason) != "by "+how {
			w.t.Errorf("service job by %s: %s %s", how, d.Status, aws.ToString(d.StatusReason))
		}
		if ends {
			w.await(running[how], types.JobStatusFailed)
			w.want(running[how], types.JobStatusFailed, "by "+how)
		} else {
			w.want(running[how], types.JobStatusRunning, "")
		}
	}
}

// vary are the parts of answers that differ between engines and clients: times, which clients write in several forms,
// ids, and how a reason was spelled. The CLI leaves out tokens.
var vary = regexp.MustCompile(`"\w+At":("[^"]*"|[0-9.]+)|\b\d{13}\b|by (id|ARN)`)

// plainText returns an outcome as text that does not depend on the client.
func plainText(t *testing.T, o outcome) string {
	t.Helper()
	text := fmt.Sprintln(o.Status, o.Message, o.Unsent)
	if o.Status == http.StatusOK {
		var answer map[string]any
		if err := json.Unmarshal(o.Answer, &answer); err != nil {
			t.Fatalf("%v: %s", err, o.Answer)
		}
		maps.DeleteFunc(answer, func(name string, v any) bool { return name == "nextToken" || v == nil })
		sorted, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		text += string(sorted)
	}
	return vary.ReplaceAllString(varying.ReplaceAllString(text, ""), "")
}
