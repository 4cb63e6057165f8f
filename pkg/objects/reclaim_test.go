package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/batchctl/batchctl/pkg/checkpoint"
	"github.com/batchctl/batchctl/pkg/objects/s3mem"
	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// machine answers S3 requests in virtual time until it is taken away: then no request of its jobs arrives any more,
// and none of their clean-up happens.
type machine struct {
	server *s3mem.Server
	cut    atomic.Bool          // a request was on its way at the end
	delay  func() time.Duration // of each request
	gone   context.Context
}

func (m *machine) Do(r *http.Request) (*http.Response, error) {
	wait := func(d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case <-r.Context().Done():
			m.cut.Store(true)
			return r.Context().Err()
		case <-m.gone.Done():
			m.cut.Store(true)
			return errors.New("the machine is gone")
		}
	}
	d := m.delay()
	if err := wait(d / 2); err != nil {
		return nil, err
	}
	answer, err := m.answer(r)
	if err != nil {
		return nil, err
	}
	// The request may have had its effect although its answer is lost.
	if err := wait(d / 2); err != nil {
		return nil, err
	}
	return answer, nil
}

// answer calls the server, whose faults may cut the answer.
func (m *machine) answer(r *http.Request) (answer *http.Response, err error) {
	w := httptest.NewRecorder()
	defer func() {
		if fault := recover(); fault != nil {
			if fault != http.ErrAbortHandler { //nolint:errorlint // it is the value itself
				panic(fault)
			}
			answer = w.Result()
			answer.Body = io.NopCloser(io.MultiReader(bytes.NewReader(w.Body.Bytes()), broken{}))
			answer.Request = r
		}
	}()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	m.server.ServeHTTP(w, r)
	answer = w.Result()
	answer.Request = r
	return answer, nil
}

// broken is the end of a cut answer.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// trial is one job that machines are taken away from.
type trial struct {
	t      *testing.T
	r      *rand.Rand
	place  string
	server *s3mem.Server
	said   []string

	reclaims, duringUpload, duringRestore, damaged int
	longest                                        time.Duration // the longest work that was lost
}

// The program of a trial takes steps, and writes its state after each of them.
const (
	stepTime  = 5 * time.Second
	steps     = 120
	interval  = time.Minute
	longestIO = 500 * time.Millisecond // of one request
	// mostLost is what a reclaim may cost: the work of one interval.
	mostLost = interval
)

// next is a step of the program: the state follows from the one before, so that a wrong start shows in the result.
func next(x uint64, step int) uint64 { return x*6364136223846793005 + uint64(step) }

// state returns the contents of the files for a state.
func state(x uint64, step int) (weights, log []byte) {
	weights = make([]byte, 100<<10)
	_, _ = rand.NewChaCha8([32]byte{byte(x), byte(x >> 8), byte(x >> 16), byte(x >> 24)}).Read(weights)
	return weights, fmt.Appendf(nil, "%d %d\n", step, x)
}

// replace writes a checkpoint as a program does: into a directory of a temporary name, which it then renames. latest
// leads to a complete checkpoint at every moment, and the one before is removed after that. The times of the files are
// virtual.
func (c *trial) replace(dir string, x uint64, step int) {
	weights, log := state(x, step)
	final := filepath.Join(dir, fmt.Sprintf("step-%d", step))
	temp := final + ".tmp"
	put := func(name string, text []byte) {
		if err := errors.Join(os.WriteFile(name, text, 0o644), os.Chtimes(name, time.Time{}, time.Now())); err != nil {
			c.t.Fatal(err)
		}
	}
	old, _ := filepath.Glob(filepath.Join(dir, "step-*"))
	if err := os.MkdirAll(temp, 0o755); err != nil {
		c.t.Fatal(err)
	}
	put(filepath.Join(temp, "weights"), weights)
	put(filepath.Join(temp, "log"), log)
	put(filepath.Join(temp, "constant"), []byte("never changes"))
	latest := filepath.Join(dir, "latest")
	// A checkpoint that was saved between the next two lines has a directory that latest does not lead to yet.
	errs := []error{os.RemoveAll(final), os.Rename(temp, final), os.Symlink(filepath.Base(final), latest+".tmp"), os.Rename(latest+".tmp", latest)}
	for _, name := range old {
		if name != final {
			errs = append(errs, os.RemoveAll(name))
		}
	}
	if err := errors.Join(errs...); err != nil && !errors.Is(err, os.ErrNotExist) {
		c.t.Fatal(err)
	}
}

