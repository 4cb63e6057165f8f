package doctor

import (
	"strconv"
	"strings"
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

// gather reads the facts.
func (l *inspection) gather() facts {
	release := variables(l.orEmpty("etc/os-release"))
	if len(release) == 0 {
		release = variables(l.orEmpty("usr/lib/os-release"))
	}
	f := facts{
		kind:   l.kind(),
		system: clean(release["PRETTY_NAME"]),
		image:  clean(variables(l.orEmpty("etc/image-id"))["image_name"]),
		kernel: clean(l.firstLine("proc/sys/kernel/osrelease")),
		live:   l.firstOf("proc/sys/kernel/osrelease", "proc/modules", "proc/version", "proc/meminfo") != "",
		loaded: l.driverVersion(),
	}
	// A container sees the host's bus and driver, so its own variables and devices count.
	if f.kind == Container {
		if v := l.Env("NVIDIA_VISIBLE_DEVICES"); givesGPU(v) {
			f.gpuWhy = append(f.gpuWhy, seen("NVIDIA_VISIBLE_DEVICES", v))
		}
		if l.exists("dev/nvidia0") {
			f.gpuWhy = append(f.gpuWhy, seen("/dev/nvidia0", "exists"))
		}
		f.gpu = len(f.gpuWhy) > 0
		return f
	}
	f.config = l.readConfig()
	f.gpus = l.pciGPUs()
	if len(f.gpus) > 0 {
		f.gpuWhy = append(f.gpuWhy, seen("/sys/bus/pci/devices", plural(len(f.gpus), "NVIDIA GPU")+": "+strings.Join(f.gpus, ", ")))
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

// orEmpty returns a file's text; "" if it cannot be read.
func (l *inspection) orEmpty(name string) string {
	text, _ := l.read(name)
	return text
}

// kind determines the kind of host. Signs of a container count first: the agent's files may be
// mounted into it.
func (l *inspection) kind() HostKind {
	for _, name := range []string{"ECS_CONTAINER_METADATA_URI_V4", "ECS_CONTAINER_METADATA_URI", "AWS_BATCH_JOB_ID"} {
		if l.Env(name) != "" {
			return Container
		}
	}
	// With version 1 of control groups, the path of process 1 names the container.
	cgroup, _ := l.read("proc/1/cgroup")
	if l.firstOf(".dockerenv", "run/.containerenv") != "" ||
		strings.Contains(cgroup, "/docker/") || strings.Contains(cgroup, "/ecs/") || strings.Contains(cgroup, "kubepods") {
		return Container
	}
	switch {
	case l.firstOf("etc/ecs/ecs.config", "var/lib/ecs/ecs.config", "etc/ecs", "var/lib/ecs", "usr/libexec/amazon-ecs-init") != "":
		return ECSInstance
	// The vendor of Nitro instances, and the uuid of Xen instances (EC2 user guide).
	case strings.HasPrefix(l.firstLine("sys/class/dmi/id/sys_vendor"), "Amazon EC2"), strings.HasPrefix(l.firstLine("sys/hypervisor/uuid"), "ec2"):
		return EC2Instance
	}
	return Machine
}

// pciGPUs returns the addresses of NVIDIA's GPUs: PCI vendor 10de, class 0300 or
// 0302. NVSwitches have another class.
func (l *inspection) pciGPUs() (addresses []string) {
	for _, name := range l.glob("sys/bus/pci/devices/*/vendor") {
		dir := strings.TrimSuffix(name, "/vendor")
		class := l.firstLine(dir + "/class")
		if l.firstLine(name) == "0x10de" && (strings.HasPrefix(class, "0x0300") || strings.HasPrefix(class, "0x0302")) {
			addresses = append(addresses, dir[strings.LastIndex(dir, "/")+1:])
		}
	}
	return addresses
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

// system reports the machine image and the kernel.
func (l *inspection) system() {
	f := l.facts
	switch f.presence() {
	case Unknown:
		l.skip("GPU", "this root has no /proc and /sys, which show whether there is a GPU")
	case Absent:
		l.note("no-gpu", "there is no NVIDIA GPU, and no configuration that needs one: the GPU checks were skipped",
			"a job that requests GPUs waits for an instance type with GPUs", "on a GPU host, check the PCI bus: lspci -d 10de:")
	}
	if f.kind == EC2Instance {
		l.note("no-ecs-agent", "this instance has no ECS agent", "AWS Batch and Amazon ECS place no jobs on it", "use an ECS-optimized AMI, or install ecs-init in the image", seen("/etc/ecs, /var/lib/ecs", "missing"))
	}
	if f.system == "" && f.image == "" {
		return
	}
	if strings.HasPrefix(f.system, "Amazon Linux 2") && !strings.HasPrefix(f.system, "Amazon Linux 2023") && f.kind != Container {
		l.warning("amazon-linux-2", "the machine image is Amazon Linux 2, whose support ended on 2026-06-30",
			"it gets no more security fixes, and newer drivers and agents are not built for it",
			"use the AL2023 image: imageType ECS_AL2023_NVIDIA for GPUs, ECS_AL2023 otherwise", at("etc/os-release", f.system))
		return
	}
	l.ok("system", strings.Join(nonEmpty(f.system, f.image, f.kernel), ", "))
}

// nonEmpty returns the texts that are not empty.
func nonEmpty(texts ...string) (out []string) {
	for _, w := range texts {
		if w != "" {
			out = append(out, w)
		}
	}
	return out
}

// plural formats a number with its unit, such as "2 GPUs".
func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}
