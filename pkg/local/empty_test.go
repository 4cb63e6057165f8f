package local

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/batchctl/batchctl/pkg/local/api/empty"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
	"github.com/batchctl/batchctl/pkg/wire"
)

// otherInputs are the inputs of the operations of CloudWatch Logs and ECS. It lacks StartLiveTail, which answers with a
// stream for hours, and the operations on tags, which have no optional members.
var otherInputs = map[string]reflect.Type{
	"GetLogEvents":               reflect.TypeFor[wire.GetLogEventsInput](),
	"FilterLogEvents":            reflect.TypeFor[wire.FilterLogEventsInput](),
	"DescribeLogStreams":         reflect.TypeFor[wire.DescribeLogStreamsInput](),
	"DescribeLogGroups":          reflect.TypeFor[wire.DescribeLogGroupsInput](),
	"CreateLogGroup":             reflect.TypeFor[wire.CreateLogGroupInput](),
	"CreateLogStream":            reflect.TypeFor[wire.CreateLogStreamInput](),
	"PutLogEvents":               reflect.TypeFor[wire.PutLogEventsInput](),
	"PutRetentionPolicy":         reflect.TypeFor[wire.PutRetentionPolicyInput](),
	"DeleteRetentionPolicy":      reflect.TypeFor[wire.DeleteRetentionPolicyInput](),
	"DeleteLogGroup":             reflect.TypeFor[wire.DeleteLogGroupInput](),
	"StartQuery":                 reflect.TypeFor[wire.StartQueryInput](),
	"GetQueryResults":            reflect.TypeFor[wire.GetQueryResultsInput](),
	"DescribeQueries":            reflect.TypeFor[wire.DescribeQueriesInput](),
	"GetLogRecord":               reflect.TypeFor[wire.GetLogRecordInput](),
	"GetLogGroupFields":          reflect.TypeFor[wire.GetLogGroupFieldsInput](),
	"ListClusters":               reflect.TypeFor[ecs.ListClustersInput](),
	"DescribeClusters":           reflect.TypeFor[ecs.DescribeClustersInput](),
	"ListContainerInstances":     reflect.TypeFor[ecs.ListContainerInstancesInput](),
	"DescribeContainerInstances": reflect.TypeFor[ecs.DescribeContainerInstancesInput](),
	"ListTasks":                  reflect.TypeFor[ecs.ListTasksInput](),
	"DescribeTasks":              reflect.TypeFor[ecs.DescribeTasksInput](),
	"DescribeTaskDefinition":     reflect.TypeFor[ecs.DescribeTaskDefinitionInput](),
}

// ecsOperations are the operations of ECS.
var ecsOperations = map[string]bool{"ListClusters": true, "DescribeClusters": true, "ListContainerInstances": true, "DescribeContainerInstances": true,
	"ListTasks": true, "DescribeTasks": true, "DescribeTaskDefinition": true}

// inputs returns the inputs of all operations of AWS Batch, by operation, from the methods of the SDK's client.
func inputs() map[string]reflect.Type {
	all := maps.Clone(otherInputs)
	client := reflect.TypeFor[*awsbatch.Client]()
	for i := range client.NumMethod() {
		m := client.Method(i)
		if _, path := wire.Path(m.Name); path != "" {
			all[m.Name] = m.Type.In(2).Elem()
		}
	}
	return all
}

// requiredMembers returns the members that the API model requires, as Structure.Member: the comments of the SDK have
// them.
func requiredMembers(t *testing.T) map[string]bool {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/aws/aws-sdk-go-v2/service/batch").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "api_op_*.go"))
	if err != nil {
		t.Fatal(err)
	}
	structure := regexp.MustCompile(`(?ms)^type (\w+) struct \{$(.*?)^\}$`)
	member := regexp.MustCompile(`This member is required\.\n\t(\w+) `)
	required := map[string]bool{}
	for _, file := range append(files, filepath.Join(strings.TrimSpace(string(dir)), "types", "types.go")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range structure.FindAllSubmatch(text, -1) {
			for _, m := range member.FindAllSubmatch(s[2], -1) {
				required[string(s[1])+"."+string(m[1])] = true
			}
		}
	}
	if !required["SubmitJobInput.JobName"] || !required["LogConfiguration.LogDriver"] || required["SubmitJobInput.Tags"] {
		t.Fatalf("the required members are not found: %v", required)
	}
	return required
}

