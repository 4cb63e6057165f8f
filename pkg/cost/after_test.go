package cost

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/plan"
)

// moment returns an epoch time in milliseconds; nil for 0.
func moment(seconds float64) *int64 {
	if seconds == 0 {
		return nil
	}
	return aws.Int64(int64(seconds * 1000))
}

// detail is a job with attempts from and to, in turn.
func detail(status types.JobStatus, from, to float64, attempts ...float64) types.JobDetail {
	d := types.JobDetail{JobName: aws.String("job"), JobId: aws.String("id"), Status: status, StartedAt: moment(from), StoppedAt: moment(to)}
	for i := 0; i+1 < len(attempts); i += 2 {
		d.Attempts = append(d.Attempts, types.AttemptDetail{StartedAt: moment(attempts[i]), StoppedAt: moment(attempts[i+1])})
	}
	return d
}

// pod is a job whose attempts are pods.
func pod(d types.JobDetail) types.JobDetail {
	for _, a := range d.Attempts {
		d.EksAttempts = append(d.EksAttempts, types.EksAttemptDetail{StartedAt: a.StartedAt, StoppedAt: a.StoppedAt})
	}
	d.Attempts = nil
	return d
}

func TestTook(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	for _, c := range []struct {
		what string
		job  types.JobDetail
		want Spent
	}{
		{"it succeeded", detail(types.JobStatusSucceeded, 10, 20, 10, 20), Spent{Runs: 1, Attempts: 1, Seconds: 10}},
		{"it succeeded at the third attempt", detail(types.JobStatusSucceeded, 50, 60, 10, 20, 30, 35, 50, 60), Spent{Runs: 1, Attempts: 3, Retried: 2, Seconds: 25, RetriedSeconds: 15}},
		{"it failed twice", detail(types.JobStatusFailed, 30, 37, 10, 20, 30, 37), Spent{Runs: 1, Failed: 1, Attempts: 2, Retried: 1, Seconds: 17, RetriedSeconds: 10, FailedSeconds: 7}},
		{"a pod failed twice", pod(detail(types.JobStatusFailed, 30, 37, 10, 20, 30, 37)), Spent{Runs: 1, Failed: 1, Attempts: 2, Retried: 1, Seconds: 17, RetriedSeconds: 10, FailedSeconds: 7}},
		{"a pod runs again", pod(detail(types.JobStatusRunning, 990, 0, 10, 20)), Spent{Runs: 1, Unended: 1, Attempts: 2, Retried: 1, Seconds: 20, RetriedSeconds: 10}},
		{"it runs", detail(types.JobStatusRunning, 990, 0), Spent{Runs: 1, Unended: 1, Attempts: 1, Seconds: 10}},
		{"it runs again", detail(types.JobStatusRunning, 990, 0, 10, 20), Spent{Runs: 1, Unended: 1, Attempts: 2, Retried: 1, Seconds: 20, RetriedSeconds: 10}},
		{"it runs, and the attempt is listed", detail(types.JobStatusRunning, 990, 0, 10, 20, 990, 0), Spent{Runs: 1, Unended: 1, Attempts: 2, Retried: 1, Seconds: 20, RetriedSeconds: 10}},
		{"it waits for its second attempt", detail(types.JobStatusRunnable, 0, 0, 10, 20), Spent{Runs: 1, Unended: 1, Attempts: 1, Retried: 1, Seconds: 10, RetriedSeconds: 10}},
		{"it waits", detail(types.JobStatusRunnable, 0, 0), Spent{Runs: 1, Unended: 1}},
		{"it was stopped before it started", detail(types.JobStatusFailed, 0, 20), Spent{Runs: 1, Failed: 1}},
		{"an attempt never started", detail(types.JobStatusSucceeded, 30, 40, 0, 20, 30, 40), Spent{Runs: 1, Attempts: 1, Seconds: 10}},
		{"its attempts are not listed", detail(types.JobStatusSucceeded, 10, 20), Spent{Runs: 1, Attempts: 1, Seconds: 10}},
		{"it failed at an unknown time", detail(types.JobStatusFailed, 10, 0, 10, 0), Spent{Runs: 1, Failed: 1, Attempts: 1}},
		{"it was forgotten, and its end was not seen", detail("UNKNOWN-EXPIRED", 0, 0), Spent{Runs: 1, Unseen: 1}},
		{"the clock went back", detail(types.JobStatusSucceeded, 20, 10, 20, 10), Spent{Runs: 1, Attempts: 1}},
	} {
		if got, want := jsonOf(t, Took(c.job, now)), jsonOf(t, c.want); got != want {
			t.Errorf("%s:\n got %s\nwant %s", c.what, got, want)
		}
	}
}

