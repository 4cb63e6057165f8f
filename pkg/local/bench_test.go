package local

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/events"
	"github.com/batchctl/batchctl/pkg/local/journal"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// These benchmarks compare the engine with programs that do the same without it. Run them
// together, on a quiet machine: .ci/bench engine, which prints the ratios.

const benchJobs = 10000

// bench returns an engine on the disk, with a definition "work" that runs the command true.
func bench(b *testing.B, o Options) *Engine {
	b.Helper()
	o.Dir = benchDir(b)
	o.VCPUs, o.MemoryMiB, o.GPUs = 2, 8192, []string{}
	e, err := Open(o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	_, err = awsbatch.NewFromConfig(e.Config()).RegisterJobDefinition(b.Context(), &awsbatch.RegisterJobDefinitionInput{
		JobDefinitionName: aws.String("work"), Type: types.JobDefinitionTypeContainer,
		ContainerProperties: &types.ContainerProperties{Image: aws.String("busybox:1"), Command: []string{"true"},
			ResourceRequirements: []types.ResourceRequirement{
				{Type: types.ResourceTypeVcpu, Value: aws.String("1")}, {Type: types.ResourceTypeMemory, Value: aws.String("64")}}},
	})
	if err != nil {
		b.Fatal(err)
	}
	return e
}

// benchDir returns a new directory below BENCHMARK_DIR, which the caller of the benchmark
// removes; without that variable, one that is removed after the benchmark. ext4 creates files
// many times slower for minutes after thousands were removed, which the next benchmark would pay
// for.
func benchDir(b *testing.B) string {
	parent := os.Getenv("BENCHMARK_DIR")
	if parent == "" {
		parent = b.TempDir()
	}
	dir, err := os.MkdirTemp(parent, "state")
	if err != nil {
		b.Fatal(err)
	}
	return dir
}

// BenchmarkTrue runs the command true 10,000 times, two at a time: as an array, as separate jobs,
// and with programs that record nothing.
func BenchmarkTrue(b *testing.B) {
	b.Run("array", func(b *testing.B) {
		for b.Loop() {
			e := bench(b, Options{})
			submit(b, awsbatch.NewFromConfig(e.Config()), benchJobs)
			finish(b, e)
		}
	})
	b.Run("jobs", func(b *testing.B) {
		for b.Loop() {
			e := bench(b, Options{})
			client := awsbatch.NewFromConfig(e.Config())
			together(16, benchJobs, func() { submit(b, client, 0) })
			finish(b, e)
		}
	})
	for _, c := range []struct{ name, command string }{
		{"xargs", "seq %d | xargs -P2 -n1 true"}, {"parallel", "seq %d | parallel -j2 true"},
	} {
		b.Run(c.name, func(b *testing.B) {
			if _, err := exec.LookPath(c.name); err != nil {
				b.Skip(err)
			}
			for b.Loop() {
				if out, err := exec.Command("sh", "-c", fmt.Sprintf(c.command, benchJobs)).CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
			}
		})
	}
}

// submit submits a job, an array for a size.
func submit(b *testing.B, client *awsbatch.Client, size int32) string {
	in := &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: aws.String("work")}
	if size > 0 {
		in.ArrayProperties = &types.ArrayProperties{Size: &size}
	}
	out, err := client.SubmitJob(b.Context(), in)
	if err != nil {
		b.Error(err)
		return ""
	}
	return *out.JobId
}

func finish(b *testing.B, e *Engine) {
	b.Helper()
	if err := e.WaitIdle(b.Context(), 0); err != nil {
		b.Fatal(err)
	}
	for _, j := range e.model.BySubmission {
		if j.State != model.Succeeded {
			b.Fatalf("job %s: %s %s", j.ID, j.State, j.Reason)
		}
	}
}

// together calls do n times from the given number of goroutines.
func together(goroutines, n int, do func()) {
	var group sync.WaitGroup
	for i := range goroutines {
		group.Go(func() {
			for range (n + i) / goroutines {
				do()
			}
		})
	}
	group.Wait()
}

// busy returns an engine with two jobs that fill the machine, so that later jobs wait.
func busy(b *testing.B) *Engine {
	b.Helper()
	e := bench(b, Options{Executor: &script{run: func(ctx context.Context, _ attempt.Attempt, _ *os.File) (int, error) {
		<-ctx.Done()
		return 143, nil
	}}})
	for range 2 {
		submit(b, awsbatch.NewFromConfig(e.Config()), 0)
	}
	return e
}

