package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// stuckRules are about jobs that AWS Batch accepts and then leaves in RUNNABLE, as far
// as files of compute environments and queues show. queueRules compare jobs with the
// platform file.
func stuckRules() []*Rule {
	return []*Rule{
		warns(check("stuck-gpu-mixed-environment", Medium, onInstances, func(s Site) {
			list := s.Node.Get(resourcesOf).Get("instanceTypes")
			// gpu and other are the first entries of the two kinds.
			var gpu, other *jsontree.Node
			for n := range list.Children() {
				switch types := s.pass.instanceTypes().Expand(n.Str()); {
				case len(types) == 0:
				case slices.ContainsFunc(types, catalog.InstanceType.RunsGPUJobs):
					gpu = firstOf(gpu, n)
				default:
					other = firstOf(other, n)
				}
			}
			if gpu != nil && other != nil {
				s.Report(fmt.Sprintf("%s has GPUs but %s does not, so a GPU job may wait for the wrong instance",
					gpu.Str(), other.Str()), "create a separate environment for each", other)
			}
		}, "In an environment with both GPU instances and others, a GPU job may stay in RUNNABLE.", guide("GPU jobs"))),
		check("stuck-fargate-windows-spot", Medium, onWindows(bodies), func(s Site) {
			if !s.Fargate {
				return
			}
			some := false
			for e := range s.environments() {
				if e.resourceType() != "FARGATE_SPOT" {
					return
				}
				some = true
			}
			if some {
				s.Report("Windows containers do not run on FARGATE_SPOT, and the queue has no other environment",
					`submit it to a queue of "type": "FARGATE"`, s.Task.Get("runtimePlatform").
						Get("operatingSystemFamily"))
			}
		}, "Fargate Spot does not run Windows, so such a job blocks a queue that has only Fargate Spot.",
			api("RuntimePlatform.operatingSystemFamily")).
			quoting("A job queue will be blocked if a Windows job is submitted to a job queue with only Fargate Spot compute environments.").onlyWith("runtimePlatform"),
		warns(row("stuck-no-network-path", Medium, in(fargateResources, resourcesOf),
			func(s Site, n *jsontree.Node, _ string) {
				if !onlyPublicSubnets(n) {
					return
				}
				// on holds the definitions that may run here, with their Fargate.
				on := map[*jsontree.Node]bool{}
				for _, d := range (environment{s}).definitions() {
					on[d.Register] = d.Fargate
				}
				for _, b := range bodies(s.pass) {
					if on[b.Register] && b.Node.Get("networkConfiguration").Get("assignPublicIp").Str() != "ENABLED" {
						s.Report("the subnets have public names, but the jobs have no public IP address",
							`write "assignPublicIp": "ENABLED", or use private subnets`, n.Get("subnets"))
						return
					}
				}
			}, "Jobs need a network path to Amazon ECS: a public address, a NAT gateway or endpoints. batchctl reports this only if names of subnets contain \"public\".", guide("jobs stuck in RUNNABLE"))),
		warns(check("stuck-awslogs-custom-ami", Medium, onInstances, func(s Site) {
			c := s.Node.Get(resourcesOf)
			n := c.Get("imageId")
			path("ec2Configuration[].imageIdOverride").walk(c, func(o *jsontree.Node) { n = firstOf(n, o) })
			if n.Str() != "" && s.Node.Get("eksConfiguration") == nil { // an EKS node has no ECS agent
				s.Report("if a custom image does not list awslogs in ECS_AVAILABLE_LOGGING_DRIVERS, jobs stay in RUNNABLE", "check the image, or use an AWS image", n)
			}
		}, "The default log driver of jobs is awslogs. AWS Batch does not place them on an instance whose agent does not offer it.", guide("jobs stuck in RUNNABLE"))),
		check("stuck-vcpu-quota", Low, onFargate(wholes), func(s Site) {
			n := requirementOf(s.Node, "VCPU")
			if v, ok := number(n); ok && v > 6 && v <= 32 && !s.pass.listsQueues() {
				s.Report(n.Text+" vCPU is more than the initial Fargate quota of 6", "check the quota of the account",
					n)
			}
		}, "The quota of vCPUs on Fargate starts at 6 per Region. A larger job waits until the quota is raised. batchctl does not report this if a platform file "+
			"describes the account.", "AWS Fargate service quotas").onlyWith("platformCapabilities"),
		check("stuck-eks-node-overhead", Medium, definitions, checkNodeOverhead,
			"A node reserves cpu and memory for itself, so a pod that requests all of an instance never starts.",
			guide("Amazon EKS compute resource memory management")).
			quoting("In this example, an 8,192 MiB job doesn't fit on this instance even though it's an 8 gibibyte (GiB) instance.").onlyWith("eksProperties"),
	}
}

