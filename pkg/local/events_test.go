package local

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
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
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/local/events"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
	"github.com/batchctl/batchctl/pkg/wire"
)

// received is an event as a consumer reads it.
type received struct {
	ID        string
	Type      string `json:"detail-type"`
	Time      string
	Resources []string
	Detail    types.JobDetail `json:"-"`
	Raw       json.RawMessage `json:"detail"`
}

// change returns the job and its new status.
func (v received) change() string { return *v.Detail.JobId + " " + string(v.Detail.Status) }

// consume returns the events of a file.
func consume(t testing.TB, path string) (all []received) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		v, err := read(line)
		const begin = `{"version":"0","id":"`
		start := bytes.TrimSuffix(line, []byte("\n"))
		if err != nil && !json.Valid(line) && bytes.HasPrefix([]byte(begin), start[:min(len(start), len(begin))]) {
			continue // an engine was killed while it wrote the line
		}
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, v)
	}
	return all
}

// read decodes an event. A member that DescribeJobs does not have is an error.
func read(text []byte) (v received, err error) {
	if err = json.Unmarshal(text, &v); err == nil && strings.HasPrefix(v.Type, "Batch ") {
		err = wire.Unmarshal(v.Raw, &v.Detail)
	}
	return v, err
}

// statuses returns the statuses of each job in the order of the events, without repeated events.
func statuses(all []received) map[string]string {
	got, seen := map[string]string{}, map[string]bool{}
	for _, v := range all {
		if !seen[v.ID] && v.Type == events.StateChange {
			id := *v.Detail.JobId
			got[id] = strings.TrimSpace(got[id] + " " + string(v.Detail.Status))
		}
		seen[v.ID] = true
	}
	return got
}

// eventFile returns a destination in a directory that only this user can write to.
func eventFile(t testing.TB, path string) events.Destination {
	t.Helper()
	to, err := events.ParseDestination("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// listen opens an engine that delivers its events to a file.
func listen(t *testing.T, o Options) (w *testEngine, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "events")
	o.Events = []events.Destination{eventFile(t, path)}
	return open(t, o), path
}

// The usual lives of jobs; SUBMITTED has no event (user guide, "Job state change events").
const (
	succeeds = "RUNNABLE STARTING RUNNING SUCCEEDED"
	fails    = "RUNNABLE STARTING RUNNING FAILED"
)

// checkLives compares the events of a file with the expected statuses of jobs.
func checkLives(t *testing.T, path string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, statuses(consume(t, path))); diff != "" {
		t.Errorf("statuses by job (-want +got):\n%s", diff)
	}
}

func TestEventsOfJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, path := listen(t, Options{})
		w.register("work", "1", "64")
		retries := func(in *awsbatch.SubmitJobInput) { in.RetryStrategy = &types.RetryStrategy{Attempts: aws.Int32(2)} }
		first := w.submit("work", modeltest.Words("1m"))
		second := w.submit("work", modeltest.After(first))
		bad := w.submit("work", modeltest.Words("fail"), retries, modeltest.After(first))
		orphan := w.submit("work", modeltest.After(bad))
		children := w.submit("work", modeltest.Array(5), modeltest.Words("0", "fail", "2m", "0", "7"), retries)
		timed := w.submit("work", modeltest.Words("10h"), func(in *awsbatch.SubmitJobInput) {
			in.Timeout = &types.JobTimeout{AttemptDurationSeconds: aws.Int32(60)}
		})
		terminated := w.submit("work", modeltest.Words("10h"))
		cancelled := w.submit("work", modeltest.After(terminated))
		time.Sleep(5 * time.Minute)
		w.cancel(cancelled, "not needed")
		w.terminate(terminated, "enough")
		w.idle()
		time.Sleep(time.Second)
		twice := "RUNNABLE STARTING RUNNING " + fails
		checkLives(t, path, map[string]string{
			first: succeeds, second: "PENDING " + succeeds, bad: "PENDING " + twice, orphan: "PENDING FAILED",
			children: "PENDING FAILED", children + ":0": succeeds, children + ":1": twice, children + ":2": succeeds, children + ":3": succeeds, children + ":4": twice,
			timed: fails, terminated: fails, cancelled: "PENDING FAILED",
		})
		// The last event shows the job as DescribeJobs does; earlier ones show earlier states.
		last := map[string]received{}
		for _, v := range consume(t, path) {
			id := *v.Detail.JobId
			last[id] = v
			if want := model.ARN(model.KindJob, id); !slices.Equal(v.Resources, []string{want}) || *v.Detail.JobArn != want {
				t.Errorf("resources %q, job %s", v.Resources, *v.Detail.JobArn)
			}
			running := v.Detail.Status == types.JobStatusStarting || v.Detail.Status == types.JobStatusRunning
			if running && v.Detail.StoppedAt != nil || v.Detail.Status == types.JobStatusRunnable && v.Detail.StartedAt != nil && len(v.Detail.Attempts) == 0 {
				t.Errorf("an event shows a later state of the job: %s", v.Raw)
			}
		}
		for id, v := range last {
			now := w.job(id)
			if now.RetryStrategy != nil && len(now.RetryStrategy.EvaluateOnExit) == 0 {
				now.RetryStrategy.EvaluateOnExit = []types.EvaluateOnExit{} // as in AWS's events
			}
			want, err := wire.Marshal(now)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := wire.Marshal(v.Detail); !bytes.Equal(got, want) {
				t.Errorf("the last event of a job shows\n%s\nwant\n%s", got, want)
			}
		}
		if at := time.UnixMilli(*last[timed].Detail.StoppedAt).UTC().Format(time.RFC3339); last[timed].Time != at {
			t.Errorf("time %s, the job ended at %s", last[timed].Time, at)
		}
	})
}

