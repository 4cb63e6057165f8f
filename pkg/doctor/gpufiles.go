package doctor

import (
	"path"
	"slices"
	"strings"
)

// driverVersion returns the version of the loaded driver; "loaded" if the version is unknown, ""
// if no driver is loaded.
func driverVersion(p *probe) string {
	if text, ok := p.read("proc/driver/nvidia/version"); ok {
		if v := versionOf(text); v != "" {
			return v
		}
		return "loaded"
	}
	if v := p.firstLine("sys/module/nvidia/version"); v != "" {
		return clean(v)
	}
	if moduleLoaded(p, "nvidia") {
		return "loaded"
	}
	return ""
}

// versionOf finds the version in the driver's own line, such as "NVRM version: NVIDIA
// UNIX x86_64 Kernel Module  535.183.01  Sun May 12 …": the first word of digits and dots.
func versionOf(text string) string {
	for _, w := range strings.Fields(text) {
		if strings.Contains(w, ".") && strings.Trim(w, "0123456789.") == "" {
			return w
		}
	}
	return ""
}

// moduleLoaded reports whether a kernel module is loaded.
func moduleLoaded(p *probe, name string) bool {
	text, _ := p.read("proc/modules")
	return slices.ContainsFunc(lines(text), func(line string) bool { return strings.HasPrefix(line, name+" ") })
}

// pciGPUs returns the addresses of NVIDIA's GPUs: PCI vendor 10de, class 0300 or
// 0302. NVSwitches have another class.
func pciGPUs(p *probe) (addresses []string) {
	for _, name := range p.glob("sys/bus/pci/devices/*/vendor") {
		dir := strings.TrimSuffix(name, "/vendor")
		class := p.firstLine(dir + "/class")
		if p.firstLine(name) == "0x10de" && (strings.HasPrefix(class, "0x0300") || strings.HasPrefix(class, "0x0302")) {
			addresses = append(addresses, dir[strings.LastIndex(dir, "/")+1:])
		}
	}
	return addresses
}

// gpuDevices returns the device nodes of GPUs: /dev/nvidia0 and so on.
func gpuDevices(p *probe) (names []string) {
	for _, name := range p.glob("dev/nvidia[0-9]*") {
		if strings.Trim(strings.TrimPrefix(path.Base(name), "nvidia"), "0123456789") == "" {
			names = append(names, "/"+name)
		}
	}
	return names
}

// givesGPU reports whether a value of NVIDIA_VISIBLE_DEVICES requests a GPU.
func givesGPU(value string) bool {
	return !slices.Contains([]string{"", "void", "none"}, strings.TrimSpace(value))
}
