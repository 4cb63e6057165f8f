package once

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/clienttest"
	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/pkg/wire"
)

// weather is an unreliable network in front of a reliable service, which behaves like AWS in
// everything that matters here. It removes the header by which the local engine would recognise a
// retry.
type weather struct {
	next aws.HTTPClient
	cfg  aws.Config
	// lag returns how long listings omit a new job.
	lag func() time.Duration
	// expired reports whether the credentials are rejected at this time.
	expired func() bool
	// lost reports whether answers to SubmitJob are lost at this time.
	lost func() bool
	// calm means that nothing is lost.
	calm bool
	// repeated is the percentage of SubmitJob requests that are delivered twice.
	repeated int

	mu     sync.Mutex
	random *rand.Rand
	// visible has the times from which jobs are listed, by id.
	visible map[string]time.Time
	calls   map[string]int
}

// The odds of a SubmitJob, in percent, and of the other calls.
const (
	oddsThrottled = 10
	oddsDropped   = 10
	oddsLost      = 20
	oddsLookFails = 3
)

func (w *weather) Do(r *http.Request) (*http.Response, error) {
	name, _ := wire.Operation(r.Method, r.URL.Path)
	w.mu.Lock()
	dice, how, skew := w.random.IntN(100), w.random.IntN(1000), time.Duration(w.random.IntN(3)-1)*time.Hour
	w.calls[name]++
	w.mu.Unlock()
	if w.calm {
		return w.serve(name, r)
	}
	if w.expired != nil && w.expired() {
		return clienttest.Answer(403, "ExpiredTokenException", `{"message":"The security token included in the request is expired"}`), nil
	}
	switch {
	case name == "SubmitJob" && dice < oddsThrottled:
		return clienttest.Throttle()(nil)
	case name == "SubmitJob" && dice < oddsThrottled+oddsDropped:
		return lose(how, r, nil)
	case name != "SubmitJob" && dice < oddsLookFails:
		return lose(how, r, nil)
	}
	if name == "SubmitJob" && w.repeats() {
		if err := w.repeat(r); err != nil {
			return nil, err
		}
	}
	out, err := w.serve(name, r)
	if err != nil {
		return nil, err
	}
	if name == "SubmitJob" && (dice < oddsThrottled+oddsDropped+oddsLost || w.lost != nil && w.lost()) {
		return lose(how, r, out)
	}
	out.Header.Set("Date", time.Now().Add(skew).UTC().Format(http.TimeFormat)) // its clock jumps
	return out, nil
}

func (w *weather) repeats() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(100) < w.repeated
}

// repeat delivers a request again, up to half a second later.
func (w *weather) repeat(r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	again := r.Clone(context.WithoutCancel(r.Context()))
	again.Body = io.NopCloser(bytes.NewReader(body))
	w.mu.Lock()
	w.calls["repeated"]++
	pause := time.Duration(w.random.Int64N(int64(time.Second / 2)))
	w.mu.Unlock()
	go func() {
		time.Sleep(pause)
		_, _ = w.serve("SubmitJob", again)
	}()
	return nil
}

// lose replaces an answer by one that is missing, incomplete, or from something on the way.
func lose(how int, r *http.Request, out *http.Response) (*http.Response, error) {
	switch how % 9 {
	case 0: // FIN
		return nil, io.ErrUnexpectedEOF
	case 1: // RST
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	case 2: // half of the headers
		return nil, errors.New(`net/http: HTTP/1.x transport connection broken: malformed MIME header line: X-Am`)
	case 3: // a truncated body
		if out == nil {
			out = clienttest.Answer(200, "", `{"jobArn":"arn:aws:batch:`)
		}
		out.Body = io.NopCloser(io.MultiReader(io.LimitReader(out.Body, 20), clienttest.BrokenReader{}))
		return out, nil
	case 4:
		return clienttest.Answer(500, "ServerException", `{"message":"internal"}`), nil
	case 5:
		return clienttest.Answer(502, "", "<html>bad gateway</html>"), nil
	case 6:
		return clienttest.Answer(503, "ServiceUnavailable", `{}`), nil
	case 7:
		return clienttest.Answer(504, "", "<html>gateway timeout</html>"), nil
	}
	deadline := 90 * time.Second // silence
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(deadline):
		return nil, os.ErrDeadlineExceeded
	}
}

