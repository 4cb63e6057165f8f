package rpc

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"pgregory.net/rapid"
)

func TestParseS3URL(t *testing.T) {
	for text, want := range map[string][2]string{
		"s3://bucket/key":             {"bucket", "key"},
		"s3://my.bucket/a/b c+ü?x#y%": {"my.bucket", "a/b c+ü?x#y%"},
		"s3://bucket//key":            {"bucket", "/key"},
		"s3://bucket/a/":              {"bucket", "a/"},
	} {
		if bucket, key, err := ParseS3URL(text); err != nil || bucket != want[0] || key != want[1] {
			t.Errorf("%s: %q %q %v", text, bucket, key, err)
		}
	}
	for _, text := range []string{"", "s3:/b/k", "s3://bucket", "s3://bucket/", "s3:///key", "s3://b/key", "s3://user@host/key", "s3://..a/key", "https://bucket/key", "S3://bucket/key"} {
		if _, _, err := ParseS3URL(text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

func TestAddress(t *testing.T) {
	for _, test := range []struct{ region, endpoint, bucket, key, want string }{
		{"eu-central-1", "", "bucket", "a/b", "https://bucket.s3.eu-central-1.amazonaws.com/a/b"},
		{"cn-north-1", "", "bucket", "/k", "https://bucket.s3.cn-north-1.amazonaws.com.cn//k"},
		{"eu-central-1", "", "my.bucket", "k", "https://s3.eu-central-1.amazonaws.com/my.bucket/k"},
		{"us-east-1", "", "Old_Bucket", "k", "https://s3.us-east-1.amazonaws.com/Old_Bucket/k"},
		{"eu-central-1", "http://127.0.0.1:9000", "bucket", "../k", "http://127.0.0.1:9000/bucket/../k"},
		{"eu-central-1", "http://127.0.0.1:9000/s3/", "bucket", "k", "http://127.0.0.1:9000/s3/bucket/k"},
		{"eu-central-1", "", "bucket", "a b+c&d=ü~%2F*'()", "https://bucket.s3.eu-central-1.amazonaws.com/a%20b%2Bc%26d%3D%C3%BC~%252F%2A%27%28%29"},
	} {
		_, c := scripted()
		c.region = test.region
		if test.endpoint != "" {
			c.cfg.BaseEndpoint = aws.String("http://127.0.0.1:1")
			c.cfg.ConfigSources = []any{configured{of: map[string]string{"S3": test.endpoint}}}
		}
		u, region, err := c.address(t.Context(), test.bucket, test.key)
		if err != nil || u.String() != test.want || region != test.region {
			t.Errorf("%s %s: %v %s %v", test.bucket, test.key, u, region, err)
		}
	}
}

// The path stays what was escaped, whatever the key, on its way through net/url.
func TestAddressKeepsKeys(t *testing.T) {
	_, c := scripted()
	rapid.Check(t, func(t *rapid.T) {
		key := string(rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "key"))
		u, _, err := c.address(t.Context(), "bucket", key)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequest(http.MethodGet, u.String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.URL.RequestURI(); got != "/"+escapeKey(key) || r.URL.Path != "/"+key {
			t.Fatalf("%q is asked for as %s, which is %q", key, got, r.URL.Path)
		}
	})
}

// signature computes Signature Version 4 for S3 from what arrived at a server, as the
// "Signature Calculations" of the Amazon S3 API Reference say.
func signature(r *http.Request, body []byte, secret string) string {
	authorization := r.Header.Get("Authorization")
	part := func(name string) string {
		_, rest, _ := strings.Cut(authorization, name+"=")
		value, _, _ := strings.Cut(rest, ",")
		return value
	}
	scope := strings.SplitN(part("Credential"), "/", 2)[1]
	path, query, _ := strings.Cut(r.RequestURI, "?")
	sum := sha256.Sum256(body)
	canonical := r.Method + "\n" + path + "\n" + query + "\n"
	for _, name := range strings.Split(part("SignedHeaders"), ";") {
		value := r.Header.Get(name)
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = fmt.Sprint(r.ContentLength)
		}
		canonical += name + ":" + value + "\n"
	}
	canonical += "\n" + part("SignedHeaders") + "\n" + hex.EncodeToString(sum[:])
	digest := sha256.Sum256([]byte(canonical))
	text := "AWS4-HMAC-SHA256\n" + r.Header.Get("X-Amz-Date") + "\n" + scope + "\n" + hex.EncodeToString(digest[:])
	key := []byte("AWS4" + secret)
	for _, message := range append(strings.Split(scope, "/"), text) {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(message))
		key = h.Sum(nil)
	}
	return "Signature=" + hex.EncodeToString(key)
}

// bucketServer keeps objects for whoever signs well.
type bucketServer struct {
	t       *testing.T
	objects map[string][]byte
	types   map[string]string
}

func (s *bucketServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	sum := sha256.Sum256(body)
	if got := r.Header.Get("X-Amz-Content-Sha256"); got != hex.EncodeToString(sum[:]) {
		s.t.Errorf("%s: payload hash %q", r.RequestURI, got)
	}
	if want := signature(r, body, "secret"); !strings.HasSuffix(r.Header.Get("Authorization"), want) {
		s.t.Errorf("%s: %s, want %s", r.RequestURI, r.Header.Get("Authorization"), want)
	}
	switch object, ok := s.objects[r.URL.Path]; {
	case r.Method == http.MethodPut:
		s.objects[r.URL.Path], s.types[r.URL.Path] = body, r.Header.Get("Content-Type")
	case !ok:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `<?xml version="1.0"?><Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message><Key>x</Key></Error>`)
	default:
		w.Header().Set("Content-Encoding", "gzip") // what was stored with an object comes back with it
		_, _ = w.Write(object)
	}
}

