package replay

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/wire"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// described reads a job from testdata, as DescribeJobs writes it.
func described(t *testing.T, name string) types.JobDetail {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var job types.JobDetail
	if err := wire.Unmarshal(text, &job); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return job
}

// tell describes an attempt completely.
func tell(a *Attempt, x attempt.Executor, gpus []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s, attempt %d of %d\nqueue %s, environment %s, index %d of %d\nimage %s\ncommand %q\n", a.Name, a.Job, a.Number, a.Attempts, a.Queue, a.ComputeEnvironment,
		a.Index, a.Size, aws.ToString(a.Container.Image), a.Command)
	fmt.Fprintf(&b, "vcpus %q, memory %q, GPUs %q, timeout %v\n", a.Requirement(types.ResourceTypeVcpu), a.Requirement(types.ResourceTypeMemory), a.Requirement(types.ResourceTypeGpu), a.Timeout)
	for _, v := range a.Environment {
		fmt.Fprintf(&b, "env %s=%s\n", *v.Name, *v.Value)
	}
	for _, d := range a.Differences(x, gpus) {
		fmt.Fprintf(&b, "differs: %s\n", strings.NewReplacer(fmt.Sprintf("(%s, %d CPUs)", runtime.GOARCH, runtime.NumCPU()), "(GOARCH, N CPUs)",
			"machine is "+runtime.GOARCH, "machine is GOARCH").Replace(d.String()))
	}
	return b.String()
}

// without is an executor that cannot give some members of a container.
type without struct {
	attempt.Executor
	contained bool
	members   []string
}

func (w without) Contained() bool { return w.contained }

func (w without) Unhonoured(*types.ContainerProperties) (members []attempt.Member) {
	for _, name := range w.members {
		m := attempt.Member{Name: name}
		if name == "mountPoints" {
			m.Effect, m.Why = attempt.Prevents, "mount point /data: a process does not find it there"
		}
		members = append(members, m)
	}
	return members
}

