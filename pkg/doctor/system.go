package doctor

import (
	"strings"
)

// systemCheck examines the machine image and the kernel.
type systemCheck struct {
	host   *probe
	report *findings
	facts  *facts
}

// checkSystem is the check of the topic system.
func checkSystem(in *inspection) {
	c := systemCheck{in.host, in.report, in.facts}
	c.check()
}

// check reports the machine image and the kernel.
func (c *systemCheck) check() {
	f := c.facts
	switch f.presence() {
	case Unknown:
		c.host.skip("GPU", "this root has no /proc and /sys, which show whether there is a GPU")
	case Absent:
		c.report.note("no-gpu", "there is no NVIDIA GPU, and no configuration that needs one: the GPU checks were skipped",
			"a job that requests GPUs waits for an instance type with GPUs",
			"on a GPU host, check the PCI bus: lspci -d 10de:")
	}
	if f.kind == EC2Instance {
		c.report.note("no-ecs-agent", "this instance has no ECS agent", "AWS Batch and Amazon ECS place no jobs on it",
			"use an ECS-optimized AMI, or install ecs-init in the image", seen("/etc/ecs, /var/lib/ecs", "missing"))
	}
	if f.system == "" && f.image == "" {
		return
	}
	if strings.HasPrefix(f.system, "Amazon Linux 2") && !strings.HasPrefix(f.system, "Amazon Linux 2023") &&
		f.kind != Container {
		c.report.warning("amazon-linux-2", "the machine image is Amazon Linux 2, whose support ended on 2026-06-30",
			"it gets no more security fixes, and newer drivers and agents are not built for it",
			"use the AL2023 image: imageType ECS_AL2023_NVIDIA for GPUs, ECS_AL2023 otherwise",
			at("etc/os-release", f.system))
		return
	}
	c.report.ok("system", strings.Join(nonEmpty(f.system, f.image, f.kernel), ", "))
}
