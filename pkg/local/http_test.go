package local

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/local/api"
	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/process"
)

// request returns a DescribeJobQueues (POST) or ListTagsForResource (GET) request to the engine,
// signed as an SDK does it.
func request(t *testing.T, method, host string, key aws.Credentials, at time.Time) *http.Request {
	t.Helper()
	path, body := "/v1/describejobqueues", "{}"
	if method == http.MethodGet || method == http.MethodDelete {
		path, body = "/v1/tags/arn", ""
	}
	r := httptest.NewRequest(method, "http://"+host+path, strings.NewReader(body))
	r.ContentLength = int64(len(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	hash := sha256.Sum256([]byte(body))
	if err := v4.NewSigner().SignHTTP(context.Background(), key, r, hex.EncodeToString(hash[:]), "batch", "us-east-1", at); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestWhoMayCall tries every combination of the request's apparent origin and its signature, for
// methods that read and methods that change.
func TestWhoMayCall(t *testing.T) {
	w := open(t, Options{})
	h := w.engine.Handler()
	const unset = "-"
	allowedSite := map[string]bool{unset: true, "none": true, "same-origin": true}
	allowedHost := map[string]bool{"127.0.0.1:7070": true, "[::1]:7070": true, "localhost:1": true, "localhost": true}
	another := api.NewKey()
	tried, passed := 0, 0
	for _, method := range []string{"GET", "POST", "DELETE", "OPTIONS", "PUT", "HEAD"} {
		for _, host := range []string{"127.0.0.1:7070", "[::1]:7070", "localhost:1", "localhost", "evil.example", "127.0.0.1.evil.example:7070",
			"localhost.evil.example:7070", "0.0.0.0:7070", "[::]:7070", "192.168.0.1:7070", "169.254.169.254", "1.0.0.127.in-addr.arpa:7070"} {
			for _, origin := range []string{unset, "null", "http://evil.example", "http://" + host, ""} {
				for _, site := range []string{unset, "none", "same-origin", "cross-site", "same-site"} {
					for _, kind := range []string{unset, "application/json", "application/x-amz-json-1.1", "text/plain"} {
						for _, signer := range []string{"the owner", "another key", "no key"} {
							signed := signer == "the owner"
							key := w.engine.key
							if signer == "another key" {
								key = another
							}
							r := request(t, method, host, key, time.Now())
							for name, value := range map[string]string{"Origin": origin, "Sec-Fetch-Site": site} {
								if value != unset {
									r.Header.Set(name, value)
								}
							}
							r.Header.Del("Content-Type")
							if kind != unset {
								r.Header.Set("Content-Type", kind)
							}
							if signer == "no key" {
								r.Header.Del("Authorization")
							}
							answer := httptest.NewRecorder()
							h.ServeHTTP(answer, r)
							tried++
							// A body signed for one type and sent as another does not fit its signature.
							want := signed && allowedHost[host] && allowedSite[site] && (origin == unset || origin == "http://"+host) &&
								method != "OPTIONS" && (r.ContentLength == 0 || kind == "application/json")
							got := answer.Code != http.StatusForbidden
							if got {
								passed++
							}
							if got != want {
								t.Errorf("%s host %s, origin %s, site %s, type %s, signed by %s: %d %s", method, host, origin, site, kind, signer,
									answer.Code, answer.Body)
							}
							if cors := answer.Header().Get("Access-Control-Allow-Origin"); cors != "" {
								t.Fatalf("CORS header %q", cors)
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d of %d requests are accepted", passed, tried)
}

func TestSignatures(t *testing.T) {
	w := open(t, Options{})
	h := w.engine.Handler()
	key := w.engine.key
	other := api.NewKey()
	sameID := other
	sameID.AccessKeyID = key.AccessKeyID
	good := func() *http.Request { return request(t, "POST", "127.0.0.1:7070", key, time.Now()) }
	for _, c := range []struct {
		name string
		r    *http.Request
		edit func(*http.Request)
		want int
	}{
		{"good", good(), func(*http.Request) {}, 200},
		{"no blanks after commas", good(), func(r *http.Request) {
			r.Header.Set("Authorization", strings.ReplaceAll(r.Header.Get("Authorization"), ", ", ","))
		}, 200},
		{"unsigned header added", good(), func(r *http.Request) { r.Header.Set("X-Added", "1") }, 200},
		{"other key", request(t, "POST", "127.0.0.1:7070", other, time.Now()), func(*http.Request) {}, 403},
		{"other secret", request(t, "POST", "127.0.0.1:7070", sameID, time.Now()), func(*http.Request) {}, 403},
		{"old", request(t, "POST", "127.0.0.1:7070", key, time.Now().Add(-16*time.Minute)), func(*http.Request) {}, 403},
		{"from the future", request(t, "POST", "127.0.0.1:7070", key, time.Now().Add(16*time.Minute)), func(*http.Request) {}, 403},
		{"a little old", request(t, "POST", "127.0.0.1:7070", key, time.Now().Add(-14*time.Minute)), func(*http.Request) {}, 200},
		{"other body", good(), func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("[]")) }, 403},
		{"other path", good(), func(r *http.Request) { r.URL.Path = "/v1/listjobs" }, 403},
		{"other host", good(), func(r *http.Request) { r.Host = "localhost:7070" }, 403},
		{"a query added", good(), func(r *http.Request) { r.URL.RawQuery = "a=b" }, 403},
		{"date changed", good(), func(r *http.Request) {
			r.Header.Set("X-Amz-Date", time.Now().Add(time.Minute).UTC().Format("20060102T150405Z"))
		}, 403},
		{"date missing", good(), func(r *http.Request) { r.Header.Del("X-Amz-Date") }, 403},
		{"host not signed", good(), func(r *http.Request) {
			r.Header.Set("Authorization", strings.ReplaceAll(r.Header.Get("Authorization"), "host;", ""))
		}, 403},
		{"other service", good(), func(r *http.Request) {
			r.Header.Set("Authorization", strings.ReplaceAll(r.Header.Get("Authorization"), "/batch/", "/logs/"))
		}, 403},
		{"cut short", good(), func(r *http.Request) {
			r.Header.Set("Authorization", r.Header.Get("Authorization")[:len(r.Header.Get("Authorization"))-1])
		}, 403},
		{"nonsense", good(), func(r *http.Request) { r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=a, Signature=") }, 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.edit(c.r)
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, c.r)
			if answer.Code != c.want {
				t.Errorf("%d, want %d: %s", answer.Code, c.want, answer.Body)
			}
		})
	}
}

func TestLargeBody(t *testing.T) {
	w := open(t, Options{})
	for _, length := range []int64{-1, 256<<10 + 1} { // chunked, and not
		r := request(t, "POST", "localhost", w.engine.key, time.Now())
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(make([]byte, 256<<10+1))), length
		answer := httptest.NewRecorder()
		w.engine.Handler().ServeHTTP(answer, r)
		if answer.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("length %d: %d, want 413", length, answer.Code)
		}
	}
}

// TestEveryOperationAnswers checks that the engine has every operation of AWS Batch in the SDK.
func TestEveryOperationAnswers(t *testing.T) {
	w := open(t, Options{})
	for operation := range inputs() {
		if _, message := w.call(operation, "{}"); strings.Contains(message, "does not implement this operation") {
			t.Errorf("%s: %s", operation, message)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	var bodies []string
	w := open(t, Options{Check: func(operation string, body []byte) error {
		bodies = append(bodies, operation+" "+string(body))
		if operation == "SubmitJob" {
			return errors.New("the platform does not want this")
		}
		return nil
	}})
	w.register("work", "1", "512")
	_, err := w.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("a"), JobQueue: aws.String("default"), JobDefinition: aws.String("work")})
	refused(t, err, "the platform does not want this")
	if len(bodies) != 2 || !strings.Contains(bodies[1], `"jobName":"a"`) {
		t.Errorf("Check was called with %q", bodies)
	}
	if len(w.engine.model.BySubmission) != 0 {
		t.Error("the rejected job was submitted")
	}
}

func TestNoticeOfWhatHasNoEffect(t *testing.T) {
	w := open(t, Options{Executor: process.Executor{}})
	w.register("work", "1", "512")
	var notice string
	client := awsbatch.NewFromConfig(w.engine.Config(), func(o *awsbatch.Options) {
		inner := o.HTTPClient
		o.HTTPClient = clientFunc(func(r *http.Request) (*http.Response, error) {
			answer, err := inner.Do(r)
			notice = answer.Header.Get("X-Batchctl-Notice")
			return answer, err
		})
	})
	_, err := client.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("a"), JobQueue: aws.String("default"), JobDefinition: aws.String("work")})
	if err != nil {
		t.Fatal(err)
	}
	if text := call.Notice(http.Header{"X-Batchctl-Notice": {notice}}); text != "the command runs as a process on this machine, where these have no effect: image" {
		t.Errorf("notice %q", text)
	}
	w.idle()
}

type clientFunc func(*http.Request) (*http.Response, error)

func (f clientFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }
