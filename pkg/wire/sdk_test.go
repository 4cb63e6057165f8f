package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// operation is a method of an SDK client, called by reflection.
type operation struct {
	name    string
	in, out reflect.Type // the structs
	call    func(in any, do roundTrip) (out any, err error)
}

// roundTrip replaces the network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) Do(r *http.Request) (*http.Response, error) { return f(r) }

func batchOperations(t *testing.T) []operation {
	t.Helper()
	client := awsbatch.New(awsbatch.Options{
		Region:      "us-east-1",
		Credentials: aws.AnonymousCredentials{},
		Retryer:     aws.NopRetryer{},
		APIOptions: []func(*middleware.Stack) error{func(s *middleware.Stack) error {
			_, err := s.Initialize.Remove("OperationInputValidation")
			if err != nil {
				return nil // an operation without required members
			}
			return err
		}},
	})
	var all []operation
	v := reflect.ValueOf(client)
	for i := range v.NumMethod() {
		m, method := v.Type().Method(i), v.Method(i)
		if method.Type().NumIn() != 3 || !method.Type().IsVariadic() {
			continue
		}
		call := func(in any, do roundTrip) (any, error) {
			result := method.Call([]reflect.Value{reflect.ValueOf(context.Background()), reflect.ValueOf(in),
				reflect.ValueOf(func(o *awsbatch.Options) { o.HTTPClient = do })})
			err, _ := result[1].Interface().(error)
			return result[0].Interface(), err
		}
		all = append(all, operation{m.Name, method.Type().In(1).Elem(), method.Type().Out(0).Elem(), call})
	}
	if len(all) != 45 {
		t.Fatalf("service/batch has %d operations, but the table of routes has 45", len(all))
	}
	return all
}

func logsOperation() operation {
	client := cloudwatchlogs.New(cloudwatchlogs.Options{Region: "us-east-1", Credentials: aws.AnonymousCredentials{}, Retryer: aws.NopRetryer{}})
	return operation{"GetLogEvents", reflect.TypeFor[cloudwatchlogs.GetLogEventsInput](), reflect.TypeFor[cloudwatchlogs.GetLogEventsOutput](),
		func(in any, do roundTrip) (any, error) {
			return client.GetLogEvents(context.Background(), in.(*cloudwatchlogs.GetLogEventsInput),
				func(o *cloudwatchlogs.Options) { o.HTTPClient = do })
		}}
}

// fill returns a random value: about one optional member in five is absent.
func fill(r *rand.Rand, t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Pointer:
		p := reflect.New(t.Elem())
		p.Elem().Set(fill(r, t.Elem()))
		v.Set(p)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			must := f.Name == "ResourceArn" || f.Name == "ClientToken" || f.Name == "LogStreamName"
			if f.IsExported() && f.Name != "ResultMetadata" && (must || r.IntN(5) > 0) {
				v.Field(i).Set(fill(r, f.Type))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(t, 0, 3))
		for range r.IntN(3) {
			v.Set(reflect.Append(v, fill(r, t.Elem())))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		for range r.IntN(3) {
			v.SetMapIndex(fill(r, t.Key()), fill(r, t.Elem()))
		}
	case reflect.String:
		texts := []string{"a", "Ref::epochs", "ä <&> \u2028 \U0001F600", "line\n\t\"quoted\" \\ \x01", "arn:aws:batch:us-east-1:123456789012:job/x y+z%"}
		v.SetString(texts[r.IntN(len(texts))])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int32:
		v.SetInt(int64(int32(r.Uint32())))
	case reflect.Int64:
		v.SetInt(r.Int64() - r.Int64())
	case reflect.Float32:
		v.SetFloat(float64(r.Float32() * 1000))
	case reflect.Float64:
		v.SetFloat(r.NormFloat64() * 1e9)
	default:
		panic(t.String())
	}
	return v
}

var ignoreMetadata = cmp.FilterPath(func(p cmp.Path) bool {
	f, ok := p.Last().(cmp.StructField)
	return ok && (f.Name() == "ResultMetadata" || f.Name() == "noSmithyDocumentSerde")
}, cmp.Ignore())

func reply(status int, body []byte) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body))}
}

