package local

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// podText returns how the containers of a pod ended, as text.
func podText(d types.JobDetail) string {
	var all []string
	for _, c := range slices.Concat(d.EksProperties.PodProperties.InitContainers, d.EksProperties.PodProperties.Containers) {
		text := aws.ToString(c.Name)
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

func TestContainersOfAPod(t *testing.T) {
	type all = []types.EksContainer
	notStarted := "(CannotStartContainerError: its dependency, container fetch, did not succeed)"
	for _, c := range []struct {
		name       string
		init, main all
		status     types.JobStatus
		reason     string
		parts      string
		seconds    int
	}{
		{"one container", nil, all{modeltest.InPod("main", "2s")}, "SUCCEEDED", model.ReasonExited, "main=0", 2},
		{"one that fails", nil, all{modeltest.InPod("main", "7")}, "FAILED", model.ReasonExited, "main=7", 0},
		{"init containers, one after the other", all{modeltest.InPod("fetch", "2s"), modeltest.InPod("check", "3s")}, all{modeltest.InPod("main", "1s"), modeltest.InPod("side", "2s")},
			"SUCCEEDED", model.ReasonExited, "fetch=0, check=0, main=0, side=0", 7},
		{"a pod ends with its last container", nil, all{modeltest.InPod("main", "fail"), modeltest.InPod("side", "3s")}, "FAILED", model.ReasonExited, "main=1, side=0", 3},
		{"an init container fails", all{modeltest.InPod("fetch", "7")}, all{modeltest.InPod("main", "1s")}, "FAILED", model.ReasonExited, "fetch=7, main " + notStarted, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "state")
				w := open(t, Options{Dir: dir, VCPUs: 1, MemoryMiB: 128}) // the init containers need no more than the containers
				w.register("pod", "", "", modeltest.Pod(types.EksPodProperties{InitContainers: c.init, Containers: c.main}))
				began := time.Now()
				id := w.submit("pod")
				w.idle()
				w.want(id, c.status, c.reason)
				d := w.job(id)
				if got := podText(d); got != c.parts {
					t.Errorf("containers: %s, want %s", got, c.parts)
				}
				if took := int(time.Since(began).Seconds()); took != c.seconds {
					t.Errorf("took %d s, want %d", took, c.seconds)
				}
				if d.Container != nil || len(d.Attempts) != 0 || len(d.EksAttempts) != 1 {
					t.Fatalf("%+v", d)
				}
				a := d.EksAttempts[0]
				if len(a.Containers) != len(c.main) || len(a.InitContainers) != len(c.init) || !strings.HasPrefix(*a.PodName, "aws-batch.") ||
					*a.PodName != *d.EksProperties.PodProperties.PodName || *a.NodeName != "local" || a.EksClusterArn != nil {
					t.Errorf("attempt %+v", a)
				}
				w = w.restart(dir, Options{ReadOnly: true})
				if got := podText(w.job(id)); got != c.parts {
					t.Errorf("after the restart: %s", got)
				}
			})
		})
	}
}

// TestPodJobs checks retries, a timeout, an array, an override and the environment of pods.
func TestPodJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		w := open(t, Options{Executor: s})
		c := modeltest.InPod("main", "7")
		c.Command = []string{"$(NAME)", "$$(NAME)", "$(OTHER)", "$"}
		c.Env = []types.EksContainerEnvironmentVariable{{Name: aws.String("NAME"), Value: aws.String("main")}, {Name: aws.String("ID"), Value: aws.String("$(AWS_BATCH_JOB_ID)-$(NAME)")}}
		w.register("pod", "", "", modeltest.Pod(types.EksPodProperties{Containers: []types.EksContainer{c}}))
		id := w.submit("pod", modeltest.Attempts(3, types.EvaluateOnExit{OnExitCode: aws.String("7"), Action: types.RetryActionRetry}))
		w.idle()
		if d := w.job(id); d.Status != "FAILED" || len(d.EksAttempts) != 3 || *d.EksAttempts[2].PodName == *d.EksAttempts[1].PodName || *d.EksAttempts[0].Containers[0].ExitCode != 7 {
			t.Errorf("retries: %+v", d)
		}
		if got := strings.Join(s.seen[0].Argv(), " "); got != "main $(NAME) $(OTHER) $ 7" {
			t.Errorf("command %q", got)
		}
		for name, want := range map[string]string{"ID": id + "-main", "AWS_BATCH_JOB_ATTEMPT": "2", "AWS_BATCH_JQ_NAME": "default",
			"AWS_BATCH_JOB_KUBERNETES_NODE_UID": "00000000-0000-0000-0000-000000000000"} {
			if got := s.value(1, name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		late := w.submit("pod", modeltest.Timeout(60), modeltest.PodOverride(types.EksContainerOverride{Name: aws.String("main"), Args: []string{"1h"}}))
		w.idle()
		w.want(late, "FAILED", model.ReasonTimeout)
		array := w.submit("pod", modeltest.PodOverride(types.EksContainerOverride{Name: aws.String("main"), Args: []string{"0", "fail"}}), func(in *awsbatch.SubmitJobInput) {
			in.ArrayProperties = &types.ArrayProperties{Size: aws.Int32(2)}
		})
		w.idle()
		w.want(array, "FAILED", model.ReasonChild)
		if first, second := podText(w.job(array+":0")), podText(w.job(array+":1")); first != "main=0" || second != "main=1" || w.job(array).EksAttempts != nil {
			t.Errorf("children: %s, %s", first, second)
		}
		next := w.submit("pod", modeltest.PodOverride(types.EksContainerOverride{Name: aws.String("main"), Args: []string{"1h"}}))
		synctest.Wait()
		w.terminate(next, "enough")
		w.idle()
		w.want(next, "FAILED", "enough")
	})
}

func TestPodThatTheMachineCannotRun(t *testing.T) {
	w := open(t, Options{})
	w.register("pod", "", "", modeltest.Pod(types.EksPodProperties{Containers: []types.EksContainer{modeltest.InPod("main", "0")}, Volumes: []types.EksVolume{
		{Name: aws.String("key"), Secret: &types.EksSecret{SecretName: aws.String("s")}},
		{Name: aws.String("data"), PersistentVolumeClaim: &types.EksPersistentVolumeClaim{ClaimName: aws.String("c")}}}}))
	id := w.submit("pod")
	w.idle()
	why := "the local engine cannot provide the secret of volume key, the persistentVolumeClaim of volume data"
	w.want(id, "FAILED", model.ReasonNotStarted+": "+why)
	if d := w.job(id); len(d.EksAttempts) != 1 || *d.EksAttempts[0].StatusReason != *d.StatusReason || *d.EksAttempts[0].Containers[0].Reason != "CannotStartContainerError: the pod did not start" {
		t.Errorf("%+v", d)
	}
}