// BenchmarkSubmit submits over loopback from 16 SDK clients, to an engine that syncs before each
// answer and to a handler that answers at once and stores nothing.
func BenchmarkSubmit(b *testing.B) {
	run := func(b *testing.B, config func() aws.Config) {
		b.Helper()
		var group sync.WaitGroup
		work := make(chan bool)
		for range 16 {
			client := awsbatch.NewFromConfig(config())
			group.Go(func() {
				for range work {
					submit(b, client, 0)
				}
			})
		}
		for b.Loop() {
			work <- true
		}
		close(work)
		group.Wait()
	}
	b.Run("engine", func(b *testing.B) {
		e := busy(b)
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.Context())
		served := make(chan error, 1)
		ready := make(chan Connection, 1)
		go func() { served <- e.Serve(ctx, listener, func(c Connection) { ready <- c }) }()
		c := <-ready
		run(b, func() aws.Config { return c.Config() })
		cancel()
		<-served
	})
	b.Run("nothing", func(b *testing.B) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]string{"jobId": "9d8c1a7e-0000-4000-8000-000000000000", "jobName": "job"})
		}))
		defer server.Close()
		e := bench(b, Options{Executor: &script{}})
		run(b, func() aws.Config {
			config := e.Config()
			config.HTTPClient, config.BaseEndpoint = nil, &server.URL
			return config
		})
	})
}

// BenchmarkHandler measures the engine's own part of a SubmitJob: no client, no socket, no disk.
func BenchmarkHandler(b *testing.B) {
	e := busy(b)
	e.journal = journal.New(&faultyFile{space: 1 << 40}, 0)
	body := []byte(`{"jobDefinition":"work","jobName":"job","jobQueue":"default"}`)
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/v1/submitjob", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	key, err := e.Config().Credentials.Retrieve(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	digest := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(b.Context(), key, r, hex.EncodeToString(digest[:]), "batch", "us-east-1", time.Now()); err != nil {
		b.Fatal(err)
	}
	h, w := e.Handler(), httptest.NewRecorder()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.Header["Amz-Sdk-Invocation-Id"] = []string{strconv.Itoa(i)}
		w.Body.Reset()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
}

// BenchmarkGrowth sends the same requests to engines with 1,000, 100,000 and 1,000,000 jobs. The last one takes long.
func BenchmarkGrowth(b *testing.B) {
	for _, kept := range []int{1000, 100000, 1000000} {
		b.Run(fmt.Sprintf("%dk", kept/1000), func(b *testing.B) {
			if kept > 100000 {
				testtool.Long(b)
			}
			growth(b, kept)
		})
	}
}

// growth measures requests to an engine that has the given number of jobs.
func growth(b *testing.B, kept int) {
	e := bench(b, Options{Executor: &script{}})
	client := awsbatch.NewFromConfig(e.Config())
	var mu sync.Mutex
	var ids []string
	together(16, kept, func() {
		id := submit(b, client, 0)
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, id)
	})
	finish(b, e)
	runtime.GC() // otherwise the first calls would pay for a collection after the submits
	b.Run("describe", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			at := (i * 7919) % (len(ids) - 100)
			if out, err := client.DescribeJobs(b.Context(), &awsbatch.DescribeJobsInput{Jobs: ids[at : at+100]}); err != nil || len(out.Jobs) != 100 {
				b.Fatal(err)
			}
		}
	})
	for _, filter := range []string{"", "JOB_NAME", "AFTER_CREATED_AT"} {
		b.Run("list"+filter, func(b *testing.B) {
			in := &awsbatch.ListJobsInput{JobQueue: aws.String("default"), JobStatus: types.JobStatusSucceeded, MaxResults: aws.Int32(100)}
			if filter != "" {
				in.Filters = []types.KeyValuesPair{{Name: &filter, Values: []string{map[string]string{"JOB_NAME": "none", "AFTER_CREATED_AT": "9999999999999"}[filter]}}}
				in.JobStatus = ""
			}
			for b.Loop() {
				if _, err := client.ListJobs(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("submit", func(b *testing.B) {
		for b.Loop() {
			submit(b, client, 0)
		}
	})
	finish(b, e)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.Logf("%d jobs: %d MiB alive", kept, m.HeapAlloc>>20)
}

// BenchmarkEvents runs the command true 10,000 times, as separate jobs and as an array, without events and with a file
// that receives them. The time with a file includes the delivery of the last event.
func BenchmarkEvents(b *testing.B) {
	for _, size := range []int32{0, benchJobs} {
		for _, delivers := range []bool{false, true} {
			b.Run(fmt.Sprintf("array=%d/events=%t", size, delivers), func(b *testing.B) {
				for b.Loop() {
					var o Options
					path := filepath.Join(benchDir(b), "events")
					if delivers {
						o.Events = []events.Destination{eventFile(b, path)}
					}
					e := bench(b, o)
					client := awsbatch.NewFromConfig(e.Config())
					if size > 0 {
						submit(b, client, size)
					} else {
						together(16, benchJobs, func() { submit(b, client, 0) })
					}
					finish(b, e)
					if err := e.Close(b.Context()); err != nil {
						b.Fatal(err)
					}
					if delivers {
						b.StopTimer()
						text, err := os.ReadFile(path)
						if n := bytes.Count(text, []byte("\n")); err != nil || n < 4*benchJobs {
							b.Fatalf("%d events were delivered for %d jobs, %v", n, benchJobs, err)
						}
						b.StartTimer()
					}
				}
			})
		}
	}
}
