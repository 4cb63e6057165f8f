package local

import (
	"context"
	"fmt"
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

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

func (w *testEngine) registerTask(name string, parts ...types.TaskContainerProperties) {
	w.t.Helper()
	modeltest.Must(w.t, w.RegisterJobDefinition, modeltest.Tasks(name, parts...))
}

// partsOf returns how the containers of a job ended, as text.
func partsOf(d types.JobDetail) string {
	var all []string
	for _, c := range d.EcsProperties.TaskProperties[0].Containers {
		text := *c.Name
		if c.ExitCode != nil {
			text += fmt.Sprintf("=%d", *c.ExitCode)
		}
		if c.Reason != nil {
			text += " (" + *c.Reason + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func TestContainersOfATask(t *testing.T) {
	for _, c := range []struct {
		name    string
		parts   []types.TaskContainerProperties
		status  types.JobStatus
		reason  string
		parts1  string
		seconds int // duration of the attempt
	}{
		{"one after the other", []types.TaskContainerProperties{modeltest.Part("main", "2s", true, "fetch SUCCESS", "check COMPLETE"), modeltest.Part("fetch", "3s", false), modeltest.Part("check", "fail", false)},
			"SUCCEEDED", model.ReasonExited, "main=0, fetch=0, check=1", 5},
		{"a sidecar is stopped", []types.TaskContainerProperties{modeltest.Part("main", "2s", true, "side START"), modeltest.Part("side", "1h", false)},
			"SUCCEEDED", model.ReasonExited, "main=0, side=143", 2},
		{"a stubborn one is killed", []types.TaskContainerProperties{modeltest.Part("main", "2s", true), modeltest.Part("side", "stubborn", false)},
			"SUCCEEDED", model.ReasonExited, "main=0, side=137", 32},
		{"a sidecar may fail", []types.TaskContainerProperties{modeltest.Part("main", "2s", true), modeltest.Part("side", "fail", false)},
			"SUCCEEDED", model.ReasonExited, "main=0, side=1", 2},
		{"an essential one fails", []types.TaskContainerProperties{modeltest.Part("main", "1h", true), modeltest.Part("other", "7", true, "main START")},
			"FAILED", model.ReasonExited, "main=143, other=7", 0},
		{"what it needs failed", []types.TaskContainerProperties{modeltest.Part("main", "2s", true, "fetch SUCCESS"), modeltest.Part("fetch", "fail", false)},
			"FAILED", model.ReasonNotStarted, "main (CannotStartContainerError: its dependency, container fetch, did not succeed), fetch=1", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{}
				dir := filepath.Join(t.TempDir(), "state")
				w := open(t, Options{Dir: dir, Executor: s, VCPUs: 2, MemoryMiB: 256})
				w.registerTask("task", c.parts...)
				began := time.Now()
				id := w.submit("task")
				w.idle()
				w.want(id, c.status, c.reason)
				d := w.job(id)
				if got := partsOf(d); got != c.parts1 {
					t.Errorf("containers: %s, want %s", got, c.parts1)
				}
				if took := int(time.Since(began).Seconds()); took != c.seconds {
					t.Errorf("took %d s, want %d", took, c.seconds)
				}
				if d.Container != nil || len(d.Attempts) != 1 || len(d.Attempts[0].TaskProperties[0].Containers) != len(c.parts) {
					t.Errorf("attempts %+v", d.Attempts)
				}
				w = w.restart(dir, Options{ReadOnly: true})
				if got := partsOf(w.job(id)); got != c.parts1 {
					t.Errorf("after the restart: %s", got)
				}
			})
		})
	}
}

func TestTasksAreHeldToTheirSum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		w := open(t, Options{Executor: s, VCPUs: 2, MemoryMiB: 1024, GPUs: []string{"g0", "g1"}})
		gpu := modeltest.Part("gpu", "1m", true)
		gpu.ResourceRequirements = append(gpu.ResourceRequirements, types.ResourceRequirement{Type: "GPU", Value: aws.String("1")})
		w.registerTask("task", modeltest.Part("side", "1h", false), gpu)
		var ids []string
		for range 3 {
			ids = append(ids, w.submit("task", modeltest.Attempts(2), func(in *awsbatch.SubmitJobInput) {
				in.EcsPropertiesOverride = &types.EcsPropertiesOverride{TaskProperties: []types.TaskPropertiesOverride{{Containers: []types.TaskContainerOverrides{
					{Name: aws.String("gpu"), Environment: []types.KeyValuePair{attempt.Variable("A", "1")}}}}}}
			}))
		}
		synctest.Wait()
		if s.now() != 4 {
			t.Errorf("%d containers run, want those of 2 jobs", s.now())
		}
		s.mu.Lock()
		seen := slices.Clone(s.seen)
		s.mu.Unlock()
		for _, a := range seen {
			has := slices.ContainsFunc(a.Environment, func(v types.KeyValuePair) bool { return *v.Name == "A" })
			if has != (len(a.GPUs) == 1) {
				t.Errorf("a container has %v and %v", a.GPUs, a.Environment)
			}
		}
		w.terminate(ids[0], "enough")
		w.idle()
		w.want(ids[0], types.JobStatusFailed, "enough")
		w.want(ids[2], types.JobStatusSucceeded, model.ReasonExited)
	})
}

func TestTaskTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{})
		w.registerTask("task", modeltest.Part("main", "1h", true), modeltest.Part("side", "1h", false))
		id := w.submit("task", modeltest.Timeout(60), modeltest.Attempts(2))
		began := time.Now()
		w.idle()
		w.want(id, types.JobStatusFailed, model.ReasonTimeout)
		if took := time.Since(began); took != time.Minute {
			t.Errorf("took %v", took)
		}
	})
}

func TestLogsOfATask(t *testing.T) {
	s := &script{run: func(_ context.Context, a attempt.Attempt, log *os.File) (int, error) {
		_, err := fmt.Fprintf(log, "I am %s\n", a.Command[0])
		return 0, err
	}}
	w := open(t, Options{Executor: s})
	w.registerTask("task", modeltest.Part("a", "first", false), modeltest.Part("b", "second", true, "a SUCCESS"))
	d := w.job(w.submit("task"))
	w.idle()
	d = w.job(*d.JobId)
	for i, want := range []string{"I am first", "I am second"} {
		name := *d.EcsProperties.TaskProperties[0].Containers[i].LogStreamName
		if got := w.logs(name); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if want := "task/" + string(rune('a'+i)) + "/"; !strings.HasPrefix(name, want) {
			t.Errorf("stream %s, want %s…", name, want)
		}
	}
}
