package cli_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/cli"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
)

// A check that waits for standard input ends with a message when it is interrupted.
func TestInterruptedValidate(t *testing.T) {
	input, silent := io.Pipe() // nothing is ever written
	defer silent.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	var out, said bytes.Buffer
	code := cli.Main(ctx, []string{"batchctl", "validate", "-"}, term.Streams{In: input, Out: &out, Err: &said})
	if code != exit.Interrupted || said.String() != "batchctl: interrupted\n" || out.Len() > 0 {
		t.Errorf("exit %d, %q on stderr, %q on stdout", code, &said, &out)
	}
}

// TestInterruptedQuery checks that a command prints only that it was interrupted, if that happens while
// it queries the target.
func TestInterruptedQuery(t *testing.T) {
	dir := t.TempDir()
	for name, value := range map[string]string{"HOME": dir, "BATCHCTL_STATE_DIR": filepath.Join(dir, "state"), "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "us-east-1"} {
		t.Setenv(name, value)
	}
	job := filepath.Join(dir, "job.json")
	if err := os.WriteFile(job, []byte(`{ "name": "j", "image": "busybox:1", "command": ["true"], "queue": "q", "resources": { "vcpus": 1, "memory": "64 MiB" }, "timeout": "5m" }`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"plan JOB", "plan JOB --when", "cost JOB", "export", "forecast q", "queues"} {
		ctx, interrupt := context.WithCancel(t.Context())
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			interrupt()
			_, _ = io.Copy(io.Discard, r.Body) // or the server does not see that the client has gone
			<-r.Context().Done()
		}))
		var out, said bytes.Buffer
		words := append(strings.Fields(strings.ReplaceAll(line, "JOB", job)), "--target", "aws", "--endpoint-url", server.URL)
		code := cli.Main(ctx, append([]string{"batchctl"}, words...), term.Streams{In: strings.NewReader(""), Out: &out, Err: &said})
		if code != exit.Interrupted || said.String() != "batchctl: interrupted\n" || out.Len() > 0 {
			t.Errorf("%s: exit %d, %q on stderr, %q on stdout", line, code, &said, &out)
		}
		server.Close()
	}
}