// call sends a request to an operation and returns the status of its answer and the message of an error.
func (w *testEngine) call(operation, body string) (status int, message string) {
	w.t.Helper()
	status, answer := w.send(operation, body)
	if status == http.StatusOK {
		return status, ""
	}
	var fault struct{ Message string }
	if err := json.Unmarshal([]byte(answer), &fault); err != nil {
		w.t.Fatalf("%s: %s", operation, answer)
	}
	return status, fault.Message
}

// send sends a request to an operation and returns the status and the body of its answer. The operations on tags have
// their resource in the path, so the SDK's client has to send them.
func (w *testEngine) send(operation, body string) (status int, answer string) {
	w.t.Helper()
	service, method, path, target := "batch", http.MethodPost, "/", ""
	switch {
	case ecsOperations[operation]:
		service, target = "ecs", "AmazonEC2ContainerServiceV20141113."+operation
	case otherInputs[operation] != nil:
		service, target = "logs", "Logs_20140328."+operation
	default:
		method, path = wire.Path(operation)
	}
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if target != "" {
		r.Header.Set("X-Amz-Target", target)
	}
	hash := sha256.Sum256([]byte(body))
	if err := v4.NewSigner().SignHTTP(context.Background(), w.engine.key, r, hex.EncodeToString(hash[:]), service, "us-east-1", time.Now()); err != nil {
		w.t.Fatal(err)
	}
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, r)
	return recorder.Code, recorder.Body.String()
}

// emptyCase is a request that differs from a valid one in one optional member.
type emptyCase struct {
	operation string
	// member is Structure.Member, path where it is in the request.
	member, path string
	// value is the member's value: empty, or null.
	value string
	// with and without are the request with that value and without the member.
	with, without string
	// needed is true for an empty structure with a member that the API model requires.
	needed bool
	// meaning is what the empty value means, if it is not like an absent one.
	meaning empty.Meaning
	differs bool
}

// meansAs sets what the empty value of a case means. structure is the member's own structure, or "".
func (c *emptyCase) meansAs(structure string, needed bool) {
	c.needed, c.differs, c.meaning = false, false, empty.Meaning{}
	if c.value != "null" { // which is like an absent member everywhere
		c.needed = needed && c.value == "{}"
		c.meaning, c.differs = empty.MeaningOf(c.member, structure)
	}
}

// want returns the answer that a case wants: that of the request without the member, unless the table in package api
// has another. message is the answer that it has, and begins how the answer to the base request begins.
func (c *emptyCase) want(absent outcome, message, begins string) (outcome, error) {
	switch {
	case c.needed != (c.meaning.Needs != ""):
		return absent, fmt.Errorf("the API model requires a member: %v, and the engine requires %q", c.needed, c.meaning.Needs)
	case c.needed || c.differs && begins != "":
		return outcome{Status: http.StatusBadRequest, Message: message}, nil
	case c.differs && c.meaning.Error != "":
		return outcome{Status: http.StatusBadRequest, Message: c.meaning.Error}, nil
	case c.differs:
		return outcome{Status: http.StatusOK}, nil
	}
	return absent, nil
}

// outcome is the answer to a request.
type outcome struct {
	Status  int
	Message string
	// Unsent is why a client did not send the request; only clients of others set it.
	Unsent string
	// Answer is the answer itself, if the request wants it.
	Answer json.RawMessage
}

