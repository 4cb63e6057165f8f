package local

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// aPod turns a definition into one of a pod.
func aPod(in *awsbatch.RegisterJobDefinitionInput) {
	in.ContainerProperties = nil
	in.EksProperties = &types.EksProperties{PodProperties: &types.EksPodProperties{HostNetwork: aws.Bool(true), Containers: []types.EksContainer{
		{Image: aws.String("busybox:1"), Name: aws.String("main"), Command: []string{"sleep", "1"}, Env: []types.EksContainerEnvironmentVariable{
			{Name: aws.String("A"), Value: aws.String("definition")}, {Name: aws.String("B"), Value: aws.String("definition")}}},
		{Image: aws.String("busybox:2"), Resources: &types.EksContainerResourceRequirements{Limits: map[string]string{"cpu": "1"}}},
	}}}
}

func TestPodDefinitions(t *testing.T) {
	w := open(t, Options{})
	ctx := t.Context()
	w.register("pod", "", "", aPod)
	described := func() types.JobDefinition {
		out, err := w.DescribeJobDefinitions(ctx, &awsbatch.DescribeJobDefinitionsInput{JobDefinitions: []string{"pod:1"}})
		if err != nil || len(out.JobDefinitions) != 1 {
			t.Fatalf("%+v, %v", out, err)
		}
		return out.JobDefinitions[0]
	}
	d := described()
	if d.ContainerOrchestrationType != types.OrchestrationTypeEks || d.ContainerProperties != nil || !*d.EksProperties.PodProperties.HostNetwork {
		t.Errorf("%+v", d)
	}
	if c := d.EksProperties.PodProperties.Containers[1]; c.Command == nil || c.Env == nil || c.Args == nil || c.VolumeMounts == nil || c.Resources.Limits["cpu"] != "1" {
		t.Errorf("%+v", c)
	}
	_, err := w.SubmitJob(ctx, &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: aws.String("pod")})
	refused(t, err, "JobDefinition pod:1 has eksProperties: the local engine has no Kubernetes and runs no pods.")
	if _, err := w.DeregisterJobDefinition(ctx, &awsbatch.DeregisterJobDefinitionInput{JobDefinition: aws.String("pod:1")}); err != nil {
		t.Fatal(err)
	}
	if err := w.engine.Close(ctx); err != nil {
		t.Fatal(err)
	}
	w = open(t, Options{Dir: w.engine.options.Dir})
	if d := described(); *d.Status != "INACTIVE" || len(d.EksProperties.PodProperties.Containers) != 2 {
		t.Errorf("after a restart: %+v", d)
	}
}

func TestPodJobsOfALenientEngine(t *testing.T) {
	w := open(t, Options{Lenient: true})
	notice := w.heard()
	w.register("pod", "", "", aPod)
	id := w.submit("pod", func(in *awsbatch.SubmitJobInput) {
		in.EksPropertiesOverride = &types.EksPropertiesOverride{PodProperties: &types.EksPodPropertiesOverride{
			Metadata: &types.EksMetadata{Labels: map[string]string{"a": "b"}},
			Containers: []types.EksContainerOverride{
				{Name: aws.String("main"), Command: []string{"echo"}, Env: []types.EksContainerEnvironmentVariable{{Name: aws.String("B"), Value: aws.String("job")}}},
				// the container without a name
				{Resources: &types.EksContainerResourceRequirements{Requests: map[string]string{"cpu": "2"}}},
				{Name: aws.String("none"), Command: []string{"never"}},
			}}}
	})
	if want := "the local engine has no Kubernetes and runs no pods"; !strings.Contains(*notice, want) {
		t.Errorf("notice %q", *notice)
	}
	w.idle()
	w.want(id, types.JobStatusFailed, model.ReasonNotStarted)
	d := w.job(id)
	if d.Container != nil || len(d.Attempts) != 0 || len(d.EksAttempts) != 1 || !strings.HasSuffix(*d.EksAttempts[0].StatusReason, attempt.ErrPods.Error()) {
		t.Errorf("%+v", d)
	}
	pod := d.EksProperties.PodProperties
	first, second := pod.Containers[0], pod.Containers[1]
	if len(pod.Containers) != 2 || pod.Metadata.Labels["a"] != "b" || first.Command[0] != "echo" || *first.Image != "busybox:1" ||
		*first.Env[0].Value != "definition" || *first.Env[1].Value != "job" || second.Resources.Limits != nil || second.Resources.Requests["cpu"] != "2" {
		t.Errorf("%+v", pod)
	}
	// The definition is unchanged.
	out, err := w.DescribeJobDefinitions(t.Context(), &awsbatch.DescribeJobDefinitionsInput{JobDefinitionName: aws.String("pod")})
	if err != nil || *out.JobDefinitions[0].EksProperties.PodProperties.Containers[0].Env[1].Value != "definition" {
		t.Errorf("%+v, %v", out, err)
	}
}
