package attempts

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/clienttest"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/pkg/usage"
)

func TestMain(m *testing.M) { testtool.Main(m) }

const recordedARN = "arn:aws:batch:us-east-1:123456789012:job-definition/d:3"

// attempted returns a job that has ended with the exit codes of its attempts.
func attempted(id string, environment []types.KeyValuePair, exits ...int32) types.JobDetail {
	now := time.Now().UnixMilli()
	job := types.JobDetail{JobId: &id, JobName: aws.String("train"), JobQueue: aws.String("arn:aws:batch:us-east-1:123456789012:job-queue/cpu"),
		JobDefinition: aws.String(recordedARN), CreatedAt: aws.Int64(1), Status: types.JobStatusSucceeded, Tags: map[string]string{"batchctl:submission-id": "s"},
		Container: &types.ContainerDetail{Image: aws.String("train:1"), Environment: environment,
			ResourceRequirements: []types.ResourceRequirement{{Type: "VCPU", Value: aws.String("0.5")}, {Type: "MEMORY", Value: aws.String("2048")}, {Type: "GPU", Value: aws.String("1")}}}}
	for i, exit := range exits {
		stream := id + "/" + strconv.Itoa(i+1)
		job.Attempts = append(job.Attempts, types.AttemptDetail{StartedAt: aws.Int64(now - 2000), StoppedAt: aws.Int64(now - 1000), StatusReason: aws.String("r"),
			Container: &types.AttemptContainerDetail{ExitCode: &exit, LogStreamName: &stream}})
		if exit != 0 {
			job.Status = types.JobStatusFailed
		}
	}
	return job
}

// measuring is the environment of a measured job.
func measuring(more ...types.KeyValuePair) []types.KeyValuePair {
	return append(more, types.KeyValuePair{Name: aws.String(usage.Variable), Value: aws.String("1")})
}

// newRecorder returns a fake service and a recorder of it, with an empty history.
func newRecorder(t *testing.T) (*clienttest.Fake, *Recorder) {
	f := clienttest.New(t)
	return f, &Recorder{Client: client.New(f.Config()), Target: "aws 123456789012 us-east-1", Store: history.Store{Dir: t.TempDir()}}
}

// recorded returns the rows of the history.
func recorded(t *testing.T, r *Recorder) (rows []history.Attempt) {
	for a, err := range r.Store.All() {
		if err != nil {
			t.Error(err)
		}
		rows = append(rows, a)
	}
	return rows
}

func TestRecordAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newRecorder(t)
		f.Definitions = []types.JobDefinition{{JobDefinitionArn: aws.String(recordedARN), JobDefinitionName: aws.String("d"), Revision: aws.Int32(3),
			Status: aws.String("ACTIVE"), Type: aws.String("container"), ContainerProperties: &types.ContainerProperties{Image: aws.String("train:1")}}}
		m := sweep.Sweep{Kind: sweep.Matrix, Axes: []sweep.Axis{{Name: "n", Values: []string{"a", "b"}}}, Names: []string{"n"}}
		document := m.Document()
		retried := attempted("1", measuring(), 3, 0)
		retried.Attempts[1].Container.ContainerInstanceArn = aws.String("arn:aws:ecs:us-east-1:123456789012:container-instance/c/1")
		r.Machines = func(_ context.Context, arns []string) (map[string]rpc.Machine, error) {
			if len(arns) != 1 || arns[0] != *retried.Attempts[1].Container.ContainerInstanceArn {
				t.Errorf("asks for %q", arns)
			}
			return map[string]rpc.Machine{arns[0]: {Type: "m5.large", Spot: aws.Bool(true)}}, nil
		}
		const task = "arn:aws:ecs:us-east-1:123456789012:task/c/1"
		retried.Attempts[1].Container.TaskArn = aws.String(task)
		r.ImageDigests = func(_ context.Context, arns []string) (map[string]map[string]string, error) {
			if len(arns) != 1 || arns[0] != task {
				t.Errorf("asks for the images of %q", arns)
			}
			return map[string]map[string]string{task: {"default": "sha256:1"}}, nil
		}
		child := attempted("2:1", []types.KeyValuePair{{Name: aws.String(sweep.DocumentVariable), Value: &document}}, 137)
		child.ArrayProperties = &types.ArrayPropertiesDetail{Index: aws.Int32(1)}
		never := attempted("3", nil)
		never.Status = types.JobStatusFailed
		running := attempted("4", nil, 1)
		running.Status = types.JobStatusRunning
		late := true
		line := usage.Usage{Version: 1, Seconds: 2, Source: "cgroup2"}.Line()
		f.Events["1/1"] = func(time.Duration) []string { return []string{"out", line, "a late line"} }
		f.Events["1/2"] = func(time.Duration) []string {
			if late {
				return []string{"out"}
			}
			return []string{line}
		}
		keep := func() {
			t.Helper()
			if err := r.Record([]types.JobDetail{retried, child, never, running}); err != nil {
				t.Fatal(err)
			}
		}
		keep()
		rows := recorded(t, r)
		if len(rows) != 3 {
			t.Fatalf("%+v", rows)
		}
		first, second, cell := rows[0], rows[1], rows[2]
		want := history.Attempt{Target: r.Target, Job: "1", Number: 1, Name: "train", Queue: "cpu", Submission: "s", Definition: "d:3", Hash: first.Hash,
			Image: "train:1", Requested: history.Resources{VCPUs: 0.5, MemoryMiB: 2048, GPUs: 1}, Status: "FAILED", Reason: "r", ExitCode: aws.Int32(3),
			LogStream: "1/1", CreatedAt: 1, StartedAt: first.StartedAt, StoppedAt: first.StartedAt + 1000, Usage: []usage.Usage{{Version: 1, Seconds: 2, Source: "cgroup2"}}}
		if diff := cmp.Diff(want, first); diff != "" || len(first.Hash) != 16 {
			t.Error(diff)
		}
		if second.InstanceType != "m5.large" || !aws.ToBool(second.Spot) || cell.InstanceType != "" {
			t.Errorf("instance types %q and %q", second.InstanceType, cell.InstanceType)
		}
		if second.ImageDigests["default"] != "sha256:1" || cell.ImageDigests != nil {
			t.Errorf("digests %v and %v", second.ImageDigests, cell.ImageDigests)
		}
		if second.Number != 2 || second.Usage != nil || second.Searched || second.Status != "FAILED" && second.Status != "SUCCEEDED" {
			t.Errorf("%+v", second)
		}
		if cell.Job != "2:1" || cell.Cell["n"] != "b" || cell.Usage != nil {
			t.Errorf("%+v", cell)
		}
		// The log was not complete. A later command reads it, and no command after that one.
		late = false
		keep()
		if rows = recorded(t, r); len(rows) != 3 || len(rows[1].Usage) != 1 {
			t.Errorf("%+v", rows)
		}
		calls := len(f.Calls)
		keep()
		if len(f.Calls) != calls {
			t.Errorf("%q for jobs whose attempts are known", f.Calls[calls:])
		}
	})
}

// TestRecordStored checks that the object beside the outputs replaces a log that is gone, or that was cut, and is not
// read otherwise.
func TestRecordStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newRecorder(t)
		variable := func(name, value string) types.KeyValuePair { return types.KeyValuePair{Name: &name, Value: &value} }
		staged := func(to string) types.KeyValuePair {
			return variable(stage.Variable, `{"version":1,"outputs":[{"from":"out","to":"`+to+`"}]}`)
		}
		m := sweep.Sweep{Kind: sweep.Matrix, Axes: []sweep.Axis{{Name: "n", Values: []string{"a", "b", "c"}}}, Names: []string{"n"}, Templates: []string{stage.Variable}}
		child := func(id string, index int32, environment ...types.KeyValuePair) types.JobDetail {
			job := attempted(id, measuring(environment...), 0)
			job.ArrayProperties = &types.ArrayPropertiesDetail{Index: &index}
			return job
		}
		gone := attempted("1", measuring(staged("s3://b/${RUN}/${AWS_BATCH_JOB_ID}/"), variable("RUN", "r")), 3, 0)
		f.Events["1/2"] = func(time.Duration) []string { return []string{"out", "batchctl: measured {\"version\":1,\"sec"} }
		plain := child("2:5", 5, staged("s3://b/p/${AWS_BATCH_JOB_ARRAY_INDEX}/x"))
		cell := child("3:1", 1, staged("s3://b/${"+sweep.Variable("n")+"}/"), variable(sweep.DocumentVariable, m.Document()), variable(sweep.CellsVariable, "0 2"))
		logged := attempted("4", measuring(staged("s3://b/k/")), 0)
		f.Events["4/1"] = func(time.Duration) []string {
			return []string{usage.Usage{Version: 1, Seconds: 2, Source: "cgroup2"}.Line()}
		}
		none := attempted("5", measuring(staged("s3://b/k/")), 0)
		unmeasured := attempted("6", []types.KeyValuePair{staged("s3://b/k/")}, 0)
		damaged := attempted("7", measuring(variable(stage.Variable, "{")), 0)
		damagedCells := child("8:1", 1, staged("s3://b/k/"), variable(sweep.CellsVariable, "x"))
		var mu sync.Mutex
		var asked []string
		r.Measured = func(_ context.Context, url string) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, url)
			if strings.Contains(url, "measured/5/") {
				return "", errors.New("no such object")
			}
			return usage.Usage{Version: 1, Seconds: 7, Source: "cgroup2"}.Text() + "\n", nil
		}
		if err := r.Record([]types.JobDetail{gone, plain, cell, logged, none, unmeasured, damaged, damagedCells}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(asked)
		want := []string{"s3://b/c/.batchctl-measured/3/1/1.json", "s3://b/k/.batchctl-measured/5/1.json", "s3://b/p/5/.batchctl-measured/2/5/1.json",
			"s3://b/r/1/.batchctl-measured/1/1.json", "s3://b/r/1/.batchctl-measured/1/2.json"}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Error(diff)
		}
		seconds := map[string]float64{}
		for _, a := range recorded(t, r) {
			if len(a.Usage) > 0 {
				seconds[a.Job+" "+strconv.Itoa(a.Number)] = a.Usage[0].Seconds
			}
		}
		if diff := cmp.Diff(map[string]float64{"1 1": 7, "1 2": 7, "2:5 1": 7, "3:1 1": 7, "4 1": 2}, seconds); diff != "" {
			t.Error(diff)
		}
	})
}