// same reports whether two answers are equal, apart from the parts that differ from request to request.
func (o outcome) same(p outcome) bool {
	return o.Status == p.Status && varying.ReplaceAllString(o.Message, "") == varying.ReplaceAllString(p.Message, "")
}

// emptyCases returns a case for each optional member of a base request, and for each empty value that it can have.
// seen collects the structures of the request.
func emptyCases(t *testing.T, base modeltest.BaseRequest, input reflect.Type, required map[string]bool, seen map[reflect.Type]bool) (cases []emptyCase) {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal([]byte(base.Body), &root); err != nil {
		t.Fatalf("%s: %v", base.Operation, err)
	}
	text := func() string {
		out, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	var walk func(object map[string]any, typ reflect.Type, path string)
	walk = func(object map[string]any, typ reflect.Type, path string) {
		seen[typ] = true
		for i := range typ.NumField() {
			f := typ.Field(i)
			name := strings.ToLower(f.Name[:1]) + f.Name[1:]
			was, given := object[name]
			if !f.IsExported() || f.Name == "ResultMetadata" {
				continue
			}
			if !required[typ.Name()+"."+f.Name] {
				c := emptyCase{operation: base.Operation, member: typ.Name() + "." + f.Name, path: path + name}
				delete(object, name)
				c.without = text()
				for value, empty := range emptyValues(f.Type) {
					object[name] = empty
					c.value, c.with = value, text()
					c.meansAs(structureName(f.Type), requiresMember(f.Type, required))
					cases = append(cases, c)
				}
				delete(object, name)
				if given {
					object[name] = was
				}
			}
			below := f.Type
			for below.Kind() == reflect.Pointer || below.Kind() == reflect.Slice {
				below = below.Elem()
			}
			if below.Kind() != reflect.Struct {
				continue
			}
			switch v := was.(type) {
			case map[string]any:
				walk(v, below, path+name+".")
			case []any:
				for k, e := range v {
					walk(e.(map[string]any), below, fmt.Sprintf("%s%s[%d].", path, name, k))
				}
			}
		}
	}
	walk(root, input, "")
	return cases
}

// requiresMember reports whether the API model requires a member of a structure.
func requiresMember(t reflect.Type, required map[string]bool) bool {
	if structureName(t) == "" {
		return false
	}
	for i := range t.Elem().NumField() {
		if required[t.Elem().Name()+"."+t.Elem().Field(i).Name] {
			return true
		}
	}
	return false
}

// structureName returns the name of the structure that a member is, or "".
func structureName(t reflect.Type) string {
	if t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct {
		return t.Elem().Name()
	}
	return ""
}

// emptyValues returns the empty values of a member, by their text.
func emptyValues(t reflect.Type) map[string]any {
	values := map[string]any{"null": nil}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		values["{}"] = map[string]any{}
	case reflect.Slice:
		values["[]"] = []any{}
	case reflect.String:
		values[`""`] = ""
	}
	return values
}

// TestEmptyMembersAreAbsent sends every optional member of every operation as null and as the empty value of its
// type. The answer is that of the request without the member, under the rules of batchctl serve.
func TestEmptyMembersAreAbsent(t *testing.T) {
	required := requiredMembers(t)
	engine := emptyEngine(t, Options{Check: modeltest.CheckRules})
	all, seen, based := inputs(), map[reflect.Type]bool{}, map[string]bool{}
	tried := map[string]bool{}
	for _, base := range modeltest.BaseRequests {
		based[base.Operation] = true
		if status, message := engine.call(base.Operation, engine.fill(base.Body)); (status != http.StatusOK) != (base.Answer != "") || !strings.HasPrefix(message, base.Answer) {
			t.Errorf("%s: the request that the others are made from: %d %s, want %q\n%s", base.Operation, status, message, base.Answer, base.Body)
			continue
		}
		// The answer to the request without the member, which several cases share.
		without, absent := "", outcome{}
		for _, c := range emptyCases(t, base, all[base.Operation], required, seen) {
			tried[c.member] = true
			status, message := engine.call(c.operation, engine.fill(c.with))
			if c.without != without {
				without = c.without
				absent.Status, absent.Message = engine.call(c.operation, engine.fill(without))
			}
			got := outcome{Status: status, Message: message}
			if want, err := c.want(absent, message, base.Answer); err != nil || !got.same(want) {
				t.Errorf("%s: %s as %s: %d %s, want %d %s %v", c.operation, c.path, c.value, status, message, want.Status, want.Message, err)
			}
		}
	}
	for _, name := range empty.Members() {
		if !tried[name] {
			t.Errorf("the table of empty members has %s, which no request has", name)
		}
	}
	checkCoverage(t, engine.testEngine, all, seen, based, required)
}

