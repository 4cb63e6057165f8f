package cli_test

import (
	"bytes"
	"fmt"
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

// TestStopNamesakesUnknown checks that stop reports, but does not fail, when it cannot check for
// other jobs of the same name. A complete id needs no permission to describe queues.
func TestStopNamesakesUnknown(t *testing.T) {
	const meant, other = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/describejobs" || strings.Contains(string(body), other) {
			w.Header().Set("X-Amzn-ErrorType", "AccessDeniedException")
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w, `{"message":"not you"}`)
			return
		}
		fmt.Fprintf(w, `{"jobs":[{"jobId":%q,"jobName":"hold","jobQueue":"q","jobDefinition":"d","status":"SUCCEEDED","startedAt":1}]}`, meant)
	}))
	defer service.Close()
	dir := t.TempDir()
	for name, value := range map[string]string{
		"BATCHCTL_STATE_DIR": dir, "BATCHCTL_TARGET": "aws", "AWS_ENDPOINT_URL": service.URL, "AWS_REGION": "us-east-1", "AWS_PROFILE": "",
		"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_CONFIG_FILE": filepath.Join(dir, "none"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(dir, "none"),
	} {
		t.Setenv(name, value)
	}
	ledger := ""
	for _, id := range []string{other, meant} {
		ledger += fmt.Sprintf("{\"time\":\"2026-03-31T14:00:00Z\",\"target\":\"aws (account not known) us-east-1 at %s\",\"queue\":\"q\",\"name\":\"hold\",\"id\":%q}\n", service.URL, id)
	}
	if err := os.WriteFile(filepath.Join(dir, "submissions.jsonl"), []byte(ledger), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"text", "json"} {
		var out, said bytes.Buffer
		code := cli.Main(t.Context(), []string{"batchctl", "stop", meant, "--output", format}, term.Streams{In: &bytes.Buffer{}, Out: &out, Err: &said})
		if code != exit.NotDone || !strings.Contains(out.String(), "SUCCEEDED already") {
			t.Errorf("%s: exit %d, %s", format, code, &out)
		}
		if n := strings.Count(said.String(), "not you"); n != 1 || !strings.Contains(said.String(), "could not check for other jobs with these names") {
			t.Errorf("%s: %d times on stderr: %s", format, n, &said)
		}
	}
}