// TestInputsAsTheSDKSendsThem compares the codec and the routes with the SDK's own serializers:
// Marshal writes what the SDK sends, and Unmarshal reads it.
func TestInputsAsTheSDKSendsThem(t *testing.T) {
	for _, op := range append(batchOperations(t), logsOperation()) {
		t.Run(op.name, func(t *testing.T) {
			for seed := range uint64(25) {
				in := fill(rand.New(rand.NewPCG(seed, 1)), op.in).Addr()
				read := reflect.New(op.in)
				var sent []byte
				_, err := op.call(in.Interface(), func(r *http.Request) (*http.Response, error) {
					var err error
					if r.Body != nil {
						sent, err = io.ReadAll(r.Body)
					}
					checkRoute(t, op.name, r)
					return reply(200, []byte("{}")), errors.Join(err, ReadInput(r, sent, read.Interface()))
				})
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				ours, err := Marshal(in.Interface())
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(sdkBody(t, op.name, sent), bodyOf(t, op.name, ours)); diff != "" {
					t.Fatalf("seed %d: body, sdk - ours +\n%s", seed, diff)
				}
				same := cmp.Options{ignoreMetadata}
				if op.name == "UntagResource" {
					same = append(same, cmpopts.EquateEmpty()) // a query cannot tell [] from absent
				}
				if diff := cmp.Diff(in.Interface(), read.Interface(), same); diff != "" {
					t.Fatalf("seed %d: sent - read +\n%s", seed, diff)
				}
				again := reflect.New(op.in)
				if err := Unmarshal(ours, again.Interface()); err != nil {
					t.Fatalf("seed %d: %v in %s", seed, err, ours)
				}
				if diff := cmp.Diff(in.Interface(), again.Interface(), ignoreMetadata); diff != "" {
					t.Fatalf("seed %d: marshalled - unmarshalled +\n%s", seed, diff)
				}
			}
		})
	}
}

func checkRoute(t *testing.T, name string, r *http.Request) {
	t.Helper()
	if r.Header.Get("X-Amz-Target") != "" {
		if got, ok := LogsOperation(r.Header.Get("X-Amz-Target")); !ok || got != name {
			t.Errorf("LogsOperation = %q, %v, want %s", got, ok, name)
		}
		return
	}
	if got, ok := Operation(r.Method, r.URL.Path); !ok || got != name {
		t.Errorf("Operation(%s, %s) = %q, %v, want %s", r.Method, r.URL.Path, got, ok, name)
	}
	method, path := Path(name)
	prefix, _, label := strings.Cut(path, "{resourceArn}")
	if method != r.Method || !strings.HasPrefix(r.URL.Path, prefix) || !label && path != r.URL.Path {
		t.Errorf("Path(%s) = %s %s, the SDK sends %s %s", name, method, path, r.Method, r.URL.Path)
	}
}

func sdkBody(t *testing.T, name string, body []byte) map[string]any {
	t.Helper()
	if len(body) == 0 {
		return map[string]any{}
	}
	return bodyOf(t, "", body)
}

// bodyOf parses a body, without the members that are sent in path and query.
func bodyOf(t *testing.T, name string, body []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%v in %q", err, body)
	}
	if _, path := Path(name); strings.Contains(path, "{resourceArn}") {
		delete(m, "resourceArn")
		delete(m, "tagKeys")
	}
	return m
}

// TestOutputsAsTheSDKReadsThem checks that the SDK's deserializers read an output back to an
// equal struct.
func TestOutputsAsTheSDKReadsThem(t *testing.T) {
	for _, op := range append(batchOperations(t), logsOperation()) {
		t.Run(op.name, func(t *testing.T) {
			for seed := range uint64(25) {
				random := rand.New(rand.NewPCG(seed, 2))
				in, out := fill(random, op.in).Addr(), fill(random, op.out).Addr().Interface()
				body, err := Marshal(out)
				if err != nil {
					t.Fatal(err)
				}
				got, err := op.call(in.Interface(), func(*http.Request) (*http.Response, error) { return reply(200, body), nil })
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if diff := cmp.Diff(out, got, ignoreMetadata); diff != "" {
					t.Fatalf("seed %d: ours - sdk +\n%s", seed, diff)
				}
				again := reflect.New(op.out)
				if err := Unmarshal(body, again.Interface()); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if diff := cmp.Diff(out, again.Interface(), ignoreMetadata); diff != "" {
					t.Fatalf("seed %d: marshalled - unmarshalled +\n%s", seed, diff)
				}
			}
		})
	}
}

