package infra

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/batchctl/batchctl/pkg/client"
)

// cloud is a CloudFormation of three resources a stack, which takes a second for each,
// behind the HTTP client of an aws.Config; and a Batch with one queue.
type cloud struct {
	t      *testing.T
	stacks map[string]*fakeStack // by name
	gone   map[string]*fakeStack // by id
	sets   map[string]*fakeSet
	calls  []string
	serial int
	// fault answers a call in place of the cloud; nil lets it pass.
	fault func(n int, operation string) error
	// failing is the resource whose creation fails.
	failing string
	// undeletable is the resource whose deletion fails unless it is retained.
	undeletable string
	template    string // of the deployed stacks; "" for an empty one
	changes     string // XML of the changes of an update; "" for none
	summary     string // XML of what the template asks for
	order       string // the compute environment of the queue
	state       string // of the queue
	jobs        int    // how many looks the queue's jobs last
}

type fakeStack struct {
	name, id, status string
	params           map[string]string
	resources        map[string]string
	events           []string // XML, oldest first
	script           []func() // what is still to come
	next             time.Time
	tags             []types.Tag
}

type fakeSet struct {
	stack  *fakeStack
	create bool
	params map[string]string
	tags   []types.Tag
	same   bool
}

type refusal struct {
	status        int
	code, message string
}

func (r *refusal) Error() string { return r.code }

func newCloud(t *testing.T) *cloud {
	return &cloud{t: t, summary: "<Parameters><member><ParameterKey>Size</ParameterKey><DefaultValue>1</DefaultValue></member></Parameters>", stacks: map[string]*fakeStack{}, gone: map[string]*fakeStack{}, sets: map[string]*fakeSet{}, order: "old", state: "ENABLED"}
}

// open returns the stacks that a command sees, and the messages that it gets.
func (c *cloud) open(told *[]string) *Stacks {
	cfg := aws.Config{Region: "eu-central-1", HTTPClient: c, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), RetryMaxAttempts: 1}
	tell := func(format string, args ...any) { *told = append(*told, fmt.Sprintf(format, args...)) }
	s := New(NewCloud(cfg), client.New(cfg), fakeTemplates, "team")
	s.Notify = tell
	s.Progress = func(p Progress) {
		tell("%s %s %d/%d", p.Event.ResourceStatus, *p.Event.LogicalResourceId, p.Done, p.Total)
	}
	s.Approve = func(*Proposal) (bool, error) { return true, nil }
	s.Confirm = func(q string) (bool, error) { tell("%s", q); return true, nil }
	return s
}

var fakeTemplates = []Template{{Name: "net", Body: []byte(`{}`)}}

func (c *cloud) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	form, _ := url.ParseQuery(string(body))
	operation := form.Get("Action")
	if operation == "" {
		operation = r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:] + r.Header.Get("X-Amz-Target")
	}
	c.calls = append(c.calls, operation)
	c.advance()
	var text string
	if c.fault != nil {
		err = c.fault(len(c.calls), operation)
	}
	if err == nil {
		text, err = c.answer(operation, form)
	}
	status := http.StatusOK
	if refused, ok := errors.AsType[*refusal](err); ok {
		status = refused.status
		text = "<ErrorResponse><Error><Code>" + refused.code + "</Code><Message>" + refused.message + "</Message></Error></ErrorResponse>"
	} else if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(text)), Header: http.Header{"Content-Type": {"application/json"}}, Request: r}, nil
}

// advance does what is due.
func (c *cloud) advance() {
	for _, s := range c.stacks {
		for len(s.script) > 0 && !time.Now().Before(s.next) {
			step := s.script[0]
			s.script = s.script[1:]
			s.next = s.next.Add(time.Second)
			step()
		}
	}
}

func (c *cloud) event(s *fakeStack, name, kind, physical, status, reason string) {
	c.serial++
	s.events = append(s.events, fmt.Sprintf("<member><EventId>%d</EventId><StackId>%s</StackId><Timestamp>2026-11-22T10:00:00Z</Timestamp><LogicalResourceId>%s</LogicalResourceId><PhysicalResourceId>%s</PhysicalResourceId><ResourceType>%s</ResourceType><ResourceStatus>%s</ResourceStatus><ResourceStatusReason>%s</ResourceStatusReason></member>",
		c.serial, s.id, name, physical, kind, status, reason))
}

func (c *cloud) stackEvent(s *fakeStack, status string) func() {
	return func() {
		s.status = status
		c.event(s, s.name, "AWS::CloudFormation::Stack", s.id, status, "")
		if status == "DELETE_COMPLETE" {
			delete(c.stacks, s.name)
			c.gone[s.id] = s
		}
	}
}

func (c *cloud) resourceEvent(s *fakeStack, name, status, reason string) func() {
	return func() {
		s.resources[name] = status
		c.event(s, name, "AWS::ECR::Repository", "id-"+name, status, reason)
	}
}