// TestEventShape compares the members of an event with those that AWS documents (user guide, "Job state change
// events").
func TestEventShape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, path := listen(t, Options{})
		w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
			in.PlatformCapabilities, in.PropagateTags = []types.PlatformCapability{types.PlatformCapabilityEc2}, aws.Bool(true)
			in.RetryStrategy = &types.RetryStrategy{Attempts: aws.Int32(2)}
		})
		w.submit("work", func(in *awsbatch.SubmitJobInput) { in.Tags = map[string]string{"team": "a"} })
		w.idle()
		time.Sleep(time.Second)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		line, _, _ := bytes.Cut(text, []byte("\n"))
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		members := func(name string) string {
			object := v
			for part := range strings.FieldsSeq(name) {
				object, _ = object[part].(map[string]any)
			}
			return strings.Join(slices.Sorted(maps.Keys(object)), " ")
		}
		if got, want := members(""), "account detail detail-type id region resources source time version"; got != want {
			t.Errorf("members %s, want %s", got, want)
		}
		for name, documented := range map[string]string{
			"detail":               "attempts container createdAt dependsOn jobArn jobDefinition jobId jobName jobQueue parameters platformCapabilities propagateTags retryStrategy status tags",
			"detail retryStrategy": "attempts evaluateOnExit",
			"detail container":     "command environment image mountPoints networkInterfaces resourceRequirements secrets ulimits volumes",
		} {
			got := strings.Fields(members(name))
			for member := range strings.FieldsSeq(documented) {
				if !slices.Contains(got, member) {
					t.Errorf("%s has no member %s: %v", name, member, got)
				}
			}
		}
		if v["version"] != "0" || v["source"] != "aws.batch" || v["detail-type"] != "Batch Job State Change" || v["account"] != model.Account || v["region"] != model.Region {
			t.Errorf("%s", line)
		}
	})
}

func TestEventsOfNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, path := listen(t, Options{})
		modeltest.Must(t, w.RegisterJobDefinition, modeltest.Nodes(3, 1, modeltest.NodeRange("0:2", "1h"), modeltest.NodeRange("1", "5m"), modeltest.NodeRange("2:", "fail")))
		id := w.submit("multi")
		w.idle()
		time.Sleep(time.Second)
		checkLives(t, path, map[string]string{id: succeeds, id + "#0": succeeds, id + "#1": succeeds, id + "#2": fails})
		for _, v := range consume(t, path) {
			if node := strings.Contains(*v.Detail.JobId, "#"); node != (v.Detail.NodeDetails != nil) {
				t.Errorf("nodeDetails of %s: %v", *v.Detail.JobId, v.Detail.NodeDetails)
			}
		}
	})
}

// TestEventsOfServiceJobs checks that the first event of a service job is that it is RUNNABLE.
func TestEventsOfServiceJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, path := listen(t, Options{})
		modeltest.ServiceResources(w.must)
		id := w.serve("sage", `{}`)
		w.idle()
		time.Sleep(time.Minute)
		if got := statuses(consume(t, path))[id]; !strings.HasPrefix(strings.TrimSpace(got), "RUNNABLE SCHEDULED") {
			t.Errorf("statuses %q", got)
		}
	})
}

func TestEventsOfBlockedQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, path := listen(t, Options{VCPUs: 2, MemoryMiB: 1024})
		w.register("work", "2", "64")
		w.register("huge", "100", "64")
		long := w.submit("work", modeltest.Words("1m"))
		w.submit("work") // waits for capacity, which is no blocked queue
		time.Sleep(5 * time.Minute)
		first := w.submit("huge", modeltest.Array(3))
		w.submit("huge")
		time.Sleep(time.Minute)
		w.cancel(first+":0", "not needed")
		time.Sleep(time.Minute)
		w.cancel(first, "not needed")
		time.Sleep(time.Minute)
		var got []string
		for _, v := range consume(t, path) {
			if v.Type != events.QueueBlocked {
				continue
			}
			got = append(got, strings.TrimPrefix(*v.Detail.JobId, first))
			if v.Detail.Status != types.JobStatusRunnable || !strings.HasPrefix(aws.ToString(v.Detail.StatusReason), "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - ") ||
				len(v.Resources) != 2 || v.Resources[1] != *v.Detail.JobQueue {
				t.Errorf("%v %s", v.Resources, v.Raw)
			}
		}
		if len(got) != 3 || got[0] != ":0" || got[1] != ":1" || strings.Contains(got[2], long) || strings.Contains(got[2], ":") {
			t.Errorf("heads that block the queue: %q, want child 0, child 1 and the last job", got)
		}
	})
}

// TestEventsAfterRestart checks that a destination continues where it was, and that one that was removed, or is new on
// an old journal, starts with the next change.
func TestEventsAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, out := filepath.Join(t.TempDir(), "state"), t.TempDir()
		a, b := filepath.Join(out, "a"), filepath.Join(out, "b")
		var log bytes.Buffer
		life := func(paths ...string) string {
			t.Helper()
			o := Options{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))}
			for _, path := range paths {
				o.Events = append(o.Events, eventFile(t, path))
			}
			w := open(t, o)
			w.register("work", "1", "64")
			id := w.submit("work")
			w.idle()
			if err := w.engine.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			return id
		}
		life()
		first := life(a)
		second := life(a, b)
		third := life(b)
		log.Reset()
		fourth := life(a, b)
		if text := log.String(); strings.Count(text, "delivery starts with new events") != 1 || strings.Contains(text, "lost") {
			t.Errorf("the log does not report that only a starts again:\n%s", text)
		}
		checkLives(t, a, map[string]string{first: succeeds, second: succeeds, fourth: succeeds})
		checkLives(t, b, map[string]string{second: succeeds, third: succeeds, fourth: succeeds})
		if n := len(consume(t, b)); n != 12 {
			t.Errorf("%d events, want 12: each one once", n)
		}
	})
}

// TestEventsSurviveForgetting checks that jobs are kept while a destination needs their events, and that the loss is
// reported once the journal is too large for that.
func TestEventsSurviveForgetting(t *testing.T) {
	for _, limit := range []int64{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			dir, path := filepath.Join(t.TempDir(), "state"), filepath.Join(t.TempDir(), "events")
			o := Options{Dir: dir, Events: []events.Destination{eventFile(t, path)}}
			w := open(t, o)
			w.register("work", "1", "64")
			delivered := w.submit("work")
			w.idle()
			time.Sleep(time.Second)
			if err := os.Chmod(path, 0o400); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path, path+".old"); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(path, 0o700); err != nil { // no event can be written
				t.Fatal(err)
			}
			old := w.submit("work", modeltest.Array(3))
			w.idle()
			if err := w.engine.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(30 * 24 * time.Hour)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			o.forgetFrom, o.maxHeld, o.Log = 1, limit, slog.New(slog.NewTextHandler(&log, nil))
			w = open(t, o)
			fresh := w.submit("work")
			w.idle()
			time.Sleep(time.Second)
			if w.engine.model.Jobs[delivered] != nil && limit != 0 || (w.engine.model.Jobs[old] == nil) != (limit != 0) {
				t.Errorf("limit %d: the jobs left are %d", limit, len(w.engine.model.Jobs))
			}
			want := map[string]string{fresh: succeeds}
			var lost []string
			all := consume(t, path)
			for _, v := range all {
				if v.Type == events.Lost {
					lost = append(lost, string(v.Raw))
				}
			}
			if limit == 0 {
				for _, child := range []string{":0", ":1", ":2"} {
					want[old+child] = succeeds
				}
				want[old] = "PENDING SUCCEEDED"
			}
			checkLives(t, path, want)
			if reported := len(lost) == 1 && all[0].Type == events.Lost && strings.Contains(lost[0], `"lost":14`) && strings.Contains(log.String(), "lost=14"); reported != (limit != 0) {
				t.Errorf("limit %d: lost events are reported as %q, log:\n%s", limit, lost, &log)
			}
		})
	}
}

