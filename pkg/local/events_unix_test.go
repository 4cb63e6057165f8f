//go:build unix

package local

import (
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/events"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// heraldOptions are the options of the engine that TestEventKills kills. Its jobs end at once.
func heraldOptions(t *testing.T, dir, url string) Options {
	to, err := events.ParseDestination(url)
	if err != nil {
		t.Fatal(err)
	}
	return Options{Dir: filepath.Join(dir, "state"), VCPUs: 4, MemoryMiB: 8192, GPUs: []string{}, Executor: &script{},
		Events: []events.Destination{eventFile(t, filepath.Join(dir, "events")), to}}
}

// TestHerald is the engine that TestEventKills starts as a process and kills. It runs jobs and arrays until then.
func TestHerald(t *testing.T) {
	dir, url := os.Getenv("BATCHCTL_TEST_HERALD"), os.Getenv("BATCHCTL_TEST_HERALD_URL")
	if dir == "" {
		t.Skip("runs only inside TestEventKills")
	}
	w := open(t, heraldOptions(t, dir, url))
	w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.RetryStrategy = &types.RetryStrategy{Attempts: aws.Int32(3)}
	})
	if err := os.WriteFile(filepath.Join(dir, "ready"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for {
		first := w.submit("work")
		w.submit("work", modeltest.Words("fail"), modeltest.After(first))
		w.submit("work", modeltest.Array(4), modeltest.Words("0", "fail", "0", "7"))
		w.idle()
	}
}

// TestEventKills kills an engine again and again while it delivers events to a file and to an HTTP server. Each change
// in its journal was delivered at least once, in the order of the journal.
func TestEventKills(t *testing.T) {
	kills := testtool.Count(50, 10)
	dir, random := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex
	var posted []received
	requests, arrived := 0, sync.NewCond(&mu)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return // the engine was killed in the middle of a request
		}
		v, err := read(text)
		mu.Lock()
		defer mu.Unlock()
		if requests++; err != nil || requests%1000 == 0 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		posted = append(posted, v)
		arrived.Broadcast()
	}))
	defer server.Close()
	for range kills {
		herald := exec.Command(os.Args[0], "-test.run=^TestHerald$")
		herald.Env = append(os.Environ(), "BATCHCTL_TEST_HERALD="+dir, "BATCHCTL_TEST_HERALD_URL="+server.URL)
		if err := herald.Start(); err != nil {
			t.Fatal(err)
		}
		ready := filepath.Join(dir, "ready")
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			if os.Remove(ready) == nil {
				break
			}
			if time.Now().After(deadline) {
				_ = herald.Process.Kill()
				_ = herald.Wait()
				t.Fatal("the engine does not start")
			}
		}
		time.AfterFunc(time.Duration(random.IntN(250))*time.Millisecond, func() { _ = herald.Process.Kill() })
		_ = herald.Wait() // it was killed
	}
	e, err := Open(heraldOptions(t, dir, server.URL))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.WaitIdle(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	all := transitions(t, filepath.Join(dir, "state"))
	mu.Lock()
	for len(posted) == 0 || all[len(all)-1] != posted[len(posted)-1].change() { // in order, so the others have arrived
		arrived.Wait()
	}
	mu.Unlock()
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	written := consume(t, filepath.Join(dir, "events"))
	checkAgainstJournal(t, filepath.Join(dir, "state"), written, kills+1)
	mu.Lock()
	defer mu.Unlock()
	checkAgainstJournal(t, filepath.Join(dir, "state"), posted, 2*kills+2)
	t.Logf("%d kills, %d changes, %d events in the file, %d posted", kills, len(all), len(written), len(posted))
}

// TestEventsDoNotDelay runs jobs while no destination accepts events: a socket whose program does not read, and a port
// on which nothing listens. The jobs end at the same virtual time as without events.
func TestEventsDoNotDelay(t *testing.T) {
	dir, err := os.MkdirTemp("", "events") // short, as the path of a socket must be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	unused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + unused.Addr().String() + "/"
	if err := unused.Close(); err != nil {
		t.Fatal(err)
	}
	took := map[bool]time.Duration{}
	for _, delivers := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var o Options
			if delivers {
				for _, text := range []string{"unix:" + listener.Addr().String(), url} {
					to, err := events.ParseDestination(text)
					if err != nil {
						t.Fatal(err)
					}
					o.Events = append(o.Events, to)
				}
			}
			w, started := open(t, o), time.Now()
			w.register("work", "1", "64")
			for range 20 {
				w.submit("work", modeltest.Array(20), modeltest.Words("10s"))
			}
			w.idle()
			took[delivers] = time.Since(started)
			started = time.Now()
			if err := w.engine.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if closing := time.Since(started); closing > 5*time.Second {
				t.Errorf("Close took %s", closing)
			}
		})
	}
	if took[true] != took[false] {
		t.Errorf("the jobs took %s with events, %s without", took[true], took[false])
	}
}
