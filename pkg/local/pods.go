package local

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/wire"
)

// Job definitions of pods are kept and described. The engine has no Kubernetes, so it
// refuses their jobs; a lenient one takes them, and each fails with errPods.

// checkPodDefinition refuses what a definition of pods cannot do without.
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

// checkPods refuses jobs of pods, and overrides of pods for other jobs.
func checkPods(d *definition, in *awsbatch.SubmitJobInput) error {
	switch {
	case d.request.EksProperties != nil:
		return faulty("JobDefinition %s has eksProperties: %s.", d.id(), errPods)
	case in.EksPropertiesOverride != nil:
		return faulty("eksPropertiesOverride needs a job definition that has eksProperties.")
	}
	return nil
}

// describePod is the pod of a job as DescribeJobs shows it.
func (t *task) describePod(d *types.JobDetail) {
	d.EksProperties = &types.EksPropertiesDetail{PodProperties: t.job.pod}
	for i := range t.attempts {
		if a := &t.attempts[i]; a.stoppedAt != 0 {
			d.EksAttempts = append(d.EksAttempts, types.EksAttemptDetail{StartedAt: moment(a.startedAt), StoppedAt: moment(a.stoppedAt),
				StatusReason: optional(a.statusReason + ": " + errPods.Error())})
		}
	}
}
