package api

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/logs"
	"github.com/batchctl/batchctl/pkg/wire"
)

const (
	// WorkDirHeader, on SubmitJob, is the directory in which the job's command runs: an absolute
	// path, percent-encoded. Without it the job gets its own directory.
	WorkDirHeader = "X-Batchctl-Working-Directory"
	// noticeHeader, on an answer, lists the parts of the request that have no effect here,
	// percent-encoded.
	noticeHeader = "X-Batchctl-Notice"

	// ClientHeader, on a request, marks a command of batchctl. It proves nothing: every holder of
	// the key could send it. It keeps other tools from starting root processes by accident.
	ClientHeader = "X-Batchctl-Client"

	// SecretsHeader, on SubmitJob, has the values of secrets of the job; see package secretsource. The
	// journal keeps only the request's body.
	SecretsHeader = "X-Batchctl-Secrets"

	// MaxHeader limits the bytes of a request's headers. Most of them are for SecretsHeader.
	MaxHeader = 576 << 10

	// maxNotice limits the characters of a notice: clients limit a header's length (Python's
	// http.client: 64 KiB), and each character may take 12 bytes when it is percent-encoded as
	// UTF-8.
	maxNotice = 4000

	// maxBody limits the bytes of a request. AWS accepts 24 KiB (RegisterJobDefinition) and 30
	// KiB (SubmitJob); the operations check that themselves.
	maxBody = 256 << 10
	// maxPutBody is the same for PutLogEvents: 1 MiB of messages, each byte of which can need an escape
	// of 6 bytes, and 10,000 times the names of the members.
	maxPutBody = 8 << 20
)

// call is one request while it is served. Only the goroutine that serves it uses it.
type call struct {
	// operation is the name of the operation, as in the SDK; it is set once the request is
	// routed.
	operation string
	// request is the HTTP request, whose body has been read into body.
	request *http.Request
	body    []byte
	// header belongs to the answer.
	header http.Header
	// notices are the parts of the answer's notice so far.
	notices []string
}

// handler serves one operation and returns its output, or an error that is a *wire.Fault or has
// one.
type handler func(*call) (any, error)

// serve returns a handler for a method that takes an operation's input and returns its output. It
// decodes the input from the body, or for the tag operations also from the path and query. Empty
// members are absent for the method.
func serve[In, Out any](f func(*call, *In) (*Out, error)) handler {
	return func(c *call) (any, error) {
		in := new(In)
		if err := wire.ReadInput(c.request, c.body, in); err != nil {
			return nil, err
		}
		// What reads the body later must see the same request as the handler. The decoder has left out null and
		// empty enumeration values; a body that may have them is encoded again.
		if dropEmpty(reflect.ValueOf(in).Elem()) || bytes.Contains(c.body, []byte("null")) || bytes.Contains(c.body, []byte(`""`)) {
			var err error
			if c.body, err = wire.Marshal(in); err != nil {
				return nil, err
			}
		}
		return f(c, in)
	}
}

// operations returns the handlers of the Batch operations that the engine implements.
func (a *API) operations() map[string]handler {
	return map[string]handler{
		"CancelJob":                    serve(a.cancelJob),
		"CreateComputeEnvironment":     serve(a.createComputeEnvironment),
		"CreateConsumableResource":     serve(a.createConsumableResource),
		"CreateJobQueue":               serve(a.createJobQueue),
		"CreateQuotaShare":             serve(a.createQuotaShare),
		"CreateSchedulingPolicy":       serve(a.createSchedulingPolicy),
		"CreateServiceEnvironment":     serve(a.createServiceEnvironment),
		"DeleteComputeEnvironment":     serve(a.deleteComputeEnvironment),
		"DeleteConsumableResource":     serve(a.deleteConsumableResource),
		"DeleteJobQueue":               serve(a.deleteJobQueue),
		"DeleteQuotaShare":             serve(a.deleteQuotaShare),
		"DeleteSchedulingPolicy":       serve(a.deleteSchedulingPolicy),
		"DeleteServiceEnvironment":     serve(a.deleteServiceEnvironment),
		"DeregisterJobDefinition":      serve(a.deregisterJobDefinition),
		"DescribeComputeEnvironments":  serve(a.describeComputeEnvironments),
		"DescribeConsumableResource":   serve(a.describeConsumableResource),
		"DescribeJobDefinitions":       serve(a.describeJobDefinitions),
		"DescribeJobQueues":            serve(a.describeJobQueues),
		"DescribeJobs":                 serve(a.describeJobs),
		"DescribeQuotaShare":           serve(a.describeQuotaShare),
		"DescribeSchedulingPolicies":   serve(a.describeSchedulingPolicies),
		"DescribeServiceEnvironments":  serve(a.describeServiceEnvironments),
		"DescribeServiceJob":           serve(a.describeServiceJob),
		"GetJobQueueSnapshot":          serve(a.getJobQueueSnapshot),
		"ListConsumableResources":      serve(a.listConsumableResources),
		"ListJobs":                     serve(a.listJobs),
		"ListJobsByConsumableResource": serve(a.listJobsByConsumableResource),
		"ListQuotaShares":              serve(a.listQuotaShares),
		"ListSchedulingPolicies":       serve(a.listSchedulingPolicies),
		"ListServiceJobs":              serve(a.listServiceJobs),
		"ListTagsForResource":          serve(a.listTagsForResource),
		"RegisterJobDefinition":        serve(a.registerJobDefinition),
		"SubmitJob":                    serve(a.submitJob),
		"SubmitServiceJob":             serve(a.submitServiceJob),
		"TagResource":                  serve(a.tagResource),
		"TerminateJob":                 serve(a.terminateJob),
		"TerminateServiceJob":          serve(a.terminateServiceJob),
		"UntagResource":                serve(a.untagResource),
		"UpdateComputeEnvironment":     serve(a.updateComputeEnvironment),
		"UpdateConsumableResource":     serve(a.updateConsumableResource),
		"UpdateJobQueue":               serve(a.updateJobQueue),
		"UpdateQuotaShare":             serve(a.updateQuotaShare),
		"UpdateSchedulingPolicy":       serve(a.updateSchedulingPolicy),
		"UpdateServiceEnvironment":     serve(a.updateServiceEnvironment),
		"UpdateServiceJob":             serve(a.updateServiceJob),
	}
}

// clusterOperations returns the handlers of the ECS operations.
func (a *API) clusterOperations() map[string]handler {
	return map[string]handler{
		"DescribeClusters":           serve(a.describeClusters),
		"DescribeContainerInstances": serve(a.describeContainerInstances),
		"DescribeTaskDefinition":     serve(a.describeTaskDefinition),
		"DescribeTasks":              serve(a.describeTasks),
		"ListClusters":               serve(a.listClusters),
		"ListContainerInstances":     serve(a.listContainerInstances),
		"ListTasks":                  serve(a.listTasks),
	}
}

// logOperations returns the handlers of the CloudWatch Logs operations.
func (a *API) logOperations() map[string]handler {
	return map[string]handler{
		"CreateLogGroup":        serve(a.createLogGroup),
		"CreateLogStream":       serve(a.createLogStream),
		"DeleteLogGroup":        serve(a.deleteLogGroup),
		"DeleteLogStream":       serve(a.deleteLogStream),
		"DeleteRetentionPolicy": serve(a.deleteRetentionPolicy),
		"DescribeLogGroups":     serve(a.describeLogGroups),
		"DescribeLogStreams":    serve(a.describeLogStreams),
		"DescribeQueries":       serve(a.describeQueries),
		"FilterLogEvents":       serve(a.filterLogEvents),
		"GetLogEvents":          serve(a.getLogEvents),
		"GetLogGroupFields":     serve(a.getLogGroupFields),
		"GetLogRecord":          serve(a.getLogRecord),
		"GetQueryResults":       serve(a.getQueryResults),
		"ListTagsForResource":   serve(a.listLogTags),
		"ListTagsLogGroup":      serve(a.listTagsLogGroup),
		"PutLogEvents":          serve(a.putLogEvents),
		"PutRetentionPolicy":    serve(a.putRetentionPolicy),
		"StartLiveTail":         serve(a.startLiveTail),
		"StartQuery":            serve(a.startQuery),
		"StopQuery":             serve(a.stopQuery),
		"TagLogGroup":           serve(a.tagLogGroup),
		"TagResource":           serve(a.tagLogs),
		"UntagLogGroup":         serve(a.untagLogGroup),
		"UntagResource":         serve(a.untagLogs),
	}
}

// ServeHTTP answers only requests that come from this machine, not from a web page, and are signed
// with the engine's key. It rejects requests for other services in their own protocol.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if service := foreignService(r); service != "" && fromNoPage(r) == nil {
		refuseForeign(w, r, service)
		return
	}
	if r.Method == http.MethodGet && r.URL.Path == ChangesPath {
		a.streamChanges(w, r)
		return
	}
	if r.Method == http.MethodPost && r.URL.Path == HandOverPath && a.HandOver != nil {
		a.handOver(w, r)
		return
	}
	c := &call{request: r, header: w.Header()}
	out, err := a.answer(c)
	if r.Header.Get("X-Amz-Target") != "" {
		c.header.Set("Content-Type", "application/x-amz-json-1.1")
	}
	c.header.Set("X-Amzn-RequestId", NewID())
	if err != nil {
		_ = wire.WriteError(w, err) // a client that has disconnected needs no answer
		return
	}
	if tail, ok := out.(*liveTail); ok {
		a.streamTail(w, r, tail)
		return
	}
	_ = wire.WriteOutput(w, out)
}

