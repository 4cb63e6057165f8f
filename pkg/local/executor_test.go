package local

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
	"github.com/batchctl/batchctl/pkg/local/process"
)

// choice is a Chooser of scripts. The engine must not call it while it holds its lock.
type choice struct {
	script
	engine *Engine
	named  map[string]*script

	mu    sync.Mutex
	asked []string
	// unavailable is true if the other executors cannot be used any more.
	unavailable bool
}

func (c *choice) Chosen(_ context.Context, name string) (attempt.Executor, error) {
	if c.engine != nil {
		c.engine.Active() // deadlocks if the caller holds the engine's lock
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, name)
	if x := c.named[name]; x != nil && !c.unavailable {
		return x, nil
	}
	return nil, errors.New(name + " cannot be used")
}

func (c *choice) Unhonoured(*types.ContainerProperties) []attempt.Member {
	return []attempt.Member{{Name: "byDefault"}}
}

// where returns how many jobs each executor ran.
func (c *choice) where() map[string]int {
	counts := map[string]int{"": len(c.ran)}
	for name, x := range c.named {
		counts[name] = len(x.ran)
	}
	return counts
}

func tagged(name string) map[string]string { return map[string]string{attempt.ExecutorTag: name} }

func choosing(name string) func(*awsbatch.SubmitJobInput) {
	return func(in *awsbatch.SubmitJobInput) { in.Tags = tagged(name) }
}

func TestJobChoosesItsExecutor(t *testing.T) {
	c := &choice{named: map[string]*script{"a": {}, "b": {}}}
	w := open(t, Options{Executor: c})
	c.engine = w.engine
	notice := w.heard()
	w.register("plain", "1", "64")
	w.register("choosy", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) { in.Tags = tagged("a") })
	if *notice != "" {
		t.Errorf("a definition for a has the notice %q", *notice)
	}
	several := []types.TaskContainerProperties{
		{Name: aws.String("one"), Image: aws.String("busybox:1"), Command: []string{"true"}, ResourceRequirements: []types.ResourceRequirement{
			{Type: "VCPU", Value: aws.String("1")}, {Type: "MEMORY", Value: aws.String("64")}}},
		{Name: aws.String("two"), Image: aws.String("busybox:1"), Command: []string{"true"}, Essential: aws.Bool(false)},
	}
	several[0].DependsOn = []types.TaskContainerDependency{{ContainerName: aws.String("two"), Condition: aws.String(model.OnComplete)}}
	w.register("several", "", "", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.ContainerProperties = nil
		in.EcsProperties = &types.EcsProperties{TaskProperties: []types.EcsTaskProperties{{Containers: several}}}
	})
	w.submit("plain")
	if !strings.Contains(*notice, "byDefault") {
		t.Errorf("notice %q", *notice)
	}
	if len(c.asked) != 1 {
		t.Errorf("a job without the tag asked for executors %v", c.asked)
	}
	chosen := w.submit("choosy")
	if *notice != "" {
		t.Errorf("the default's notice %q on a job of another", *notice)
	}
	w.submit("choosy", choosing("b")) // the request before the definition
	w.submit("several", choosing("b"))
	w.submit("plain", choosing("a"), func(in *awsbatch.SubmitJobInput) { in.ArrayProperties = &types.ArrayProperties{Size: aws.Int32(2)} })
	w.idle()
	if got := c.where(); got[""] != 1 || got["a"] != 3 || got["b"] != 3 {
		t.Errorf("ran %v, want 1 by default, 3 with a, 3 with b", got)
	}
	// A later tag has no effect.
	modeltest.Must(t, w.TagResource, &awsbatch.TagResourceInput{ResourceArn: w.job(chosen).JobDefinition, Tags: tagged("b")})
	w.submit("choosy")
	w.idle()
	if got := c.where(); got["a"] != 4 {
		t.Errorf("ran %v, want 4 with a", got)
	}
}

func TestJobCannotHaveItsExecutor(t *testing.T) {
	c := &choice{named: map[string]*script{"a": {}}}
	w := open(t, Options{Executor: c})
	notice := w.heard()
	w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) { in.Tags = tagged("none") })
	if want := "jobs of this definition cannot run: tag batchctl:executor: none cannot be used"; *notice != want {
		t.Errorf("notice %q, want %q", *notice, want)
	}
	request := &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: aws.String("work")}
	_, err := w.SubmitJob(t.Context(), request)
	refused(t, err, "tag batchctl:executor: none cannot be used")
	// The executor was usable when the job was submitted, but is not when it starts.
	release := make(chan struct{})
	c.script.run = func(context.Context, attempt.Attempt, *os.File) (int, error) { <-release; return 0, nil }
	first := w.submit("work", choosing(""))
	second := w.submit("work", choosing("a"), func(in *awsbatch.SubmitJobInput) { in.DependsOn = []types.JobDependency{{JobId: &first}} })
	c.mu.Lock()
	c.unavailable = true
	c.mu.Unlock()
	close(release)
	w.idle()
	w.want(second, types.JobStatusFailed, model.ReasonNotStarted)
	if got := aws.ToString(w.job(second).Container.Reason); got != "CannotStartContainerError: tag batchctl:executor: a cannot be used" {
		t.Errorf("reason %q", got)
	}

	w = open(t, Options{})
	w.register("work", "1", "64")
	request.Tags = tagged("podman")
	_, err = w.SubmitJob(t.Context(), request)
	refused(t, err, "tag batchctl:executor: this engine has only one executor, the one it was started with (--executor)")
}

