//go:build unix

package container

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// smallDisk returns a directory on a file system of 64 KiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can mount a small file system")
	}
	dir := emptyDir(t)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v\n%s", err, out)
		}
	})
	return dir
}

// testOutputLost kills the program that copies a job's output. The job continues and ends
// normally, and its log reports the loss.
func testOutputLost(t *testing.T, x *Executor) {
	noting, dir := noted(t, x, `echo "$1"`)
	r := newTrial(t, noting, `"command": ["/job", "wait"]`)
	ctx, cancel := context.WithCancelCause(t.Context())
	output := "batchctl: output may be missing here: " + x.kind + " start ended with exit code -1, earlier than the container or with another result\n"
	var ending sync.WaitGroup
	r.a.Started = func(string) {
		ending.Go(func() {
			eventually(t, "the job waits", func() bool { return r.said(t) == "waiting\n" })
			killCall(t, dir, "start\n")
			eventually(t, "the log says it", func() bool { return r.said(t) == "waiting\n"+output })
			cancel(errors.New("job terminated"))
		})
	}
	o := r.run(t, ctx)
	ending.Wait()
	o.want(t, 3, "waiting\n"+output, "")
}

// killCall kills the one call of a noted program that has the given note.
func killCall(t *testing.T, dir, note string) {
	calls, _ := filepath.Glob(filepath.Join(dir, "*.call"))
	for _, call := range calls {
		if text, err := os.ReadFile(call); err != nil || string(text) != note {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(call), ".call"))
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Error(err)
		}
		return
	}
	t.Errorf("no call was noted as %q", note)
}

// testFullDisk lets jobs print more than the disk of their log can store: one that would succeed
// and may end before it is stopped, and one that would run indefinitely.
func testFullDisk(t *testing.T, x *Executor) {
	disk := smallDisk(t)
	for what, exits := range map[string][]int{`"200"`: {0, 137}, `"200", "wait"`: {137}} {
		r := newTrial(t, x, `"command": ["/job", "print", `+what+`]`)
		r.log = filepath.Join(disk, "log")
		o := r.run(t, t.Context())
		if o.err == nil || !strings.HasPrefix(o.err.Error(), "the container's output could not be written to its log: ") ||
			!strings.HasSuffix(o.err.Error(), "no space left on device") || !slices.Contains(exits, o.exit) || o.started != 1 {
			t.Errorf("print %s: exit %d, %v, started %d times", what, o.exit, o.err, o.started)
		}
	}
	o := newTrial(t, x, `"command": ["/job", "print", "200"]`).run(t, t.Context())
	o.want(t, 0, strings.Repeat(strings.Repeat("x", 1023)+"\n", 200), "")
}

