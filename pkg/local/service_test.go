package local

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// trainer is a script that counts as an executor with containers.
type trainer struct{ script }

func (*trainer) Contained() bool { return true }

// serving returns an engine with those resources.
func serving(t *testing.T, x attempt.Executor) *testEngine {
	t.Helper()
	w := open(t, Options{Executor: x})
	modeltest.ServiceResources(w.must)
	return w
}

// must sends a request in its JSON form.
func (w *testEngine) must(operation, body string) {
	w.t.Helper()
	if status, message := w.call(operation, body); status != 200 {
		w.t.Fatalf("%s %s: %d %s", operation, body, status, message)
	}
}

// serve submits a service job and returns its id.
func (w *testEngine) serve(queue, payload string, more ...func(*awsbatch.SubmitServiceJobInput)) string {
	w.t.Helper()
	in := &awsbatch.SubmitServiceJobInput{JobName: aws.String("train"), JobQueue: &queue, ServiceJobType: types.ServiceJobTypeSagemakerTraining, ServiceRequestPayload: &payload}
	for _, f := range more {
		f(in)
	}
	out := modeltest.Must(w.t, w.SubmitServiceJob, in)
	return *out.JobId
}

func (w *testEngine) service(id string) *awsbatch.DescribeServiceJobOutput {
	w.t.Helper()
	out := modeltest.Must(w.t, w.DescribeServiceJob, &awsbatch.DescribeServiceJobInput{JobId: &id})
	return out
}

func (w *testEngine) wantService(id string, status types.ServiceJobStatus, reason string) {
	w.t.Helper()
	if d := w.service(id); d.Status != status || aws.ToString(d.StatusReason) != reason {
		w.t.Errorf("service job %s: %s %q, want %s %q", id, d.Status, aws.ToString(d.StatusReason), status, reason)
	}
}

// states returns the statuses that a job has had, from the journal.
func (w *testEngine) states(id string) (all []string) {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.engine.options.Dir, "journal"))
	if err != nil {
		w.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var r struct{ Events []map[string]json.RawMessage }
		if at := strings.IndexByte(line, '{'); at < 0 || json.Unmarshal([]byte(line[at:strings.LastIndexByte(line, '}')+1]), &r) != nil {
			continue
		}
		for _, v := range r.Events {
			for kind, body := range v {
				var e struct{ ID, Job, To string }
				if json.Unmarshal(body, &e) != nil || e.Job != id && e.ID != id {
					continue
				}
				if s := map[string]string{"serviceSubmitted": "SUBMITTED RUNNABLE", "started": "SCHEDULED", "launched": "RUNNING"}[kind] + e.To; s != "" {
					all = append(all, s)
				}
			}
		}
	}
	return all
}

