package batchapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/local/api/empty"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// A pod runs like a task of several containers: the engine has no Kubernetes. What a pod asks of
// Kubernetes, such as a secret, makes the job fail with a reason that names it. Where a text of
// Batch is quoted in public, the error has it; see the rules eks-*.

// checkPodDefinition rejects a definition of pods that Batch rejects. Resources and variables are
// checked with the overrides, see checkPod.
func checkPodDefinition(in *awsbatch.RegisterJobDefinitionInput) error {
	p := in.EksProperties
	switch {
	case p == nil || in.Type != types.JobDefinitionTypeContainer:
		return nil
	case in.ContainerProperties != nil:
		return wire.ClientException("Cannot use both ECS containerProperties and eksProperties")
	case in.EcsProperties != nil:
		return wire.ClientException("Cannot use both ecsProperties and eksProperties")
	}
	shaped := checkPodProperties(p)
	if shaped != nil {
		return shaped
	}
	return cmp.Or(shaped, checkPodMembers(in))
}

// checkPodMembers rejects members of the request that Batch rejects for pods.
func checkPodMembers(in *awsbatch.RegisterJobDefinitionInput) error {
	switch {
	case in.PropagateTags != nil:
		return wire.ClientException("Batch on EKS does not support tag propagation.")
	case len(in.PlatformCapabilities) > 0:
		return wire.ClientException("platformCapabilities must not be specified for a job definition that has eksProperties.")
	}
	return nil
}

// checkPodProperties rejects the pod of a job or of a node range that Batch rejects.
func checkPodProperties(p *types.EksProperties) error {
	switch {
	case p.PodProperties == nil || len(p.PodProperties.Containers) == 0:
		return wire.ClientException(empty.NoPodContainer)
	case len(p.PodProperties.Containers) > maxParts || len(p.PodProperties.InitContainers) > maxParts:
		return wire.ClientException("podProperties can have at most %d containers and %d initContainers.", maxParts,
			maxParts)
	}
	pod := p.PodProperties
	names := map[string]bool{}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		name := batch.PodContainer(c.Name)
		switch {
		case aws.ToString(c.Image) == "":
			return wire.ClientException("eksProperties.podProperties.containers must contain image.")
		case names[name]:
			return wire.ClientException("The container name: %s must be unique in multi-container job.", name)
		}
		names[name] = true
		if !oneOf(c.ImagePullPolicy, "Always", "IfNotPresent", "Never") {
			return wire.ClientException("Unsupported image pull policy value.")
		}
	}
	for _, v := range pod.Volumes {
		switch {
		case aws.ToString(v.Name) == "":
			return wire.ClientException("A volume of podProperties needs a name.")
		case v.EmptyDir != nil && !oneOf(v.EmptyDir.Medium, "", "Memory"):
			return wire.ClientException("Invalid Volume mount. Allowed values - Memory or null.")
		}
	}
	if !oneOf(pod.DnsPolicy, "Default", "ClusterFirst", "ClusterFirstWithHostNet") {
		return wire.ClientException("Unsupported DNS policy value.")
	}
	return nil
}

// oneOf reports whether an optional text is missing or one of the values.
func oneOf(text *string, values ...string) bool { return text == nil || slices.Contains(values, *text) }

// checkPod rejects containers of a pod, with the overrides of its job, that Batch rejects.
func checkPod(w *model.Work) error {
	for _, pod := range w.Pods {
		for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
			if err := model.CheckQuantities(c.Resources); err != nil {
				return wire.ClientException("%s", err.Message)
			}
		}
	}
	for i := range w.Parts {
		if err := checkVariables(w.Parts[i].Container.Environment); err != nil {
			return err
		}
	}
	return nil
}

// checkPodOverrides rejects other overrides for jobs of pods, and overrides of pods for other jobs.
func checkPodOverrides(d *awsbatch.RegisterJobDefinitionInput, in *awsbatch.SubmitJobInput) error {
	switch {
	case d.EksProperties == nil && in.EksPropertiesOverride != nil:
		return wire.ClientException("eksPropertiesOverride needs a job definition that has eksProperties.")
	case d.EksProperties == nil:
		return nil
	case in.ContainerOverrides != nil || in.NodeOverrides != nil || in.EcsPropertiesOverride != nil:
		return wire.ClientException("Container overrides or node overrides should not be set for Batch on EKS jobs.")
	}
	return checkPodOverride(d.EksProperties, in.EksPropertiesOverride)
}