func TestAt(t *testing.T) {
	took := Spent{Runs: 1, Failed: 1, Seconds: 7200, RetriedSeconds: 1800, FailedSeconds: 1800, attempts: []attempt{{1800, true}, {3600, false}, {1800, true}}}
	r := Rate{On: "x", Least: 1, Highest: 2, Alone: 8}
	s := took.At(r)
	if s.Cost.String() != "2.00 to 4.00 USD" || s.Waste.String() != "1.00 to 2.00 USD" || s.Alone.USD != 16 {
		t.Errorf("%+v", s)
	}
	if s := took.At(Rate{Unknown: "no price"}); s.Cost.String() != "unknown" || s.Alone.Known() {
		t.Errorf("without a price: %+v", s)
	}
	if s := took.At(Rate{Free: "here"}); s.Cost.String() != "0 USD" || !s.Alone.Known() {
		t.Errorf("free: %+v", s)
	}
	if s := (Spent{Runs: 1}).At(Rate{Unknown: "no price"}); !s.Cost.High.Known() {
		t.Errorf("what never started needs a price: %+v", s)
	}
	if s := (Spent{Runs: 1, Unseen: 1}).At(r); s.Cost.String() != "unknown" || s.Waste.String() != "unknown" || s.Alone.Known() {
		t.Errorf("an unseen run costs nothing: %+v", s)
	}
	if s := took.At(Rate{On: "x", Highest: 2, Alone: 8, LeastUnknown: "Spot"}); s.Cost.String() != "up to 4.00 USD" {
		t.Errorf("without a lower bound: %s", s.Cost)
	}
}

// What jobs took is the same in all, however they are added up.
func TestSumsAdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		by := rapid.SampledFrom([]By{ByJob, ByArray, ByWorkflow, "tag:x"}).Draw(t, "by")
		sums := &Sums{By: by}
		var all Spent
		jobs := rapid.IntRange(1, 5).Draw(t, "jobs")
		for range jobs {
			k := Key{Job: rapid.StringMatching("[a-c]").Draw(t, "job"), Array: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "array"), Tags: map[string]string{"x": rapid.StringMatching("[ab]").Draw(t, "tag")}}
			row := sums.Begin(k)
			rate := Rate{On: "x", Least: rapid.Float64Range(0, 10).Draw(t, "least")}
			rate.Highest = rate.Least + rapid.Float64Range(0, 10).Draw(t, "more")
			rate.Alone = rate.Highest
			for range rapid.IntRange(1, 5).Draw(t, "children") {
				status := rapid.SampledFrom([]types.JobStatus{types.JobStatusSucceeded, types.JobStatusFailed, types.JobStatusRunning}).Draw(t, "status")
				at := rapid.SliceOfN(rapid.Float64Range(0, 500), 0, 6).Draw(t, "attempts")
				took := Took(detail(status, rapid.Float64Range(0, 500).Draw(t, "from"), 400, at...), time.UnixMilli(600_000)).At(rate)
				if took.Cost.Low.USD < 0 || took.Cost.Low.USD > took.Cost.High.USD || took.WasteSeconds() > took.Seconds || took.Retried > took.Attempts {
					t.Fatalf("%+v", took)
				}
				all = all.Plus(took)
				sums.Add(row, took)
			}
		}
		var rows Spent
		counted := 0
		for _, r := range sums.Rows {
			rows = rows.Plus(r.Spent)
			counted += r.Jobs
		}
		total := sums.Total.Spent
		for what, pair := range map[string][2]float64{
			"seconds": {rows.Seconds, all.Seconds}, "waste": {rows.WasteSeconds(), all.WasteSeconds()}, "low": {rows.Cost.Low.USD, all.Cost.Low.USD}, "high": {rows.Cost.High.USD, all.Cost.High.USD},
			"the total's high": {total.Cost.High.USD, all.Cost.High.USD}, "the total's waste": {total.Waste.High.USD, all.Waste.High.USD}, "runs": {float64(rows.Runs), float64(total.Runs)},
			"jobs": {float64(counted), float64(jobs)}, "all jobs": {float64(sums.Total.Jobs), float64(jobs)},
		} {
			if !near(pair[0], pair[1]) {
				t.Fatalf("%s: the rows have %v, all is %v", what, pair[0], pair[1])
			}
		}
	})
}