func clientOf(s *httptest.Server) *Client {
	return New(aws.Config{Region: "eu-central-1", BaseEndpoint: aws.String(s.URL), Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "token")})
}

func TestObjects(t *testing.T) {
	bucket := &bucketServer{t, map[string][]byte{}, map[string]string{}}
	server := httptest.NewServer(bucket)
	defer server.Close()
	c := clientOf(server)
	for key, body := range map[string]string{"plain": "one\n", "a b/+ü?#%25": "two", "empty": "", "binary": "\x00\xff", "big": strings.Repeat("line\n", 1<<18)} {
		if err := c.PutObject(t.Context(), "bucket", key, []byte(body)); err != nil {
			t.Fatal(err)
		}
		if got := string(fetched(t, c, "bucket", key)); got != body {
			t.Errorf("%s: %d bytes came back for %d", key, len(got), len(body))
		}
		want := "text/plain; charset=utf-8"
		if key == "binary" {
			want = "application/octet-stream"
		}
		if got := bucket.types["/bucket/"+key]; got != want {
			t.Errorf("%s: %s", key, got)
		}
	}
	_, err := c.GetObject(t.Context(), "bucket", "gone")
	if e, ok := errors.AsType[*Error](err); !ok || !Missing(err) || e.Status != 404 || err.Error() != "s3://bucket/gone: s3 GetObject: NoSuchKey: The specified key does not exist." {
		t.Errorf("%v", err)
	}
	for _, name := range [][2]string{{"bucket", ""}, {"", "key"}, {"a/b", "key"}, {"arn:aws:s3:x", "key"}} {
		if _, err := c.GetObject(t.Context(), name[0], name[1]); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
}

func fetched(t *testing.T, c *Client, bucket, key string) []byte {
	t.Helper()
	r := the[io.ReadCloser](t)(c.GetObject(t.Context(), bucket, key))
	defer r.Close()
	return the[[]byte](t)(io.ReadAll(r))
}

// TestOtherRegion: what says where the bucket is is followed once, by a request signed
// for that Region.
func TestOtherRegion(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"301": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amz-Bucket-Region", "us-west-2")
			w.WriteHeader(301)
		},
		"307": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Amz-Bucket-Region", "us-west-2")
			w.Header().Set("Location", "http://"+strings.Replace(r.Host, "127.0.0.1", "localhost", 1)+"/redirected"+r.RequestURI)
			w.WriteHeader(307)
		},
		"400": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			fmt.Fprint(w, `<Error><Code>AuthorizationHeaderMalformed</Code><Message>expecting 'us-west-2'</Message><Region>us-west-2</Region></Error>`)
		},
	} {
		var regions []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			region := "none"
			if parts := strings.Split(r.Header.Get("Authorization"), "/"); len(parts) > 2 {
				region = parts[2]
			}
			switch regions = append(regions, region); {
			case strings.HasPrefix(r.URL.Path, "/redirected"):
				w.WriteHeader(403) // signed for another host
			case region != "us-west-2":
				answer(w, r)
			}
		}))
		c := clientOf(server)
		if body := fetched(t, c, "bucket", "key"); len(body) != 0 {
			t.Errorf("%s: %s", name, body)
		}
		if err := c.PutObject(t.Context(), "bucket", "key", []byte("x")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := len(slices.DeleteFunc(slices.Clone(regions), func(r string) bool { return r != "us-west-2" })); n != 2 || regions[0] != "eu-central-1" {
			t.Errorf("%s: asked for %v", name, regions)
		}
		server.Close()
	}
}

