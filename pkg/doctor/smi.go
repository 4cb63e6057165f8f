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

// smiReport is what nvidia-smi -q -x says.
type smiReport struct {
	driver string
	gpus   []smiGPU
}

// smiGPU is a GPU: its elements' texts by their paths below <gpu>, such as
// ecc_errors/volatile/dram_uncorrectable. Names and places differ between drivers.
type smiGPU map[string]string

// readSMI reads the XML of nvidia-smi.
func readSMI(text string) (smiReport, error) {
	var r smiReport
	var stack []string
	gpu := 0 // how deep <gpu> stands; 0 outside
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict = false
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

// name is what people call the GPU.
func (g smiGPU) name() string {
	return strings.TrimSpace(clean(g["product_name"]) + " " + clean(g["uuid"]))
}

// uncorrectable counts the ECC errors since the driver was loaded that could not be
// corrected, and says where the count stands. Turing and later count SRAM and DRAM,
// older ones double bits.
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

// slowed returns the reasons of the hardware for lower clocks that are active now.
func (g smiGPU) slowed() []string {
	var active []string
	for _, reason := range []string{"hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown"} {
		if g["clocks_event_reasons/clocks_event_reason_"+reason] == "Active" || g["clocks_throttle_reasons/clocks_throttle_reason_"+reason] == "Active" {
			active = append(active, reason)
		}
	}
	return active
}

const smiCommand = "nvidia-smi -q -x"

// smi asks nvidia-smi.
func (l *inspection) smi() {
	f := l.facts
	if !l.canAsk() || f.kind != Container && f.loaded == "" {
		return // the driver's own check has said so
	}
	out, err := l.runFor(smiLimit, "nvidia-smi", "-q", "-x")
	r, bad := readSMI(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.noSMI()
	case errors.Is(err, context.DeadlineExceeded):
		l.problem("nvidia-smi-hangs", "nvidia-smi does not answer", "the driver or a GPU hangs: CUDA programs on it hang too, and cannot be killed",
			"drain the instance and replace it; the kernel's log says more: sudo dmesg | grep -E 'NVRM|Xid'", seen(smiCommand, fmt.Sprintf("no answer within %v", l.within(smiLimit))))
	case err != nil || bad != nil:
		l.smiFailed(out, cmp.Or(err, bad))
	case len(r.gpus) == 0:
		l.problem("no-devices", "nvidia-smi finds no GPU", "the driver is loaded and has no GPU to drive", "replace the instance; see sudo dmesg | grep NVRM", seen(smiCommand, "0 GPUs"))
	default:
		l.ok("nvidia-smi", "nvidia-smi answers: driver "+clean(r.driver)+", "+plural(len(r.gpus), "GPU"), seen(smiCommand, clean(r.gpus[0].name())))
		for _, g := range r.gpus {
			l.gpuHealth(g)
		}
	}
}

func (l *inspection) noSMI() {
	if l.facts.kind == Container {
		l.note("nvidia-smi-missing", "there is no nvidia-smi in this container", "it is mounted with the driver's utilities: CUDA does not need it",
			"to have it: NVIDIA_DRIVER_CAPABILITIES=compute,utility in the image or the job")
		return
	}
	l.warning("nvidia-smi-missing", "the driver is loaded and there is no nvidia-smi", "the driver's user space is not, or not wholly, installed: containers get libraries that do not fit",
		"install the user space of the same version as the module, or use the ECS GPU-optimized AMI", seen("NVIDIA driver", l.facts.loaded))
}

// smiFailed tells the known ways of failing apart.
func (l *inspection) smiFailed(out string, err error) {
	said := seen(smiCommand, strings.TrimSpace(firstLine(out)+" ("+err.Error()+")"))
	switch {
	case strings.Contains(out, "version mismatch"):
		l.problem("driver-library-mismatch", "the loaded driver and its libraries are of two versions", "the packages were updated under a running driver: no CUDA program begins, and ecs-init fails to start the agent",
			"reboot, or replace the instance; keep automatic updates off NVIDIA's packages", said)
	case strings.Contains(out, "GPU is lost"), strings.Contains(out, "Unable to determine the device handle"), strings.Contains(out, "requires reset"):
		l.problem("gpu-lost", "a GPU no longer answers the driver", "it takes no work until the machine is started anew, often not even then", "drain the instance and replace it", said)
	default:
		l.problem("nvidia-smi-fails", "nvidia-smi fails", "what nvidia-smi cannot reach, CUDA programs cannot either", "see sudo dmesg | grep NVRM; reload the driver or replace the instance", said)
	}
}

func firstLine(text string) string {
	if all := lines(text); len(all) > 0 {
		return all[0]
	}
	return ""
}

// gpuHealth looks at one GPU.
func (l *inspection) gpuHealth(g smiGPU) {
	name := g.name()
	said := func(path string) Evidence { return seen(smiCommand, name+": "+path+" "+g[path]) }
	if n, where := g.uncorrectable(); n > 0 {
		l.problem("ecc-errors", "a GPU has had "+plural(n, "uncorrectable memory error"), "results may be wrong, and programs that touch the page end with Xid 48, 63 or 94",
			"drain the instance and replace it", said(where))
	}
	const rows = "remapped_rows/remapped_row_"
	if g[rows+"failure"] == "Yes" {
		l.problem("row-remap-failed", "a GPU has no spare memory rows left", "bad memory can no longer be taken out of use", "drain the instance and replace it", said(rows+"failure"))
	} else if g[rows+"pending"] == "Yes" {
		l.warning("row-remap-pending", "a GPU waits for a reset to take bad memory out of use", "until then the bad rows are in use",
			"drain the instance, then reboot or replace it", said(rows+"pending"))
	}
	if a := g["gpu_recovery_action"]; a != "" && a != "None" && a != "N/A" {
		l.problem("gpu-needs-reset", "a GPU asks for recovery: "+clean(a), "its state is bad until that was done", "drain the instance and replace it", said("gpu_recovery_action"))
	}
	if active := g.slowed(); len(active) > 0 {
		l.warning("gpu-throttled", "a GPU is slowed down: "+strings.Join(active, ", "), "heat or power holds its clocks down: measurements are wrong and jobs take longer",
			"look again under load; if it stays, replace the instance", seen(smiCommand, name+": "+strings.Join(active, ", ")+" Active"))
	}
	if g["compute_mode"] == "Prohibited" {
		l.problem("compute-prohibited", "a GPU takes no compute work", "CUDA programs find no device", "sudo nvidia-smi -c DEFAULT", said("compute_mode"))
	}
	if g["mig_mode/current_mig"] == "Enabled" {
		l.warning("mig-enabled", "MIG is on: a GPU is split", "the ECS agent registers whole GPUs, so a job may get one that has no instance to run on",
			"turn it off where jobs ask for whole GPUs: sudo nvidia-smi -mig 0", said("mig_mode/current_mig"))
	}
	if g["persistence_mode"] == "Disabled" && l.facts.kind != Container {
		l.note("persistence-off", "persistence mode is off", "the driver forgets the GPU when nobody uses it, so each job pays seconds to begin, and settings such as clocks are lost",
			"sudo systemctl enable --now nvidia-persistenced", said("persistence_mode"))
	}
}
