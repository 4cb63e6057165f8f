package gpuinfo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// Level is the severity of a problem.
type Level string

// Wrong prevents a job from using its GPUs, or makes its results wrong. Notable makes the job slower,
// or hides part of the machine.
const (
	Wrong   Level = "problem"
	Notable Level = "note"
)

// Problem is one finding.
type Problem struct {
	Level Level `json:"level"`
	// Text is the finding. Remedy is what to do; empty if nothing simple helps.
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
}

// problem adds a finding of level Wrong.
func (r *Report) problem(text, remedy string) {
	r.Problems = append(r.Problems, Problem{Wrong, text, remedy})
}

// note adds a finding of level Notable.
func (r *Report) note(text, remedy string) {
	r.Problems = append(r.Problems, Problem{Notable, text, remedy})
}

// judge derives the problems from the report. Those of level Wrong come first.
func (r *Report) judge() {
	if len(r.seen()) == 0 {
		r.judgeAbsence()
	}
	for _, d := range r.seen() {
		r.judgeDevice(d)
	}
	r.judgeHidden()
	r.judgeLibraries()
	slices.SortStableFunc(r.Problems,
		func(a, b Problem) int { return -strings.Compare(string(a.Level), string(b.Level)) })
}

// seen returns the devices that CUDA sees.
func (r *Report) seen() []Device {
	return slices.DeleteFunc(slices.Clone(r.Devices), func(d Device) bool { return d.Ordinal == nil })
}

// How a job definition, or a container, asks for a GPU.
const (
	askInJob  = `request a GPU in the job: add {"type":"GPU","value":"1"} to its resourceRequirements`
	askDocker = "start the container with --gpus all (docker), or --device nvidia.com/gpu=all (podman)"
)

// askFor is the advice that fits this host.
func (h Host) askFor() string {
	if h.Batch {
		return askInJob
	}
	return askDocker
}

// judgeAbsence reports why CUDA sees no device: the first cause with proof, or else the error of each
// binding.
func (r *Report) judgeAbsence() {
	if len(r.Bindings) == 0 {
		r.problem("this program is built without GPU support",
			"use the GPU image of batchctl-workloads; for jobs on this machine, put batchctl-workloads beside batchctl")
		return
	}
	cause, remedy := r.Host.cause()
	visible, set := r.Host.Environment["CUDA_VISIBLE_DEVICES"]
	switch {
	case cause != "":
		r.problem(cause, remedy)
	case set && r.hides(visible):
		r.problem(fmt.Sprintf("CUDA_VISIBLE_DEVICES=%q does not match any GPU here", visible),
			"unset it, or set it to the number of a GPU (from 0) or its UUID")
	case slices.ContainsFunc(r.Devices, divided):
		r.problem("MIG is on, and this job did not get a MIG instance",
			"create MIG instances with nvidia-smi mig -cgi ... -C, or turn MIG off")
	default:
		r.judgeBindings()
	}
}

// judgeBindings reports the errors of the bindings that were tried.
func (r *Report) judgeBindings() {
	for _, b := range r.Bindings {
		switch {
		case b.Version != "":
			r.problem(b.Name+" works, but finds no device", "")
		case b.tried:
			r.problem(b.Name+": "+b.Missing, b.Remedy)
		}
	}
}

// cause is the reason, proved by files and environment, why CUDA sees no device. It is "" if they
// prove nothing. The order of the cases matters: each assumes that those before it do not apply.
func (h Host) cause() (text, remedy string) {
	visible, set := h.Environment["NVIDIA_VISIBLE_DEVICES"]
	nodes, hasLibrary := strings.Join(h.Nodes, ", "), h.CUDA != ""
	switch {
	case strings.Contains(h.CUDA, "/stubs/"):
		return h.CUDA + " is CUDA's stub, which exists only for linking", "remove that directory from LD_LIBRARY_PATH"
	case len(h.Nodes) == 0 && h.KernelModule == "":
		return "no NVIDIA driver is loaded on this machine", "use a machine with a GPU and its driver, and " +
			h.askFor()
	case len(h.Nodes) == 0 && set && slices.Contains([]string{"", "none", "void"}, visible):
		return fmt.Sprintf("NVIDIA_VISIBLE_DEVICES=%q hides every GPU from this container", visible),
			"unset it, or set it to all, and " + h.askFor()
	case len(h.Nodes) == 0 && !hasLibrary:
		return "this job was started without GPUs: the machine has driver " + h.KernelModule +
			", but /dev/nvidia0 and libcuda.so.1 are missing here", h.askFor()
	case len(h.Nodes) == 0:
		return "libcuda.so.1 exists (" + h.CUDA + "), but no device file such as /dev/nvidia0", h.askFor()
	case !hasLibrary && !h.capable("compute"):
		return "NVIDIA_DRIVER_CAPABILITIES=" + h.Environment["NVIDIA_DRIVER_CAPABILITIES"] +
			" does not include compute, which CUDA needs", "set it to compute,utility"
	case !hasLibrary:
		return nodes + " exist, but libcuda.so.1 does not: the container has the devices without the driver's libraries", "let NVIDIA's container runtime add the devices: " + h.askFor()
	case !h.Memory:
		return nodes + " exist, but /dev/nvidia-uvm, which CUDA needs, does not",
			"run nvidia-modprobe -u -c 0 on the machine before the container starts"
	}
	return "", ""
}

