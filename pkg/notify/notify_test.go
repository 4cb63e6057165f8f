package notify

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

var event = Event{Type: Type, Version: Version, ID: "beef0001-0123", Submission: "beef0001", Name: "nightly", Status: "FAILED",
	Jobs: []Job{{Name: "train", ID: "1", Status: "FAILED"}}}

// answers is a network that answers requests in order; the last answer repeats.
type answers struct {
	list     []func(*http.Request) (*http.Response, error)
	requests []*http.Request
	bodies   []string
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	a.requests, a.bodies = append(a.requests, r), append(a.bodies, string(body))
	return a.list[min(len(a.requests), len(a.list))-1](r)
}

func (a *answers) Do(r *http.Request) (*http.Response, error) { return a.RoundTrip(r) }

// status answers with a status.
func status(code int) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		w.Header().Set("Location", "https://other.example.com/")
		w.WriteHeader(code)
		out := w.Result()
		out.Request = r
		return out, nil
	}
}

// broken does not answer.
func broken(*http.Request) (*http.Response, error) { return nil, errors.New("connection reset") }

func TestSend(t *testing.T) {
	type list = []func(*http.Request) (*http.Response, error)
	for name, c := range map[string]struct {
		receiver string
		answers  list
		requests int
		err      string
	}{
		"accepted":        {"https://hooks.example.com/secret", list{status(204)}, 1, ""},
		"repeated":        {"https://hooks.example.com/secret", list{status(503), broken, status(429), status(200)}, 4, ""},
		"never":           {"https://hooks.example.com/secret", list{broken}, 4, "send a message to https://hooks.example.com: connection reset"},
		"rejected":        {"https://hooks.example.com/secret", list{status(404)}, 1, "send a message to https://hooks.example.com: it answered 404 Not Found"},
		"redirect":        {"https://hooks.example.com/secret", list{status(302)}, 1, "follows no redirects"},
		"not encrypted":   {"http://hooks.example.com/secret", list{status(200)}, 0, "only https:// is allowed"},
		"to this machine": {"http://127.0.0.1:9999/secret", list{status(200)}, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := &answers{list: c.answers}
				s := &Sender{Transport: network, Version: "1"}
				began := time.Now()
				err := s.Send(t.Context(), c.receiver, event)
				if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "secret")) {
					t.Errorf("%v; want %q", err, c.err)
				}
				if len(network.requests) != c.requests || time.Since(began) > time.Minute {
					t.Errorf("%d requests in %v; want %d", len(network.requests), time.Since(began), c.requests)
				}
				for i, r := range network.requests {
					var got Event
					if err := json.Unmarshal([]byte(network.bodies[i]), &got); err != nil || got.ID != event.ID || got.Jobs[0].Name != "train" {
						t.Errorf("body %s, %v", network.bodies[i], err)
					}
					if r.Header.Get("Idempotency-Key") != event.ID || r.Header.Get("Content-Type") != "application/json" || r.Method != http.MethodPost {
						t.Errorf("%s with header %v", r.Method, r.Header)
					}
				}
			})
		})
	}
}

// TestInterrupted checks that the end of the context ends the pauses between tries.
func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		s := &Sender{Transport: &answers{list: []func(*http.Request) (*http.Response, error){broken}}}
		if err := s.Send(ctx, "https://hooks.example.com/", event); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

func TestPublish(t *testing.T) {
	network := &answers{list: []func(*http.Request) (*http.Response, error){func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		_, _ = io.WriteString(w, `<PublishResponse><PublishResult><MessageId>1</MessageId></PublishResult></PublishResponse>`)
		return w.Result(), nil
	}}}
	s := &Sender{Config: func(context.Context) (aws.Config, error) {
		return aws.Config{Region: "us-east-1", HTTPClient: network, Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
		})}, nil
	}}
	if err := s.Send(t.Context(), "arn:aws:sns:eu-west-1:123456789012:jobs.fifo", event); err != nil {
		t.Fatal(err)
	}
	long := event
	long.Name = strings.Repeat("n", 200)
	if err := s.Send(t.Context(), "arn:aws:sns:eu-west-1:123456789012:jobs", long); err != nil {
		t.Fatal(err)
	}
	if form, err := url.ParseQuery(network.bodies[1]); err != nil || len(form.Get("Subject")) != 99 || form.Has("MessageGroupId") {
		t.Errorf("form %v, %v", form, err)
	}
	if host := network.requests[0].URL.Host; host != "sns.eu-west-1.amazonaws.com" {
		t.Errorf("sent to %s", host)
	}
	form, err := url.ParseQuery(network.bodies[0])
	if err != nil || form.Get("Action") != "Publish" || form.Get("Version") != "2010-03-31" || form.Get("Subject") != "batchctl: nightly FAILED" ||
		form.Get("MessageDeduplicationId") != event.ID || !strings.Contains(form.Get("Message"), `"type":"batchctl.submission.ended"`) {
		t.Errorf("form %v, %v", form, err)
	}
}
