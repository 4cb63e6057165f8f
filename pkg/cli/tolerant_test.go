package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// says is a server with one answer.
type says struct{ body io.Reader }

func (s says) Do(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(s.body), ContentLength: -1}, nil
}

// TestTolerant: an operation's answer is read as it is meant, an object's content as it is,
// and an answer that does not end is not kept.
func TestTolerant(t *testing.T) {
	ask := func(method string, body io.Reader) (string, error) {
		cfg := tolerant(aws.Config{BaseEndpoint: aws.String("http://127.0.0.1"), HTTPClient: says{body}})
		r, err := http.NewRequest(method, "http://127.0.0.1/", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := cfg.HTTPClient.Do(r)
		if err != nil {
			return "", err
		}
		text, err := io.ReadAll(answer.Body)
		return string(text), err
	}
	for _, tt := range [][3]string{
		{http.MethodPost, `{"a":1.0,"b":"1.0"}`, `{"a":1,"b":"1.0"}`},
		{http.MethodPost, `<a>1.0</a>`, `<a>1.0</a>`},
		{http.MethodGet, `{"loss":1.0}`, `{"loss":1.0}`},
	} {
		if got, err := ask(tt[0], strings.NewReader(tt[1])); err != nil || got != tt[2] {
			t.Errorf("%s %s: %s, %v", tt[0], tt[1], got, err)
		}
	}
	if _, err := ask(http.MethodPost, endless{}); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("an endless answer: %v", err)
	}
	// What is too long for an answer may be an object.
	long := strings.Repeat("1.0 ", 10<<20)
	if got, err := ask(http.MethodGet, strings.NewReader(long)); err != nil || got != long {
		t.Errorf("a long object: %d bytes, %v", len(got), err)
	}
}

// endless is an answer without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}