// serve lets the service execute the request, as AWS would.
func (w *weather) serve(name string, r *http.Request) (*http.Response, error) {
	if err := w.resign(r); err != nil {
		return nil, err
	}
	out, err := w.next.Do(r)
	if err != nil || out.StatusCode != http.StatusOK {
		return out, err
	}
	body, err := io.ReadAll(out.Body)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch name {
	case "SubmitJob":
		var job awsbatch.SubmitJobOutput
		if err := wire.Unmarshal(body, &job); err != nil {
			return nil, err
		}
		w.visible[*job.JobId] = time.Now().Add(w.lag())
	case "ListJobs":
		if body, err = w.hide(body); err != nil {
			return nil, err
		}
	}
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return out, nil
}

// resign signs the request again, without the invocation id.
func (w *weather) resign(r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.Header.Del(invocationHeader)
	r.Header.Del("Authorization")
	sum := sha256.Sum256(body)
	keys, err := w.cfg.Credentials.Retrieve(r.Context())
	if err != nil {
		return err
	}
	return v4.NewSigner().SignHTTP(r.Context(), keys, r, hex.EncodeToString(sum[:]), "batch", w.cfg.Region, time.Now())
}

// hide removes the jobs from a listing that it does not show yet.
func (w *weather) hide(body []byte) ([]byte, error) {
	var list awsbatch.ListJobsOutput
	if err := wire.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	var shown []types.JobSummary
	for _, job := range list.JobSummaryList {
		if !time.Now().Before(w.visible[*job.JobId]) {
			shown = append(shown, job)
		}
	}
	list.JobSummaryList = shown
	return wire.Marshal(list)
}

// sleeper runs jobs that end only on request.
type sleeper struct{}

func (sleeper) Run(ctx context.Context, a attempt.Attempt, _ *os.File) (int, error) {
	a.Started("sleeper")
	<-ctx.Done()
	return 143, nil
}
func (sleeper) Clear(_, _ string) error                                { return nil }
func (sleeper) Unhonoured(*types.ContainerProperties) []attempt.Member { return nil }

// service is an engine with a definition for the jobs.
type service struct {
	engine *local.Engine
	direct *awsbatch.Client
	*weather
}