// TestEventsProperty submits, stops and restarts at random, and checks that the events are exactly the changes in the
// journal, in its order.
func TestEventsProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		plan := rapid.SliceOfN(rapid.IntRange(0, 7), 1, 25).Draw(r, "plan")
		pauses := rapid.SliceOfN(rapid.IntRange(0, 90), len(plan), len(plan)).Draw(r, "pauses")
		synctest.Test(t, func(t *testing.T) {
			dir, path := filepath.Join(t.TempDir(), "state"), filepath.Join(t.TempDir(), "events")
			o := Options{Dir: dir, Events: []events.Destination{eventFile(t, path)}, VCPUs: 2, MemoryMiB: 1024}
			w := open(t, o)
			w.register("work", "1", "64")
			w.register("huge", "9", "64")
			ids := []string{w.submit("work")}
			for i, step := range plan {
				some := ids[i%len(ids)]
				switch step {
				case 0:
					ids = append(ids, w.submit("work", modeltest.Words("30s")))
				case 1:
					ids = append(ids, w.submit("work", modeltest.Array(3), modeltest.Words("20s", "fail", "0")))
				case 2:
					ids = append(ids, w.submit("work", modeltest.After(some), modeltest.Words("fail")))
				case 3:
					ids = append(ids, w.submit("huge"))
				case 4:
					w.terminate(some, "enough")
				case 5:
					w.cancel(some, "not needed")
				case 6:
					if err := w.engine.Close(t.Context()); err != nil {
						t.Fatal(err)
					}
					w = open(t, o)
				case 7:
					w.job(some)
				}
				time.Sleep(time.Duration(pauses[i]) * time.Second)
			}
			if err := w.engine.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkAgainstJournal(t, dir, consume(t, path), 1)
		})
	})
}

// checkAgainstJournal checks that the first delivery of each event is exactly the changes of the journal in order, and
// that no event was delivered more often than the engine was started.
func checkAgainstJournal(t *testing.T, dir string, all []received, most int) {
	t.Helper()
	var got []string
	times := map[string]int{}
	for _, v := range all {
		if v.Type != events.StateChange {
			continue
		}
		if times[v.ID]++; times[v.ID] == 1 {
			got = append(got, v.change())
		} else if times[v.ID] > most {
			t.Errorf("event %s was delivered %d times in %d lives", v.ID, times[v.ID], most)
		}
	}
	if diff := cmp.Diff(transitions(t, dir), got); diff != "" {
		t.Errorf("changes in the journal, events (-want +got):\n%.4000s", diff)
	}
}

// transitions returns the changes of status in a journal. It reads the text of the records, independently of the model.
func transitions(t *testing.T, dir string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	size := map[string]int{}
	for line := range bytes.Lines(text) {
		at := bytes.IndexByte(line, '{')
		if at < 0 {
			continue
		}
		var r struct {
			Events []map[string]struct {
				ID, Job, To string
				All         bool
				Request     struct{ ArrayProperties struct{ Size int } }
			}
		}
		if err := json.NewDecoder(bytes.NewReader(line[at:])).Decode(&r); err != nil && err != io.EOF {
			continue // a registration, whose members have other types
		}
		for _, v := range r.Events {
			for name, e := range v {
				switch name {
				case "submitted":
					size[e.ID] = e.Request.ArrayProperties.Size
					if e.To != "" {
						all = append(all, e.ID+" "+e.To)
					}
				case "started":
					all = append(all, e.Job+" STARTING")
				case "launched":
					all = append(all, e.Job+" RUNNING")
				case "moved", "ended":
					if !e.All {
						all = append(all, e.Job+" "+e.To)
						continue
					}
					for i := range size[e.Job] {
						all = append(all, fmt.Sprintf("%s:%d %s", e.Job, i, e.To))
					}
				}
			}
		}
	}
	return all
}
