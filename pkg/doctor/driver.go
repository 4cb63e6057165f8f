package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/text"
)

// driverCheck examines NVIDIA's driver and its device nodes.
type driverCheck struct {
	host   *probe
	report *findings
	facts  *facts
}

// checkDriver is the check of the topic driver.
func checkDriver(in *inspection) {
	c := driverCheck{in.host, in.report, in.facts}
	c.check()
}

// check examines the kernel module and the device nodes.
func (c *driverCheck) check() {
	f := c.facts
	if !f.live {
		c.host.skip("driver", "this root has no /proc, which shows whether the driver is loaded")
		return
	}
	if f.loaded == "" {
		c.notLoaded()
		return
	}
	c.report.ok("driver-loaded", "the NVIDIA driver is loaded: "+f.loaded)
	c.deviceNodes()
}

// notLoaded reports a missing driver with its likely cause.
func (c *driverCheck) notLoaded() {
	f := c.facts
	why := "the GPUs cannot be used: ecs-init finds none for the agent, no GPU is registered, and GPU jobs stay in RUNNABLE"
	remedy := "use an image with the driver (the ECS GPU-optimized AMI, imageType ECS_AL2023_NVIDIA), or load it: sudo modprobe nvidia; then check dmesg"
	evidence := slices.Clone(f.gpuWhy)
	// The most specific cause comes first: nouveau, another kernel, an image without driver.
	switch built := c.builtFor(); {
	case moduleLoaded(c.host, "nouveau"):
		evidence = append(evidence, at("proc/modules", "nouveau is loaded"))
		remedy = "nouveau uses the GPU: blacklist it (/etc/modprobe.d), rebuild the initramfs, and reboot; or use the ECS GPU-optimized AMI"
	case f.kernel != "" && len(built) > 0 && !slices.Contains(built, f.kernel):
		evidence = append(evidence, at("lib/modules", "nvidia.ko is built for "+strings.Join(built, ", ")+
			"; the running kernel is "+f.kernel))
		remedy = "the kernel was updated without its driver: reboot into the old kernel, or rebuild the module (sudo dkms autoinstall); pin both in the image"
	case f.image != "" && !strings.Contains(f.image, "gpu") && !strings.Contains(f.image, "nvidia"):
		evidence = append(evidence, at("etc/image-id", f.image+", an image without the driver"))
	}
	c.report.problem("driver-not-loaded", "the NVIDIA driver is not loaded", why, remedy, evidence...)
}

// builtFor returns the kernels that a driver's module was built for.
func (c *driverCheck) builtFor() (kernels []string) {
	// The directories of kmod packages, of DKMS, and of distributions' own modules.
	for _, dir := range []string{"extra", "extra/nvidia", "updates", "updates/dkms", "kernel/drivers/video",
		"kernel/drivers/video/nvidia"} {
		for _, name := range append(c.host.glob("lib/modules/*/"+dir+"/nvidia.ko*"),
			c.host.glob("usr/lib/modules/*/"+dir+"/nvidia.ko*")...) {
			_, rest, _ := strings.Cut(name, "modules/")
			kernel, _, _ := strings.Cut(rest, "/")
			if !slices.Contains(kernels, kernel) {
				kernels = append(kernels, kernel)
			}
		}
	}
	return kernels
}

// deviceNodes compares the device nodes with the GPUs on the PCI bus.
func (c *driverCheck) deviceNodes() {
	f := c.facts
	if !c.host.exists("dev/null") {
		c.host.skip("device nodes", "this root has no /dev")
		return
	}
	cards := gpuDevices(c.host)
	var missing []string
	if !c.host.exists("dev/nvidiactl") {
		missing = append(missing, "/dev/nvidiactl")
	}
	if len(cards) == 0 {
		missing = append(missing, "/dev/nvidia0")
	}
	if len(missing) > 0 {
		c.report.problem("device-nodes-missing", "device nodes of the driver are missing: "+strings.Join(missing, ", "),
			"neither nvidia-smi nor a container can open the GPU",
			"create them: sudo nvidia-modprobe -c 0 -u; to create them at every start: sudo systemctl enable --now nvidia-persistenced",
			seen("/dev", "the driver "+f.loaded+" is loaded, but "+strings.Join(missing, ", ")+" does not exist"))
		return
	}
	// The bus still lists a GPU that the driver has lost (Xid 79).
	if len(f.gpus) > len(cards) {
		c.report.problem("gpu-lost", fmt.Sprintf("the PCI bus has %s, but the driver shows %d",
			text.Count(len(f.gpus), "GPU"), len(cards)),
			"a GPU that the driver has lost cannot be used, and the agent registers too few",
			"find the cause: sudo dmesg | grep NVRM; replace the instance",
			seen("/sys/bus/pci/devices", strings.Join(f.gpus, ", ")), seen("/dev", strings.Join(cards, ", ")))
		return
	}
	// CUDA needs unified memory; nvidia-smi does not, so it works without this node.
	if !c.host.exists("dev/nvidia-uvm") {
		c.report.warning("uvm-missing", "/dev/nvidia-uvm is missing",
			"CUDA programs cannot start (cuInit reports an unknown error) until the node exists; nvidia-container-cli usually creates it with the first GPU container",
			"create it: sudo nvidia-modprobe -c 0 -u", seen("/dev", strings.Join(cards, ", ")+", but no nvidia-uvm"))
		return
	}
	c.report.ok("device-nodes", text.Count(len(cards), "GPU")+" with device nodes",
		seen("/dev", strings.Join(cards, ", ")))
}