// varying are the parts of messages that differ from request to request.
var varying = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}|new-[0-9]+`)

// checkCoverage checks that there is a request for each implemented operation with optional members, and for each
// structure that it can have.
func checkCoverage(t *testing.T, w *testEngine, all map[string]reflect.Type, seen map[reflect.Type]bool, based map[string]bool, required map[string]bool) {
	t.Helper()
	var structures func(typ reflect.Type, visit func(reflect.Type))
	structures = func(typ reflect.Type, visit func(reflect.Type)) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct {
			return
		}
		visit(typ)
		for i := range typ.NumField() {
			if f := typ.Field(i); f.IsExported() && f.Name != "ResultMetadata" {
				structures(f.Type, visit)
			}
		}
	}
	missing := map[string]bool{}
	for operation, input := range all {
		_, message := w.call(operation, "{}")
		if strings.Contains(message, "does not implement this operation") {
			continue
		}
		optional := false
		for i := range input.NumField() {
			f := input.Field(i)
			optional = optional || f.IsExported() && !required[input.Name()+"."+f.Name]
		}
		if optional && !based[operation] {
			t.Errorf("there is no base request of %s", operation)
		}
		structures(input, func(typ reflect.Type) {
			if optional && !seen[typ] {
				missing[typ.Name()] = true
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		if notImplemented[name] == "" {
			t.Errorf("no base request has a %s", name)
		}
	}
}

// notImplemented are the structures of members that the engine rejects.
var notImplemented = map[string]string{
	"UpdatePolicy": "infrastructure updates",
}

// baseEngine is an engine for the base requests.
type baseEngine struct {
	*testEngine
	// named counts the names that were given.
	named int
	// names are the values of the words in base requests.
	names map[string]string
}

// emptyEngine returns an engine with everything that the base requests name.
func emptyEngine(t *testing.T, o Options) *baseEngine {
	t.Helper()
	o.Executor = &script{run: func(ctx context.Context, a attempt.Attempt, _ *os.File) (int, error) {
		word := strings.Join(a.Command, " ")
		if slices.ContainsFunc(a.Environment, func(v types.KeyValuePair) bool { return *v.Name == "AWS_BATCH_JOB_NODE_INDEX" && *v.Value == "0" }) {
			word = "10ms" // the main node ends the others, so it has to be the last one
		}
		return play(ctx, a, word)
	}}
	w := &baseEngine{testEngine: open(t, o), names: map[string]string{}}
	must := func(operation, body string) {
		t.Helper()
		if status, message := w.call(operation, w.fill(body)); status != http.StatusOK {
			t.Fatalf("%s: %d %s", operation, status, message)
		}
	}
	must("CreateConsumableResource", `{"consumableResourceName": "licence", "totalQuantity": 1000}`)
	must("CreateSchedulingPolicy", `{"name": "even"}`)
	must("CreateLogGroup", `{"logGroupName": "made"}`)
	must("CreateLogStream", `{"logGroupName": "made", "logStreamName": "s"}`)
	must("PutLogEvents", fmt.Sprintf(`{"logGroupName": "made", "logStreamName": "s", "logEvents": [{"timestamp": %d, "message": "m"}]}`, time.Now().UnixMilli()))
	must("CreateSchedulingPolicy", `{"name": "spare"}`)
	for _, name := range []string{"fair", "other"} {
		must("CreateJobQueue", `{"jobQueueName": "`+name+`", "priority": 1, "schedulingPolicyArn": "arn:aws:batch:local:000000000000:scheduling-policy/even",
			"computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "local"}]}`)
	}
	must("CreateComputeEnvironment", `{"computeEnvironmentName": "spare", "type": "MANAGED", "computeResources": {"type": "EC2", "allocationStrategy": "BEST_FIT_PROGRESSIVE", `+modeltest.SomeResources+`}}`)
	modeltest.ServiceResources(must)
	const amounts = `"resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "64"}]`
	must("RegisterJobDefinition", `{"jobDefinitionName": "work", "type": "container", "schedulingPriority": 1, "containerProperties": {"image": "busybox", `+amounts+`}}`)
	must("RegisterJobDefinition", `{"jobDefinitionName": "task", "type": "container", "ecsProperties": {"taskProperties": [{"containers": [{"name": "c", "image": "busybox", `+amounts+`}]}]}}`)
	must("RegisterJobDefinition", `{"jobDefinitionName": "nodes", "type": "multinode", "nodeProperties": {"mainNode": 0, "numNodes": 2, "nodeRangeProperties": [
		{"targetNodes": "0:", "container": {"image": "busybox", `+amounts+`}}]}}`)
	must("RegisterJobDefinition", `{"jobDefinitionName": "pod", "type": "container", "eksProperties": {"podProperties": `+modeltest.SomePod+`}}`)
	w.names["JOB"], w.names["ARRAY"], w.names["NODES"] = w.submit("work", modeltest.Words("true")), w.submit("work", modeltest.Words("true"), modeltest.Array(2)), w.submit("nodes")
	w.names["SERVICE"] = w.serve("sage", `{}`)
	w.idle()
	w.names["POINTER"] = base64.RawURLEncoding.EncodeToString([]byte("0\x00made\x00s"))
	_, query := w.send("StartQuery", modeltest.SomeQuery)
	w.names["QUERY"] = varying.FindString(query)
	w.names["STREAM"] = *w.job(w.names["JOB"]).Container.LogStreamName
	w.names["TASK"] = w.names["STREAM"][strings.LastIndex(w.names["STREAM"], "/")+1:]
	return w
}

