package gpuinfo

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/text"
	"github.com/batchctl/batchctl/workloads/gpu"
)

// columns is the longest line, which fits most log views; labels is the width of the labels.
const (
	columns = 100
	labels  = 16
)

// text prints the report in aligned lines. The problems come last, because logs are read from the
// end.
func (r *Report) text(w io.Writer) error {
	var p page
	p.line("GPUs", r.verdict())
	p.line("driver", r.driver())
	for _, b := range r.Bindings {
		p.line("binding", b.text())
	}
	p.line("cuBLAS", r.CuBLAS.state())
	p.line("NVML", r.NVML.state())
	p.line("host", r.Host.text())
	for _, name := range slices.Sorted(maps.Keys(r.Host.Environment)) {
		p.line("environment", name+"="+r.Host.Environment[name])
	}
	for _, d := range r.Devices {
		p.device(d)
	}
	for _, problem := range r.Problems {
		p.line(strings.ToUpper(string(problem.Level)), problem.Text)
		if problem.Remedy != "" {
			p.line("", "-> "+problem.Remedy)
		}
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// verdict is the number of usable GPUs and of problems, such as "1 of 2 can be used, 1 problem".
func (r *Report) verdict() string {
	text := fmt.Sprintf("%d of %d can be used", r.Usable, len(r.Devices))
	if len(r.Devices) == 0 {
		text = "none"
	}
	for _, level := range []Level{Wrong, Notable} {
		n := 0
		for _, p := range r.Problems {
			if p.Level == level {
				n++
			}
		}
		if n == 1 {
			text += fmt.Sprintf(", 1 %s", level)
		} else if n > 1 {
			text += fmt.Sprintf(", %d %ss", n, level)
		}
	}
	return text
}

// driver is the versions of the driver and of CUDA, as far as NVML and CUDA report them.
func (r *Report) driver() string {
	var parts []string
	if r.Driver != "" {
		parts = append(parts, r.Driver)
	}
	if r.CUDA != "" {
		parts = append(parts, "CUDA "+r.CUDA+" and older")
	}
	if len(parts) == 0 {
		return "unknown"
	}
	return strings.Join(parts, ", ")
}

// text describes a binding: its version, or why it is not used.
func (p Part) text() string {
	if p.Missing != "" {
		return p.Name + ": " + p.Missing
	}
	return p.Version
}

// state describes a library: its version, or why it is not used.
func (p Part) state() string { return p.Version + p.Missing }

// text is the line about the host: container, kernel module, device files and libcuda.
func (h Host) text() string {
	kind := "no container detected"
	switch {
	case h.Batch:
		kind = "AWS Batch job"
	case h.Container:
		kind = "container"
	}
	module := "no NVIDIA kernel module"
	if h.KernelModule != "" {
		module = "kernel module " + h.KernelModule
	}
	nodes := "no /dev/nvidia0"
	if len(h.Nodes) > 0 {
		nodes = strings.Join(h.Nodes, " ")
	}
	library := "no libcuda.so.1"
	if h.CUDA != "" {
		library = h.CUDA
	}
	return strings.Join([]string{kind, module, nodes, library}, ", ")
}

// page is the text output: lines with a label each.
type page struct{ strings.Builder }

// line adds a labelled text, wrapped; its other lines have no label.
func (p *page) line(label, text string) {
	for i, part := range wrap(text, columns-labels) {
		if i > 0 {
			label = ""
		}
		p.WriteString(strings.TrimRight(fmt.Sprintf("%-*s%s", labels, label, part), " ") + "\n")
	}
}

// device adds the lines about one GPU.
func (p *page) device(d Device) {
	if d.Ordinal != nil {
		p.line(fmt.Sprintf("GPU %d", *d.Ordinal), d.Name)
	} else {
		p.line("GPU", d.Name+" (not seen by CUDA)")
	}
	p.line("  UUID", d.UUID)
	if d.Capability != "" {
		p.line("  capability", d.ability())
	}
	p.line("  memory", d.memory())
	if d.Readings == nil {
		return
	}
	p.readings(*d.Readings, d.PCI)
}

// ability is the compute capability, the multiprocessors, and the precisions that are missing.
func (d Device) ability() string {
	text := fmt.Sprintf("%s, %d multiprocessors", d.Capability, d.Multiprocessors)
	if d.capability < oldestTensorDevice {
		text += ", no TF32 and no bfloat16"
	}
	return text
}

// memory is the total and, if it is known, the free memory.
func (d Device) memory() string {
	size := text.Size(d.MemoryBytes)
	if d.FreeBytes > 0 {
		size += ", " + text.Size(d.FreeBytes) + " free"
	}
	return size
}

// readings adds NVML's readings of one device, a line for each group that has any.
func (p *page) readings(now gpu.Readings, pci string) {
	clocks := join(of(now.GraphicsMHz, now.MaxGraphicsMHz, "%d", " MHz"),
		after("memory ", of(now.MemoryMHz, now.MaxMemoryMHz, "%d", " MHz")))
	link := join(after("generation ", of(now.PCIeGeneration, now.MaxPCIeGeneration, "%d", "")),
		of(now.PCIeWidth, now.MaxPCIeWidth, "%d", " lanes"), pci)
	ecc := join(onOff(now.ECC), value(now.ECCUncorrected, "%d uncorrected errors"))
	load := join(value(now.UtilizationPercent, "%d %% busy"), value(now.TemperatureC, "%d C"),
		of(now.PowerWatts, now.PowerLimitWatts, "%.0f", " W"))
	var reasons []string
	for _, reason := range now.Throttling {
		reasons = append(reasons, string(reason))
	}
	for _, l := range [][2]string{
		{"clocks", clocks}, {"reduced by", join(reasons...)}, {"PCIe", link}, {"ECC", ecc}, {"MIG", onOff(now.MIG)},
		{"load", load},
	} {
		if l[1] != "" {
			p.line("  "+l[0], l[1])
		}
	}
}

// of is text such as "345 of 1980 MHz", or the known part of it; "" if both values are nil.
func of[T any](now, most *T, format, unit string) string {
	switch {
	case now == nil && most == nil:
		return ""
	case most == nil:
		return value(now, format) + unit
	case now == nil:
		return "at most " + value(most, format) + unit
	}
	return value(now, format) + " of " + value(most, format) + unit
}

// value formats a reading; "" if the device does not have it.
func value[T any](v *T, format string) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf(format, *v)
}

func onOff(on *bool) string {
	switch {
	case on == nil:
		return ""
	case *on:
		return "on"
	}
	return "off"
}

// after puts a prefix before a text, unless the text is empty.
func after(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// join joins the parts that are not empty.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// wrap breaks a text into lines of at most that width, between words. A word that is longer than a
// line is broken too: a list of UUIDs at its commas.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for len(word) > width {
			at := strings.LastIndexByte(word[:width], ',') + 1
			if at == 0 {
				at = width
			}
			lines, word = append(lines, word[:at]), word[at:]
		}
		line = word
	}
	return append(lines, line)
}