// operate begins an operation: its first event now, the others a second apart.
func (c *cloud) operate(s *fakeStack, script ...func()) {
	script[0]()
	s.script, s.next = script[1:], time.Now().Add(time.Second)
}

var fakeResources = []string{"A", "B", "C"}

func (c *cloud) execute(set *fakeSet) {
	s := set.stack
	s.params, s.tags = set.params, set.tags
	verb := "UPDATE"
	if set.create {
		verb = "CREATE"
	}
	script := []func(){c.stackEvent(s, verb+"_IN_PROGRESS")}
	for _, name := range fakeResources {
		if set.create && name == c.failing {
			script = append(script, c.resourceEvent(s, name, "CREATE_FAILED", "no room for "+name), c.stackEvent(s, "ROLLBACK_IN_PROGRESS"))
			script = append(script, c.resourceEvent(s, "B", "DELETE_SKIPPED", ""), c.stackEvent(s, "ROLLBACK_COMPLETE"))
			c.operate(s, script...)
			return
		}
		script = append(script, c.resourceEvent(s, name, verb+"_IN_PROGRESS", ""), c.resourceEvent(s, name, verb+"_COMPLETE", ""))
	}
	c.operate(s, append(script, c.stackEvent(s, verb+"_COMPLETE"))...)
}

func (c *cloud) remove(s *fakeStack, retain string) {
	if s.status == review {
		c.stackEvent(s, "DELETE_COMPLETE")()
		return
	}
	script := []func(){c.stackEvent(s, "DELETE_IN_PROGRESS")}
	for _, name := range fakeResources {
		switch {
		case name == retain:
			script = append(script, c.resourceEvent(s, name, "DELETE_SKIPPED", ""))
		case name == c.undeletable:
			script = append(script, c.resourceEvent(s, name, "DELETE_FAILED", "it holds images"), c.stackEvent(s, "DELETE_FAILED"))
			c.operate(s, script...)
			return
		default:
			script = append(script, c.resourceEvent(s, name, "DELETE_COMPLETE", ""))
		}
	}
	c.operate(s, append(script, c.stackEvent(s, "DELETE_COMPLETE"))...)
}

func (c *cloud) find(word string) *fakeStack {
	for _, s := range c.stacks {
		if s.name == word || s.id == word {
			return s
		}
	}
	return c.gone[word]
}

func wrapped(operation, inner string) string {
	return "<" + operation + "Response><" + operation + "Result>" + inner + "</" + operation + "Result></" + operation + "Response>"
}

func (c *cloud) answer(operation string, form url.Values) (string, error) {
	s := c.find(form.Get("StackName"))
	set := c.sets[form.Get("ChangeSetName")]
	switch operation {
	case "GetTemplateSummary":
		return wrapped(operation, c.summary+"<ResourceTypes><member>AWS::ECR::Repository</member></ResourceTypes>"), nil
	case "CreateChangeSet":
		return c.createSet(s, form)
	case "describejobqueues", "describecomputeenvironments", "updatejobqueue", "listjobs":
		return c.batch(operation)
	case "AmazonEC2ContainerRegistry_V20150921.ListImages":
		return `{"imageIds":[{}]}`, nil
	}
	if s == nil {
		return "", &refusal{400, "ValidationError", "Stack with id " + form.Get("StackName") + " does not exist"}
	}
	switch operation {
	case "DescribeStacks":
		tags := "<Tags>"
		for _, tag := range s.tags {
			tags += "<member><Key>" + *tag.Key + "</Key><Value>" + *tag.Value + "</Value></member>"
		}
		tags += "</Tags>"
		params := ""
		for k, v := range s.params {
			params += "<member><ParameterKey>" + k + "</ParameterKey><ParameterValue>" + v + "</ParameterValue></member>"
		}
		return wrapped(operation, "<Stacks><member><StackId>"+s.id+"</StackId><StackName>"+s.name+"</StackName><StackStatus>"+s.status+"</StackStatus><Parameters>"+params+"</Parameters>"+tags+"</member></Stacks>"), nil
	case "DescribeStackEvents":
		return c.page(s, form), nil
	case "ListStackResources":
		list := ""
		for name, status := range s.resources {
			list += "<member><LogicalResourceId>" + name + "</LogicalResourceId><PhysicalResourceId>id-" + name + "</PhysicalResourceId><ResourceType>AWS::ECR::Repository</ResourceType><ResourceStatus>" + status + "</ResourceStatus></member>"
		}
		return wrapped(operation, "<StackResourceSummaries>"+list+"</StackResourceSummaries>"), nil
	case "GetTemplate":
		return wrapped(operation, "<TemplateBody>"+cmp.Or(c.template, "{}")+"</TemplateBody>"), nil
	case "DeleteStack":
		if !inProgress(s.status) || s.status == review {
			c.remove(s, form.Get("RetainResources.member.1"))
		}
		return wrapped(operation, ""), nil
	}
	if set == nil {
		return "", &refusal{404, "ChangeSetNotFound", "no change set"}
	}
	switch operation {
	case "DescribeChangeSet":
		return c.describeSet(set), nil
	case "DeleteChangeSet":
		delete(c.sets, form.Get("ChangeSetName"))
	case "ExecuteChangeSet":
		if inProgress(s.status) && s.status != review {
			return "", &refusal{400, "InvalidChangeSetStatus", "it is executed"}
		}
		c.execute(set)
	default:
		c.t.Errorf("unexpected %s", operation)
	}
	return wrapped(operation, ""), nil
}