// checkPodOverride rejects overrides of containers that the pod does not have. o may be nil.
func checkPodOverride(p *types.EksProperties, o *types.EksPropertiesOverride) error {
	if o == nil || o.PodProperties == nil {
		return nil
	}
	over, pod := o.PodProperties, p.PodProperties
	return cmp.Or(checkPodNames(pod.Containers, over.Containers), checkPodNames(pod.InitContainers,
		over.InitContainers))
}

// checkPodNames rejects overrides of containers that do not exist.
func checkPodNames(all []types.EksContainer, over []types.EksContainerOverride) error {
	for _, o := range over {
		name := batch.PodContainer(o.Name)
		if !slices.ContainsFunc(all, func(c types.EksContainer) bool { return batch.PodContainer(c.Name) == name }) {
			return wire.ClientException("Container %s in eksPropertiesOverride does not exist.", name)
		}
	}
	return nil
}

// podMembers are the members of pods that executors know under the names of ECS.
var podMembers = strings.NewReplacer("mountPoints", "volumeMounts", "readonlyRootFilesystem",
	"securityContext.readOnlyRootFilesystem",
	"privileged", "securityContext.privileged", "user", "securityContext.runAsUser", "volumes", "hostPath")

// unhonouredPods returns the members of the pods of a job that executor x does not apply. Each node of a multi-node job
// is a pod.
func unhonouredPods(x attempt.Executor, w *model.Work) (members []attempt.Member) {
	for node, pod := range w.Pods {
		from, to := w.PartsOf(node)
		for _, m := range unhonouredPod(x, pod, w.Parts[from:to]) {
			if !slices.Contains(members, m) {
				members = append(members, m)
			}
		}
	}
	return members
}

// unhonouredPod returns the members of a pod that executor x does not apply.
func unhonouredPod(x attempt.Executor, pod *types.EksPodPropertiesDetail, parts []model.Part) []attempt.Member {
	contained := attempt.Contained(x)
	members := attempt.Given(map[attempt.Member]bool{
		// Names resolve as on this machine.
		{Name: "dnsPolicy"}: pod.DnsPolicy != nil,
		// A program that listens is reachable under another address.
		{Name: "hostNetwork"}: contained && aws.ToBool(pod.HostNetwork),
		{Name: "the network that the containers of a pod share"}: contained && len(pod.Containers) > 1,
		// As repositoryCredentials and jobRoleArn of a container on ECS.
		{Name: "imagePullSecrets"}:   len(pod.ImagePullSecrets) > 0,
		{Name: "serviceAccountName"}: pod.ServiceAccountName != nil,
	})
	for _, gap := range model.PodGaps(pod, contained) {
		members = append(members, attempt.Member{Name: gap, Effect: attempt.Prevents,
			Why: "the local engine cannot provide " + gap})
	}
	several := len(pod.Containers)+len(pod.InitContainers) > 1
	for i, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		var own []string
		for _, m := range append(x.Unhonoured(parts[i].Container), unhonouredOfPodPart(&parts[i], &c, contained)...) {
			if m.Name = podMembers.Replace(m.Name); m.Effect == attempt.Prevents {
				m.Why = "container " + parts[i].Name() + ": " + m.Why
				members = append(members, m)
			} else {
				own = append(own, m.Name)
			}
		}
		slices.Sort(own)
		switch {
		case several && len(own) > 0:
			members = append(members, attempt.Member{Name: "container " + parts[i].Name() + " " +
				strings.Join(own, ", ")})
		default:
			for _, name := range own {
				members = append(members, attempt.Member{Name: name})
			}
		}
	}
	return members
}

// unhonouredOfPodPart returns the members without effect that only containers of pods have.
func unhonouredOfPodPart(p *model.Part, c *types.EksContainerDetail, contained bool) []attempt.Member {
	s := c.SecurityContext
	if s == nil {
		s = &types.EksContainerSecurityContext{}
	}
	return attempt.Given(map[attempt.Member]bool{
		{Name: "securityContext.runAsGroup"}:               !contained && s.RunAsGroup != nil && s.RunAsUser == nil,
		{Name: "securityContext.runAsNonRoot"}:             !contained && aws.ToBool(s.RunAsNonRoot),
		{Name: "securityContext.allowPrivilegeEscalation"}: !contained && s.AllowPrivilegeEscalation != nil,
		{Name: "imagePullPolicy"}: contained && c.ImagePullPolicy != nil &&
			*c.ImagePullPolicy != "IfNotPresent",
		{Name: "emptyDir.sizeLimit"}: contained && slices.ContainsFunc(p.Pod.EmptyDirs, func(e model.EmptyDir) bool {
			return e.SizeMiB > 0 && !e.InMemory
		}),
	})
}