// load reads the state in the directory, as the program does when it starts. It fails for a torn one. The checkpoint
// before may still be there: the program removes it last.
func (c *trial) load(dir string) (x uint64, step int) {
	found, _ := filepath.Glob(filepath.Join(dir, "step-*"))
	if len(found) == 0 {
		return 0, 0
	}
	if _, err := os.Lstat(filepath.Join(dir, "latest")); errors.Is(err, os.ErrNotExist) {
		return 0, 0 // saved before the first link
	}
	log, _ := os.ReadFile(filepath.Join(dir, "latest", "log"))
	if _, err := fmt.Sscanf(string(log), "%d %d\n", &step, &x); err != nil {
		c.t.Fatalf("torn: %q: %v", log, err)
	}
	weights, _ := state(x, step)
	if got, err := os.ReadFile(filepath.Join(dir, "latest", "weights")); err != nil || !bytes.Equal(weights, got) || len(found) > 2 {
		c.t.Fatalf("torn: the weights are not those of step %d, or there is more: %v %v", step, found, err)
	}
	return x, step
}

// attempt runs the program on a new machine, from the restored step on, and returns the steps at its begin and end.
// kill is when the machine is taken away; 0 means never. A notice comes so long before that; 0 means none. began is
// -1 if the program did not start.
func (c *trial) attempt(kill, notice time.Duration) (began, ended int) {
	gone, takeAway := context.WithCancelCause(context.Background())
	defer takeAway(nil)
	if kill > 0 {
		timer := time.AfterFunc(kill, func() { takeAway(errors.New("reclaimed")) })
		defer timer.Stop()
	}
	dir := filepath.Join(c.t.TempDir(), "ckpt")
	m := &machine{server: c.server, gone: gone, delay: func() time.Duration { return time.Duration(c.r.Int64N(int64(longestIO))) }}
	store := &Store{Connections: 1, Config: func(context.Context) (aws.Config, error) {
		return aws.Config{Region: "us-east-1", HTTPClient: m, BaseEndpoint: aws.String("https://s3.test"), Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "")}, nil
	}}
	k := &stage.Keeper{Store: store, Place: c.place, Dir: dir, Every: interval, Job: "job",
		Say: func(format string, args ...any) { c.said = append(c.said, fmt.Sprintf(format, args...)) }}
	switch _, err := k.Restore(gone); {
	case gone.Err() != nil:
		c.duringRestore++
		return -1, -1
	case err != nil:
		c.t.Fatalf("no checkpoint was restored: %v", err)
	}
	x, step := c.load(dir)
	began = step
	running, stop := context.WithCancel(gone)
	reclaim := make(chan string, 1)
	if notice > 0 {
		timer := time.AfterFunc(max(kill-notice, 0), func() { reclaim <- "the machine is taken away" })
		defer timer.Stop()
	}
	saving := make(chan struct{})
	go func() { defer close(saving); k.Run(running, reclaim) }()
	for step < steps && gone.Err() == nil {
		select {
		case <-time.After(stepTime):
			step++
			x = next(x, step)
			c.replace(dir, x, step)
		case <-gone.Done():
		}
	}
	stop()
	<-saving
	if gone.Err() != nil && m.cut.Load() {
		c.duringUpload++
	}
	if _, done := c.load(dir); step == steps {
		want := uint64(0)
		for i := range steps {
			want = next(want, i+1)
		}
		if x != want || done != steps {
			c.t.Errorf("the result is %d after %d steps, and %d in an undisturbed run", x, done, want)
		}
	}
	return began, step
}

// faulty makes one request in ten fail: with an error, a cut answer, or a damaged one.
func faulty(r *rand.Rand) func(*http.Request) s3mem.Fault {
	return func(q *http.Request) s3mem.Fault {
		if r.IntN(10) > 0 {
			return s3mem.Fault{}
		}
		switch r.IntN(4) {
		case 0:
			return s3mem.Fault{Status: http.StatusServiceUnavailable, Code: "SlowDown"}
		case 1:
			return s3mem.Fault{Cut: 1 + r.IntN(4000)}
		case 2:
			return s3mem.Fault{Status: http.StatusInternalServerError, Code: "InternalError"}
		}
		if strings.Contains(q.URL.Path, "/data/") {
			return s3mem.Fault{Flip: 1 + r.IntN(4000)}
		}
		return s3mem.Fault{}
	}
}