// TestServiceJob runs the training job of AWS's guide from its submission to its log.
func TestServiceJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &trainer{}
		x.run = func(_ context.Context, a attempt.Attempt, log *os.File) (int, error) {
			if a.Training == nil {
				return 0, nil
			}
			for _, name := range []string{"hyperparameters", "resourceconfig", "inputdataconfig"} {
				text, err := os.ReadFile(filepath.Join(a.Training.Directory, "input/config", name+".json"))
				if err != nil {
					return -1, err
				}
				fmt.Fprintln(log, string(text))
			}
			time.Sleep(time.Minute)
			return 0, os.WriteFile(filepath.Join(a.Training.Directory, "model/weights"), []byte("w"), 0o600)
		}
		w := serving(t, x)
		empty, err := w.GetJobQueueSnapshot(t.Context(), &awsbatch.GetJobQueueSnapshotInput{JobQueue: aws.String("sage")})
		if err != nil || len(empty.QueueUtilization.TotalCapacityUsage) != 0 {
			t.Errorf("an empty queue: %+v, %v", empty, err)
		}
		id := w.serve("sage", modeltest.Training(1), func(in *awsbatch.SubmitServiceJobInput) {
			in.Tags, in.SchedulingPriority = map[string]string{"team": "a"}, aws.Int32(3)
			in.RetryStrategy = &types.ServiceJobRetryStrategy{Attempts: aws.Int32(2)}
		})
		synctest.Wait()
		w.wantService(id, types.ServiceJobStatusRunning, "")
		if d := w.service(id); len(d.Attempts) != 0 || d.LatestAttempt == nil || d.ScheduledAt == nil || d.StartedAt == nil || *d.SchedulingPriority != 3 ||
			*d.CapacityUsage[0].CapacityUnit != "ml.m5.large" || *d.CapacityUsage[0].Quantity != 1 || d.Tags["team"] != "a" || *d.RetryStrategy.Attempts != 2 {
			t.Errorf("while it runs: %+v", d)
		}
		snapshot, err := w.GetJobQueueSnapshot(t.Context(), &awsbatch.GetJobQueueSnapshotInput{JobQueue: aws.String("sage")})
		if u := snapshot.QueueUtilization.TotalCapacityUsage; err != nil || len(u) != 1 || *u[0].CapacityUnit != "ml.m5.large" || *u[0].Quantity != 1 {
			t.Errorf("snapshot %+v, %v", u, err)
		}
		w.idle()
		w.wantService(id, types.ServiceJobStatusSucceeded, "Received status from SageMaker: Training job completed")
		if got, want := strings.Join(w.states(id), " "), "SUBMITTED RUNNABLE SCHEDULED STARTING RUNNING SUCCEEDED"; got != want {
			t.Errorf("states %s, want %s", got, want)
		}
		d, a := w.service(id), x.seen[0]
		name := "AWSBatchmnist" + strings.ReplaceAll(a.ID, "-", "")
		if arn := *d.Attempts[0].ServiceResourceId.Value; arn != "arn:aws:sagemaker:local:000000000000:training-job/"+name || arn != *d.LatestAttempt.ServiceResourceId.Value ||
			*d.Attempts[0].StoppedAt-*d.Attempts[0].StartedAt != 60000 || *d.Attempts[0].StatusReason != *d.StatusReason || *d.JobArn != "arn:aws:batch:local:000000000000:service-job/"+id {
			t.Errorf("%+v", d)
		}
		if fmt.Sprint(a.Command) != "[train]" || *a.Container.Image != "train:1" || x.value(0, "TRAINING_JOB_NAME") != name || x.value(0, "A") != "b" || x.value(0, "AWS_BATCH_JOB_ID") != "" {
			t.Errorf("the attempt %+v", a)
		}
		if text, err := os.ReadFile(filepath.Join(w.engine.options.Dir, "scratch", id, a.ID, "model/weights")); err != nil || string(text) != "w" {
			t.Errorf("the model: %q, %v", text, err)
		}
		want := []string{`{"eta":"0.1"}`, `{"current_group_name":"homogeneousCluster","current_host":"algo-1","current_instance_type":"ml.m5.large","hosts":["algo-1"],` +
			`"instance_groups":[{"hosts":["algo-1"],"instance_group_name":"homogeneousCluster","instance_type":"ml.m5.large"}],"network_interface_name":"eth0"}`, "{}"}
		if diff := cmp.Diff(want, w.trainingLog(name)); diff != "" {
			t.Error(diff)
		}
		w.wantOnlyService(id)
	})
}

// trainingLog returns the log of a training job, found by its name as SageMaker's SDK does.
func (w *testEngine) trainingLog(name string) []string {
	w.t.Helper()
	_, text := w.send("FilterLogEvents", `{"logGroupName": "/aws/sagemaker/TrainingJobs", "logStreamNamePrefix": "`+name+`/algo-1"}`)
	var out struct{ Events []struct{ Message string } }
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
	var lines []string
	for _, e := range out.Events {
		lines = append(lines, e.Message)
	}
	return lines
}

// wantOnlyService checks that the operations for other jobs do not know a service job, and the other way round.
func (w *testEngine) wantOnlyService(id string) {
	w.t.Helper()
	jobs, err := w.DescribeJobs(w.t.Context(), &awsbatch.DescribeJobsInput{Jobs: []string{id}})
	if err != nil || len(jobs.Jobs) != 0 {
		w.t.Errorf("DescribeJobs shows %+v, %v", jobs, err)
	}
	list, err := w.ListJobs(w.t.Context(), &awsbatch.ListJobsInput{JobQueue: aws.String("sage"), JobStatus: types.JobStatusSucceeded})
	if err != nil || len(list.JobSummaryList) != 0 {
		w.t.Errorf("ListJobs shows %+v, %v", list, err)
	}
	w.register("work", "1", "64")
	_, err = w.SubmitJob(w.t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("j"), JobQueue: aws.String("sage"), JobDefinition: aws.String("work")})
	refused(w.t, err, "Job Queue sage is of type SAGEMAKER_TRAINING and accepts only service jobs.")
	_, err = w.SubmitServiceJob(w.t.Context(), &awsbatch.SubmitServiceJobInput{JobName: aws.String("j"), JobQueue: aws.String("default"),
		ServiceJobType: types.ServiceJobTypeSagemakerTraining, ServiceRequestPayload: aws.String("{}")})
	refused(w.t, err, "Job Queue default is not of type SAGEMAKER_TRAINING and accepts no service jobs.")
	other := w.submit("work")
	_, err = w.DescribeServiceJob(w.t.Context(), &awsbatch.DescribeServiceJobInput{JobId: &other})
	refused(w.t, err, "Service job "+other+" does not exist.")
	w.idle()
}

