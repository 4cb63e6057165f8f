package injob

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
)

// instance is the metadata service of an instance, version 2 and, if optional is set, version 1.
type instance struct {
	optional bool
	hop      bool // the answer with a token is lost on the way
	notice   string
	expire   int // a token is good for so many requests; 0: any number
	tokens   int
	asked    int
}

func (i *instance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "PUT /latest/api/token":
		if r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds") == "" {
			http.Error(w, "no lifetime", http.StatusBadRequest)
			return
		}
		i.tokens++
		_, _ = io.WriteString(w, "token-"+strings.Repeat("x", i.tokens))
	case "GET /latest/meta-data/spot/instance-action":
		i.asked++
		token := r.Header.Get("X-Aws-Ec2-Metadata-Token")
		valid := token == "token-"+strings.Repeat("x", i.tokens) && (i.expire == 0 || i.asked%i.expire != 0)
		switch {
		case !valid && (token != "" || !i.optional):
			http.Error(w, "", http.StatusUnauthorized)
		case i.notice == "" || i.asked < 4:
			http.NotFound(w, r)
		default:
			_, _ = io.WriteString(w, i.notice)
		}
	default:
		http.NotFound(w, r)
	}
}

// RoundTrip answers a request without a network, so that time can be virtual.
func (i *instance) RoundTrip(r *http.Request) (*http.Response, error) {
	if i.hop && r.Method == http.MethodPut {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	w := httptest.NewRecorder()
	i.ServeHTTP(w, r)
	return w.Result(), nil
}

// TestReclaimNotice waits for the notice of a Spot instance.
func TestReclaimNotice(t *testing.T) {
	const action = `{"action": "terminate", "time": "2026-11-22T10:00:00Z"}`
	const want = "Amazon EC2 will terminate this Spot instance at 2026-11-22T10:00:00Z"
	for name, c := range map[string]struct {
		instance instance
		want     string
		asked    int
	}{
		"version 2":            {instance{notice: action}, want, 4},
		"version 1":            {instance{notice: action, optional: true, hop: true}, want, 4},
		"hop limit":            {instance{notice: action, hop: true}, "", imdsPatience},
		"an expired token":     {instance{notice: action, expire: 2}, want, 5},
		"not JSON":             {instance{notice: "<html>"}, "", 0}, // until ctx ends
		"no notice until then": {instance{}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 100*imdsPeriod)
				defer cancel()
				i := c.instance
				m := &metadata{address: "http://imds.test", client: &http.Client{Timeout: imdsTimeout, Transport: &i}}
				if got := m.wait(ctx); got != c.want {
					t.Errorf("%q, want %q", got, c.want)
				}
				if c.asked != 0 && i.asked != c.asked {
					t.Errorf("%d requests, want %d", i.asked, c.asked)
				}
				if c.asked == 0 && ctx.Err() == nil {
					t.Error("it did not wait until the end")
				}
			})
		})
	}
}

// TestReclaimNoticeNowhere checks the containers that have no metadata service.
func TestReclaimNoticeNowhere(t *testing.T) {
	server := httptest.NewServer(&instance{})
	defer server.Close()
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.URL+"/")
	if got := imds(); got != server.URL {
		t.Errorf("the address is %q", got)
	}
	t.Setenv("AWS_EXECUTION_ENV", "AWS_ECS_FARGATE")
	if got := imds(); got != "" {
		t.Errorf("a Fargate task has the address %q", got)
	}
	t.Setenv("AWS_EXECUTION_ENV", "AWS_ECS_EC2")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "TRUE")
	if got := imds(); got != "" {
		t.Errorf("a container without the service has the address %q", got)
	}
	if got := reclaimNotice(t.Context(), ""); got != "" {
		t.Errorf("no address gave the notice %q", got)
	}
}