// TestRecordLargeArray checks the bounds for an array of 10,000 children, and that its second command costs nothing.
func TestRecordLargeArray(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newRecorder(t)
		const size = 10_000
		array := attempted("a", measuring())
		array.ArrayProperties = &types.ArrayPropertiesDetail{Size: aws.Int32(size)}
		for i := range size {
			child := attempted(batch.ChildID("a", i), measuring(), 0)
			child.ArrayProperties = &types.ArrayPropertiesDetail{Index: aws.Int32(int32(i))}
			f.Jobs[*child.JobId] = func(time.Duration) *types.JobDetail { return &child }
		}
		time.Sleep(2 * time.Minute) // the logs are complete, and have no measurement
		if err := r.Record([]types.JobDetail{array}); err != nil {
			t.Fatal(err)
		}
		rows := recorded(t, r)
		if len(rows) != sampledChildren || rows[1].Job != "a:20" || rows[len(rows)-1].Job != "a:9980" {
			t.Errorf("%d rows, the second is %s", len(rows), rows[1].Job)
		}
		count := func(name string) (n int) {
			for _, call := range f.Calls {
				if call == name {
					n++
				}
			}
			return n
		}
		if d, l := count("DescribeJobs"), count("GetLogEvents"); d != sampledChildren/100 || l != maxMeasured {
			t.Errorf("%d DescribeJobs, %d GetLogEvents", d, l)
		}
		searched := 0
		for _, a := range rows {
			if a.Searched {
				searched++
			}
		}
		if searched != maxMeasured {
			t.Errorf("%d logs were searched", searched)
		}
	})
}

// TestProgramHash checks that sizes and what batchctl adds do not change the hash, and that the program does.
func TestProgramHash(t *testing.T) {
	of := func(change func(c *types.ContainerProperties)) string {
		c := &types.ContainerProperties{Image: aws.String("i"), Command: []string{"c", "x"}, Environment: []types.KeyValuePair{{Name: aws.String("A"), Value: aws.String("1")}}}
		change(c)
		return programHash(types.JobDefinition{JobDefinitionName: aws.String("d"), Type: aws.String("container"), ContainerProperties: c})
	}
	plain := of(func(*types.ContainerProperties) {})
	for name, c := range map[string]struct {
		change func(c *types.ContainerProperties)
		same   bool
	}{
		"sizes": {func(c *types.ContainerProperties) {
			c.ResourceRequirements = []types.ResourceRequirement{{Type: "MEMORY", Value: aws.String("1")}}
			c.LinuxParameters = &types.LinuxParameters{SharedMemorySize: aws.Int32(64)}
		}, true},
		"measured": {func(c *types.ContainerProperties) { c.Command = slices.Concat(usage.Launcher, c.Command) }, true},
		"staged": {func(c *types.ContainerProperties) {
			c.Command = append([]string{"batchctl", "stage", "--"}, c.Command...)
			c.Environment = append(c.Environment, types.KeyValuePair{Name: aws.String("BATCHCTL_STAGE"), Value: aws.String("{}")})
		}, true},
		"empty lists": {func(c *types.ContainerProperties) { c.MountPoints = []types.MountPoint{} }, true},
		"image":       {func(c *types.ContainerProperties) { c.Image = aws.String("j") }, false},
		"command":     {func(c *types.ContainerProperties) { c.Command = []string{"c"} }, false},
		"environment": {func(c *types.ContainerProperties) { c.Environment = nil }, false},
	} {
		if got := of(c.change); (got == plain) != c.same {
			t.Errorf("%s: %s and %s", name, plain, got)
		}
	}
}