func newService(t *testing.T, lag func() time.Duration, vcpus float64, runs attempt.Executor) *service {
	t.Helper()
	engine, err := local.Open(local.Options{Dir: filepath.Join(t.TempDir(), "state"), VCPUs: vcpus, MemoryMiB: 1024, GPUs: []string{}, Executor: runs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := engine.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	cfg := engine.Config()
	s := &service{engine, awsbatch.NewFromConfig(cfg), &weather{next: cfg.HTTPClient, cfg: cfg, lag: lag,
		random: rand.New(rand.NewPCG(1, 2)), visible: map[string]time.Time{}, calls: map[string]int{}}}
	_, err = s.direct.RegisterJobDefinition(t.Context(), &awsbatch.RegisterJobDefinitionInput{
		JobDefinitionName: aws.String("work"), Type: types.JobDefinitionTypeContainer,
		ContainerProperties: &types.ContainerProperties{Image: aws.String("busybox"), Command: []string{"true"},
			ResourceRequirements: []types.ResourceRequirement{{Type: "VCPU", Value: aws.String("1")}, {Type: "MEMORY", Value: aws.String("64")}}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Config returns a configuration that reaches the service through the weather.
func (s *service) Config() aws.Config {
	cfg := s.cfg
	cfg.HTTPClient = s.weather
	return cfg
}

// alive returns the jobs that batchctl has not ended, by submission id, or by name for jobs
// without one.
func (s *service) alive(t *testing.T) (bySubmission map[string][]string) {
	t.Helper()
	bySubmission = map[string][]string{}
	c := New(s.cfg)
	var ids []string
	for job, err := range c.List(t.Context(), client.Filter{Queues: []string{"default"}}) {
		if err != nil {
			t.Fatal(err)
		}
		if job.Status != types.JobStatusFailed {
			ids = append(ids, *job.JobId)
		}
	}
	jobs, err := c.Describe(t.Context(), ids...)
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range jobs {
		key := job.Tags[client.SubmissionTag]
		if key == "" {
			key = *job.JobName
		}
		bySubmission[key] = append(bySubmission[key], *job.JobId)
	}
	return bySubmission
}

// lags are the delays of listings.
var lags = []struct {
	name string
	lag  func(*rand.Rand) time.Duration
}{
	{"no lag", func(*rand.Rand) time.Duration { return 0 }},
	{"up to 2 s", func(r *rand.Rand) time.Duration { return time.Duration(r.Int64N(int64(2 * time.Second))) }},
	{"1 s on average", func(r *rand.Rand) time.Duration { return time.Duration(r.ExpFloat64() * float64(time.Second)) }},
	// Longer than the client searches: the late check has to end the duplicates.
	{"10 s on average", func(r *rand.Rand) time.Duration { return time.Duration(r.ExpFloat64() * float64(10*time.Second)) }},
}

func inWeather(t *testing.T, lag func(*rand.Rand) time.Duration, test func(t *testing.T, s *service)) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(3, 4))
		s := newService(t, func() time.Duration { return min(lag(random), time.Minute) }, 1, sleeper{})
		test(t, s)
	})
}

// many is how many submits the tests make; .ci/run sets BATCHCTL_SUBMITS to 10,000.
func many() int {
	if n, err := strconv.Atoi(os.Getenv("BATCHCTL_SUBMITS")); err == nil {
		return n
	}
	return testtool.Count(2000, 500)
}

// TestSubmittedOnce submits over an unreliable network. Exactly one job of each intent lives,
// none is lost, and none is reported as failed.
func TestSubmittedOnce(t *testing.T) {
	for i, l := range lags {
		n := testtool.Count(1000, 250)
		if i == 2 {
			n = many()
		}
		t.Run(l.name, func(t *testing.T) {
			inWeather(t, l.lag, func(t *testing.T, s *service) { submitAll(t, s, n) })
		})
	}
}

func submitAll(t *testing.T, s *service, n int) {
	c := New(s.Config())
	c.Ledger = &Ledger{Dir: t.TempDir(), Target: "aws 123456789012 us-east-1"}
	var mu sync.Mutex
	counts := map[string]int{}
	c.Progress = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		for _, what := range []string{"no clear answer", "submitting it again", "stopped its duplicate"} {
			if strings.Contains(text, what) {
				counts[what]++
			}
		}
	}
	begin := time.Now()
	jobs, err := c.Submit(t.Context(), clienttest.Works(n))
	for tries := 0; err != nil && tries < 50; tries++ { // retry after a failed search, as a user would
		jobs, err = resumeAll(t, c)
	}
	if err != nil {
		t.Fatal(err)
	}
	for tries := 0; tries < 5; tries++ {
		if _, err := resumeAll(t, c); err != nil {
			t.Log(err)
		}
	}
	if open, err := c.Ledger.OpenRuns(); len(open) > 0 || err != nil {
		t.Errorf("open runs %+v, %v", open, err)
	}
	if len(jobs) != n {
		t.Errorf("%d jobs were accepted, want %d", len(jobs), n)
	}
	alive, duplicates := s.alive(t), 0
	for _, ids := range alive {
		duplicates += len(ids) - 1
	}
	if len(alive) != n || duplicates != 0 {
		t.Errorf("%d of %d jobs are alive, %d twice", len(alive), n, duplicates)
	}
	entries, err := c.Ledger.Entries()
	if err != nil || len(entries) != n {
		t.Errorf("%d entries in the ledger, %v", len(entries), err)
	}
	for _, e := range entries {
		if ids := alive[e.Submission]; len(ids) != 1 || ids[0] != e.ID {
			t.Fatalf("job %s is %s in the ledger, and %v lives", e.Name, e.ID, ids)
		}
	}
	t.Logf("%d submits in %v, %d calls of SubmitJob: %v", n, time.Since(begin).Round(time.Second), s.calls["SubmitJob"], counts)
}

// resumeAll resumes all open runs and returns the jobs of the last.
func resumeAll(t *testing.T, c *Client) (jobs []Submitted, err error) {
	open, err := c.Ledger.OpenRuns()
	for _, r := range open {
		if jobs, err = c.Resume(t.Context(), r.Name); err != nil {
			return jobs, err
		}
	}
	return jobs, err
}

// TestDefaultRetryerDoubles shows that TestSubmittedOnce can fail: the SDK's own retries
// duplicate more than every fifth job.
func TestDefaultRetryerDoubles(t *testing.T) {
	n := max(many(), 2000) // with fewer, the share varies too much
	inWeather(t, lags[2].lag, func(t *testing.T, s *service) {
		todo := make(chan *plan.Job)
		var all sync.WaitGroup
		for range atOnce {
			all.Go(func() {
				for j := range todo {
					// A client each, as of a program each: one client for all has a quota
					// of retries, and gives up on jobs that were accepted.
					plain := awsbatch.NewFromConfig(s.Config())
					_, _ = plain.SubmitJob(t.Context(), j.Submit) // it returns no error for duplicated jobs
				}
			})
		}
		for _, j := range clienttest.Works(n).Jobs {
			todo <- j
		}
		close(todo)
		all.Wait()
		duplicates := 0
		for _, ids := range s.alive(t) {
			duplicates += len(ids) - 1
		}
		if duplicates <= n/5 {
			t.Errorf("%d of %d jobs exist twice, want more than every fifth", duplicates, n)
		}
		t.Logf("%d of %d jobs exist twice", duplicates, n)
	})
}
