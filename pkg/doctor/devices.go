package doctor

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/text"
)

// devicesCheck examines the GPUs and libraries of a container.
type devicesCheck struct {
	host   *probe
	report *findings
	gpu    bool
}

// checkDevices is the check of the topic devices.
func checkDevices(in *inspection) {
	c := devicesCheck{in.host, in.report, in.facts.gpu}
	c.check()
}

// check examines the GPUs and libraries in a container.
func (c *devicesCheck) check() {
	if !c.gpu {
		return // the check system reports it
	}
	visible := c.host.Env("NVIDIA_VISIBLE_DEVICES")
	evidence := seen("NVIDIA_VISIBLE_DEVICES", orElse(visible, "not set"))
	cards := gpuDevices(c.host)
	// Device nodes appear only if Docker's runtime nvidia has handled the container.
	switch asked := named(visible); {
	case asked > 0 && len(cards) < asked:
		c.report.problem("container-without-gpu", fmt.Sprintf("the job was assigned %s, but the container has %d",
			text.Count(asked, "GPU"), len(cards)), "Docker's runtime nvidia did not add them: CUDA finds no device",
			"run batchctl doctor on the host; its Docker needs the runtime nvidia", evidence,
			seen("/dev", orElse(strings.Join(cards, ", "), "no nvidia0")))
	case asked == 0 && len(cards) == 0:
		c.report.warning("container-without-gpu", "the image requests GPUs, but the container has none",
			"NVIDIA's images always set the variable; the job did not request a GPU, or Docker has no runtime nvidia",
			`"gpus": 1 in the job file (resourceRequirements GPU)`, evidence, seen("/dev", "no nvidia0"))
	default:
		c.report.ok("container-gpus", text.Count(len(cards), "GPU")+" in the container", evidence,
			seen("/dev", strings.Join(cards, ", ")))
	}
	c.capabilities(len(cards) > 0)
	c.libcuda(len(cards) > 0)
}

// named counts the GPUs in a value of NVIDIA_VISIBLE_DEVICES that are named by UUID, as the ECS
// agent does for a job that requests GPUs. It is 0 for "all" and other forms.
func named(value string) int {
	n := 0
	for _, w := range strings.Split(value, ",") {
		if strings.HasPrefix(strings.TrimSpace(w), "GPU-") {
			n++
		}
	}
	return n
}

// capabilities checks NVIDIA_DRIVER_CAPABILITIES, which selects the driver's libraries to mount.
// The default is utility and compute.
func (c *devicesCheck) capabilities(gpu bool) {
	value := c.host.Env("NVIDIA_DRIVER_CAPABILITIES")
	has := strings.Split(strings.ReplaceAll(value, " ", ""), ",")
	evidence := seen("NVIDIA_DRIVER_CAPABILITIES", orElse(value, "not set"))
	switch {
	case value == "":
		c.report.ok("driver-capabilities", "the container gets the driver's libraries for CUDA by default", evidence)
	case slices.Contains(has, "all"), slices.Contains(has, "compute"):
		c.report.ok("driver-capabilities", "the container requests the driver's libraries for CUDA", evidence)
	case gpu:
		c.report.problem("no-compute-capability", "NVIDIA_DRIVER_CAPABILITIES does not contain compute",
			"libcuda is not mounted: CUDA finds no driver",
			"NVIDIA_DRIVER_CAPABILITIES=compute,utility in the image or the job's environment", evidence)
	}
}

// libcuda checks the driver's library where the container toolkit mounts it.
func (c *devicesCheck) libcuda(gpu bool) {
	var found []string
	for _, dir := range []string{"usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib",
		"lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "usr/local/nvidia/lib64", "usr/local/nvidia/lib"} {
		found = append(found, c.host.glob(dir+"/libcuda.so.1")...)
	}
	// The toolkit mounts over placeholder files, which a build can leave in the image.
	var empty []string
	for _, name := range found {
		if info, err := fs.Stat(c.host.FS, name); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
			empty = append(empty, name)
		}
	}
	switch {
	case len(empty) > 0:
		c.report.problem("libcuda-empty", "libcuda in the image is an empty file",
			"building the image with the runtime nvidia left it there: programs load it and fail with \"file too short\"",
			"remove it in the image: rm /"+empty[0], at(empty[0], "0 bytes"))
	case len(found) > 0:
		c.report.ok("libcuda", "the driver's library is in the container", at(found[0], "exists"))
	case gpu:
		c.report.problem("libcuda-missing", "libcuda.so.1 is not in the container",
			"the GPU's device exists, but the driver's library does not: CUDA programs report that no driver is installed",
			"NVIDIA_DRIVER_CAPABILITIES=compute,utility; and run the container with Docker's runtime nvidia",
			seen("/usr/lib", "no libcuda.so.1"))
	}
}
