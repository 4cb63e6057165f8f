//go:build unix

package container

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/local/attempt"
)

// openEngine opens an engine on dir that runs containers.
func openEngine(ctx context.Context, dir, program string) (*local.Engine, *awsbatch.Client, error) {
	x, err := New(ctx, Options{Program: program, Dir: dir})
	if err != nil {
		return nil, nil, err
	}
	engine, err := local.Open(local.Options{Dir: dir, Executor: x, VCPUs: 1, MemoryMiB: 1024})
	if err != nil {
		return nil, nil, err
	}
	return engine, awsbatch.NewFromConfig(engine.Config()), nil
}

// stateDir returns a directory that an engine accepts for its state.
func stateDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(emptyDir(t), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// submit sends the engine a job of one container.
func submit(ctx context.Context, c *awsbatch.Client, command ...string) (id string, err error) {
	requirement := func(kind types.ResourceType, value string) types.ResourceRequirement {
		return types.ResourceRequirement{Type: kind, Value: &value}
	}
	return register(ctx, c, &awsbatch.RegisterJobDefinitionInput{
		JobDefinitionName: aws.String("test"), Type: types.JobDefinitionTypeContainer,
		ContainerProperties: &types.ContainerProperties{Image: aws.String(testImage), Command: command,
			ResourceRequirements: []types.ResourceRequirement{requirement(types.ResourceTypeVcpu, "1"), requirement(types.ResourceTypeMemory, "64")}},
	})
}

// register registers a definition and submits a job of it.
func register(ctx context.Context, c *awsbatch.Client, in *awsbatch.RegisterJobDefinitionInput) (id string, err error) {
	definition, err := c.RegisterJobDefinition(ctx, in)
	if err != nil {
		return "", err
	}
	job, err := c.SubmitJob(ctx, &awsbatch.SubmitJobInput{JobName: aws.String("test"), JobQueue: aws.String("default"),
		JobDefinition: definition.JobDefinitionArn})
	if err != nil {
		return "", err
	}
	return *job.JobId, nil
}

func describe(ctx context.Context, c *awsbatch.Client, id string) (types.JobDetail, error) {
	out, err := c.DescribeJobs(ctx, &awsbatch.DescribeJobsInput{Jobs: []string{id}})
	if err != nil || len(out.Jobs) != 1 {
		return types.JobDetail{}, fmt.Errorf("describe %s: %v", id, err)
	}
	return out.Jobs[0], nil
}

// victim is an engine in a separate process that never ends by its own decision.
func victim(dir, program string) {
	ctx := context.Background()
	_, client, err := openEngine(ctx, dir, program)
	var id string
	if err == nil {
		id, err = submit(ctx, client, "/job", "wait")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(id)
	_, _ = io.Copy(io.Discard, os.Stdin) // without cgo, the runtime ends a program that waits for nothing
}

func testKilledEngine(t *testing.T, program string) {
	dir := stateDir(t)
	engine := exec.Command(os.Args[0])
	engine.Env = append(os.Environ(), "BATCHCTL_TEST_VICTIM="+dir, "BATCHCTL_TEST_PROGRAM="+program)
	engine.Stderr = os.Stderr
	_, err := engine.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := engine.StdoutPipe()
	if err == nil {
		err = engine.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var id string
	if _, err := fmt.Fscanln(out, &id); err != nil {
		t.Fatalf("the engine did not print the job's id: %v", err)
	}
	eventually(t, "the job runs", func() bool {
		logs, _ := filepath.Glob(filepath.Join(dir, "logs", "*"))
		for _, log := range logs {
			if text, err := os.ReadFile(log); err == nil && string(text) == "waiting\n" {
				return true
			}
		}
		return false
	})
	if err := engine.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = engine.Wait() // it was killed
	if got := containers(t, program); len(got) != 1 {
		t.Errorf("containers of the killed engine: %q", got)
	}
	next, client, err := openEngine(t.Context(), dir, program)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close(context.Background())
	if left, _ := os.ReadDir(filepath.Join(dir, "containers")); len(left) > 0 {
		t.Errorf("the next engine left %s", left)
	}
	if got := containers(t, program); len(got) > 0 {
		t.Errorf("the next engine left %q", got)
	}
	job, err := describe(t.Context(), client, id)
	if err != nil || job.Status != types.JobStatusFailed {
		t.Errorf("the job is %s, %v", job.Status, err)
	}
}

// testDrill lets the drill of an engine end containers: one after SIGTERM, and one at once. The ECS tasks name the
// digest of the image.
func testDrill(t *testing.T, program string) {
	engine, client, err := openEngine(t.Context(), stateDir(t), program)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(context.Background())
	blows, err := attempt.ParseDrill("reclaim@300ms,oom@2s")
	if err != nil {
		t.Fatal(err)
	}
	engine.Drill(blows, nil)
	requirement := func(kind types.ResourceType, value string) types.ResourceRequirement {
		return types.ResourceRequirement{Type: kind, Value: &value}
	}
	id, err := register(t.Context(), client, &awsbatch.RegisterJobDefinitionInput{
		JobDefinitionName: aws.String("drilled"), Type: types.JobDefinitionTypeContainer, RetryStrategy: &types.RetryStrategy{Attempts: aws.Int32(3)},
		ContainerProperties: &types.ContainerProperties{Image: aws.String(testImage), Command: []string{"/job", "outlast", "2"},
			ResourceRequirements: []types.ResourceRequirement{requirement(types.ResourceTypeVcpu, "1"), requirement(types.ResourceTypeMemory, "64")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	job := ended(t, client, id)
	if job.Status != types.JobStatusSucceeded || len(job.Attempts) != 3 || len(engine.Unharmed(id)) > 0 {
		t.Fatalf("the job is %s (%s) after %d attempts, %v had not all failures", job.Status, aws.ToString(job.StatusReason), len(job.Attempts), engine.Unharmed(id))
	}
	reclaimed, full := job.Attempts[0], job.Attempts[1]
	if reclaimed.Container.ExitCode != nil || !strings.HasPrefix(aws.ToString(reclaimed.StatusReason), "Host EC2") {
		t.Errorf("reclaimed: exit %v, %s", reclaimed.Container.ExitCode, aws.ToString(reclaimed.StatusReason))
	}
	if aws.ToInt32(full.Container.ExitCode) != 137 || aws.ToString(full.Container.Reason) != outOfMemory {
		t.Errorf("out of memory: exit %v, %s", full.Container.ExitCode, aws.ToString(full.Container.Reason))
	}
	var arns []string
	for _, a := range job.Attempts {
		arns = append(arns, aws.ToString(a.Container.TaskArn))
	}
	cluster := strings.Split(arns[0], "/")[1]
	tasks, err := ecs.NewFromConfig(engine.Config()).DescribeTasks(t.Context(), &ecs.DescribeTasksInput{Cluster: &cluster, Tasks: arns})
	if err != nil || len(tasks.Tasks) != 3 {
		t.Fatalf("%+v, %v", tasks, err)
	}
	for _, task := range tasks.Tasks {
		if d := aws.ToString(task.Containers[0].ImageDigest); !isHash(strings.TrimPrefix(d, "sha256:"), "") || d != *tasks.Tasks[0].Containers[0].ImageDigest {
			t.Errorf("the image's digest is %q", d)
		}
	}
	if left := containers(t, program); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}