// onlyPublicSubnets reports whether the names of all subnets contain "public". Ids contain
// no such name, but templates and drafts often have names instead of ids.
func onlyPublicSubnets(c *jsontree.Node) bool {
	list := entriesOf(c.Get("subnets"))
	return len(list) > 0 && !slices.ContainsFunc(list,
		func(s string) bool { return !strings.Contains(strings.ToLower(s), "public") })
}

// podRequest returns the sum of the requests of a pod's containers. ok is false if a
// container has no request.
func podRequest(pod *jsontree.Node) (cpu float64, memoryMiB, gpus int, ok bool) {
	if pod == nil {
		return 0, 0, 0, false
	}
	for _, c := range each(pod, "containers") {
		r := c.Get("resources")
		quantityOf := func(name string) *jsontree.Node {
			return firstOf(r.Get("requests").Get(name), r.Get("limits").Get(name))
		}
		v, okV := number(quantityOf("cpu"))
		var mib int
		_, err := fmt.Sscanf(quantityOf("memory").Str(), "%dMi", &mib)
		if !okV || err != nil || v > 1<<20 || mib > 1<<30 {
			return 0, 0, 0, false
		}
		g, _ := number(quantityOf(gpuKey))
		cpu, memoryMiB, gpus, ok = cpu+v, memoryMiB+mib, gpus+int(min(g, 1024)), true
	}
	return cpu, memoryMiB, gpus, ok
}

// checkNodeOverhead compares a pod with the nodes of its environments.
func checkNodeOverhead(s Site) {
	pod := s.Node.Get("eksProperties").Get("podProperties")
	cpu, memory, gpus, ok := podRequest(pod)
	if !ok {
		return
	}
	// If the pod fits no type, the message compares it with the largest.
	var largest catalog.InstanceType
	for e := range s.environments() {
		entries := entriesOf(e.Node.Get(resourcesOf).Get("instanceTypes"))
		if e.Node.Get("eksConfiguration") == nil || len(entries) == 0 {
			return
		}
		for _, entry := range entries {
			types := s.pass.instanceTypes().Expand(entry)
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
	s.Report(fmt.Sprintf("the pod requests %s cpu and %d MiB; %s has about %s cpu and at most %d MiB for pods",
		decimal(cpu), memory, largest.Name, decimal(usable), mib),
		"request less, or add a larger instance type", pod.Get("containers").Index(0).Get("resources"), pod)
}

// checkTaskSum warns about a task whose containers fit separately but not together.
func checkTaskSum(s Site) {
	task := s.Known().Get("ecsProperties").Get("taskProperties").Index(0)
	list := task.Get("containers")
	if list.Len() < 2 {
		return
	}
	if r := s.pass.refused(s.Job); r != nil && (r.cause == catalog.TooManyVCPUs || r.cause == catalog.TooMuchMemory ||
		r.cause == catalog.NominalMemory || r.cause == catalog.NotTogether || r.cause == catalog.TooManyGPUs) {
		s.Report(fmt.Sprintf("the %d containers of the task run on one instance: %s", list.Len(), r.message),
			"reduce the sum of the requests", list)
	}
}