// hop answers with headers, and keeps the hosts that it was asked for.
type hop struct {
	status int
	region string
	hosts  []string
}

func (h *hop) Do(r *http.Request) (*http.Response, error) {
	h.hosts = append(h.hosts, r.URL.Host)
	return &http.Response{StatusCode: h.status, Header: http.Header{"X-Amz-Bucket-Region": {h.region}}, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}

// TestRegionIsNoHost: an answer cannot send credentials to a host of its choice, nor
// around in circles.
func TestRegionIsNoHost(t *testing.T) {
	for region, want := range map[string]string{
		"us-west-2":      "[bucket.s3.eu-central-1.amazonaws.com bucket.s3.us-west-2.amazonaws.com]",
		"eu-central-1":   "[bucket.s3.eu-central-1.amazonaws.com]",
		"":               "[bucket.s3.eu-central-1.amazonaws.com]",
		"evil.example/":  "[bucket.s3.eu-central-1.amazonaws.com]",
		"us-west-2@evil": "[bucket.s3.eu-central-1.amazonaws.com]",
	} {
		h := &hop{status: 301, region: region}
		_, c := scripted()
		c.cfg.HTTPClient = h
		_, err := c.GetObject(t.Context(), "bucket", "key")
		if e, ok := errors.AsType[*Error](err); !ok || e.Status != 301 || fmt.Sprint(h.hosts) != want {
			t.Errorf("%q: %v after %v", region, err, h.hosts)
		}
	}
}

func TestS3Errors(t *testing.T) {
	for body, want := range map[string]string{
		`<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>`: "s3://bucket/key: not allowed: s3:PutObject",
		`<html>`: "s3://bucket/key: s3 PutObject: HTTP 403 Forbidden",
		``:       "s3://bucket/key: s3 PutObject: HTTP 403 Forbidden",
		`<Error><Code>SignatureDoesNotMatch</Code><Message>no</Message></Error>`: "s3://bucket/key: s3 PutObject: SignatureDoesNotMatch: no",
	} {
		s, c := scripted(answer{status: 403, body: body})
		if err := c.PutObject(t.Context(), "bucket", "key", nil); err == nil || err.Error() != want || len(s.asked) != 1 {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestS3SlowDown: one retry, with the body again, and no more.
func TestS3SlowDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := answer{status: 503, body: `<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`}
		s, c := scripted(busy, answer{status: 200})
		if err := c.PutObject(t.Context(), "bucket", "key", []byte("text")); err != nil || len(s.asked) != 2 {
			t.Fatalf("%v after %d requests", err, len(s.asked))
		}
		if body, err := io.ReadAll(s.asked[1].Body); string(body) != "text" {
			t.Errorf("sent again: %q %v", body, err)
		}
		s, c = scripted(busy)
		if _, err := c.GetObject(t.Context(), "bucket", "key"); err == nil || len(s.asked) != 2 {
			t.Errorf("%v after %d requests", err, len(s.asked))
		}
	})
}

// slow answers after a while, and then sends a byte a minute.
type slow struct{ begin time.Duration }

func (s slow) Do(r *http.Request) (*http.Response, error) {
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(s.begin):
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(&drip{ctx: r.Context().Done()}), Request: r}, nil
}

