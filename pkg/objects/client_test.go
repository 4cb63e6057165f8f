package objects

import (
	"bytes"
	"context"
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

	"github.com/batchctl/batchctl/pkg/objects/s3mem"
	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/pkg/testtool"
)

func TestParseURL(t *testing.T) {
	for text, want := range map[string][2]string{
		"s3://bucket/key":             {"bucket", "key"},
		"s3://my.bucket/a/b c+ü?x#y%": {"my.bucket", "a/b c+ü?x#y%"},
		"s3://bucket//key":            {"bucket", "/key"},
		"s3://bucket/a/":              {"bucket", "a/"},
		"s3://bucket/":                {"bucket", ""},
	} {
		if bucket, key, err := ParseURL(text); err != nil || bucket != want[0] || key != want[1] {
			t.Errorf("%s: %q %q %v", text, bucket, key, err)
		}
	}
	for _, text := range []string{"", "s3:/b/k", "s3://bucket", "s3:///key", "s3://b/key", "s3://user@host/key", "s3://..a/key", "https://bucket/key", "S3://bucket/key"} {
		if _, _, err := ParseURL(text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// wire answers requests without a network, and keeps their addresses.
type wire struct {
	answer func(r *http.Request) *http.Response
	urls   []string
}

func (w *wire) Do(r *http.Request) (*http.Response, error) {
	w.urls = append(w.urls, r.URL.String())
	answer := w.answer(r)
	answer.Request = r
	if answer.Body == nil {
		answer.Body = io.NopCloser(strings.NewReader(""))
	}
	return answer, nil
}

func wired(w *wire, region string) *Store {
	return &Store{Config: func(context.Context) (aws.Config, error) {
		return aws.Config{Region: region, HTTPClient: w, Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "")}, nil
	}}
}

// TestAddress checks that bucket names are covered by S3's certificate, and that keys are unchanged.
func TestAddress(t *testing.T) {
	for _, test := range []struct{ region, url, want string }{
		{"eu-central-1", "s3://bucket/a/b", "https://bucket.s3.eu-central-1.amazonaws.com/a/b"},
		{"cn-north-1", "s3://bucket//k", "https://bucket.s3.cn-north-1.amazonaws.com.cn//k"},
		{"eu-central-1", "s3://my.bucket/k", "https://s3.eu-central-1.amazonaws.com/my.bucket/k"},
		{"us-east-1", "s3://Old_Bucket/k", "https://s3.us-east-1.amazonaws.com/Old_Bucket/k"},
		{"eu-central-1", "s3://bucket/../k/./l", "https://bucket.s3.eu-central-1.amazonaws.com/../k/./l"},
		{"eu-central-1", "s3://bucket/a b+c&d=ü~%2F", "https://bucket.s3.eu-central-1.amazonaws.com/a%20b%2Bc%26d%3D%C3%BC~%252F"},
		{"", "s3://bucket/k", "https://bucket.s3.us-east-1.amazonaws.com/k"},
	} {
		w := &wire{answer: func(*http.Request) *http.Response {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Length": {"0"}}}
		}}
		r, err := wired(w, test.region).Open(t.Context(), test.url)
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		if got, _, _ := strings.Cut(w.urls[0], "?"); got != test.want {
			t.Errorf("%s: %s, want %s", test.url, got, test.want)
		}
	}
}

// TestRegionIsNoHost checks that an answer cannot send credentials to a host of its choice, nor in
// circles.
func TestRegionIsNoHost(t *testing.T) {
	const here, there = "bucket.s3.eu-central-1.amazonaws.com", "bucket.s3.us-west-2.amazonaws.com"
	for region, want := range map[string][]string{
		"us-west-2": {here, there}, "eu-central-1": {here}, "": {here}, "evil.example/": {here}, "us-west-2@evil": {here},
	} {
		w := &wire{answer: func(*http.Request) *http.Response {
			return &http.Response{StatusCode: 301, Header: http.Header{"X-Amz-Bucket-Region": {region}}}
		}}
		_, err := wired(w, "eu-central-1").Open(t.Context(), "s3://bucket/key")
		var hosts []string
		for _, u := range w.urls {
			hosts = append(hosts, strings.Split(u, "/")[2])
		}
		if err == nil || !slices.Equal(hosts, want) {
			t.Errorf("%q: %v after %v", region, err, hosts)
		}
	}
}

// TestOtherRegion checks that the bucket's Region in an answer is used to sign later requests.
func TestOtherRegion(t *testing.T) {
	for name, refuse := range map[string]func(http.ResponseWriter, *http.Request){
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
			fmt.Fprint(w, `<Error><Code>AuthorizationHeaderMalformed</Code><Message>The authorization header is malformed; the region 'eu-central-1' is wrong; expecting 'us-west-2'</Message><Region>us-west-2</Region></Error>`)
		},
	} {
		memory := &s3mem.Server{}
		memory.Put("bucket/key", &s3mem.Object{Body: []byte("text")})
		var regions []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			region := "none"
			if parts := strings.Split(r.Header.Get("Authorization"), "/"); len(parts) > 2 {
				region = parts[2]
			}
			regions = append(regions, region)
			switch {
			case strings.HasPrefix(r.URL.Path, "/redirected"):
				_, _ = io.Copy(io.Discard, r.Body)
				w.WriteHeader(403) // signed for another host
			case region != "us-west-2":
				_, _ = io.Copy(io.Discard, r.Body)
				refuse(w, r)
			default:
				memory.ServeHTTP(w, r)
			}
		}))
		s := &Store{Config: config(server.URL)}
		if err := s.Put(t.Context(), "s3://bucket/other", "more"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if text := read(t, s, "s3://bucket/key"); text != "text" {
			t.Errorf("%s: %q", name, text)
		}
		if n := len(slices.DeleteFunc(slices.Clone(regions), func(r string) bool { return r != "us-west-2" })); n != 2 || regions[0] != "eu-central-1" {
			t.Errorf("%s: asked for %v", name, regions)
		}
		server.Close()
	}
}

