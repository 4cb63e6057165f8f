package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/wire"
)

// recorder passes requests on and remembers those that change something.
type recorder struct {
	mu    sync.Mutex
	calls []call
}

// call is an operation of Batch, or the method and the path of an object.
type call struct{ what, body string }

// newRecorder returns a proxy for an endpoint.
func newRecorder(t *testing.T, endpoint string) (*recorder, string) {
	t.Helper()
	to, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{}
	way := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			t.Error(err)
		}
		what, ok := wire.Operation(q.Method, q.URL.Path)
		if !ok {
			what = q.Method + " " + q.URL.Path
		}
		if what == "RegisterJobDefinition" || what == "SubmitJob" || q.Method == http.MethodPut {
			r.mu.Lock()
			r.calls = append(r.calls, call{what, string(body)})
			r.mu.Unlock()
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		way.ServeHTTP(w, q)
	}))
	t.Cleanup(server.Close)
	return r, server.URL
}

// took returns the calls since the last took.
func (r *recorder) took() (calls []call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls, r.calls = r.calls, nil
	return calls
}

// order returns the calls as text.
func order(calls []call) string {
	var words []string
	for _, c := range calls {
		words = append(words, c.what)
	}
	return strings.Join(words, ", ")
}

// container returns the container of the only job in the calls: the definition's, and then
// the overrides.
func (u *user) container(calls []call) (command, environ []string) {
	u.t.Helper()
	var definition awsbatch.RegisterJobDefinitionInput
	var submit awsbatch.SubmitJobInput
	for _, c := range calls {
		var err error
		switch c.what {
		case "RegisterJobDefinition":
			err = wire.Unmarshal([]byte(c.body), &definition)
		case "SubmitJob":
			err = wire.Unmarshal([]byte(c.body), &submit)
		}
		if err != nil {
			u.t.Fatal(err)
		}
	}
	if definition.ContainerProperties == nil {
		u.t.Fatalf("no definition was registered: %s", order(calls))
	}
	variables := definition.ContainerProperties.Environment
	if submit.ContainerOverrides != nil {
		variables = append(variables, submit.ContainerOverrides.Environment...)
	}
	for _, v := range variables {
		environ = append(environ, aws.ToString(v.Name)+"="+aws.ToString(v.Value))
	}
	return definition.ContainerProperties.Command, environ
}

// child runs the command of a container locally, as the child with an index. Its environment is
// the container's, the variables that AWS sets, and some more.
func (u *user) child(index int, command, environ []string, more ...string) (out string) {
	u.t.Helper()
	out, exit := u.try(index, command, environ, more...)
	if exit != 0 {
		u.t.Errorf("child %d: exit code %d: %s", index, exit, out)
	}
	return out
}

func (u *user) try(index int, command, environ []string, more ...string) (out string, exit int) {
	u.t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = u.dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), fmt.Sprintf("AWS_BATCH_JOB_ARRAY_INDEX=%d", index),
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "AWS_EC2_METADATA_DISABLED=true", "NO_PROXY=127.0.0.1",
		"AWS_CONFIG_FILE=" + filepath.Join(u.dir, "none"), "AWS_SHARED_CREDENTIALS_FILE=" + filepath.Join(u.dir, "none")}, environ...)
	cmd.Env = append(cmd.Env, more...)
	said, err := cmd.CombinedOutput()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		u.t.Fatal(err)
	}
	return string(said), cmd.ProcessState.ExitCode()
}

// object sends a request to S3 without an AWS client, and returns the answer. moto checks only
// that the request is signed.
func object(t *testing.T, method, url, body string) string {
	t.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %v\n%s", method, url, answer.Status, err, text)
	}
	return string(text)
}

// fakeAWS returns the directory of a program aws that can only copy one object to stdout.
func (u *user) fakeAWS(url, text string) (dir string) {
	u.t.Helper()
	dir, err := os.MkdirTemp(u.dir, "bin")
	if err != nil {
		u.t.Fatal(err)
	}
	held := filepath.Join(dir, "object")
	script := "#!/bin/sh\n[ \"$*\" = 's3 cp " + url + " -' ] || { echo \"aws: $*\" >&2; exit 252; }\nexec cat " + held + "\n"
	for file, content := range map[string]string{held: text, filepath.Join(dir, "aws"): script} {
		if err := os.WriteFile(file, []byte(content), 0o700); err != nil {
			u.t.Fatal(err)
		}
	}
	return dir
}
