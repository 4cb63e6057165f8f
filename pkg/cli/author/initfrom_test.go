package author

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/objects/s3mem"
	"github.com/batchctl/batchctl/pkg/target"
)

// TestTemplateInS3 reads a template with the credentials and the endpoint of the target that the command names.
func TestTemplateInS3(t *testing.T) {
	s3 := &s3mem.Server{}
	s3.Put("templates/train.json", &s3mem.Object{Body: []byte(`{ "name": "{{ name }}", "image": "busybox:1", "timeout": "1h", "resources": { "vcpus": 1, "memory": "1 GiB" } }`)})
	var signed string
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signed = r.Header.Get("Authorization")
		s3.ServeHTTP(w, r)
	}))
	t.Cleanup(listening.Close)
	dir := t.TempDir()
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(dir, "none"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "none"))
	platform := `{ "targets": { "prod": { "region": "eu-west-3", "endpoint": "` + listening.URL + `" } },
		"templates": { "train": { "source": "s3://templates/train.json", "parameters": { "name": {} } } } }`
	if err := os.WriteFile(filepath.Join(dir, "batchctl.json"), []byte(platform), 0o644); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	con := &term.Console{Streams: term.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &stderr}}
	path := filepath.Join(dir, "job.json")
	o := initOptions{From: "train", Parameters: []string{"name=a"}, path: path, Target: target.Options{Name: "prod"}}
	if err := writeFrom(t.Context(), con, o); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), `"name": "a"`) {
		t.Errorf("the job file is %q, %v", text, err)
	}
	if !strings.Contains(signed, "AKIAIOSFODNN7EXAMPLE/") || !strings.Contains(signed, "/eu-west-3/s3/") {
		t.Errorf("the request was signed with %q", signed)
	}
}

// TestAskParameters checks how the questions end without an answer.
func TestAskParameters(t *testing.T) {
	asked := document.Template{Name: "t", Parameters: []document.TemplateParameter{{Name: "name", Type: "string"}, {Name: "n", Type: "integer", Default: jsontree.NewInt(3, nil)}}}
	ask := func(ctx context.Context, in io.Reader) (map[string]*jsontree.Node, error) {
		values := map[string]*jsontree.Node{}
		return values, askParameters(ctx, &term.Console{Streams: term.Streams{In: in, Err: io.Discard}}, asked, values)
	}
	if values, err := ask(t.Context(), strings.NewReader("a\r\n\n")); err != nil || values["name"].Text != "a" || values["n"].Text != "3" {
		t.Errorf("%v, %v", values, err)
	}
	var f *exit.Failure
	if _, err := ask(t.Context(), strings.NewReader("\nx")); !errors.As(err, &f) || f.Code != exit.NotDone || !strings.Contains(f.Message, "before the value of parameter n") {
		t.Errorf("at the end of the input: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	blocked, writer := io.Pipe()
	defer writer.Close()
	if _, err := ask(ctx, blocked); !errors.As(err, &f) || f.Code != exit.Interrupted {
		t.Errorf("interrupted: %v", err)
	}
}
