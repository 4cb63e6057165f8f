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
)

// aPart returns a container that needs half a vCPU; script runs its command.
func aPart(name, word string, essential bool, after ...string) types.TaskContainerProperties {
	p := types.TaskContainerProperties{Name: &name, Image: aws.String("busybox:1"), Command: []string{word}, Essential: &essential,
		ResourceRequirements: []types.ResourceRequirement{{Type: "VCPU", Value: aws.String("0.5")}, {Type: "MEMORY", Value: aws.String("64")}}}
	for _, text := range after {
		on, condition, _ := strings.Cut(text, " ")
		p.DependsOn = append(p.DependsOn, types.TaskContainerDependency{ContainerName: &on, Condition: &condition})
	}
	return p
}

func task0(parts ...types.TaskContainerProperties) *types.EcsProperties {
	return &types.EcsProperties{TaskProperties: []types.EcsTaskProperties{{Containers: parts}}}
}

func (w *testEngine) registerTask(name string, parts ...types.TaskContainerProperties) {
	w.t.Helper()
	_, err := w.RegisterJobDefinition(w.t.Context(), &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: &name, Type: types.JobDefinitionTypeContainer,
		EcsProperties: task0(parts...)})
	if err != nil {
		w.t.Fatal(err)
	}
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
		{"one after the other", []types.TaskContainerProperties{aPart("main", "2s", true, "fetch SUCCESS", "check COMPLETE"), aPart("fetch", "3s", false), aPart("check", "fail", false)},
			"SUCCEEDED", model.ReasonExited, "main=0, fetch=0, check=1", 5},
		{"a sidecar is stopped", []types.TaskContainerProperties{aPart("main", "2s", true, "side START"), aPart("side", "1h", false)},
			"SUCCEEDED", model.ReasonExited, "main=0, side=143", 2},
		{"a stubborn one is killed", []types.TaskContainerProperties{aPart("main", "2s", true), aPart("side", "stubborn", false)},
			"SUCCEEDED", model.ReasonExited, "main=0, side=137", 32},
		{"a sidecar may fail", []types.TaskContainerProperties{aPart("main", "2s", true), aPart("side", "fail", false)},
			"SUCCEEDED", model.ReasonExited, "main=0, side=1", 2},
		{"an essential one fails", []types.TaskContainerProperties{aPart("main", "1h", true), aPart("other", "7", true, "main START")},
			"FAILED", model.ReasonExited, "main=143, other=7", 0},
		{"what it needs failed", []types.TaskContainerProperties{aPart("main", "2s", true, "fetch SUCCESS"), aPart("fetch", "fail", false)},
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
		gpu := aPart("gpu", "1m", true)
		gpu.ResourceRequirements = append(gpu.ResourceRequirements, types.ResourceRequirement{Type: "GPU", Value: aws.String("1")})
		w.registerTask("task", aPart("side", "1h", false), gpu)
		var ids []string
		for range 3 {
			ids = append(ids, w.submit("task", attempts(2), func(in *awsbatch.SubmitJobInput) {
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
		w.registerTask("task", aPart("main", "1h", true), aPart("side", "1h", false))
		id := w.submit("task", timeout(60), attempts(2))
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
	w.registerTask("task", aPart("a", "first", false), aPart("b", "second", true, "a SUCCESS"))
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

func TestTaskRefuses(t *testing.T) {
	w := open(t, Options{})
	two := func(edit func(a, b *types.TaskContainerProperties)) *types.EcsProperties {
		a, b := aPart("a", "true", true), aPart("b", "true", false)
		edit(&a, &b)
		return task0(a, b)
	}
	on := func(name, condition string) []types.TaskContainerDependency {
		return []types.TaskContainerDependency{{ContainerName: &name, Condition: &condition}}
	}
	type part = types.TaskContainerProperties
	for _, c := range []struct {
		p    *types.EcsProperties
		want string
	}{
		{&types.EcsProperties{TaskProperties: []types.EcsTaskProperties{}}, "ecsProperties must have exactly one element in taskProperties."},
		{task0(), "Error executing request, Exception : Number of containers must be between 1 and 10"},
		{two(func(a, b *part) { a.Essential = aws.Bool(false) }), "Error executing request, Exception : At least one container must be set as essential"},
		{two(func(a, b *part) { b.Name = a.Name }), "Error executing request, Exception : Container names must be unique"},
		{two(func(a, b *part) { b.Name = aws.String("a/b") }), `Container name "a/b" is not valid: 1 to 128 letters, digits, hyphens and underscores.`},
		{two(func(a, b *part) { b.DependsOn = on("c", "START") }), "Container b cannot depend on c."},
		{two(func(a, b *part) { b.DependsOn = on("a", "SUCCESS") }), "Error executing request, Exception : The container target of a dependency can not have condition SUCCESS if the target container a is essential"},
		{two(func(a, b *part) { b.DependsOn = on("a", "LATER") }), "Error executing request, Exception : TaskContainer dependency LATER is not valid. Valid values are: [START, COMPLETE, SUCCESS]"},
		{two(func(a, b *part) { a.DependsOn, b.DependsOn = on("b", "START"), on("a", "START") }), "The dependencies of container a form a cycle."},
		{two(func(a, b *part) { b.Environment = []types.KeyValuePair{attempt.Variable("AWS_BATCH_X", "")} }),
			"Environment variable AWS_BATCH_X is not valid: names must not start with AWS_BATCH."},
		{two(func(a, b *part) { a.ResourceRequirements, b.ResourceRequirements = nil, nil }), "Error executing request, Exception : vCPU is not provided"},
	} {
		if len(c.p.TaskProperties) == 1 && c.p.TaskProperties[0].Containers == nil {
			c.p.TaskProperties[0].Containers = []part{} // the SDK requires the member
		}
		_, err := w.RegisterJobDefinition(t.Context(), &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("task"), Type: "container", EcsProperties: c.p})
		refused(t, err, c.want)
	}
	w.registerTask("task", aPart("main", "true", true), aPart("side", "true", false))
	for _, c := range []struct {
		edit func(*awsbatch.SubmitJobInput)
		want string
	}{
		{words("x"), "containerOverrides cannot be used with a job definition that has ecsProperties."},
		{func(in *awsbatch.SubmitJobInput) {
			in.EcsPropertiesOverride = &types.EcsPropertiesOverride{TaskProperties: []types.TaskPropertiesOverride{{
				Containers: []types.TaskContainerOverrides{{Name: aws.String("none")}}}}}
		}, "Container none in ecsPropertiesOverride does not exist."},
	} {
		in := &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: aws.String("task")}
		c.edit(in)
		_, err := w.SubmitJob(t.Context(), in)
		refused(t, err, c.want)
	}
}
