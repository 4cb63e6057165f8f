package api

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// Job definitions of pods are stored and described. The engine has no Kubernetes, so it rejects
// their jobs. A lenient engine accepts them, and each fails with errPods.

// checkPodDefinition rejects a definition of pods without containers or images.
func checkPodDefinition(in *awsbatch.RegisterJobDefinitionInput) error {
	p := in.EksProperties
	switch {
	case p == nil || in.Type != types.JobDefinitionTypeContainer:
		return nil
	case in.ContainerProperties != nil || in.EcsProperties != nil:
		return wire.ClientException("Only one of containerProperties, ecsProperties and eksProperties can be given.")
	case p.PodProperties == nil || len(p.PodProperties.Containers) == 0:
		return wire.ClientException("eksProperties.podProperties must contain at least one container.")
	}
	for _, c := range p.PodProperties.Containers {
		if aws.ToString(c.Image) == "" {
			return wire.ClientException("eksProperties.podProperties.containers must contain image.")
		}
	}
	return nil
}

// checkPods rejects jobs of pods, and overrides of pods for other jobs.
func checkPods(d *model.Definition, in *awsbatch.SubmitJobInput) error {
	switch {
	case d.Request.EksProperties != nil:
		return faulty("JobDefinition %s has eksProperties: %s.", d.ID(), attempt.ErrPods)
	case in.EksPropertiesOverride != nil:
		return faulty("eksPropertiesOverride needs a job definition that has eksProperties.")
	}
	return nil
}

// describePod adds the pod and its attempts to a job's description. Every attempt has failed: the
// engine runs no pods.
func describePod(t *model.Task, d *types.JobDetail) {
	d.EksProperties = &types.EksPropertiesDetail{PodProperties: t.Job.Pod}
	for i := range t.Attempts {
		if a := &t.Attempts[i]; a.StoppedAt != 0 {
			d.EksAttempts = append(d.EksAttempts, types.EksAttemptDetail{StartedAt: moment(a.StartedAt), StoppedAt: moment(a.StoppedAt),
				StatusReason: optional(a.StatusReason + ": " + attempt.ErrPods.Error())})
		}
	}
}