type drip struct {
	ctx <-chan struct{}
	n   int
}

func (d *drip) Read(p []byte) (int, error) {
	select {
	case <-d.ctx:
		return 0, errors.New("the request has ended")
	case <-time.After(time.Minute):
	}
	if d.n++; d.n > 5 {
		return 0, io.EOF
	}
	return copy(p, "x"), nil
}

// TestSlowObjects: the begin of an answer is bounded, its content is not.
func TestSlowObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := scripted()
		c.cfg.HTTPClient = slow{begin: time.Second}
		if body := fetched(t, c, "bucket", "key"); !bytes.Equal(body, []byte("xxxxx")) {
			t.Errorf("%q", body)
		}
		c.cfg.HTTPClient = slow{begin: time.Hour}
		start := time.Now()
		if _, err := c.GetObject(t.Context(), "bucket", "key"); err == nil || time.Since(start) != callTimeout {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		start = time.Now()
		if err := c.PutObject(t.Context(), "bucket", "key", make([]byte, 30*uploadRate)); err == nil || time.Since(start) != callTimeout+30*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestMotoObjects(t *testing.T) {
	c := moto(t)
	create := func(bucket, region string) {
		t.Helper()
		r := the[*http.Request](t)(http.NewRequest(http.MethodPut, *c.cfg.BaseEndpoint+"/"+bucket,
			strings.NewReader(`<CreateBucketConfiguration><LocationConstraint>`+region+`</LocationConstraint></CreateBucketConfiguration>`)))
		answer := the[*http.Response](t)(http.DefaultClient.Do(r))
		if answer.Body.Close(); answer.StatusCode != 200 {
			t.Fatalf("make %s: %s", bucket, answer.Status)
		}
	}
	create("here", "eu-central-1")
	create("far.away", "us-west-2")
	for _, bucket := range []string{"here", "far.away"} {
		for _, key := range []string{"plain", "a b/c  d", "ünïcode/日本語/😀", "1+1=2", "a//b/", "%2F%20", "q?x=1&y#z", "~!@$^*()'\";:,<>[]{}|\\`"} {
			want := bucket + " " + key + "\n"
			if err := c.PutObject(t.Context(), bucket, key, []byte(want)); err != nil {
				t.Errorf("%s: %v", key, err)
				continue
			}
			if got := string(fetched(t, c, bucket, key)); got != want {
				t.Errorf("%s: %q", key, got)
			}
		}
	}
	listed := objects(t, c, "here")
	for _, key := range []string{"1+1=2", "a b/c  d", "%2F%20"} {
		if !slices.Contains(listed, key) {
			t.Errorf("no %q in %q", key, listed)
		}
	}
	for _, name := range []string{"here/gone", "nowhere/key"} {
		bucket, key, _ := strings.Cut(name, "/")
		if _, err := c.GetObject(t.Context(), bucket, key); !Missing(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.PutObject(t.Context(), "nowhere", "key", nil); !Missing(err) {
		t.Errorf("%v", err)
	}
}

// objects lists the keys of a bucket without our own way of writing them.
func objects(t *testing.T, c *Client, bucket string) []string {
	t.Helper()
	answer := the[*http.Response](t)(http.Get(*c.cfg.BaseEndpoint + "/" + bucket + "?list-type=2"))
	defer answer.Body.Close()
	var list struct {
		Keys []string `xml:"Contents>Key"`
	}
	if err := xml.NewDecoder(answer.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	return list.Keys
}

func TestUnreachable(t *testing.T) {
	l := the[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	address := l.Addr().String()
	l.Close()
	_, c := scripted()
	c = New(aws.Config{Region: "eu-central-1", BaseEndpoint: aws.String("http://" + address), Credentials: c.cfg.Credentials})
	if _, err := c.GetObject(t.Context(), "bucket", "key"); err == nil || strings.Contains(err.Error(), "AWS4") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
}
