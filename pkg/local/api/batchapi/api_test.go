package batchapi

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
	"github.com/batchctl/batchctl/pkg/wire"
)

// testAPI is an API on a model whose jobs run without an engine. It has the operations as methods.
type testAPI struct {
	*modeltest.Engine
	consumables
	definitions
	environments
	jobs
	policies
	queues
	quotaShares
	serviceEnvironments
	serviceJobs
	tags
	t        testing.TB
	handlers map[string]call.Handler
}

func newAPI(t testing.TB, o modeltest.Options) *testAPI {
	return apiOn(t, modeltest.New(t, o), Settings{})
}

// apiOn returns an API on an engine.
func apiOn(t testing.TB, e *modeltest.Engine, s Settings) *testAPI {
	s.Capacity, s.VCPUs = e.Capacity, float64(e.Capacity().MilliCPU)/1000
	a := New(e, s)
	return &testAPI{e, a.consumables, a.definitions, a.environments, a.jobs, a.policies, a.queues, a.quotaShares,
		a.serviceEnvironments, a.serviceJobs, a.tags, t, a.Operations()}
}

// restart returns an API on the state that the journal of w has.
func (w *testAPI) restart(o modeltest.Options) *testAPI {
	w.t.Helper()
	return apiOn(w.t, w.Engine.Restart(o).Recover(), Settings{})
}

// received returns a request as it arrives.
func received(operation string, body []byte) *call.Call {
	return &call.Call{Operation: operation, Body: body, Header: http.Header{}, Request: httptest.NewRequest(http.MethodPost, "/", nil)}
}

// do calls an operation with an input as it arrives in a request.
func do[In, Out any](operation func(*call.Call, In) (Out, error), in In) (out Out, err error) {
	body, err := wire.Marshal(in)
	if err != nil {
		return out, err
	}
	name := strings.TrimSuffix(reflect.TypeFor[In]().Elem().Name(), "Input")
	answer, err := call.Serve(operation)(received(name, body))
	out, _ = answer.(Out)
	return out, err
}

// must is do for a request that succeeds.
func must[In, Out any](t testing.TB, operation func(*call.Call, In) (Out, error), in In) Out {
	t.Helper()
	out, err := do(operation, in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// send sends a request in its JSON form.
func (w *testAPI) send(operation, body string) (answer any, notice string, err error) {
	c := received(operation, []byte(body))
	answer, err = w.handlers[operation](c)
	return answer, call.Notice(c.Header), err
}

// must sends a request that succeeds.
func (w *testAPI) must(operation, body string) any {
	w.t.Helper()
	answer, _, err := w.send(operation, body)
	if err != nil {
		w.t.Fatalf("%s %s: %v", operation, body, err)
	}
	return answer
}

// message returns the text of an error of AWS Batch, without the id of the request that some have.
func message(err error) string {
	f, ok := errors.AsType[*wire.Fault](err)
	if !ok {
		return ""
	}
	text, _, framed := strings.Cut(f.Message, ", RequestId: ")
	if framed {
		text = strings.TrimSuffix(text, ".")
	}
	return text
}

// refused reports an error unless err is a ClientException with a message.
func refused(t testing.TB, err error, want string) {
	t.Helper()
	if f, ok := errors.AsType[*wire.Fault](err); !ok || f.Type != "ClientException" || message(err) != want {
		t.Errorf("got %v, want ClientException %q", err, want)
	}
}

// job describes a job.
func (w *testAPI) job(id string) types.JobDetail {
	w.t.Helper()
	out := must(w.t, w.describeJobs, &awsbatch.DescribeJobsInput{Jobs: []string{id}})
	if len(out.Jobs) != 1 {
		w.t.Fatalf("job %s: %d answers", id, len(out.Jobs))
	}
	return out.Jobs[0]
}

// submit sends SubmitJob for a job of a definition and returns its id.
func (w *testAPI) submit(definition string, edits ...modeltest.Edit) string {
	w.t.Helper()
	return *must(w.t, w.submitJob, modeltest.Request(definition, edits...)).JobId
}

// cancel sends CancelJob, and terminate TerminateJob.
func (w *testAPI) cancel(id, reason string) {
	w.t.Helper()
	must(w.t, w.cancelJob, &awsbatch.CancelJobInput{JobId: &id, Reason: &reason})
}

func (w *testAPI) terminate(id, reason string) {
	w.t.Helper()
	must(w.t, w.terminateJob, &awsbatch.TerminateJobInput{JobId: &id, Reason: &reason})
}