// crowded is an executor for which the machine is full while limit commands run.
type crowded struct {
	script
	limit int
	full  error
}

func (c *crowded) Run(ctx context.Context, a attempt.Attempt, log *os.File) (int, error) {
	if ctx.Err() == nil && c.now() >= c.limit {
		return -1, fmt.Errorf("CannotStartContainerError: %w", c.full)
	}
	return c.script.Run(ctx, a, log)
}

func TestAttemptsWaitForAFullMachine(t *testing.T) {
	for _, full := range []error{syscall.EMFILE, &os.PathError{Op: "fork/exec", Path: "/bin/sh", Err: syscall.EAGAIN}, syscall.ENOSPC} {
		t.Run(full.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &crowded{limit: 1, full: full}
				w := open(t, Options{Executor: c})
				w.register("work", "1", "64")
				w.registerTask("pair", modeltest.Part("a", "1h", true), modeltest.Part("b", "ok", false))
				first := w.submit("work", modeltest.Words("1h"))
				synctest.Wait()
				others := []string{w.submit("work", modeltest.Words("1h")), w.submit("pair")}
				time.Sleep(30 * time.Minute)
				for _, id := range others {
					w.want(id, types.JobStatusStarting, "")
				}
				w.idle()
				for _, id := range append(others, first) {
					w.want(id, types.JobStatusSucceeded, model.ReasonExited)
					if n := len(w.job(id).Attempts); n != 1 {
						t.Errorf("%d attempts, want 1", n)
					}
				}
			})
		})
	}
}

func TestAttemptThatWaitsForAFullMachineCanBeTerminated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{Executor: &crowded{limit: 1, full: syscall.EAGAIN}})
		w.register("work", "1", "64")
		w.submit("work", modeltest.Words("1h"))
		synctest.Wait()
		id := w.submit("work", modeltest.Words("1h"))
		synctest.Wait()
		w.terminate(id, "enough")
		synctest.Wait()
		w.want(id, types.JobStatusFailed, "enough")
	})
}

func TestMachineThatIsFullWithoutAnyCommandFailsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{Executor: &crowded{full: syscall.EAGAIN}})
		w.register("work", "1", "64")
		id := w.submit("work", modeltest.Words("1h"))
		w.idle()
		w.want(id, types.JobStatusFailed, model.ReasonNotStarted)
		if got, want := aws.ToString(w.job(id).Container.Reason), "CannotStartContainerError: "+syscall.EAGAIN.Error(); got != want {
			t.Errorf("reason %q, want %q", got, want)
		}
	})
}

func TestNoMoreAttemptsThanFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		w := open(t, Options{Executor: s, attempts: 2})
		w.register("work", "1", "64")
		w.registerTask("three", modeltest.Part("a", "1m", true), modeltest.Part("b", "1m", false), modeltest.Part("c", "1m", false))
		began := time.Now()
		for range 4 {
			w.submit("work", modeltest.Words("1m"))
		}
		w.submit("three")
		w.submit("work", modeltest.Words("1m"))
		w.idle()
		if d := time.Since(began); d != 4*time.Minute {
			t.Errorf("took %v, want 4m: two at once, then the three, which are too many, alone", d)
		}
	})
	for files, want := range map[uint64]int{0: math.MaxInt32, 1: 1, 52: 1, 64: 3, 1024: 195, math.MaxUint64: math.MaxInt32} {
		if got := attemptsFor(files); got != want {
			t.Errorf("%d attempts for %d files, want %d", got, files, want)
		}
	}
}

// TestRanBy checks that an attempt's description names the executor that ran it.
func TestRanBy(t *testing.T) {
	for _, executor := range []string{"", process.Name, "podman"} {
		a, task := &model.Attempt{Stream: "4f", Executor: executor}, &model.Task{Job: &model.Job{Definition: &model.Definition{Request: &awsbatch.RegisterJobDefinitionInput{}}}}
		d := &types.AttemptContainerDetail{TaskArn: aws.String(task.ECSTaskARN(a, 0)), ContainerInstanceArn: a.InstanceARN()}
		if name, here := model.RanBy(d); name != executor || !here {
			t.Errorf("%s: %q, %v", *d.ContainerInstanceArn, name, here)
		}
		d.ContainerInstanceArn = nil // as on Fargate
		if name, here := model.RanBy(d); name != "" || !here {
			t.Errorf("without an instance: %q, %v", name, here)
		}
	}
	for _, d := range []*types.AttemptContainerDetail{nil, {}, {TaskArn: aws.String("arn:aws:ecs:us-east-1:1:task/AWSBatch-local/4f"),
		ContainerInstanceArn: aws.String("arn:aws:ecs:us-east-1:1:container-instance/AWSBatch-local/local-process")}} {
		if _, here := model.RanBy(d); here {
			t.Errorf("%+v ran here", d)
		}
	}
}

// heard returns where a client of w keeps the notice of the last answer.
func (w *testEngine) heard() *string {
	notice := new(string)
	w.Client = awsbatch.NewFromConfig(w.engine.Config(), func(o *awsbatch.Options) {
		inner := o.HTTPClient
		o.HTTPClient = clientFunc(func(r *http.Request) (*http.Response, error) {
			answer, err := inner.Do(r)
			*notice = call.Notice(answer.Header)
			return answer, err
		})
	})
	return notice
}
