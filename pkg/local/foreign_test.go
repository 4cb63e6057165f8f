package local

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// TestForeign checks that requests for other services are rejected in the protocol of that
// service, with a status that no SDK retries. Requests that a web page could send get no such
// answer.
func TestForeign(t *testing.T) {
	e, err := Open(Options{Dir: filepath.Join(t.TempDir(), "state"), VCPUs: 1, MemoryMiB: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	const says = "This is batchctl&#39;s local engine (AWS Batch, CloudWatch Logs, ECS only)"
	const plain = "This is batchctl's local engine (AWS Batch, CloudWatch Logs, ECS only)"
	const form = "application/x-www-form-urlencoded; charset=utf-8"
	for _, c := range []struct {
		method, path, service string
		header                map[string]string
		status                int
		contentType, begins   string
		holds                 string
	}{
		{"GET", "/", "s3", nil, 400, "text/xml", "<?xml", "<Error><Code>UnsupportedService</Code><Message>" + says},
		{"PUT", "/bucket/key", "s3", map[string]string{"Content-Type": "text/csv"}, 400, "text/xml", "<?xml", "<Error><Code>UnsupportedService</Code><Message>" + says},
		{"HEAD", "/bucket/key", "s3", nil, 403, "text/xml", "", ""},
		{"POST", "/", "sts", map[string]string{"Content-Type": form}, 400, "text/xml", "<?xml", "<ErrorResponse><Error><Type>Sender</Type><Code>UnsupportedService</Code><Message>" + says},
		{"GET", "/?Action=GetCallerIdentity", "sts", nil, 400, "text/xml", "<?xml", "<ErrorResponse><Error><Type>Sender</Type>"},
		{"POST", "/", "ec2", map[string]string{"Content-Type": form}, 400, "text/xml", "<?xml", "<Response><Errors><Error><Code>UnsupportedService</Code><Message>" + says},
		{"POST", "/", "dynamodb", map[string]string{"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "DynamoDB_20120810.ListTables"}, 400,
			"application/x-amz-json-1.0", "{", plain},
		{"POST", "/", "secretsmanager", map[string]string{"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "secretsmanager.ListSecrets"}, 400,
			"application/x-amz-json-1.1", "{", `"__type":"UnsupportedService"`},
		{"GET", "/2015-03-31/functions", "lambda", nil, 400, "application/json", "{", plain},
		{"POST", "/service/GraniteServiceVersion20100801/operation/ListMetrics", "monitoring", map[string]string{"Content-Type": "application/cbor", "Smithy-Protocol": "rpc-v2-cbor"}, 400,
			"application/cbor", "\xa2\x79\x00\x06__type\x79\x00\x12UnsupportedService\x79\x00\x07message\x79", plain},
		{"GET", "/2013-04-01/hostedzone", "route53", nil, 400, "text/xml", "<?xml", "<ErrorResponse>"},
		{"POST", "/", "sts", map[string]string{"Content-Type": form, "Origin": "http://evil.example"}, 403, "application/json", "{", "is not allowed to use this engine"},
		{"POST", "/v1/listjobs", "batch", map[string]string{"Content-Type": "application/json"}, 403, "application/json", "{", "more than 15 minutes from now"},
	} {
		r := httptest.NewRequest(c.method, "http://127.0.0.1"+c.path, nil)
		r.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=KEY/20260101/us-east-1/%s/aws4_request, SignedHeaders=host, Signature=00", c.service))
		r.Header.Set("X-Amz-Date", "20260101T000000Z")
		for name, value := range c.header {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		e.Handler().ServeHTTP(w, r)
		if w.Code != c.status || c.service != "batch" && w.Header().Get("Content-Type") != c.contentType || !strings.HasPrefix(w.Body.String(), c.begins) {
			t.Errorf("%s %s for %s: %d %s\n%s", c.method, c.path, c.service, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
		if c.method != http.MethodHead && !strings.Contains(w.Body.String(), c.holds) {
			t.Errorf("%s %s for %s: no %s in\n%s", c.method, c.path, c.service, c.holds, w.Body)
		}
	}
	r := httptest.NewRequest("GET", "http://127.0.0.1/bucket/key?X-Amz-Credential=KEY%2F20260101%2Fus-east-1%2Fs3%2Faws4_request", nil)
	w := httptest.NewRecorder()
	e.Handler().ServeHTTP(w, r)
	if w.Code != 400 || !strings.Contains(w.Body.String(), "<Error><Code>UnsupportedService</Code>") {
		t.Errorf("a presigned URL: %d\n%s", w.Code, w.Body)
	}
}