// fill replaces the words of a base request: NAME by a new name, others by what the engine has.
func (w *baseEngine) fill(body string) string {
	w.named++
	body = strings.ReplaceAll(body, `"NAME"`, fmt.Sprintf(`"new-%d"`, w.named))
	for word, value := range w.names {
		body = strings.ReplaceAll(body, `"`+word+`"`, `"`+value+`"`)
	}
	return body
}

// TestEmptyMembersTable checks that the documentation has the table of package api. -update writes it.
func TestEmptyMembersTable(t *testing.T) {
	const page, begin, end = "../../docs/compatibility.md", "<!-- empty members -->\n", "<!-- /empty members -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the table", page)
	}
	rows := "| member | what its empty value means |\n| --- | --- |\n"
	for _, name := range empty.Members() {
		structure, member, _ := strings.Cut(name, ".")
		meaning, _ := empty.MeaningOf(name, "")
		rows += fmt.Sprintf("| `%s.%s` | %s", strings.TrimSuffix(structure, "Input"), strings.ToLower(member[:1])+member[1:], meaning.Why)
		if meaning.Error != "" {
			rows += fmt.Sprintf(": %q", strings.TrimSuffix(meaning.Error, "."))
		}
		rows += " |\n"
	}
	golden.File(t, page, before+begin+rows+end+after)
}