// testFullState lets a job fill the disk of the engine's state. The engine must then accept other
// jobs as before.
func testFullState(t *testing.T, program string) {
	dir := filepath.Join(smallDisk(t), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	engine, client, err := openEngine(t.Context(), dir, program)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(context.Background())
	end := func(command ...string) types.JobDetail {
		id, err := submit(t.Context(), client, command...)
		if err != nil {
			t.Fatal(err)
		}
		return ended(t, client, id)
	}
	if job := end("/job", "print", "200", "wait"); job.Status != types.JobStatusFailed ||
		!strings.Contains(aws.ToString(job.Container.Reason), "no space left on device") {
		t.Errorf("the job is %s: %s", job.Status, aws.ToString(job.Container.Reason))
	}
	logs, err := filepath.Glob(filepath.Join(dir, "logs", "*"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	for _, log := range logs {
		if err := os.Remove(log); err != nil {
			t.Error(err)
		}
	}
	if job := end("/job", "exit", "0"); job.Status != types.JobStatusSucceeded {
		t.Errorf("the next job is %s: %s", job.Status, aws.ToString(job.Container.Reason))
	}
}

// ended waits for the end of a job and returns it.
func ended(t *testing.T, client *awsbatch.Client, id string) (job types.JobDetail) {
	t.Helper()
	eventually(t, "the job ends", func() bool {
		var err error
		if job, err = describe(t.Context(), client, id); err != nil {
			t.Fatal(err)
		}
		return job.Status == types.JobStatusSucceeded || job.Status == types.JobStatusFailed
	})
	return job
}

// testProgramGone removes the program while the container runs. The container can then neither be
// inspected nor be ended.
func testProgramGone(t *testing.T, x *Executor) {
	lost := *x
	lost.path = filepath.Join(t.TempDir(), x.kind)
	if err := os.Symlink(x.path, lost.path); err != nil {
		t.Fatal(err)
	}
	r := newTrial(t, &lost, `"command": ["/job", "ignore"]`)
	ctx, cancel := context.WithCancelCause(t.Context())
	kill := make(chan struct{})
	r.a.Kill = kill
	r.a.Started = func(string) {
		if err := os.Remove(lost.path); err != nil {
			t.Error(err)
		}
		cancel(errors.New("job terminated"))
		close(kill)
	}
	log, err := os.Create(r.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	exit, err := lost.Run(ctx, r.a, log)
	if exit != -1 || err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("exit %d, %v", exit, err)
	}
	for _, part := range []string{"CannotInspectContainerError: ", "no such file", "; the container was not removed: "} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v; want %q in it", err, part)
		}
	}
	if err := x.Clear(r.a.ID, ""); err != nil {
		t.Error(err)
	}
	if left := containers(t, x.kind); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// TestDaemonGone kills the docker daemon while a container runs. The next daemon still has the
// container, so it can be cleared.
func TestDaemonGone(t *testing.T) {
	d := docker(t)
	x, err := New(t.Context(), Options{Program: Docker, Dir: emptyDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	r := newTrial(t, x, `"command": ["/job", "wait"]`)
	handle := ""
	r.a.Started = func(h string) {
		handle = h
		d.kill(t)
	}
	log, err := os.Create(r.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	exit, err := x.Run(t.Context(), r.a, log)
	if exit != -1 || err == nil || !strings.HasPrefix(err.Error(), "CannotInspectContainerError: ") ||
		!strings.Contains(strings.ToLower(err.Error()), "cannot connect to the docker daemon") {
		t.Errorf("exit %d, %v", exit, err)
	}
	if _, err := New(t.Context(), x.options); err == nil || !strings.Contains(strings.ToLower(err.Error()), "cannot connect") {
		t.Errorf("without a daemon: %v", err)
	}
	d.start(t)
	if err := x.Clear(r.a.ID, handle); err != nil {
		t.Error(err)
	}
	if left := containers(t, Docker); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// testTask runs a task of two concurrent containers.
func testTask(t *testing.T, program string) {
	engine, client, err := openEngine(t.Context(), stateDir(t), program)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(context.Background())
	requirement := func(kind types.ResourceType, value string) types.ResourceRequirement {
		return types.ResourceRequirement{Type: kind, Value: &value}
	}
	part := func(name string, essential bool, command ...string) types.TaskContainerProperties {
		return types.TaskContainerProperties{Name: &name, Image: aws.String(testImage), Command: command, Essential: &essential,
			ResourceRequirements: []types.ResourceRequirement{requirement(types.ResourceTypeVcpu, "0.5"), requirement(types.ResourceTypeMemory, "64")}}
	}
	main := part("main", true, "/job", "exit", "0")
	main.DependsOn = []types.TaskContainerDependency{{ContainerName: aws.String("side"), Condition: aws.String("START")}}
	id, err := register(t.Context(), client, &awsbatch.RegisterJobDefinitionInput{
		JobDefinitionName: aws.String("task"), Type: types.JobDefinitionTypeContainer,
		EcsProperties: &types.EcsProperties{TaskProperties: []types.EcsTaskProperties{{
			Containers: []types.TaskContainerProperties{main, part("side", false, "/job", "wait")}}}}})
	if err != nil {
		t.Fatal(err)
	}
	job := ended(t, client, id)
	if job.Status != types.JobStatusSucceeded {
		t.Errorf("the task is %s (%s)", job.Status, aws.ToString(job.StatusReason))
	}
	for _, c := range job.EcsProperties.TaskProperties[0].Containers {
		if c.Reason != nil || c.ExitCode == nil {
			t.Errorf("container %s: exit %v, %s", *c.Name, c.ExitCode, aws.ToString(c.Reason))
		}
	}
	if left := containers(t, program); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}