func read(t *testing.T, s *Store, url string) string {
	t.Helper()
	r := the[io.ReadCloser](t)(s.Open(t.Context(), url))
	defer r.Close()
	return string(the[[]byte](t)(io.ReadAll(r)))
}

// noRole is an error of credentials as package target names it.
type noRole struct{ error }

func (noRole) Error() string  { return "no credentials" }
func (noRole) Remedy() string { return "give the job a jobRoleArn" }

// TestSentences checks that an error of S3 is reported with the next step.
func TestSentences(t *testing.T) {
	for _, test := range []struct {
		status   int
		code     string
		want     string
		is       func(error) bool
		requests int
	}{
		{403, "AccessDenied", "s3://bucket/key: not allowed: s3:GetObject on arn:aws:s3:::bucket/key; in a job, the policy of its jobRoleArn must allow it", Denied, 1},
		{404, "NoSuchKey", "s3://bucket/key: no such object; for everything below a prefix, write s3://bucket/key/", Missing, 1},
		{404, "NoSuchBucket", "NoSuchBucket: no bucket bucket", Missing, 1},
		{403, "InvalidObjectState", "archived: restore it first", nil, 1},
		{400, "Weird", "s3://bucket/key: s3 GetObject: Weird: a fault of the test", nil, 1},
		{503, "SlowDown", "s3://bucket/key: s3 GetObject: SlowDown", nil, attempts},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{answer: func(*http.Request) *http.Response {
				text := fmt.Sprintf("<Error><Code>%s</Code><Message>a fault of the test</Message></Error>", test.code)
				return &http.Response{StatusCode: test.status, Header: http.Header{"Content-Type": {"application/xml"}}, Body: io.NopCloser(strings.NewReader(text))}
			}}
			_, err := wired(w, "eu-central-1").Open(t.Context(), "s3://bucket/key")
			wants(t, err, test.want)
			if test.is != nil && !test.is(err) || test.is == nil && (Missing(err) || Denied(err) && test.status != 403) || len(w.urls) != test.requests {
				t.Errorf("%s: %v after %d requests", test.code, err, len(w.urls))
			}
		})
	}
	s := &Store{Config: func(context.Context) (aws.Config, error) {
		return aws.Config{Region: "eu-central-1", Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{}, noRole{errors.New("no EC2 IMDS role found")}
		})}, nil
	}}
	_, err := s.Open(t.Context(), "s3://bucket/key")
	wants(t, err, "s3://bucket/key: no credentials; give the job a jobRoleArn")
	l := the[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	address := l.Addr().String()
	l.Close()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("no more time"))
	defer cancel()
	_, err = (&Store{Config: config("http://" + address)}).Open(ctx, "s3://bucket/key")
	wants(t, err, "no more time")
}

