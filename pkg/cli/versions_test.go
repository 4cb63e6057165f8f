package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
)

// TestVersionCheck asks a server for the newest release, only with --check.
func TestVersionCheck(t *testing.T) {
	answer, status, requests := "", http.StatusOK, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		if agent := r.UserAgent(); agent != "batchctl" || len(r.Cookies()) > 0 || r.URL.RawQuery != "" {
			t.Errorf("the request tells more than it must: %v", r.Header)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	version := func(args ...string) (code int, out, errors string) {
		var stdout, stderr strings.Builder
		args = append([]string{"batchctl", "version", "--releases-url", server.URL + "/latest"}, args...)
		code = Main(t.Context(), args, term.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
		return code, stdout.String(), stderr.String()
	}
	if code, out, _ := version(); code != exit.OK || requests != 0 || !strings.HasPrefix(out, "batchctl ") {
		t.Errorf("without --check: status %d, %d requests, %q", code, requests, out)
	}
	answer = `{"tag_name": "v9999.0.0", "html_url": "https://example.com/v9999.0.0"}`
	code, out, _ := version("--check")
	if code != exit.OK || requests != 1 || !strings.Contains(out, "\nnewest release: v9999.0.0, https://example.com/v9999.0.0") {
		t.Errorf("status %d, %q", code, out)
	}
	code, out, _ = version("--check", "--output", "json")
	var v struct{ Version, Latest, LatestURL string }
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != exit.OK || v.Latest != "v9999.0.0" || v.LatestURL != "https://example.com/v9999.0.0" {
		t.Errorf("status %d, %v, %q", code, err, out)
	}
	for what, wrong := range map[string]struct {
		answer string
		status int
	}{"there is no release": {"", http.StatusNotFound}, "status 500": {"", http.StatusInternalServerError}, "names no release": {`{"tag_name": "nightly"}`, http.StatusOK}} {
		answer, status = wrong.answer, wrong.status
		if code, out, errors := version("--check"); code != exit.NotDone || out != "" || !strings.Contains(errors, what) || !strings.Contains(errors, "--releases-url") {
			t.Errorf("%s: status %d, %q, %q", what, code, out, errors)
		}
	}
	server.Close()
	if code, _, errors := version("--check"); code != exit.NotDone || !strings.Contains(errors, "check for a newer version: ") {
		t.Errorf("no server: status %d, %q", code, errors)
	}
}