// hides reports whether CUDA_VISIBLE_DEVICES hides every device: CUDA reads the list up to the first
// invalid element.
func (r *Report) hides(list string) bool {
	first, _, _ := strings.Cut(list, ",")
	if strings.HasPrefix(first, "MIG-") {
		return false
	}
	if strings.HasPrefix(first, "GPU-") {
		named := func(d Device) bool { return strings.HasPrefix(d.UUID, first) }
		return len(r.Devices) > 0 && !slices.ContainsFunc(r.Devices, named)
	}
	ordinal, err := strconv.Atoi(first)
	// A node for each GPU exists even if CUDA hides it.
	return err != nil || ordinal < 0 || ordinal >= len(r.Host.Nodes)
}

// capable reports whether the container has that capability of the driver. Without the variable
// NVIDIA's container runtime grants compute and utility.
func (h Host) capable(what string) bool {
	value, set := h.Environment["NVIDIA_DRIVER_CAPABILITIES"]
	if !set || value == "" {
		return true
	}
	all := strings.Split(value, ",")
	return slices.Contains(all, what) || slices.Contains(all, "all")
}

// judgeDevice reports the problems of one device that CUDA sees.
func (r *Report) judgeDevice(d Device) {
	name := fmt.Sprintf("GPU %d", *d.Ordinal)
	if d.Failure != "" {
		r.problem(name+" cannot be used: "+d.Failure,
			"check whether another program uses it, and search dmesg for its Xid errors; otherwise replace the machine")
	}
	if d.capability < oldestDevice {
		r.problem(fmt.Sprintf("%s has compute capability %s; the kernels need %d.%d", name, d.Capability,
			oldestDevice/10, oldestDevice%10), "use a GPU of the Volta generation (V100) or later")
	}
	if d.Unread != "" {
		r.note("NVML does not report everything about "+name+": "+d.Unread, "")
	}
	if d.Readings != nil {
		r.judgeReadings(name, *d.Readings)
	}
}

// judgeReadings reports memory errors, a narrow PCIe link, MIG and reduced clocks.
func (r *Report) judgeReadings(name string, now gpu.Readings) {
	if now.ECCUncorrected != nil && *now.ECCUncorrected > 0 {
		r.problem(fmt.Sprintf("%s had %d memory errors that ECC could not correct", name, *now.ECCUncorrected),
			"replace the machine, or reset the GPU")
	}
	if now.PCIeWidth != nil && now.MaxPCIeWidth != nil && *now.PCIeWidth < *now.MaxPCIeWidth {
		r.note(fmt.Sprintf("%s uses %d of its %d PCIe lanes, so copies are slower than they could be", name,
			*now.PCIeWidth, *now.MaxPCIeWidth), "")
	}
	if now.MIG != nil && *now.MIG {
		r.note(name+" is a MIG instance: it has only a part of the GPU's multiprocessors and memory", "")
	}
	for _, reason := range now.Throttling {
		if reason != gpu.Idle {
			r.note(fmt.Sprintf("the clocks of %s are reduced: %s", name, reason), throttleRemedies[reason])
		}
	}
}

// throttleRemedies are what to do about a reason, or what it means; other reasons have none.
var throttleRemedies = map[gpu.Throttle]string{
	gpu.ApplicationClocks: "reset them on the machine with nvidia-smi -rac",
	gpu.SyncBoost:         "the slowest GPU of its group limits it",
	gpu.SoftwareThermal:   "it is too hot, so a cooler GPU would give shorter times",
	gpu.HardwareThermal:   "it is much too hot: replace the machine",
	gpu.PowerBrake:        "the machine's power supply requires this: replace the machine",
}

// judgeHidden reports GPUs that CUDA does not see although it sees others.
func (r *Report) judgeHidden() {
	seen := len(r.seen())
	if seen == 0 || slices.ContainsFunc(r.Devices, divided) {
		return
	}
	all := max(len(r.Devices), len(r.Host.Nodes))
	if all <= seen {
		return
	}
	text := fmt.Sprintf("CUDA sees %d of the %d GPUs here", seen, all)
	if value, set := r.Host.Environment["CUDA_VISIBLE_DEVICES"]; set {
		r.note(fmt.Sprintf("%s: CUDA_VISIBLE_DEVICES=%q hides the others", text, value), "")
		return
	}
	r.problem(text, "search the machine's dmesg for Xid errors: a GPU may have failed")
}

// divided reports whether MIG is on, so that devices are not whole GPUs.
func divided(d Device) bool { return d.Readings != nil && d.Readings.MIG != nil && *d.Readings.MIG }

// judgeLibraries reports missing libraries, if there is a GPU to use them.
func (r *Report) judgeLibraries() {
	if len(r.seen()) == 0 {
		return
	}
	if r.CuBLAS.Missing != "" {
		r.note(r.CuBLAS.Missing+"; batchctl's own kernels multiply the matrices instead", r.CuBLAS.Remedy)
	}
	if r.NVML.Missing != "" {
		text, remedy := r.NVML.Missing+"; clocks, power and errors are unknown", r.NVML.Remedy
		if !r.Host.capable("utility") {
			text = "NVIDIA_DRIVER_CAPABILITIES=" + r.Host.Environment["NVIDIA_DRIVER_CAPABILITIES"] +
				" does not include utility, which NVML needs: clocks, power and errors are unknown"
			remedy = "set it to compute,utility"
		}
		r.note(text, remedy)
	}
	if value := r.Host.Environment["NVIDIA_TF32_OVERRIDE"]; value != "" {
		r.note("NVIDIA_TF32_OVERRIDE="+value+" makes cuBLAS compute in a precision other than the requested one",
			"unset it")
	}
}