// TestServiceJobNotHere checks that a job does not start if the machine lacks what it asks for, whatever its retry
// strategy, and that its reason names all of it.
func TestServiceJobNotHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &trainer{}
		w := serving(t, x)
		retried := func(in *awsbatch.SubmitServiceJobInput) {
			in.RetryStrategy = &types.ServiceJobRetryStrategy{Attempts: aws.Int32(3)}
		}
		const image = `"TrainingJobName": "a", "AlgorithmSpecification": {"TrainingImage": "i", "TrainingInputMode": "File"}`
		const instance = `"ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1}`
		for payload, want := range map[string]string{
			`{}`: "AlgorithmSpecification without TrainingImage, ResourceConfig without InstanceCount",
			`{"AlgorithmSpecification": {"AlgorithmName": "a", "TrainingInputMode": "Pipe"}, ` + instance + `}`: "AlgorithmSpecification.AlgorithmName, TrainingInputMode Pipe",
			`{` + image + `, ` + instance + `, "InputDataConfig": [{"ChannelName": "train"}, {"ChannelName": "test"}], "VpcConfig": {}, "CheckpointConfig": {}}`: "InputDataConfig (channel train), " +
				"InputDataConfig (channel test), CheckpointConfig, VpcConfig",
			`{"TrainingJobName": "a b", "Environment": {"A=B": "c", "D": "\u0000", "E_1": "f"}, "AlgorithmSpecification": {"TrainingImage": "i"}, ` + instance + `}`: `TrainingJobName "a b", ` +
				`Environment (variable "A=B"), Environment (variable "D")`,
			`{` + image + `, "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 2}}`:                                                 "ResourceConfig.InstanceCount 2",
			`{` + image + `, "ResourceConfig": {"InstanceType": "ml.trn1.2xlarge", "InstanceCount": 1}}`:                                             "ResourceConfig.InstanceType ml.trn1.2xlarge (no such accelerator)",
			`{` + image + `, "ResourceConfig": {"InstanceGroups": [{"InstanceType": "ml.m5.large", "InstanceCount": 1, "InstanceGroupName": "g"}]}}`: "ResourceConfig.InstanceGroups",
		} {
			id := w.serve("sage", payload, retried)
			w.idle()
			w.wantService(id, types.ServiceJobStatusFailed, "The local engine cannot run this training job: not available here: "+want)
			if got := strings.Join(w.states(id), " "); got != "SUBMITTED RUNNABLE SCHEDULED FAILED" {
				t.Errorf("%s: states %s", payload, got)
			}
		}
		if len(x.ran) > 0 {
			t.Errorf("%d containers ran", len(x.ran))
		}
		gpu := w.serve("sage", `{`+image+`, "ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 1}}`)
		synctest.Wait()
		if d := w.service(gpu); d.Status != types.ServiceJobStatusRunnable || !strings.HasSuffix(*d.StatusReason, "the job asks for 8 GPUs, this machine has 0") {
			t.Errorf("8 GPUs: %s %s", d.Status, *d.StatusReason)
		}
		w.endService(gpu)
		processes := serving(t, &script{})
		id := processes.serve("sage", modeltest.Training(1))
		processes.idle()
		processes.wantService(id, types.ServiceJobStatusFailed, "The local engine cannot run this training job: not available here: "+
			"AlgorithmSpecification.TrainingImage (it needs an engine with --executor podman)")
	})
}

