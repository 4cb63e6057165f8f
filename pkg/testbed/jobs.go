package testbed

import "strings"

// LocalSizes are those of the published table's matrices that a laptop multiplies in
// seconds; the larger ones take minutes.
const LocalSizes = "1000,5000"

// Workloads are those of the benchmark. Each runs on both sides.
func Workloads() []string { return []string{"matrix", "image"} }

// JobName is the name of a job and of its definition. side is "CPU" or "GPU".
func JobName(prefix, side, workload string) string {
	return prefix + "-" + workload + "-" + strings.ToLower(side)
}

// JobNames are all of them.
func JobNames(prefix string) (names []string) {
	for _, side := range []string{"CPU", "GPU"} {
		for _, workload := range Workloads() {
			names = append(names, JobName(prefix, side, workload))
		}
	}
	return names
}

// Settings are PATH=VALUE for the job on AWS of a side and a workload: a name of the benchmark's
// own, a machine of 16 vCPUs on the CPU's side, and half an hour once, which bounds what it costs.
// image is "" where that of the job file stands.
func Settings(prefix, side, workload, image string) []string {
	settings := []string{"name=" + JobName(prefix, side, workload), "queue=" + strings.ToLower(side), "timeout=30m",
		`retryStrategy={"attempts": 1}`}
	if side == "CPU" {
		settings = append(settings, "resources.vcpus=16", "resources.memory=8 GiB")
	} else {
		settings = append(settings, "resources.memory=12 GiB")
	}
	if image != "" {
		settings = append(settings, "image="+image)
	}
	return settings
}