// TestJoin compares the CRC of joined pieces with that of the whole.
func TestJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom([]*algorithm{algorithmCRC64NVME, algorithmCRC32, algorithmCRC32C}).Draw(t, "algorithm")
		var pieces []piece
		whole := a.hash()
		for _, part := range rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(t, "parts") {
			h := a.hash()
			h.Write(part)
			whole.Write(part)
			pieces = append(pieces, piece{h.Sum(nil), int64(len(part))})
		}
		if got, want := a.join(pieces), whole.Sum(nil); !bytes.Equal(got, want) {
			t.Fatalf("%s: %x, want %x", a.name, got, want)
		}
	})
	// The check values of the catalogues of CRCs, over "123456789".
	for a, want := range map[*algorithm]string{algorithmCRC64NVME: "ae8b14860a799888", algorithmCRC32: "cbf43926", algorithmCRC32C: "e3069283"} {
		h := a.hash()
		_, _ = io.WriteString(h, "123456789")
		if got := fmt.Sprintf("%x", h.Sum(nil)); got != want {
			t.Errorf("%s: %s, want %s", a.name, got, want)
		}
	}
}

// TestMoto uses an independent server: odd keys, parts, ranges, pages, trees.
func TestMoto(t *testing.T) {
	endpoint := testtool.Moto(t)
	for _, bucket := range []string{"here", "far.away"} {
		r := the[*http.Request](t)(http.NewRequest(http.MethodPut, endpoint+"/"+bucket, nil))
		answer := the[*http.Response](t)(http.DefaultClient.Do(r))
		if answer.Body.Close(); answer.StatusCode != 200 {
			t.Fatal(answer.Status)
		}
	}
	s := &Store{Config: config(endpoint), PartSize: minPart}
	for _, bucket := range []string{"here", "far.away"} {
		for _, key := range []string{"plain", "a b/c  d", "ünïcode/日本語/😀", "1+1=2", "a//b/", "%2F%20", "q?x=1&y#z", "~!@$^*()'\";:,<>[]{}|\\`"} {
			url, text := "s3://"+bucket+"/odd/"+key, bucket+" "+key+"\n"
			if err := s.Put(t.Context(), url, text); err != nil {
				t.Errorf("%s: %v", key, err)
				continue
			}
			if got := read(t, s, url); got != text {
				t.Errorf("%s: %q", key, got)
			}
		}
	}
	listed := keys(t, endpoint, "here")
	for _, key := range []string{"odd/1+1=2", "odd/a b/c  d", "odd/%2F%20"} {
		if !slices.Contains(listed, key) {
			t.Errorf("no %q in %q", key, listed)
		}
	}
	for _, url := range []string{"s3://here/gone", "s3://nowhere/key"} {
		if _, err := s.Open(t.Context(), url); !Missing(err) {
			t.Errorf("%s: %v", url, err)
		}
		if _, err := s.Download(t.Context(), stage.Input{From: url, To: t.TempDir() + "/x"}); !Missing(err) {
			t.Errorf("%s: %v", url, err)
		}
	}
	if err := s.Put(t.Context(), "s3://nowhere/key", ""); !Missing(err) {
		t.Errorf("%v", err)
	}

	dir := t.TempDir()
	tree := map[string]string{"large": string(content(3*minPart + 11)), "sub/1+1 ü%": "small", "empty": ""}
	for i := range 30 {
		tree[fmt.Sprintf("many/%d", i)] = fmt.Sprint(i)
	}
	plant(t, dir+"/from", tree)
	moved := the[stage.Moved](t)(s.Upload(t.Context(), stage.Output{From: dir + "/from", To: "s3://far.away/tree/"}))
	back := the[stage.Moved](t)(s.Download(t.Context(), stage.Input{From: "s3://far.away/tree/", To: dir + "/to"}))
	if moved.Files != len(tree) || back.Files != len(tree) || back.Bytes != moved.Bytes {
		t.Errorf("%+v %+v", moved, back)
	}
	same(t, "back", files(t, dir+"/to"), tree)
	in, _, err := s.Publish(t.Context(), "s3://here/staging", dir+"/from")
	if err != nil {
		t.Fatal(err)
	}
	in.To = dir + "/published"
	if moved := the[stage.Moved](t)(s.Download(t.Context(), in)); moved.Unverified != 0 {
		t.Errorf("%+v", moved)
	}
	same(t, "published", files(t, in.To), tree)
}

// keys lists a bucket with the SDK, not with this package.
func keys(t *testing.T, endpoint, bucket string) []string {
	t.Helper()
	answer := the[*http.Response](t)(http.Get(endpoint + "/" + bucket + "?list-type=2"))
	defer answer.Body.Close()
	var list struct {
		Keys []string `xml:"Contents>Key"`
	}
	if err := xml.NewDecoder(answer.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	return list.Keys
}