func (w *testEngine) endService(id string) {
	w.t.Helper()
	modeltest.Must(w.t, w.TerminateServiceJob, &awsbatch.TerminateServiceJobInput{JobId: &id, Reason: aws.String("enough")})
}

// TestServiceJobEnds checks failures with their retries, both timeouts, TerminateServiceJob and an engine that dies.
func TestServiceJobEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &trainer{}
		x.run = func(ctx context.Context, a attempt.Attempt, _ *os.File) (int, error) {
			if a.Command[0] == "2" {
				if err := os.WriteFile(filepath.Join(a.Training.Directory, "output/failure"), []byte("no such column\n"), 0o600); err != nil {
					return -1, err
				}
			}
			return play(ctx, a, a.Command[0])
		}
		w := serving(t, x)
		retried := func(pattern string) func(*awsbatch.SubmitServiceJobInput) {
			return func(in *awsbatch.SubmitServiceJobInput) {
				in.RetryStrategy = &types.ServiceJobRetryStrategy{Attempts: aws.Int32(3), EvaluateOnExit: []types.ServiceJobEvaluateOnExit{
					{Action: types.ServiceJobRetryActionRetry, OnStatusReason: &pattern}, {Action: types.ServiceJobRetryActionExit, OnStatusReason: aws.String("*")}}}
			}
		}
		const failed = "Received status from SageMaker: AlgorithmError: no such column, exit code: 2"
		again := w.serve("sage", modeltest.Training(1, "2"), retried("Received status from SageMaker: AlgorithmError*"))
		once := w.serve("sage", modeltest.Training(1, "2"), retried("Received status from SageMaker: InternalServerError*"))
		w.idle()
		w.wantService(again, types.ServiceJobStatusFailed, failed)
		w.wantService(once, types.ServiceJobStatusFailed, failed)
		if a, b := w.service(again), w.service(once); len(a.Attempts) != 3 || len(b.Attempts) != 1 || *a.Attempts[0].StatusReason != failed {
			t.Errorf("%d and %d attempts, want 3 and 1", len(a.Attempts), len(b.Attempts))
		}
		short := w.serve("sage", modeltest.Training(1, "1h"), func(in *awsbatch.SubmitServiceJobInput) {
			in.TimeoutConfig = &types.ServiceJobTimeout{AttemptDurationSeconds: aws.Int32(60)}
		})
		stopping := strings.TrimSuffix(modeltest.Training(1, "1h"), "}") + `, "StoppingCondition": {"MaxRuntimeInSeconds": 30}}`
		limited := w.serve("sage", stopping)
		w.idle()
		w.wantService(short, types.ServiceJobStatusFailed, "Job attempt duration exceeded timeout")
		w.wantService(limited, types.ServiceJobStatusFailed, "Received status from SageMaker: Training job runtime exceeded MaxRuntimeInSeconds provided")
		if d := w.service(limited); *d.StoppedAt-*d.StartedAt != 30000 {
			t.Errorf("it ran for %d ms", *d.StoppedAt-*d.StartedAt)
		}
		stubborn := w.serve("sage", modeltest.Training(1, "stubborn"))
		synctest.Wait()
		w.endService(stubborn)
		time.Sleep(119 * time.Second)
		if d := w.service(stubborn); d.Status != types.ServiceJobStatusRunning || !*d.IsTerminated {
			t.Errorf("before the two minutes of SageMaker: %s", d.Status)
		}
		w.idle()
		w.wantService(stubborn, types.ServiceJobStatusFailed, "enough")

		long := w.serve("sage", modeltest.Training(1, "1h"), retried("Received status from SageMaker: InternalServerError: We encountered an internal error. Please try again."))
		waiting := w.serve("sage", modeltest.Training(4, "1m"))
		synctest.Wait()
		next := w.crash(Options{Executor: x})
		synctest.Wait()
		next.wantService(waiting, types.ServiceJobStatusRunnable, "")
		next.wantService(long, types.ServiceJobStatusRunning, "")
		if d := next.service(long); len(d.Attempts) != 1 || !strings.HasPrefix(*d.Attempts[0].StatusReason, "Received status from SageMaker: InternalServerError: ") {
			t.Errorf("after the restart: %+v", d.Attempts)
		}
		next.idle()
		next.wantService(long, types.ServiceJobStatusSucceeded, "Received status from SageMaker: Training job completed")
		w.endService(long)
		w.endService(waiting)
		w.idle()
	})
}
