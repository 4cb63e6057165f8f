package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/text"
)

// smiLimit is the time limit of nvidia-smi. Without persistence mode the driver initializes
// each GPU for it, which takes a second or two, and hosts have up to 16.
const smiLimit = 30 * time.Second

// gpuCheck examines the state of the GPUs, from nvidia-smi.
type gpuCheck struct {
	host   *probe
	report *findings
	kind   HostKind
	// loaded is the version of the driver.
	loaded string
}

// checkGPUs is the check of the topic gpu.
func checkGPUs(in *inspection) {
	c := gpuCheck{in.host, in.report, in.facts.kind, in.facts.loaded}
	c.check()
}

// check runs nvidia-smi and judges its answer.
func (c *gpuCheck) check() {
	if !c.host.canAsk() || c.kind != Container && c.loaded == "" {
		return // the driver's check reports it
	}
	out, err := c.host.runFor(smiLimit, "nvidia-smi", "-q", "-x")
	r, bad := readSMI(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.noSMI()
	case errors.Is(err, context.DeadlineExceeded):
		c.report.problem("nvidia-smi-hangs", "nvidia-smi does not answer",
			"the driver or a GPU hangs: CUDA programs on it also hang and cannot be killed",
			"drain the instance and replace it; for details: sudo dmesg | grep -E 'NVRM|Xid'",
			seen(smiCommand, fmt.Sprintf("no answer within %v", c.host.within(smiLimit))))
	case err != nil || bad != nil:
		c.smiFailed(out, cmp.Or(err, bad))
	case len(r.gpus) == 0:
		c.report.problem("no-devices", "nvidia-smi finds no GPU", "the driver is loaded, but has no GPU",
			"replace the instance; see sudo dmesg | grep NVRM", seen(smiCommand, "0 GPUs"))
	default:
		c.report.ok("nvidia-smi", "nvidia-smi answers: driver "+clean(r.driver)+", "+text.Count(len(r.gpus), "GPU"),
			seen(smiCommand, clean(r.gpus[0].name())))
		for _, g := range r.gpus {
			c.gpuHealth(g)
		}
	}
}

// noSMI reports a missing nvidia-smi.
func (c *gpuCheck) noSMI() {
	if c.kind == Container {
		c.report.note("nvidia-smi-missing", "there is no nvidia-smi in this container",
			"it belongs to the driver's utilities: CUDA does not need it",
			"to get it: NVIDIA_DRIVER_CAPABILITIES=compute,utility in the image or the job")
		return
	}
	c.report.warning("nvidia-smi-missing", "the driver is loaded, but there is no nvidia-smi",
		"the driver's user space is missing or incomplete: containers get the wrong libraries",
		"install the user space of the same version as the module, or use the ECS GPU-optimized AMI",
		seen("NVIDIA driver", c.loaded))
}

// smiFailed distinguishes the known failures.
func (c *gpuCheck) smiFailed(out string, err error) {
	output := seen(smiCommand, strings.TrimSpace(firstLine(out)+" ("+err.Error()+")"))
	switch {
	case strings.Contains(out, "version mismatch"):
		c.report.problem("driver-library-mismatch", "the loaded driver and its libraries have different versions",
			"the packages were updated while the driver was loaded: no CUDA program starts, and ecs-init cannot start the agent",
			"reboot, or replace the instance; exclude NVIDIA's packages from automatic updates", output)
	case strings.Contains(out, "GPU is lost"), strings.Contains(out, "Unable to determine the device handle"),
		strings.Contains(out, "requires reset"):
		c.report.problem("gpu-lost", "a GPU no longer answers the driver",
			"it cannot be used until the machine is restarted, and often not even then",
			"drain the instance and replace it", output)
	// In a container, the driver answers to the host but not to the program (NVIDIA container
	// toolkit, troubleshooting).
	case strings.Contains(out, "Failed to initialize NVML: Unknown Error") && c.kind == Container:
		c.report.problem("gpu-access-lost", "this container has lost its access to the GPU",
			"systemctl daemon-reload or an update on the host resets the devices that Docker allowed, so CUDA programs find no GPU until the container is started again",
			"start the job again; on the host, run no daemon-reload beside jobs, or set \"exec-opts\": [\"native.cgroupdriver=cgroupfs\"] in daemon.json", output)
	default:
		c.report.problem("nvidia-smi-fails", "nvidia-smi fails",
			"CUDA programs cannot use a GPU that nvidia-smi cannot query",
			"see sudo dmesg | grep NVRM; reload the driver or replace the instance", output)
	}
}

// gpuHealth checks one GPU.
func (c *gpuCheck) gpuHealth(g smiGPU) {
	name := g.name()
	element := func(path string) Evidence { return seen(smiCommand, name+": "+path+" "+g[path]) }
	// Corrected errors are normal and are not reported.
	if n, where := g.uncorrectable(); n > 0 {
		c.report.problem("ecc-errors", "a GPU has had "+text.Count(n, "uncorrectable memory error"),
			"results may be wrong, and programs that touch the page end with Xid 48, 63 or 94",
			"drain the instance and replace it", element(where))
	}
	const rows = "remapped_rows/remapped_row_"
	if g[rows+"failure"] == "Yes" {
		c.report.problem("row-remap-failed", "a GPU has no spare memory rows left",
			"bad memory can no longer be disabled", "drain the instance and replace it", element(rows+"failure"))
	} else if g[rows+"pending"] == "Yes" {
		c.report.warning("row-remap-pending", "a GPU needs a reset to disable bad memory",
			"until then the bad rows are in use",
			"drain the instance, then reboot or replace it", element(rows+"pending"))
	}
	if a := g["gpu_recovery_action"]; a != "" && a != "None" && a != "N/A" {
		c.report.problem("gpu-needs-reset", "a GPU needs recovery: "+clean(a), "it does not work correctly until then",
			"drain the instance and replace it", element("gpu_recovery_action"))
	}
	if active := g.slowed(); len(active) > 0 {
		c.report.warning("gpu-throttled", "a GPU runs slower: "+strings.Join(active, ", "),
			"heat or power limits its clocks, so jobs take longer and measurements are not comparable",
			"check again under load; if this lasts, replace the instance",
			seen(smiCommand, name+": "+strings.Join(active, ", ")+" Active"))
	}
	if g["compute_mode"] == "Prohibited" {
		c.report.problem("compute-prohibited", "a GPU accepts no compute work", "CUDA programs find no device",
			"sudo nvidia-smi -c DEFAULT", element("compute_mode"))
	}
	if g["mig_mode/current_mig"] == "Enabled" {
		c.report.warning("mig-enabled", "MIG is on: a GPU is split",
			"the ECS agent registers whole GPUs, so a job may get one without a MIG instance",
			"turn it off if jobs request whole GPUs: sudo nvidia-smi -mig 0", element("mig_mode/current_mig"))
	}
	if g["persistence_mode"] == "Disabled" && c.kind != Container {
		c.report.note("persistence-off", "persistence mode is off",
			"the driver unloads the state of an unused GPU, so each job takes seconds longer to start, and settings such as clocks are lost",
			"sudo systemctl enable --now nvidia-persistenced", element("persistence_mode"))
	}
}