// TestNoShapeIsRecursive is why Unmarshal needs no depth limit.
func TestNoShapeIsRecursive(t *testing.T) {
	deepest := 0
	var walk func(t reflect.Type, path []reflect.Type) error
	walk = func(t reflect.Type, path []reflect.Type) error {
		deepest = max(deepest, len(path))
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			return walk(t.Elem(), path)
		case reflect.Struct:
			for _, p := range path {
				if p == t {
					return fmt.Errorf("%s contains itself", t)
				}
			}
			for _, m := range members(t) {
				if err := walk(t.Field(m.index).Type, append(path, t)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, op := range batchOperations(t) {
		if err := errors.Join(walk(op.in, nil), walk(op.out, nil)); err != nil {
			t.Error(err)
		}
	}
	if deepest > 20 {
		t.Errorf("deepest shape has %d levels: think again about a limit", deepest)
	}
}

// TestShapesOfLogs compares the shapes of logs with the SDK's: an input has all members, an
// output some of them, and each has the same type.
func TestShapesOfLogs(t *testing.T) {
	for ours, sdk := range map[reflect.Type]reflect.Type{
		reflect.TypeFor[GetLogEventsInput]():          reflect.TypeFor[cloudwatchlogs.GetLogEventsInput](),
		reflect.TypeFor[GetLogEventsOutput]():         reflect.TypeFor[cloudwatchlogs.GetLogEventsOutput](),
		reflect.TypeFor[FilterLogEventsInput]():       reflect.TypeFor[cloudwatchlogs.FilterLogEventsInput](),
		reflect.TypeFor[FilterLogEventsOutput]():      reflect.TypeFor[cloudwatchlogs.FilterLogEventsOutput](),
		reflect.TypeFor[DescribeLogStreamsInput]():    reflect.TypeFor[cloudwatchlogs.DescribeLogStreamsInput](),
		reflect.TypeFor[DescribeLogStreamsOutput]():   reflect.TypeFor[cloudwatchlogs.DescribeLogStreamsOutput](),
		reflect.TypeFor[DescribeLogGroupsInput]():     reflect.TypeFor[cloudwatchlogs.DescribeLogGroupsInput](),
		reflect.TypeFor[DescribeLogGroupsOutput]():    reflect.TypeFor[cloudwatchlogs.DescribeLogGroupsOutput](),
		reflect.TypeFor[CreateLogGroupInput]():        reflect.TypeFor[cloudwatchlogs.CreateLogGroupInput](),
		reflect.TypeFor[CreateLogStreamInput]():       reflect.TypeFor[cloudwatchlogs.CreateLogStreamInput](),
		reflect.TypeFor[PutLogEventsInput]():          reflect.TypeFor[cloudwatchlogs.PutLogEventsInput](),
		reflect.TypeFor[PutLogEventsOutput]():         reflect.TypeFor[cloudwatchlogs.PutLogEventsOutput](),
		reflect.TypeFor[PutRetentionPolicyInput]():    reflect.TypeFor[cloudwatchlogs.PutRetentionPolicyInput](),
		reflect.TypeFor[DeleteRetentionPolicyInput](): reflect.TypeFor[cloudwatchlogs.DeleteRetentionPolicyInput](),
		reflect.TypeFor[DeleteLogGroupInput]():        reflect.TypeFor[cloudwatchlogs.DeleteLogGroupInput](),
		reflect.TypeFor[DeleteLogStreamInput]():       reflect.TypeFor[cloudwatchlogs.DeleteLogStreamInput](),
		reflect.TypeFor[StartQueryInput]():            reflect.TypeFor[cloudwatchlogs.StartQueryInput](),
		reflect.TypeFor[StartQueryOutput]():           reflect.TypeFor[cloudwatchlogs.StartQueryOutput](),
		reflect.TypeFor[QueryCompileError]():          reflect.TypeFor[types.QueryCompileError](),
		reflect.TypeFor[GetQueryResultsInput]():       reflect.TypeFor[cloudwatchlogs.GetQueryResultsInput](),
		reflect.TypeFor[GetQueryResultsOutput]():      reflect.TypeFor[cloudwatchlogs.GetQueryResultsOutput](),
		reflect.TypeFor[StopQueryInput]():             reflect.TypeFor[cloudwatchlogs.StopQueryInput](),
		reflect.TypeFor[StopQueryOutput]():            reflect.TypeFor[cloudwatchlogs.StopQueryOutput](),
		reflect.TypeFor[DescribeQueriesInput]():       reflect.TypeFor[cloudwatchlogs.DescribeQueriesInput](),
		reflect.TypeFor[DescribeQueriesOutput]():      reflect.TypeFor[cloudwatchlogs.DescribeQueriesOutput](),
		reflect.TypeFor[GetLogRecordInput]():          reflect.TypeFor[cloudwatchlogs.GetLogRecordInput](),
		reflect.TypeFor[GetLogRecordOutput]():         reflect.TypeFor[cloudwatchlogs.GetLogRecordOutput](),
		reflect.TypeFor[GetLogGroupFieldsInput]():     reflect.TypeFor[cloudwatchlogs.GetLogGroupFieldsInput](),
		reflect.TypeFor[GetLogGroupFieldsOutput]():    reflect.TypeFor[cloudwatchlogs.GetLogGroupFieldsOutput](),
		reflect.TypeFor[StartLiveTailInput]():         reflect.TypeFor[cloudwatchlogs.StartLiveTailInput](),
		reflect.TypeFor[LiveTailSessionStart]():       reflect.TypeFor[types.LiveTailSessionStart](),
		reflect.TypeFor[LiveTailSessionUpdate]():      reflect.TypeFor[types.LiveTailSessionUpdate](),
		reflect.TypeFor[ListLogTagsInput]():           reflect.TypeFor[cloudwatchlogs.ListTagsForResourceInput](),
		reflect.TypeFor[TagLogsInput]():               reflect.TypeFor[cloudwatchlogs.TagResourceInput](),
		reflect.TypeFor[UntagLogsInput]():             reflect.TypeFor[cloudwatchlogs.UntagResourceInput](),
		reflect.TypeFor[ListTagsLogGroupInput]():      reflect.TypeFor[cloudwatchlogs.ListTagsLogGroupInput](),
		reflect.TypeFor[TagLogGroupInput]():           reflect.TypeFor[cloudwatchlogs.TagLogGroupInput](),
		reflect.TypeFor[UntagLogGroupInput]():         reflect.TypeFor[cloudwatchlogs.UntagLogGroupInput](),
		reflect.TypeFor[LogTagsOutput]():              reflect.TypeFor[cloudwatchlogs.ListTagsForResourceOutput](),
	} {
		sameShape(t, ours.Name(), ours, sdk)
		if strings.HasSuffix(ours.Name(), "Input") && len(members(ours)) != len(members(sdk)) {
			t.Errorf("%s has %d members, the SDK's %d", ours.Name(), len(members(ours)), len(members(sdk)))
		}
	}
}

// sameShape compares the members of two structs by name. Ours can be a pointer to a number or boolean.
func sameShape(t *testing.T, path string, ours, sdk reflect.Type) {
	t.Helper()
	if ours.Kind() == reflect.Pointer && slices.Contains([]reflect.Kind{reflect.Float64, reflect.Int32, reflect.Int64, reflect.Bool}, sdk.Kind()) {
		ours = ours.Elem()
	}
	if ours.Kind() != sdk.Kind() {
		t.Errorf("%s is %s, the SDK's %s", path, ours, sdk)
		return
	}
	switch ours.Kind() {
	case reflect.Pointer, reflect.Slice:
		sameShape(t, path, ours.Elem(), sdk.Elem())
	case reflect.Struct:
		for _, m := range members(ours) {
			f := ours.Field(m.index)
			theirs, ok := sdk.FieldByName(f.Name)
			if !ok {
				t.Errorf("%s.%s is not the SDK's", path, f.Name)
				continue
			}
			sameShape(t, path+"."+f.Name, f.Type, theirs.Type)
		}
	}
}
