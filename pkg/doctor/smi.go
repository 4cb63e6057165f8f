package doctor

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
)

// smiReport is the output of nvidia-smi -q -x.
type smiReport struct {
	// driver is the version of the driver.
	driver string
	gpus   []smiGPU
}

// smiGPU is a GPU: the texts of its elements by their paths below <gpu>, such as
// ecc_errors/volatile/dram_uncorrectable. Names and positions differ between drivers.
type smiGPU map[string]string

// readSMI parses the XML of nvidia-smi.
func readSMI(text string) (smiReport, error) {
	var r smiReport
	var stack []string
	gpu := 0 // depth of the current <gpu>; 0 outside
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict = false // product names may have unescaped characters
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			if len(r.gpus) == 0 && r.driver == "" {
				return r, errors.New("it is not the XML of nvidia-smi")
			}
			return r, nil
		}
		if err != nil {
			return r, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			stack = append(stack, t.Name.Local)
			if t.Name.Local == "gpu" && gpu == 0 {
				gpu = len(stack)
				r.gpus = append(r.gpus, smiGPU{})
			}
		case xml.EndElement:
			if len(stack) == gpu {
				gpu = 0
			}
			stack = stack[:max(len(stack)-1, 0)]
		case xml.CharData:
			value := strings.TrimSpace(string(t))
			switch {
			case value == "" || len(stack) == 0:
			case gpu > 0 && len(stack) > gpu:
				r.gpus[len(r.gpus)-1][strings.Join(stack[gpu:], "/")] = value
			case stack[len(stack)-1] == "driver_version":
				r.driver = value
			}
		}
	}
}

// name returns the product name and the UUID.
func (g smiGPU) name() string {
	return strings.TrimSpace(clean(g["product_name"]) + " " + clean(g["uuid"]))
}

// uncorrectable counts the uncorrectable ECC errors since the driver was loaded, and returns the
// element with the count. Turing and later GPUs count SRAM and DRAM, older ones double bits.
func (g smiGPU) uncorrectable() (n int, where string) {
	for path, value := range g {
		if !strings.HasPrefix(path, "ecc_errors/volatile/") || !strings.Contains(path, "uncorrectable") && !strings.HasSuffix(path, "double_bit/total") {
			continue
		}
		if v, err := strconv.Atoi(value); err == nil && (v > n || v == n && v > 0 && path < where) {
			n, where = v, path
		}
	}
	return n, where
}

// slowed returns the active reasons of the hardware for lower clocks.
func (g smiGPU) slowed() []string {
	var active []string
	for _, reason := range []string{"hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown"} {
		// Newer drivers renamed the element.
		if g["clocks_event_reasons/clocks_event_reason_"+reason] == "Active" || g["clocks_throttle_reasons/clocks_throttle_reason_"+reason] == "Active" {
			active = append(active, reason)
		}
	}
	return active
}

const smiCommand = "nvidia-smi -q -x"

// smi runs nvidia-smi and judges its answer.
func (l *inspection) smi() {
	f := l.facts
	if !l.canAsk() || f.kind != Container && f.loaded == "" {
		return // the driver's check reports it
	}
	out, err := l.runFor(smiLimit, "nvidia-smi", "-q", "-x")
	r, bad := readSMI(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.noSMI()
	case errors.Is(err, context.DeadlineExceeded):
		l.problem("nvidia-smi-hangs", "nvidia-smi does not answer", "the driver or a GPU hangs: CUDA programs on it also hang and cannot be killed",
			"drain the instance and replace it; for details: sudo dmesg | grep -E 'NVRM|Xid'", seen(smiCommand, fmt.Sprintf("no answer within %v", l.within(smiLimit))))
	case err != nil || bad != nil:
		l.smiFailed(out, cmp.Or(err, bad))
	case len(r.gpus) == 0:
		l.problem("no-devices", "nvidia-smi finds no GPU", "the driver is loaded, but has no GPU", "replace the instance; see sudo dmesg | grep NVRM", seen(smiCommand, "0 GPUs"))
	default:
		l.ok("nvidia-smi", "nvidia-smi answers: driver "+clean(r.driver)+", "+plural(len(r.gpus), "GPU"), seen(smiCommand, clean(r.gpus[0].name())))
		for _, g := range r.gpus {
			l.gpuHealth(g)
		}
	}
}

// noSMI reports a missing nvidia-smi.
func (l *inspection) noSMI() {
	if l.facts.kind == Container {
		l.note("nvidia-smi-missing", "there is no nvidia-smi in this container", "it belongs to the driver's utilities: CUDA does not need it",
			"to get it: NVIDIA_DRIVER_CAPABILITIES=compute,utility in the image or the job")
		return
	}
	l.warning("nvidia-smi-missing", "the driver is loaded, but there is no nvidia-smi", "the driver's user space is missing or incomplete: containers get the wrong libraries",
		"install the user space of the same version as the module, or use the ECS GPU-optimized AMI", seen("NVIDIA driver", l.facts.loaded))
}