// answer checks a request in the order origin, size, signature, operation. A client without the
// key learns nothing else.
func (a *API) answer(c *call) (any, error) {
	if err := fromHere(c.request); err != nil {
		return nil, err
	}
	limit := maxBody
	if name, _ := wire.LogsOperation(c.request.Header.Get("X-Amz-Target")); name == "PutLogEvents" {
		limit = maxPutBody
	}
	body, err := readBody(c.request, limit)
	switch {
	case err != nil:
		return nil, wire.ClientException("read request: %v", err)
	case len(body) > limit:
		return nil, &wire.Fault{Type: "ClientException", Status: http.StatusRequestEntityTooLarge, Message: "The request is larger than " + logs.SizeText(int64(limit)) + "."}
	}
	c.body = body
	// The scope of the signature has the service, so the operation must be found first.
	h, service, unknown := a.route(c)
	if err := a.verifier.verify(c.request, body, service); err != nil {
		return nil, err
	}
	// An unsigned request, from any program on this machine, must not count as a client. Neither does a live tail, as
	// the stream of changes: a terminal that was left open must not keep the engine alive.
	if a.Verified != nil && c.operation != startLiveTail {
		a.Verified(c.request)
	}
	if unknown != nil {
		return nil, unknown
	}
	out, err := h(c)
	if errors.Is(err, ErrReadOnly) {
		err = wire.ClientException("%s", err)
	}
	return out, err
}

// readBody reads a body of at most limit+1 bytes.
func readBody(r *http.Request, limit int) ([]byte, error) {
	if n := r.ContentLength; n > 0 && n <= int64(limit) {
		body := make([]byte, n)
		_, err := io.ReadFull(r.Body, body)
		return body, err
	}
	return io.ReadAll(io.LimitReader(r.Body, int64(limit)+1))
}

// route finds the operation of a request and the service that it must be signed for. err is for a
// client with a valid signature: the operation does not exist or is not implemented.
func (a *API) route(c *call) (h handler, service string, err error) {
	r := c.request
	if target := r.Header.Get("X-Amz-Target"); r.URL.Path == "/" && r.Method == http.MethodPost && target != "" {
		// Services with AWS JSON have one path; the header names the operation.
		service, name := "logs", target
		if text, ok := wire.LogsOperation(target); ok {
			name = text
		} else if text, ok := wire.ClusterOperation(target); ok {
			service, name = "ecs", text
		}
		if h = a.services[service][name]; h == nil {
			err = &wire.Fault{Type: "UnknownOperationException", Message: name + ": the local engine does not implement this operation."}
		}
		c.operation = name
		return h, service, err
	}
	// Batch uses REST JSON: the path names the operation.
	name, ok := wire.Operation(r.Method, r.URL.Path)
	if !ok {
		err := wire.ClientException("%s %s is not an operation of AWS Batch.", r.Method, r.URL.Path)
		err.Status = http.StatusNotFound
		return nil, "batch", err
	}
	if h = a.services["batch"][name]; h == nil {
		err = wire.ClientException("%s: the local engine does not implement this operation.", name)
	}
	c.operation = name
	return h, "batch", err
}

// check applies Settings.Check to the body. Errors other than faults could still be carried out,
// so a lenient engine only reports them.
func (a *API) check(c *call) error {
	if a.Check == nil {
		return nil
	}
	err := a.Check(c.operation, c.body)
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*wire.Fault](err); ok {
		return f
	}
	return faulty("%s", err)
}

// Notice returns the notice in an answer of the engine: the parts of the request that have no
// effect here. It is empty for other answers.
func Notice(h http.Header) string {
	text, err := unescapeHeader(h.Get(noticeHeader))
	if err != nil {
		return ""
	}
	return text
}

// notice reports to the caller, in a header, which members of its request have no effect here, and
// which of them keep the job from starting.
func (c *call) notice(x attempt.Executor, members []attempt.Member) {
	var names, problems []string
	for _, m := range members {
		if m.Effect == attempt.Prevents {
			problems = append(problems, m.Why)
		} else {
			names = append(names, m.Name)
		}
	}
	c.remark("the command runs "+attempt.How(x)+", where these have no effect", names)
	c.remark("the job will not start", problems)
}

// remark adds a reason and the members that it applies to to the answer's notice. A long notice
// is cut at maxNotice characters.
func (c *call) remark(why string, members []string) {
	if len(members) == 0 {
		return
	}
	c.notices = append(c.notices, why+": "+strings.Join(members, ", "))
	text := []rune(strings.Join(c.notices, "; "))
	if len(text) > maxNotice {
		text = append(text[:maxNotice], '…')
	}
	c.header.Set(noticeHeader, url.PathEscape(string(text)))
}

// unescapeHeader reads a header value that is percent-encoded: headers transport only ASCII.
func unescapeHeader(text string) (string, error) { return url.PathUnescape(text) }

// invocationHeader has the id of an SDK call. An SDK that gets no answer repeats the request with
// the same id. The engine answers a repeated call with its first answer, so a retried SubmitJob
// creates no second job. AWS has no such guarantee; clients that need it there keep a ledger.
const invocationHeader = "Amz-Sdk-Invocation-Id"

// invocation returns the operation with the client's id of the call; empty if the client sends
// none, or one that is too long.
func (c *call) invocation() string {
	if id := c.request.Header.Get(invocationHeader); id != "" && len(id) <= 64 {
		return c.operation + " " + id
	}
	return ""
}
