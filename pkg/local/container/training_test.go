//go:build unix

package container

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/local/attempt"
)

// TestTrainingFlags checks how the container of a training job differs from others.
func TestTrainingFlags(t *testing.T) {
	a := attempt.Attempt{ID: "77aa", Job: "0b5e", Container: properties(t, `{"image": "i"}`), Command: []string{"a", "--privileged"},
		Training: &attempt.Training{Directory: "/state/scratch/0b5e/77aa", Entrypoint: []string{"/run", "-x"}, Isolated: true}}
	create, err := unprobed(t, Docker, "").creation("n", a)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"create", "--pull=never", "--log-driver=none", "--name=n", "--label=batchctl.attempt=77aa", "--label=batchctl.job=0b5e",
		"--mount=type=bind,source=/state/scratch/0b5e/77aa,destination=/opt/ml", "--hostname=algo-1", "--network=none", "--entrypoint=/run", "--env-file=/dev/stdin", "--", "i",
		"-x", "a", "--privileged"}
	if d := cmp.Diff(want, create.args); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	a.Training.Entrypoint = nil
	if create, err = unprobed(t, Podman, "").creation("n", a); err != nil || strings.Contains(fmt.Sprint(create.args), "--entrypoint") {
		t.Errorf("without an entrypoint: %v, %v", create.args, err)
	}
	a.Training.Directory = "/a,readonly=false"
	if _, err = unprobed(t, Podman, "").creation("n", a); err == nil {
		t.Error("a comma in the directory is accepted")
	}
}

// TestTrainingJobs runs training jobs from SubmitServiceJob to their logs and models.
func TestTrainingJobs(t *testing.T) {
	programs(t, func(t *testing.T, program string) {
		dir := stateDir(t)
		engine, client, err := openEngine(t.Context(), dir, program)
		if err != nil {
			t.Fatal(err)
		}
		defer engine.Close(context.Background())
		_, err = client.CreateServiceEnvironment(t.Context(), &awsbatch.CreateServiceEnvironmentInput{ServiceEnvironmentName: aws.String("e"),
			ServiceEnvironmentType: types.ServiceEnvironmentTypeSagemakerTraining,
			CapacityLimits:         []types.CapacityLimit{{CapacityUnit: aws.String("NUM_INSTANCES"), MaxCapacity: aws.Int32(1)}}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.CreateJobQueue(t.Context(), &awsbatch.CreateJobQueueInput{JobQueueName: aws.String("q"), Priority: aws.Int32(1),
			JobQueueType:            types.JobQueueTypeSagemakerTraining,
			ServiceEnvironmentOrder: []types.ServiceEnvironmentOrder{{Order: aws.Int32(1), ServiceEnvironment: aws.String("e")}}})
		if err != nil {
			t.Fatal(err)
		}
		train := func(entrypoint, arguments string) string {
			out, err := client.SubmitServiceJob(t.Context(), &awsbatch.SubmitServiceJobInput{JobName: aws.String("j"), JobQueue: aws.String("q"),
				ServiceJobType: types.ServiceJobTypeSagemakerTraining,
				ServiceRequestPayload: aws.String(`{"TrainingJobName": "t", "HyperParameters": {"eta": "0.1"}, "EnableNetworkIsolation": true,
					"ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1}, "AlgorithmSpecification": {"TrainingInputMode": "File",
					"TrainingImage": "` + testImage + `", "ContainerEntrypoint": [` + entrypoint + `], "ContainerArguments": [` + arguments + `]}}`)})
			if err != nil {
				t.Fatal(err)
			}
			return *out.JobId
		}
		read := train(`"/job", "read"`, `"/opt/ml/input/config/hyperparameters.json"`)
		write := train(`"/job"`, `"write", "/opt/ml/model/m", "/opt/ml/output/data/d", "/none/f"`)
		fails := train(`"/job", "exit", "3"`, ``)
		for id, want := range map[string]string{read: "SUCCEEDED Training job completed", write: "SUCCEEDED Training job completed", fails: "FAILED AlgorithmError: exit code: 3"} {
			status, name := endedService(t, client, id)
			state, reason, _ := strings.Cut(want, " ")
			if status != state+" Received status from SageMaker: "+reason {
				t.Errorf("%s, want %s", status, want)
			}
			if id == write {
				if files, err := filepath.Glob(filepath.Join(dir, "scratch", id, "*", "model", "m")); err != nil || len(files) != 1 {
					t.Errorf("models %v, %v", files, err)
				}
			}
			log := map[string]string{read: `{"eta":"0.1"}`, write: "/opt/ml/model/m true /opt/ml/output/data/d true /none/f false"}[id]
			if got := trainingLog(t, cloudwatchlogs.NewFromConfig(engine.Config()), name); log != "" && got != log {
				t.Errorf("log %q, want %q", got, log)
			}
		}
		if left := containers(t, program); len(left) > 0 {
			t.Errorf("%q are left", left)
		}
		if left, err := os.ReadDir(filepath.Join(dir, "containers")); err == nil && len(left) > 0 {
			t.Errorf("%v are left", left)
		}
	})
}

// endedService waits until a service job has ended. It returns its status with the reason, and the name of its training
// job.
func endedService(t *testing.T, client *awsbatch.Client, id string) (status, training string) {
	t.Helper()
	for pause := time.Millisecond; ; pause = min(2*pause, time.Second) {
		out, err := client.DescribeServiceJob(t.Context(), &awsbatch.DescribeServiceJobInput{JobId: &id})
		if err != nil {
			t.Fatal(err)
		}
		if out.Status == types.ServiceJobStatusSucceeded || out.Status == types.ServiceJobStatusFailed {
			_, training, _ = strings.Cut(*out.LatestAttempt.ServiceResourceId.Value, "training-job/")
			return string(out.Status) + " " + aws.ToString(out.StatusReason), training
		}
		select {
		case <-time.After(pause):
		case <-t.Context().Done():
			t.Fatal("the test is over")
		}
	}
}

// trainingLog returns the lines of a training job.
func trainingLog(t *testing.T, logs *cloudwatchlogs.Client, name string) string {
	t.Helper()
	out, err := logs.FilterLogEvents(t.Context(), &cloudwatchlogs.FilterLogEventsInput{LogGroupName: aws.String("/aws/sagemaker/TrainingJobs"), LogStreamNamePrefix: &name})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range out.Events {
		lines = append(lines, *e.Message)
	}
	return strings.Join(lines, " ")
}
