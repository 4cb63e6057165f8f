package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// stuckRules are about what AWS Batch takes and then leaves in RUNNABLE, as far
// as files of compute environments and queues tell. queueRules hold jobs against
// the platform file.
func stuckRules() []*Rule {
	return []*Rule{
		warns(check("stuck-gpu-mixed-environment", Medium, onInstances, func(s Site) {
			list := s.Node.Get(resourcesOf).Get("instanceTypes")
			var gpu, other *jsontree.Node
			for n := range list.Children() {
				switch types := s.pass.catalog().Expand(n.Str()); {
				case len(types) == 0:
				case slices.ContainsFunc(types, catalog.InstanceType.RunsGPUJobs):
					gpu = firstOf(gpu, n)
				default:
					other = firstOf(other, n)
				}
			}
			if gpu != nil && other != nil {
				s.Report(fmt.Sprintf("%s has GPUs and %s has none: a GPU job may wait for the wrong instance", gpu.Str(), other.Str()), "make an environment for each", other)
			}
		}, "In an environment with GPU instances and others a GPU job may stay in RUNNABLE.", guide("GPU jobs"))),
		check("stuck-fargate-windows-spot", Medium, onWindows(bodies), func(s Site) {
			if !s.Fargate {
				return
			}
			some := false
			for e := range s.pass.environmentsFor(s.Job) {
				if typeOf(e) != "FARGATE_SPOT" {
					return
				}
				some = true
			}
			if some {
				s.Report("Windows containers do not run on FARGATE_SPOT, which is all that the queue has", `give them a queue of "type": "FARGATE"`, s.Task.Get("runtimePlatform").Get("operatingSystemFamily"))
			}
		}, "Fargate Spot has no Windows, so such a job blocks a queue that has nothing else.", guide("Fargate")).onlyWith("runtimePlatform"),
		warns(row("stuck-no-network-path", Medium, in(fargateResources, resourcesOf), func(s Site, n *jsontree.Node, _ string) {
			if !onlyPublicSubnets(n) {
				return
			}
			on := map[*jsontree.Node]bool{}
			for _, d := range s.pass.definitionsOn(s) {
				on[d.Register] = d.Fargate
			}
			for _, b := range bodies(s.pass) {
				if on[b.Register] && b.Node.Get("networkConfiguration").Get("assignPublicIp").Str() != "ENABLED" {
					s.Report("the subnets are public by their names, and the jobs have no public IP address", `write "assignPublicIp": "ENABLED", or use private subnets`, n.Get("subnets"))
					return
				}
			}
		}, "What runs needs a path to Amazon ECS: a public address, a NAT gateway or endpoints. Files show it only where names of subnets say public.", guide("jobs stuck in RUNNABLE"))),
		warns(check("stuck-awslogs-custom-ami", Medium, onInstances, func(s Site) {
			c := s.Node.Get(resourcesOf)
			n := c.Get("imageId")
			path("ec2Configuration[].imageIdOverride").walk(c, func(o *jsontree.Node) { n = firstOf(n, o) })
			if n.Str() != "" {
				s.Report("an image of your own has to list awslogs in ECS_AVAILABLE_LOGGING_DRIVERS, or jobs stay in RUNNABLE", "check the image, or use AWS's", n)
			}
		}, "Jobs write to awslogs unless they say otherwise; on an instance whose agent does not offer it they are not placed.", guide("jobs stuck in RUNNABLE"))),
		check("stuck-vcpu-quota", Low, onFargate(wholes), func(s Site) {
			n := requirementOf(s.Node, "VCPU")
			if v, ok := number(n); ok && v > 6 && v <= 32 && !hasPlatformQueues(s.pass) {
				s.Report(n.Text+" vCPU is more than the 6 that a new account may use on Fargate at once", "check the quota of the account", n)
			}
		}, "The quota of vCPUs on Fargate starts at 6 per Region; a larger job waits until it is raised. Not said where a platform file describes the account.", "AWS Fargate service quotas").onlyWith("platformCapabilities"),
		check("stuck-eks-node-overhead", Medium, definitions, Site.nodeOverhead,
			"A node keeps cpu and memory for itself, so a pod that asks for all of an instance never starts.", guide("Amazon EKS compute resource memory management")).onlyWith("eksProperties"),
	}
}

func onlyPublicSubnets(c *jsontree.Node) bool {
	list := entriesOf(c.Get("subnets"))
	return len(list) > 0 && !slices.ContainsFunc(list, func(s string) bool { return !strings.Contains(strings.ToLower(s), "public") })
}

// podRequest is what the containers of a pod ask for together. ok is false where
// one does not say.
func podRequest(pod *jsontree.Node) (cpu float64, memoryMiB, gpus int, ok bool) {
	for c := range each(pod, "containers") {
		r := c.Get("resources")
		ask := func(name string) *jsontree.Node {
			return firstOf(r.Get("requests").Get(name), r.Get("limits").Get(name))
		}
		v, okV := number(ask("cpu"))
		var mib int
		_, err := fmt.Sscanf(ask("memory").Str(), "%dMi", &mib)
		if !okV || err != nil || v > 1<<20 || mib > 1<<30 {
			return 0, 0, 0, false
		}
		g, _ := number(ask(gpuKey))
		cpu, memoryMiB, gpus, ok = cpu+v, memoryMiB+mib, gpus+int(min(g, 1024)), true
	}
	return cpu, memoryMiB, gpus, ok
}

// nodeOverhead holds a pod against the nodes of its environments.
func (s Site) nodeOverhead() {
	pod := s.Node.Get("eksProperties").Get("podProperties")
	cpu, memory, gpus, ok := podRequest(pod)
	if !ok {
		return
	}
	var largest catalog.InstanceType
	for e := range s.pass.environmentsFor(s.Job) {
		entries := entriesOf(e.Node.Get(resourcesOf).Get("instanceTypes"))
		if e.Node.Get("eksConfiguration") == nil || len(entries) == 0 {
			return
		}
		for _, entry := range entries {
			types := s.pass.catalog().Expand(entry)
			if len(types) == 0 {
				return
			}
			for _, t := range types {
				usable, mib := usableOnNode(t)
				if cpu <= usable && memory <= mib && gpus <= t.GPUs {
					return
				}
				if t.VCPUs >= largest.VCPUs {
					largest = t
				}
			}
		}
	}
	if largest.Name == "" {
		return
	}
	usable, mib := usableOnNode(largest)
	s.Report(fmt.Sprintf("the pod asks for %s cpu and %d MiB; %s leaves about %s cpu and at most %d MiB to pods", decimal(cpu), memory, largest.Name, decimal(usable), mib),
		"ask for less, or add a larger instance type", pod.Get("containers").Index(0).Get("resources"), pod)
}

// sumTooBig warns of a task whose containers fit one by one and not together.
func (s Site) sumTooBig() {
	task := s.Known().Get("ecsProperties").Get("taskProperties").Index(0)
	list := task.Get("containers")
	if list.Len() < 2 {
		return
	}
	if r := s.pass.refused(s.Job); r != nil && (r.cause == catalog.TooManyVCPUs || r.cause == catalog.TooMuchMemory || r.cause == catalog.NominalMemory || r.cause == catalog.NotTogether || r.cause == catalog.TooManyGPUs) {
		s.Report(fmt.Sprintf("the %d containers of the task run on one instance: %s", list.Len(), r.message), "the sum has to fit", list)
	}
}
