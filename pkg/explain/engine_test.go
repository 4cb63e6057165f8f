package explain_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/explain"
	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/local/attempt"
)

// endless runs every attempt until it is asked to end.
type endless struct{}

func (endless) Run(ctx context.Context, a attempt.Attempt, _ *os.File) (int, error) {
	a.Started("x")
	<-ctx.Done()
	return 143, nil
}
func (endless) Clear(string, string) error                             { return nil }
func (endless) Unhonoured(*types.ContainerProperties) []attempt.Member { return nil }

// open returns the configuration of an engine of 4 vCPUs, and a client for it.
func open(t *testing.T) (aws.Config, *awsbatch.Client) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	engine, err := local.Open(local.Options{Dir: dir, Executor: endless{}, VCPUs: 4, MemoryMiB: 4096})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close(context.Background()) })
	cfg := engine.Config()
	return cfg, awsbatch.NewFromConfig(cfg)
}

func submit(t *testing.T, c *awsbatch.Client, vcpus string, change func(*awsbatch.SubmitJobInput)) string {
	t.Helper()
	_, err := c.RegisterJobDefinition(t.Context(), &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("work"), Type: types.JobDefinitionTypeContainer,
		ContainerProperties: &types.ContainerProperties{Image: aws.String("busybox"), Command: []string{"true"}, ResourceRequirements: []types.ResourceRequirement{
			{Type: types.ResourceTypeVcpu, Value: &vcpus}, {Type: types.ResourceTypeMemory, Value: aws.String("64")}}}})
	if err != nil {
		t.Fatal(err)
	}
	in := &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: aws.String("work")}
	if change != nil {
		change(in)
	}
	out, err := c.SubmitJob(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return *out.JobId
}

func answer(t *testing.T, g *explain.Gatherer, id string) explain.Answer {
	t.Helper()
	b, err := g.Gather(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.ToLower(b.Target), "://") {
		t.Errorf("target %q", b.Target)
	}
	return explain.Explain(b)
}

func causeOf(a explain.Answer) string {
	if a.Verdict == nil {
		return a.Standing
	}
	return a.Verdict.Cause
}

// TestEngine asks about jobs of the engine, in virtual time.
func TestEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, c := open(t)
		g := explain.NewGatherer(cfg, "local", true)
		runs := submit(t, c, "4", func(in *awsbatch.SubmitJobInput) {
			in.Timeout = &types.JobTimeout{AttemptDurationSeconds: aws.Int32(60)}
		})
		second := submit(t, c, "4", nil)
		third := submit(t, c, "4", nil)
		after := submit(t, c, "1", func(in *awsbatch.SubmitJobInput) { in.DependsOn = []types.JobDependency{{JobId: &third}} })
		wide := submit(t, c, "5", nil)
		synctest.Wait()
		time.Sleep(50 * time.Second)
		for id, want := range map[string]string{third: "behind-others", after: "dependency-pending", wide: "over-maxvcpus"} {
			if got := causeOf(answer(t, g, id)); got != want && !(id == wide && got == "cannot-fit") {
				t.Errorf("%s: %s, want %s", id, got, want)
			}
			b, err := g.Glance(t.Context(), id)
			if err != nil || !explain.Waits(*b.Subject.Job, time.Now()) || explain.Reason(b) == "" {
				t.Errorf("a glance at %s: %v", id, err)
			}
		}
		if a := answer(t, g, runs); !strings.HasPrefix(a.Standing, "the job has been running since") {
			t.Errorf("running: %+v", a)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := causeOf(answer(t, g, runs)); got != "timeout" {
			t.Errorf("after its timeout: %s", got)
		}
		if a := answer(t, g, second); a.Status != "RUNNING" {
			t.Errorf("the next: %+v", a)
		}
		if _, err := g.Gather(t.Context(), "3f2a91c0-0000-4000-8000-000000000000"); err == nil || !strings.Contains(err.Error(), "no job") {
			t.Errorf("an unknown job: %v", err)
		}
	})
}

// refusing answers some operations with a fault.
type refusing struct {
	aws.HTTPClient
	paths []string
}

func (r *refusing) Do(in *http.Request) (*http.Response, error) {
	if !slices.Contains(r.paths, in.URL.Path) {
		return r.HTTPClient.Do(in)
	}
	return &http.Response{StatusCode: 403, Header: http.Header{"X-Amzn-Errortype": {"AccessDeniedException"}}, Request: in,
		Body: io.NopCloser(strings.NewReader(`{"message":"User x is not authorized"}`))}, nil
}

// TestDenied checks that evidence that the caller is not allowed to read is reported as missing,
// with the causes that it leaves open.
func TestDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, c := open(t)
		submit(t, c, "4", nil)
		waits := submit(t, c, "4", nil)
		synctest.Wait()
		r := &refusing{HTTPClient: cfg.HTTPClient, paths: []string{"/v1/getjobqueuesnapshot", "/v1/describecomputeenvironments", "/v1/describejobqueues"}}
		cfg.HTTPClient = r
		a := answer(t, explain.NewGatherer(cfg, "local", true), waits)
		if a.Verdict != nil || len(a.Open) < 5 {
			t.Fatalf("%+v", a)
		}
		for _, o := range a.Open {
			if o.Evidence == "snapshot of the job queue" && (!o.Denied || o.Why != "not allowed: batch:GetJobQueueSnapshot") {
				t.Errorf("open: %+v", o)
			}
		}
		r.paths = []string{"/v1/describejobs"}
		if _, err := explain.NewGatherer(cfg, "local", true).Gather(t.Context(), waits); err == nil || !strings.Contains(err.Error(), "not allowed: batch:DescribeJobs") {
			t.Errorf("a job that may not be described: %v", err)
		}
	})
}
