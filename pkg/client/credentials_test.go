package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/client/clienttest"
)

// login is the source of credentials. They are valid for an hour after they are loaded, but have
// no expiry of their own.
type login struct {
	mu     sync.Mutex
	issued map[string]time.Time // by access key
	loads  int
	// out is true if there is no new login.
	out bool
}

func (l *login) load(context.Context) (aws.CredentialsProvider, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loads++
	if l.out && l.loads > 1 {
		return fixed(fmt.Sprint("key", 1)), nil // the file is unchanged
	}
	key := fmt.Sprint("key", l.loads)
	l.issued[key] = time.Now()
	return fixed(key), nil
}

func fixed(key string) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: key, SecretAccessKey: "secret"}, nil
	})
}

// expiring rejects requests that are signed with a key older than an hour.
type expiring struct {
	*clienttest.Fake
	*login
	code string
}

func (e expiring) Do(r *http.Request) (*http.Response, error) {
	_, key, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	key, _, _ = strings.Cut(key, "/")
	e.login.mu.Lock()
	at := e.issued[key]
	e.login.mu.Unlock()
	if time.Since(at) > time.Hour {
		return clienttest.Answer(403, e.code, `{"message":"The security token included in the request is expired"}`), nil
	}
	return e.Fake.Do(r)
}

func newExpiring(t *testing.T, code string) (*clienttest.Fake, *login, *Client) {
	f, _ := newFake(t)
	l := &login{issued: map[string]time.Time{}}
	first, _ := l.load(t.Context())
	return f, l, New(aws.Config{Region: "us-east-1", BaseEndpoint: aws.String("http://fake"), HTTPClient: expiring{f, l, code},
		Credentials: Renewable(first, l.load)})
}

// TestWatchThreeDays watches a job for three days, while credentials expire every hour, the
// service has bursts of errors, and a log that never appears is followed.
func TestWatchThreeDays(t *testing.T) {
	for code, hours := range map[string]time.Duration{"ExpiredToken": 3, "ExpiredTokenException": 72, "RequestExpired": 3} {
		synctest.Test(t, func(t *testing.T) {
			f, l, c := newExpiring(t, code)
			c.PollAtMost = time.Minute
			f.Jobs["1"] = withLogs("never", clienttest.Life("a", clienttest.At(time.Minute, "RUNNING", ""), clienttest.At(hours*time.Hour, "FAILED", "exit 3")))
			// Five polls of three tries: less than the five minutes of patience, even where one
			// of the two is alone with them because the other has seen the end.
			burst := clienttest.Times(15, clienttest.Reply(500, "ServerException", `{"message":"oops"}`))
			for range 200 {
				burst = append(burst, func(serve func() *http.Response) (*http.Response, error) { return serve(), nil })
			}
			for range 10 {
				f.Faults["DescribeJobs"] = append(f.Faults["DescribeJobs"], burst...)
			}
			var log error
			var both sync.WaitGroup
			both.Go(func() { _, log = texts(t.Context(), c, true) })
			got, err := watched(t.Context(), c, "1")
			both.Wait()
			if want := "a RUNNING,a FAILED exit 3 last"; strings.Join(got, ",") != want || err != nil || log != nil {
				t.Errorf("%s: %q, %v; log: %v", code, got, err, log)
			}
			if l.loads < int(hours) || l.loads > int(hours)*5/2 {
				t.Errorf("%s: credentials were loaded %d times in %d hours", code, l.loads, hours)
			}
			// The end may fall into a burst: five polls that fail, with their pauses.
			if d := time.Since(f.Start); d > hours*time.Hour+6*time.Minute {
				t.Errorf("%s: ended after %v", code, d)
			}
		})
	}
}

// TestWatchExpired checks that the client tries one reload if there is no new login.
func TestWatchExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l, c := newExpiring(t, "ExpiredTokenException")
		l.out = true
		f.Jobs["1"] = clienttest.Life("a", clienttest.At(0, "RUNNING", ""))
		var messages []error
		c.Warn = func(err error) { messages = append(messages, err) }
		got, err := watched(t.Context(), c, "1")
		if !Expired(err) || len(got) != 1 || l.loads != 2 || len(messages) != 1 || !Expired(messages[0]) {
			t.Errorf("%q, %v after %d loads; warnings %v", got, err, l.loads, messages)
		}
		if d := time.Since(f.Start); d > time.Hour+time.Minute {
			t.Errorf("gave up after %v", d)
		}
	})
}

// TestExpiredForGood checks that credentials that cannot be reloaded end the watch.
func TestExpiredForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.Jobs["1"] = clienttest.Life("a", clienttest.At(0, "RUNNING", ""))
		f.Faults["DescribeJobs"] = clienttest.Times(9, clienttest.Reply(403, "ExpiredTokenException", `{"message":"expired"}`))
		if got, err := watched(t.Context(), c, "1"); !Expired(err) || len(got) > 0 || f.Count("DescribeJobs") != 1 {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func TestRenewable(t *testing.T) {
	fails := errors.New("no file")
	loads := 0
	p := Renewable(fixed("one"), func(context.Context) (aws.CredentialsProvider, error) {
		if loads++; loads == 1 {
			return nil, fails
		}
		return fixed("two"), nil
	})
	key := func() string {
		c, err := p.Retrieve(t.Context())
		if err != nil {
			return err.Error()
		}
		return c.AccessKeyID
	}
	if got := key() + key(); got != "oneone" || loads != 0 {
		t.Error(got, loads)
	}
	p.(interface{ Invalidate() }).Invalidate()
	if got := key() + key() + key(); got != "no filetwotwo" || loads != 2 {
		t.Error(got, loads)
	}
}
