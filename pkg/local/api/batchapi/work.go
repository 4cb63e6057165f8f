//lint:file-ignore SA1019 the deprecated members vcpus and memory are part of the API that is served

package batchapi

import (
	"cmp"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// checkWork rejects amounts of vCPUs, memory and GPUs that Batch rejects: for a definition or a job, and for each node
// or container of a pod.
func checkWork(d *model.Definition, w *model.Work, isJob bool) error {
	if w.IsPod() {
		return checkPod(w)
	}
	if err := cmp.Or(checkAmount(w.Need, d.Fargate()), checkFargateSize(d, w, isJob),
		checkWholeVCPUs(d, w)); err != nil {
		return err
	}
	if d.Fargate() && w.Need.GPUs > 0 {
		return failed("GPU is not applicable for Fargate.")
	}
	if d.Request.NodeProperties == nil {
		return nil
	}
	for from, to := 0, 0; from < len(w.Parts); from = to {
		_, to = w.PartsOf(w.Parts[from].Node)
		one, err := model.Requests(w.Parts[from:to])
		if err := cmp.Or(err, checkAmount(one, false)); err != nil {
			return err
		}
	}
	return nil
}

// unhonoured returns the members of a job's containers and overrides that executor x does not
// apply. in is nil for a definition without a job.
func unhonoured(x attempt.Executor, d *awsbatch.RegisterJobDefinitionInput, in *awsbatch.SubmitJobInput,
	w *model.Work) []attempt.Member {
	switch {
	case w.IsPod():
		return unhonouredPods(x, w)
	case len(w.Parts) > 0:
		return unhonouredParts(x, d, w.Parts)
	}
	members := x.Unhonoured(w.Container)
	if in != nil {
		for _, name := range ignored(d.ContainerProperties, in.ContainerOverrides) {
			members = append(members, attempt.Member{Name: name})
		}
	}
	return members
}

// ignored returns the overrides that Batch does not apply: vcpus and memory of a container that
// has resourceRequirements.
func ignored(c *types.ContainerProperties, o *types.ContainerOverrides) []string {
	var names []string
	if o != nil && o.Vcpus != nil && c.Vcpus == nil {
		names = append(names, "containerOverrides.vcpus (the definition has a resourceRequirement)")
	}
	if o != nil && o.Memory != nil && c.Memory == nil {
		names = append(names, "containerOverrides.memory (the definition has a resourceRequirement)")
	}
	return names
}

// secretsOf returns the secrets of all containers of a job.
func secretsOf(w *model.Work) []types.Secret {
	if len(w.Parts) == 0 && w.Container != nil {
		return attempt.SecretsOf(w.Container)
	}
	var all []types.Secret
	for _, p := range w.Parts {
		all = append(all, attempt.SecretsOf(p.Container)...)
	}
	return all
}