// run runs a job until it has finished, with machines that are taken away at random times.
func (c *trial) run(faults bool) {
	if faults {
		c.server.Fault = faulty(c.r)
	}
	last := 0 // the step at which the last machine was taken away
	for ended := 0; ended < steps; {
		kill, notice := time.Duration(c.r.ExpFloat64()*float64(100*time.Second))+time.Millisecond, time.Duration(0)
		if c.r.IntN(4) == 0 {
			kill = time.Duration(c.r.Int64N(int64(4*time.Second))) + 1 // during the restore
		}
		if c.r.IntN(3) == 0 { // during an upload
			kill = time.Duration(1+c.r.IntN(3))*interval + time.Duration(c.r.Int64N(int64(6*time.Second)))
		}
		if c.r.IntN(4) == 0 {
			notice = 2 * time.Minute
		}
		var began int
		began, ended = c.attempt(kill, notice)
		if began < 0 {
			c.reclaims++
			continue
		}
		if faults && c.r.IntN(3) == 0 {
			c.damage()
		}
		c.longest = max(c.longest, time.Duration(last-began)*stepTime)
		if last = ended; ended < steps {
			c.reclaims++
		}
	}
}

// damage damages the newest generation, if there is one before it: its list, or a content that the other does not
// need.
func (c *trial) damage() {
	found := checkpoint.Sort(namesOf(c.server))
	if len(found.Generations) < 2 {
		return
	}
	key := "bucket/ckpt/job/" + found.Generations[0].Name()
	newest := *c.server.Get(key)
	m, err := checkpoint.Parse(string(newest.Body))
	other, otherErr := checkpoint.Parse(string(c.server.Get("bucket/ckpt/job/" + found.Generations[1].Name()).Body))
	if err != nil || otherErr != nil {
		return // an earlier damage
	}
	c.damaged++
	for _, f := range m.Files {
		shared := slices.ContainsFunc(other.Files, func(o checkpoint.File) bool { return o.SHA256 == f.SHA256 })
		if !shared && f.Link == "" && c.r.IntN(2) == 0 {
			found := c.server.Get("bucket/ckpt/job/" + checkpoint.DataName(f.SHA256))
			if found == nil {
				return // an earlier damage, which the next save has begun to remove
			}
			content := *found
			content.Body = bytes.Clone(content.Body)
			content.Body[c.r.IntN(len(content.Body))] ^= 1
			c.server.Put("bucket/ckpt/job/"+checkpoint.DataName(f.SHA256), &content)
			return
		}
	}
	newest.Body = newest.Body[:len(newest.Body)-1-c.r.IntN(len(newest.Body)-1)]
	c.server.Put(key, &newest)
}

// TestReclaims takes machines away from jobs with checkpoints in S3, in virtual time: during the program, a restore
// or an upload, with and without a notice, and with faults of S3. No torn checkpoint is restored, the result is that
// of an undisturbed run, and without faults at most an interval of work is lost.
func TestReclaims(t *testing.T) {
	wanted := testtool.Count(1000, 60)
	var total trial
	// Each kind of reclaim has to be among them.
	for seed := uint64(1); total.reclaims < wanted || (total.duringUpload == 0 || total.duringRestore == 0) && seed < 1000; seed++ {
		synctest.Test(t, func(t *testing.T) {
			faults := seed%2 == 0
			c := &trial{t: t, r: rand.New(rand.NewPCG(seed, 36)), place: "s3://bucket/ckpt/job", server: &s3mem.Server{}}
			c.run(faults)
			if c.longest > mostLost && !faults {
				t.Errorf("seed %d: a reclaim lost %v of work, more than %v", seed, c.longest, mostLost)
			}
			total.reclaims += c.reclaims
			total.duringUpload += c.duringUpload
			total.duringRestore += c.duringRestore
			total.damaged += c.damaged
			if !faults {
				total.longest = max(total.longest, c.longest)
			}
			found := checkpoint.Sort(namesOf(c.server))
			if n := len(found.Generations); n > checkpoint.Kept+1 {
				t.Errorf("seed %d: %d generations are left: %v", seed, n, found.Generations)
			}
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d reclaims: %d during an upload, %d during a restore; %d damaged generations; without faults at most %v of work lost in one", total.reclaims, total.duringUpload, total.duringRestore, total.damaged, total.longest)
	if total.duringUpload == 0 || total.duringRestore == 0 {
		t.Error("no upload or no restore was cut")
	}
}

// namesOf returns the names in the place of a trial.
func namesOf(server *s3mem.Server) (names []string) {
	for _, key := range server.Keys() {
		names = append(names, strings.TrimPrefix(key, "bucket/ckpt/job/"))
	}
	return names
}
