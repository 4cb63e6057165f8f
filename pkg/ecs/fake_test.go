package ecs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/batchctl/batchctl/pkg/wire"
)

// fault is what becomes of one call.
type fault int

const (
	none       fault = iota
	lostBefore       // the request does not arrive
	lostAfter        // the request arrives, and the answer does not
	throttled
	broken  // HTTP 500, and nothing was done
	refused // a clear no
)

// account is ECS and CloudWatch Logs as far as a client sees them, in the process: an
// HTTP client that answers on its own.
type account struct {
	mu sync.Mutex
	// faults holds what becomes of the next calls of an operation.
	faults map[string][]fault
	calls  []string
	// revisions are the registered definitions, and tasks what runs, by token.
	revisions []map[string]any
	tasks     map[string]*types.Task
	// failures is what RunTask answers in place of a task.
	failures []types.Failure
	// turns are called one by one, before each DescribeTasks, to move the task on.
	turns []func(*types.Task)
	// events are the lines of the log streams.
	events map[string][]string
}

func newAccount() *account {
	return &account{faults: map[string][]fault{}, tasks: map[string]*types.Task{}, events: map[string][]string{}}
}

func (a *account) config() aws.Config {
	return aws.Config{Region: "us-east-1", HTTPClient: a, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), RetryMaxAttempts: 1}
}

func (a *account) client() *Client { return New(a.config()) }

func (a *account) Do(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	target := r.Header.Get("X-Amz-Target")
	operation := target[strings.LastIndexByte(target, '.')+1:]
	a.calls = append(a.calls, operation)
	var f fault
	if list := a.faults[operation]; len(list) > 0 {
		f, a.faults[operation] = list[0], list[1:]
	}
	switch f {
	case lostBefore:
		return nil, io.ErrUnexpectedEOF
	case throttled:
		return answered(400, `{"__type":"ThrottlingException","message":"Rate exceeded"}`), nil
	case broken:
		return answered(500, `{"__type":"ServerException","message":"Service Unavailable."}`), nil
	case refused:
		return answered(400, `{"__type":"InvalidParameterException","message":"no"}`), nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	status, out := a.serve(operation, body)
	if f == lostAfter {
		return nil, io.ErrUnexpectedEOF
	}
	text, err := json.Marshal(out)
	return answered(status, string(text)), err
}

func answered(status int, body string) *http.Response {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.WriteHeader(status)
	_, _ = w.WriteString(body)
	return w.Result()
}

// written is a shape of ECS on the wire.
func written(shape any) json.RawMessage {
	text, err := wire.Marshal(shape)
	if err != nil {
		panic(err)
	}
	return text
}

func no(code, message string) (int, any) {
	return 400, map[string]string{"__type": code, "message": message}
}

func (a *account) serve(operation string, body []byte) (int, any) {
	var in struct {
		Family, TaskDefinition, ClientToken, Cluster, Task, Reason string
		LogStreamName, NextToken                                   string
		Tasks                                                      []string
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return no("SerializationException", err.Error())
	}
	switch operation {
	case "RegisterTaskDefinition":
		return a.register(body)
	case "DescribeTaskDefinition":
		return a.definition(in.TaskDefinition)
	case "RunTask":
		return a.run(in.TaskDefinition, in.ClientToken, in.Cluster)
	case "DescribeTasks":
		return a.describe(in.Tasks[0])
	case "StopTask":
		s, err := a.find(in.Task)
		if err != nil {
			return no("InvalidParameterException", err.Error())
		}
		s.LastStatus, s.StopCode, s.StoppedReason = aws.String("STOPPED"), types.TaskStopCodeUserInitiated, &in.Reason
		return 200, map[string]any{"task": written(s)}
	case "GetLogEvents":
		return a.log(in.LogStreamName, in.NextToken)
	}
	return no("UnknownOperationException", operation)
}

func (a *account) register(body []byte) (int, any) {
	var d map[string]any
	if err := json.Unmarshal(body, &d); err != nil {
		return no("SerializationException", err.Error())
	}
	revision := 1 + len(a.family(d["family"]))
	d["revision"], d["status"] = revision, "ACTIVE"
	d["taskDefinitionArn"] = fmt.Sprintf("arn:aws:ecs:us-east-1:123456789012:task-definition/%v:%d", d["family"], revision)
	for _, c := range d["containerDefinitions"].([]any) { // as ECS fills in
		container := c.(map[string]any)
		container["portMappings"], container["volumesFrom"], container["systemControls"] = []any{}, []any{}, []any{}
	}
	a.revisions = append(a.revisions, d)
	return 200, a.shown(d)
}

func (a *account) family(name any) (list []map[string]any) {
	for _, d := range a.revisions {
		if d["family"] == name {
			list = append(list, d)
		}
	}
	return list
}

func (a *account) shown(d map[string]any) any {
	bare := map[string]any{}
	for k, v := range d {
		if k != "tags" {
			bare[k] = v
		}
	}
	return map[string]any{"taskDefinition": bare, "tags": d["tags"]}
}

func (a *account) definition(word string) (int, any) {
	for _, d := range slices.Backward(a.revisions) {
		if d["family"] == word || d["taskDefinitionArn"] == word {
			return 200, a.shown(d)
		}
	}
	return no("ClientException", "Unable to describe task definition.")
}

func (a *account) run(definition, token, cluster string) (int, any) {
	if len(a.failures) > 0 {
		return 200, map[string]any{"tasks": []any{}, "failures": written(a.failures)}
	}
	s := a.tasks[token]
	if s == nil {
		s = &types.Task{TaskArn: aws.String(fmt.Sprintf("arn:aws:ecs:us-east-1:123456789012:task/%s/%032x", cluster, len(a.tasks)+1)), TaskDefinitionArn: &definition, LastStatus: aws.String("PROVISIONING")}
		a.tasks[token] = s
	}
	return 200, map[string]any{"tasks": []any{written(s)}, "failures": []any{}}
}

func (a *account) find(task string) (*types.Task, error) {
	for _, s := range a.tasks {
		if *s.TaskArn == task || ID(*s.TaskArn) == task {
			return s, nil
		}
	}
	return nil, errors.New("The referenced task was not found.")
}

func (a *account) describe(task string) (int, any) {
	s, err := a.find(task)
	if err != nil {
		return 200, map[string]any{"tasks": []any{}, "failures": written([]types.Failure{{Arn: &task, Reason: aws.String("MISSING")}})}
	}
	if len(a.turns) > 0 {
		a.turns[0](s)
		a.turns = a.turns[1:]
	}
	return 200, map[string]any{"tasks": []any{written(s)}, "failures": []any{}}
}

func (a *account) log(stream, token string) (int, any) {
	lines, ok := a.events[stream]
	if !ok {
		return no("ResourceNotFoundException", "The specified log stream does not exist.")
	}
	from := 0
	if token != "" {
		_, _ = fmt.Sscanf(token, "f/%d", &from)
	}
	events := []any{}
	for _, line := range lines[from:] {
		events = append(events, map[string]any{"timestamp": 1, "ingestionTime": 1, "message": line})
	}
	next := fmt.Sprintf("f/%d", len(lines))
	return 200, map[string]any{"events": events, "nextForwardToken": next, "nextBackwardToken": "b/0"}
}