func (c *cloud) createSet(s *fakeStack, form url.Values) (string, error) {
	create := form.Get("ChangeSetType") == "CREATE"
	if (s != nil) == create || s != nil && inProgress(s.status) {
		return "", &refusal{400, "ValidationError", "the stack is in another state"}
	}
	params := map[string]string{"Size": "1"}
	if form.Get("Parameters.member.1.ParameterKey") == "Size" {
		params["Size"] = form.Get("Parameters.member.1.ParameterValue")
		if form.Get("Parameters.member.1.UsePreviousValue") == "true" {
			params["Size"] = s.params["Size"]
		}
	}
	if create {
		c.serial++
		s = &fakeStack{name: form.Get("StackName"), id: fmt.Sprintf("arn:aws:cloudformation:eu-central-1:123456789012:stack/%s/%d", form.Get("StackName"), c.serial),
			resources: map[string]string{}, tags: tagsOf(form)}
		c.stacks[s.name] = s
		c.stackEvent(s, review)()
	}
	name := form.Get("ChangeSetName")
	same := !create && s.params["Size"] == params["Size"] && c.changes == "" && sameTags(s.tags, tagsOf(form))
	c.sets[name] = &fakeSet{s, create, params, tagsOf(form), same}
	return wrapped("CreateChangeSet", "<Id>"+name+"</Id><StackId>"+s.id+"</StackId>"), nil
}

// tagsOf are the tags that a request gives a stack.
func tagsOf(form url.Values) (list []types.Tag) {
	for i := 1; form.Has(fmt.Sprintf("Tags.member.%d.Key", i)); i++ {
		list = append(list, tag(form.Get(fmt.Sprintf("Tags.member.%d.Key", i)), form.Get(fmt.Sprintf("Tags.member.%d.Value", i))))
	}
	return list
}

func tag(key, value string) types.Tag { return types.Tag{Key: &key, Value: &value} }

func sameTags(a, b []types.Tag) bool {
	return slices.EqualFunc(a, b, func(a, b types.Tag) bool { return *a.Key == *b.Key && *a.Value == *b.Value })
}

func (c *cloud) describeSet(set *fakeSet) string {
	if set.same {
		return wrapped("DescribeChangeSet", "<Status>FAILED</Status><StatusReason>The submitted information didn&apos;t contain changes. Submit different information to create a change set.</StatusReason>")
	}
	changes := c.changes
	if set.create {
		for _, name := range fakeResources {
			changes += "<member><ResourceChange><Action>Add</Action><LogicalResourceId>" + name + "</LogicalResourceId><ResourceType>AWS::ECR::Repository</ResourceType></ResourceChange></member>"
		}
	}
	return wrapped("DescribeChangeSet", "<Status>CREATE_COMPLETE</Status><Changes>"+changes+"</Changes>")
}

// page answers three events at a time, newest first.
func (c *cloud) page(s *fakeStack, form url.Values) string {
	from := 0
	_, _ = fmt.Sscan(form.Get("NextToken"), &from)
	list, next := "", ""
	for i := from; i < len(s.events) && i < from+3; i++ {
		list += s.events[len(s.events)-1-i]
	}
	if from+3 < len(s.events) {
		next = fmt.Sprintf("<NextToken>%d</NextToken>", from+3)
	}
	return wrapped("DescribeStackEvents", "<StackEvents>"+list+"</StackEvents>"+next)
}

func (c *cloud) batch(operation string) (string, error) {
	var out any = struct{}{}
	switch operation {
	case "describejobqueues":
		out = map[string]any{"jobQueues": []any{map[string]any{"jobQueueName": "cpu", "jobQueueArn": "arn:aws:batch:eu-central-1:123456789012:job-queue/cpu", "state": c.state, "priority": 1,
			"computeEnvironmentOrder": []any{map[string]any{"order": 1, "computeEnvironment": "arn:aws:batch:eu-central-1:123456789012:compute-environment/" + c.order}}}}}
	case "updatejobqueue":
		c.state = "DISABLED"
	case "listjobs":
		jobs := []any{}
		if c.jobs--; c.jobs >= 0 {
			jobs = append(jobs, map[string]any{"jobId": "1", "jobName": "j"})
		}
		out = map[string]any{"jobSummaryList": jobs}
	}
	text, err := json.Marshal(out)
	return string(text), err
}

func deploy(ctx context.Context, s *Stacks, size string) (*Proposal, error) {
	return s.Deploy(ctx, fakeTemplates[0], map[string]string{"Size": size})
}
