package injob

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestTaskID asks a metadata endpoint. A proxy of the container is not used.
func TestTaskID(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	const arn = `"TaskARN":"arn:aws:ecs:us-west-2:111122223333:task/`
	for name, c := range map[string]struct {
		statuses []int // of the answers before the last
		answer   string
		want     string // an id, or a part of the error after "!"
		requests int
	}{
		"task":         {nil, `{"Cluster":"default",` + arn + `default/158d1c8083dd49d6b527399fd6414f5c","Family":"train"}`, "158d1c8083dd49d6b527399fd6414f5c", 1},
		"older ARN":    {nil, `{` + arn + `0b69d5c0-d655-4695-98cd-5d2d526d9d5a"}`, "0b69d5c0-d655-4695-98cd-5d2d526d9d5a", 1},
		"late":         {[]int{500, 429}, `{` + arn + `c/1a"}`, "1a", 3},
		"down":         {[]int{500, 500, 503}, "", "!503", 3},
		"none":         {[]int{404}, "", "!404", 1},
		"not JSON":     {nil, "<html>", "!no TaskARN", 1},
		"no ARN":       {nil, "{}", "!no TaskARN", 1},
		"a path":       {nil, `{` + arn + `c/.."}`, "!invalid TaskARN", 1},
		"another ARN":  {nil, `{"TaskARN":"arn:aws:ecs:us-west-2:111122223333:cluster/a"}`, "!invalid TaskARN", 1},
		"nothing else": {nil, `{` + arn + `c/"}`, "!invalid TaskARN", 1},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests++
				switch {
				case r.URL.Path != "/v4/container/task":
					http.Error(w, r.URL.Path, http.StatusTeapot)
				case requests <= len(c.statuses):
					http.Error(w, "no", c.statuses[requests-1])
				default:
					_, _ = io.WriteString(w, c.answer)
				}
			}))
			defer server.Close()
			id, err := taskID(t.Context(), server.URL+"/v4/container")
			if requests != c.requests {
				t.Errorf("%d requests, want %d", requests, c.requests)
			}
			if part, isError := strings.CutPrefix(c.want, "!"); isError != (err != nil) || isError && !strings.Contains(err.Error(), part) || !isError && id != c.want {
				t.Errorf("%q, %v; want %q", id, err, c.want)
			}
		})
	}
	if _, err := taskID(t.Context(), "http://127.0.0.1:1/v4/x"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
	if _, err := taskID(t.Context(), "::"); err == nil {
		t.Error("an endpoint that is no URL is taken")
	}
}