// smiFailed distinguishes the known failures.
func (l *inspection) smiFailed(out string, err error) {
	output := seen(smiCommand, strings.TrimSpace(firstLine(out)+" ("+err.Error()+")"))
	switch {
	case strings.Contains(out, "version mismatch"):
		l.problem("driver-library-mismatch", "the loaded driver and its libraries have different versions", "the packages were updated while the driver was loaded: no CUDA program starts, and ecs-init cannot start the agent",
			"reboot, or replace the instance; exclude NVIDIA's packages from automatic updates", output)
	case strings.Contains(out, "GPU is lost"), strings.Contains(out, "Unable to determine the device handle"), strings.Contains(out, "requires reset"):
		l.problem("gpu-lost", "a GPU no longer answers the driver", "it cannot be used until the machine is restarted, and often not even then", "drain the instance and replace it", output)
	// In a container, the driver answers to the host but not to the program (NVIDIA container
	// toolkit, troubleshooting).
	case strings.Contains(out, "Failed to initialize NVML: Unknown Error") && l.facts.kind == Container:
		l.problem("gpu-access-lost", "this container has lost its access to the GPU", "systemctl daemon-reload or an update on the host resets the devices that Docker allowed, so CUDA programs find no GPU until the container is started again",
			"start the job again; on the host, run no daemon-reload beside jobs, or set \"exec-opts\": [\"native.cgroupdriver=cgroupfs\"] in daemon.json", output)
	default:
		l.problem("nvidia-smi-fails", "nvidia-smi fails", "CUDA programs cannot use a GPU that nvidia-smi cannot query", "see sudo dmesg | grep NVRM; reload the driver or replace the instance", output)
	}
}

func firstLine(text string) string {
	if all := lines(text); len(all) > 0 {
		return all[0]
	}
	return ""
}

// gpuHealth checks one GPU.
func (l *inspection) gpuHealth(g smiGPU) {
	name := g.name()
	element := func(path string) Evidence { return seen(smiCommand, name+": "+path+" "+g[path]) }
	// Corrected errors are normal and are not reported.
	if n, where := g.uncorrectable(); n > 0 {
		l.problem("ecc-errors", "a GPU has had "+plural(n, "uncorrectable memory error"), "results may be wrong, and programs that touch the page end with Xid 48, 63 or 94",
			"drain the instance and replace it", element(where))
	}
	const rows = "remapped_rows/remapped_row_"
	if g[rows+"failure"] == "Yes" {
		l.problem("row-remap-failed", "a GPU has no spare memory rows left", "bad memory can no longer be disabled", "drain the instance and replace it", element(rows+"failure"))
	} else if g[rows+"pending"] == "Yes" {
		l.warning("row-remap-pending", "a GPU needs a reset to disable bad memory", "until then the bad rows are in use",
			"drain the instance, then reboot or replace it", element(rows+"pending"))
	}
	if a := g["gpu_recovery_action"]; a != "" && a != "None" && a != "N/A" {
		l.problem("gpu-needs-reset", "a GPU needs recovery: "+clean(a), "it does not work correctly until then", "drain the instance and replace it", element("gpu_recovery_action"))
	}
	if active := g.slowed(); len(active) > 0 {
		l.warning("gpu-throttled", "a GPU runs slower: "+strings.Join(active, ", "), "heat or power limits its clocks: measurements are wrong and jobs take longer",
			"check again under load; if this lasts, replace the instance", seen(smiCommand, name+": "+strings.Join(active, ", ")+" Active"))
	}
	if g["compute_mode"] == "Prohibited" {
		l.problem("compute-prohibited", "a GPU accepts no compute work", "CUDA programs find no device", "sudo nvidia-smi -c DEFAULT", element("compute_mode"))
	}
	if g["mig_mode/current_mig"] == "Enabled" {
		l.warning("mig-enabled", "MIG is on: a GPU is split", "the ECS agent registers whole GPUs, so a job may get one without a MIG instance",
			"turn it off if jobs request whole GPUs: sudo nvidia-smi -mig 0", element("mig_mode/current_mig"))
	}
	if g["persistence_mode"] == "Disabled" && l.facts.kind != Container {
		l.note("persistence-off", "persistence mode is off", "the driver unloads the state of an unused GPU, so each job takes seconds longer to start, and settings such as clocks are lost",
			"sudo systemctl enable --now nvidia-persistenced", element("persistence_mode"))
	}
}