// A job that ran is priced as the plan of the same job is.
func TestPlanOf(t *testing.T) {
	w := world(map[string][]string{"one": {"EC2 m5.large"}, "gpu": {"EC2 p4d.24xlarge"}, "nodes": {"EC2 c5n.18xlarge"}, "fargate": {"FARGATE"}})
	need := func(vcpus, memory string) []types.ResourceRequirement {
		return []types.ResourceRequirement{{Type: types.ResourceTypeVcpu, Value: &vcpus}, {Type: types.ResourceTypeMemory, Value: &memory}}
	}
	arn := func(queue string) *string {
		return aws.String("arn:aws:batch:eu-west-1:123456789012:job-queue/" + queue)
	}
	nodes := &types.NodeProperties{MainNode: aws.Int32(0), NumNodes: aws.Int32(3), NodeRangeProperties: []types.NodeRangeProperty{{TargetNodes: aws.String("0:2"), Container: &types.ContainerProperties{ResourceRequirements: need("36", "1024")}}}}
	multinode := job("nodes", "1", "1", "")
	multinode.Register = &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("job"), Type: types.JobDefinitionTypeMultinode, NodeProperties: nodes}
	gpu := append(need("8", "1024"), types.ResourceRequirement{Type: types.ResourceTypeGpu, Value: aws.String("1")})
	task := &types.EcsProperties{TaskProperties: []types.EcsTaskProperties{{Containers: []types.TaskContainerProperties{{Name: aws.String("a"), ResourceRequirements: need("1", "1024")}, {Name: aws.String("b"), ResourceRequirements: need("1", "1024")}}}}}
	twins := job("one", "1", "1", "")
	twins.Register = &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("job"), Type: types.JobDefinitionTypeContainer, EcsProperties: task}
	for i, c := range []struct {
		ran    types.JobDetail
		wanted *plan.Job
	}{
		{types.JobDetail{JobQueue: arn("one"), Container: &types.ContainerDetail{ExitCode: aws.Int32(3), LogStreamName: aws.String("x"), ResourceRequirements: need("1", "1024")}}, job("one", "1", "1024", "")},
		{types.JobDetail{JobQueue: arn("gpu"), Container: &types.ContainerDetail{ResourceRequirements: gpu}}, job("gpu", "8", "1024", "1")},
		{types.JobDetail{JobQueue: arn("fargate"), PlatformCapabilities: []types.PlatformCapability{"FARGATE"}, Container: &types.ContainerDetail{ResourceRequirements: need("1", "2048")}}, job("fargate", "1", "2048", "")},
		{types.JobDetail{JobQueue: arn("nodes"), NodeProperties: nodes, Container: &types.ContainerDetail{ExitCode: aws.Int32(0)}}, multinode},
		{types.JobDetail{JobQueue: arn("nodes"), NodeProperties: nodes, EksProperties: &types.EksPropertiesDetail{PodProperties: &types.EksPodPropertiesDetail{}}}, multinode},
		{types.JobDetail{JobQueue: arn("one"), EcsProperties: &types.EcsPropertiesDetail{TaskProperties: []types.EcsTaskDetails{{TaskArn: aws.String("x"), Containers: []types.TaskContainerDetails{
			{Name: aws.String("a"), ExitCode: aws.Int32(1), ResourceRequirements: need("1", "1024")}, {Name: aws.String("b"), ResourceRequirements: need("1", "1024")}}}}}}, twins},
	} {
		c.ran.JobName, c.ran.JobId, c.ran.Status = aws.String("job"), aws.String("id"), types.JobStatusSucceeded
		made, err := PlanOf(c.ran, "")
		if err != nil {
			t.Fatal(err)
		}
		got, want := jsonOf(t, rateOf(t, w, made.Jobs[0])), jsonOf(t, rateOf(t, w, c.wanted))
		if got != want || rateOf(t, w, c.wanted).On == "" {
			t.Errorf("job %d:\n got %s\nwant %s", i, got, want)
		}
	}
	made, err := PlanOf(types.JobDetail{JobName: aws.String("job"), JobQueue: arn("one"), Container: &types.ContainerDetail{ResourceRequirements: gpu}}, "gpu")
	if err != nil || rateOf(t, w, made.Jobs[0]).On != "1/8 of p4d.24xlarge" {
		t.Errorf("in another queue: %v", err)
	}
	if made, err = PlanOf(types.JobDetail{JobName: aws.String("old"), JobQueue: arn("one")}, ""); err != nil || rateOf(t, w, made.Jobs[0]).Unknown != "the job's request is unknown here" {
		t.Errorf("a job without a description: %v", err)
	}
}

// A pod's description has other shapes than its definition.
func TestPlanOfPod(t *testing.T) {
	limits := map[string]string{"cpu": "4", "memory": "2048Mi", "nvidia.com/gpu": "1"}
	d := types.JobDetail{JobName: aws.String("job"), JobQueue: aws.String("q"), EksProperties: &types.EksPropertiesDetail{PodProperties: &types.EksPodPropertiesDetail{
		NodeName: aws.String("n"), Containers: []types.EksContainerDetail{{Name: aws.String("a"), ExitCode: aws.Int32(0), Resources: &types.EksContainerResourceRequirements{Limits: limits}}}}}}
	made, err := PlanOf(d, "")
	if err != nil {
		t.Fatal(err)
	}
	n := made.Review(world(nil), nil, nil).Jobs[0].Need
	if !n.EKS || len(n.Parts) != 1 || n.Parts[0].VCPUs != 4 || n.Parts[0].MemoryMiB != 2048 || n.Parts[0].GPUs != 1 {
		t.Errorf("the pod needs %+v", n)
	}
}

func ExampleRange() {
	fmt.Println(Range{Amount{USD: 0.12}, Amount{USD: 0.48}})
	fmt.Println(Range{Low: unknown("no run"), High: Amount{USD: 0.48}})
	fmt.Println(Range{Amount{USD: 0.12}, unknown(NoTimeout)})
	fmt.Println(Range{unknown("no run"), unknown(NoTimeout)}.Plus(Range{High: Amount{USD: 0.48}}))
	// Output:
	// 0.12 to 0.48 USD
	// up to 0.48 USD
	// 0.12 USD or more
	// up to 0.48 USD, without 1
}