// TestOf compares attempts with golden files.
func TestOf(t *testing.T) {
	parent := described(t, "parent")
	container := without{contained: true, members: []string{"jobRoleArn", "executionRoleArn", "runtimePlatform", "logConfiguration"}}
	mounting := without{contained: true, members: append(slices.Clone(container.members), "mountPoints")}
	process := without{members: []string{"image", "jobRoleArn", "mountPoints", "user"}}
	for _, c := range []struct {
		name, job string
		attempt   int
		options   Options
		executor  attempt.Executor
		gpus      []string
	}{
		{"train", "train", 0, Options{}, mounting, []string{"GPU-a", "GPU-b"}},
		{"train-process", "train", 1, Options{}, process, nil},
		{"train-other", "train", 2, Options{Command: []string{"sh", "-c", "Ref::epochs"}, Environment: []types.KeyValuePair{
			variable("WANDB_KEY", "mine"), variable("AWS_BATCH_JOB_ATTEMPT", "9"), variable("MORE", "1")}}, container, []string{"GPU-a"}},
		{"child", "child", 0, Options{Parent: &parent}, container, nil},
		{"child-alone", "child", 1, Options{}, container, nil},
		{"fargate", "fargate", 0, Options{}, container, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := Of(described(t, c.job), c.attempt, c.options)
			if err != nil {
				t.Fatal(err)
			}
			got, file := tell(a, c.executor, c.gpus), filepath.Join("testdata", c.name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	with := func(change func(*types.JobDetail)) types.JobDetail {
		job := described(t, "train")
		job.JobId = aws.String("ID")
		change(&job)
		return job
	}
	running := func(j *types.JobDetail) { j.Status = types.JobStatusRunning }
	for _, c := range []struct {
		job     types.JobDetail
		attempt int
		want    string
	}{
		{described(t, "parent"), 0, "job 6b0ce1a1-0000-4000-8000-000000000002 is an array of 100 children, and only its children ran; choose one, such as 6b0ce1a1-0000-4000-8000-000000000002:0"},
		{with(func(j *types.JobDetail) { j.NodeProperties = &types.NodeProperties{} }), 0,
			"job ID has several nodes, and replay runs only jobs of one node: a node alone would wait for the others"},
		{with(func(j *types.JobDetail) { j.NodeDetails = &types.NodeDetails{NodeIndex: aws.Int32(1)} }), 0,
			"job ID has several nodes, and replay runs only jobs of one node: a node alone would wait for the others"},
		{with(func(j *types.JobDetail) { j.EksProperties = &types.EksPropertiesDetail{} }), 0,
			"job ID ran in a pod on EKS, and replay cannot provide the pod's cluster"},
		{with(func(j *types.JobDetail) { j.EcsProperties, j.Container = &types.EcsPropertiesDetail{}, nil }), 0,
			"job ID has several containers, and replay runs only jobs of one container; the local engine runs such jobs: batchctl run FILE"},
		{with(func(j *types.JobDetail) { j.Container = nil }), 0,
			"the description of job ID has no container: name the job by its id"},
		{with(func(j *types.JobDetail) { j.Attempts = nil }), 0,
			"job ID never ran, so there is no attempt to replay: it is FAILED (Essential container in task exited)"},
		{with(func(j *types.JobDetail) { running(j); j.Attempts = nil }), 1,
			"no attempt of job ID has ended: it is RUNNING; wait for it: batchctl wait ID"},
		{with(running), 3, "attempt 3 of job ID has not ended: the job is RUNNING; attempts 1 and 2 have"},
		{with(running), 4, "job ID has no attempt 4: attempts 1 and 2 have ended"},
		{with(func(j *types.JobDetail) { running(j); j.Attempts[1].StoppedAt = nil }), 2, "attempt 2 of job ID has not ended: the job is RUNNING; attempt 1 has"},
		{with(func(*types.JobDetail) {}), 3, "job ID has no attempt 3: attempts 1 and 2 have ended"},
		{with(func(*types.JobDetail) {}), -1, "attempts are numbered from 1"},
		{with(func(j *types.JobDetail) { j.Parameters = nil }), 1,
			"job ID: its command contains Ref::epochs, but the job has no parameter epochs: write the complete command after --"},
	} {
		if _, err := Of(c.job, c.attempt, Options{}); err == nil || err.Error() != c.want {
			t.Errorf("attempt %d:\n got %v\nwant %s", c.attempt, err, c.want)
		}
	}
}

// TestNewestThatEnded checks that the default is the last attempt that has ended, even if a later one
// runs.
func TestNewestThatEnded(t *testing.T) {
	job := described(t, "train")
	job.Status, job.Attempts[1].StoppedAt = types.JobStatusRunning, nil
	a, err := Of(job, 0, Options{})
	if err != nil || a.Number != 1 {
		t.Errorf("attempt %v, %v; want 1", a, err)
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		reference, job string
		attempt        int
		err            string
	}{
		{"train", "train", 0, ""},
		{"6b0c:3", "6b0c:3", 0, ""},
		{"6b0c:3#2", "6b0c:3", 2, ""},
		{"train#12", "train", 12, ""},
		{"train#0", "", 0, `"train#0": attempts are numbered from 1: write train#1`},
		{"train#", "", 0, `"train#": attempts are numbered from 1: write train#1`},
		{"train#+1", "", 0, `"train#+1": attempts are numbered from 1: write train#1`},
		{"#1", "", 0, `"#1" does not name a job: write JOB, JOB:index or JOB:index#attempt`},
		{"", "", 0, `"" does not name a job: write JOB, JOB:index or JOB:index#attempt`},
	} {
		job, attempt, err := Split(c.reference)
		message := ""
		if err != nil {
			message = err.Error()
		}
		if job != c.job || attempt != c.attempt || message != c.err {
			t.Errorf("%q: %q %d %v", c.reference, job, attempt, err)
		}
	}
}

func TestComputeEnvironment(t *testing.T) {
	const id = "-01234567-89ab-cdef-0123-456789abcdef"
	for _, c := range []struct{ task, instance, want string }{
		{"arn:aws:ecs:us-east-1:1:task/AWSBatch-gpu-spot" + id + "/4f", "", "gpu-spot"},
		{"arn:aws:ecs:us-east-1:1:task/gpu_spot_Batch_" + id[1:] + "/4f", "", "gpu_spot"},
		{"arn:aws:ecs:local:0:task/AWSBatch-local/4f", "", "local"},
		{"arn:aws:ecs:us-east-1:1:task/4f", "arn:aws:ecs:us-east-1:1:container-instance/AWSBatch-cpu" + id + "/5", "cpu"},
		{"arn:aws:ecs:us-east-1:1:task/mine/4f", "", ""},
		{"", "", ""},
	} {
		if got := environmentOf(&types.AttemptContainerDetail{TaskArn: &c.task, ContainerInstanceArn: &c.instance}); got != c.want {
			t.Errorf("%s: %q, want %q", c.task, got, c.want)
		}
	}
	if environmentOf(nil) != "" {
		t.Error("an attempt without a container has an environment")
	}
}

// TestNoMemberIsLost checks that every member which a container's description shares with the properties
// of a definition is copied. A newer SDK may add members.
func TestNoMemberIsLost(t *testing.T) {
	var d types.ContainerDetail
	fill(reflect.ValueOf(&d).Elem())
	from, to := reflect.ValueOf(d), reflect.ValueOf(*properties(&d))
	for i := range to.NumField() {
		name := to.Type().Field(i).Name
		if in, ok := from.Type().FieldByName(name); !ok || !in.IsExported() || in.Type != to.Field(i).Type() {
			continue
		}
		if !reflect.DeepEqual(from.FieldByName(name).Interface(), to.Field(i).Interface()) {
			t.Errorf("%s is lost", name)
		}
	}
}

// fill gives every pointer and slice of a struct something to hold.
func fill(v reflect.Value) {
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		switch f := v.Field(i); f.Kind() {
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
			if f.Elem().Kind() == reflect.Struct {
				fill(f.Elem())
			}
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		}
	}
}
