package doctor

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/text"
)

// facts are what several checks use. They are gathered before the checks start.
type facts struct {
	kind                  HostKind
	system, image, kernel string
	// live means that the root has the kernel's files: the system is running, or was when the
	// files were collected.
	live bool
	// gpus are the GPUs on the PCI bus. gpuWhy tells why there is a GPU, or why there should be
	// one.
	gpus   []string
	gpu    bool
	gpuWhy []Evidence
	// loaded is the version of the driver; "" if none is loaded.
	loaded string
	// config is the agent's configuration; nil in a container.
	config *config
}

// presence returns whether there is a GPU; Unknown if the kernel's files are missing.
func (f *facts) presence() Presence {
	switch {
	case f.gpu:
		return Present
	case f.live:
		return Absent
	}
	return Unknown
}

// gatherFacts reads the facts.
func gatherFacts(p *probe) facts {
	release := variables(p.orEmpty("etc/os-release"))
	if len(release) == 0 {
		release = variables(p.orEmpty("usr/lib/os-release"))
	}
	f := facts{
		kind:   hostKind(p),
		system: clean(release["PRETTY_NAME"]),
		image:  clean(variables(p.orEmpty("etc/image-id"))["image_name"]),
		kernel: clean(p.firstLine("proc/sys/kernel/osrelease")),
		live:   p.firstOf("proc/sys/kernel/osrelease", "proc/modules", "proc/version", "proc/meminfo") != "",
		loaded: driverVersion(p),
	}
	// A container sees the host's bus and driver, so its own variables and devices count.
	if f.kind == Container {
		if v := p.Env("NVIDIA_VISIBLE_DEVICES"); givesGPU(v) {
			f.gpuWhy = append(f.gpuWhy, seen("NVIDIA_VISIBLE_DEVICES", v))
		}
		if p.exists("dev/nvidia0") {
			f.gpuWhy = append(f.gpuWhy, seen("/dev/nvidia0", "exists"))
		}
		f.gpu = len(f.gpuWhy) > 0
		return f
	}
	f.config = readConfig(p)
	f.gpus = pciGPUs(p)
	if len(f.gpus) > 0 {
		f.gpuWhy = append(f.gpuWhy, seen("/sys/bus/pci/devices", text.Count(len(f.gpus), "NVIDIA GPU")+": "+
			strings.Join(f.gpus, ", ")))
	}
	if f.loaded != "" {
		f.gpuWhy = append(f.gpuWhy, seen("NVIDIA driver", "loaded, "+f.loaded))
	}
	if s := f.config.get("ECS_ENABLE_GPU_SUPPORT"); s != nil && isTrue(s.value) {
		f.gpuWhy = append(f.gpuWhy, s.evidence())
	}
	if strings.Contains(f.image, "gpu") || strings.Contains(f.image, "nvidia") {
		f.gpuWhy = append(f.gpuWhy, seen("/etc/image-id", f.image))
	}
	f.gpu = len(f.gpuWhy) > 0
	return f
}

// hostKind determines the kind of host. Signs of a container count first: the agent's files may be
// mounted into it.
func hostKind(p *probe) HostKind {
	for _, name := range []string{"ECS_CONTAINER_METADATA_URI_V4", "ECS_CONTAINER_METADATA_URI", "AWS_BATCH_JOB_ID"} {
		if p.Env(name) != "" {
			return Container
		}
	}
	// With version 1 of control groups, the path of process 1 names the container.
	cgroup, _ := p.read("proc/1/cgroup")
	if p.firstOf(".dockerenv", "run/.containerenv") != "" ||
		strings.Contains(cgroup, "/docker/") || strings.Contains(cgroup, "/ecs/") ||
		strings.Contains(cgroup, "kubepods") {
		return Container
	}
	switch {
	case p.firstOf("etc/ecs/ecs.config", "var/lib/ecs/ecs.config", "etc/ecs", "var/lib/ecs",
		"usr/libexec/amazon-ecs-init") != "":
		return ECSInstance
	// The vendor of Nitro instances, and the uuid of Xen instances (EC2 user guide).
	case strings.HasPrefix(p.firstLine("sys/class/dmi/id/sys_vendor"), "Amazon EC2"),
		strings.HasPrefix(p.firstLine("sys/hypervisor/uuid"), "ec2"):
		return EC2Instance
	}
	return Machine
}

// variables parses NAME=value lines, as in os-release.
func variables(text string) map[string]string {
	all := map[string]string{}
	for _, line := range lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && !strings.HasPrefix(name, "#") {
			all[name] = strings.Trim(value, `"'`)
		}
	}
	return all
}

// roleURI returns the path of the job role's credentials at ECS.
func roleURI(p *probe) string { return p.Env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") }

// hasOwnRole reports whether the job has its own role: from ECS, or from its pod on EKS, in the
// variables that the SDKs read.
func hasOwnRole(p *probe) bool {
	return roleURI(p) != "" || p.Env("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "" ||
		p.Env("AWS_WEB_IDENTITY_TOKEN_FILE") != "" && p.Env("AWS_ROLE_ARN") != ""
}
