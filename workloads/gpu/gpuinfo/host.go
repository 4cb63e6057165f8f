package gpuinfo

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Host is what files and the environment show of GPUs, without the driver.
type Host struct {
	// Container is whether the program runs in a container, Batch whether it is an AWS Batch job.
	Container bool `json:"container"`
	Batch     bool `json:"batch"`
	// KernelModule is the version of the machine's kernel driver. A container sees it even if it
	// has no GPUs.
	KernelModule string `json:"kernelModule,omitempty"`
	// Nodes are the device files of GPUs, such as /dev/nvidia0, or /dev/dxg under WSL. Memory is
	// whether /dev/nvidia-uvm exists, which CUDA needs to start.
	Nodes  []string `json:"deviceNodes"`
	Memory bool     `json:"uvmNode"`
	// CUDA and Management are the paths of libcuda.so.1 and libnvidia-ml.so.1.
	CUDA       string `json:"libcuda,omitempty"`
	Management string `json:"libnvidiaMl,omitempty"`
	// Environment is the variables that decide which GPUs a program sees, and how.
	Environment map[string]string `json:"environment,omitempty"`
}

// source is the file system and the environment that a Host is read from.
type source struct {
	root fs.FS
	env  func(name string) (string, bool)
}

// machine is the local machine.
func machine() source { return source{os.DirFS("/"), os.LookupEnv} }

// variables are the names of Host.Environment.
var variables = []string{
	"AWS_BATCH_JOB_ID", "BATCHCTL_CUBLAS", "BATCHCTL_LIBCUDA", "BATCHCTL_NVML", "CUDA_DEVICE_ORDER",
	"CUDA_VISIBLE_DEVICES",
	"LD_LIBRARY_PATH", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_TF32_OVERRIDE", "NVIDIA_VISIBLE_DEVICES",
}

// folders are where drivers and container runtimes install libraries.
var folders = []string{
	"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
	"/usr/local/nvidia/lib64", "/usr/lib/wsl/lib", "/usr/local/cuda/compat",
}

// node matches the name of a GPU's device file, version a version in the driver's text.
var (
	node    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(nvidia[0-9]+|dxg)$`) })
	version = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b[0-9]{3,}\.[0-9.]*[0-9]`) })
)

// host reads all members of the Host.
func (s source) host() Host {
	h := Host{Environment: map[string]string{}, Memory: s.has("/dev/nvidia-uvm") || s.has("/dev/dxg"),
		KernelModule: s.kernelModule(), Nodes: s.nodes()}
	for _, name := range variables {
		if value, set := s.env(name); set {
			h.Environment[name] = value
		}
	}
	_, h.Batch = h.Environment["AWS_BATCH_JOB_ID"]
	h.Container = h.Batch || s.container()
	searched := append(strings.Split(h.Environment["LD_LIBRARY_PATH"], ":"), folders...)
	h.CUDA = s.library(h.Environment["BATCHCTL_LIBCUDA"], "libcuda.so.1", searched)
	h.Management = s.library(h.Environment["BATCHCTL_NVML"], "libnvidia-ml.so.1", searched)
	return h
}

// has reports whether the file exists.
func (s source) has(file string) bool {
	_, err := fs.Stat(s.root, strings.TrimPrefix(path.Clean(file), "/"))
	return err == nil
}

// container reports whether the program runs in a container: of ECS, Kubernetes, Docker or Podman.
func (s source) container() bool {
	for _, name := range []string{"ECS_CONTAINER_METADATA_URI_V4", "KUBERNETES_SERVICE_HOST"} {
		if _, set := s.env(name); set {
			return true
		}
	}
	return s.has("/.dockerenv") || s.has("/run/.containerenv")
}

// kernelModule reads the driver's version from /proc, "" without a driver. The line is such as
//
//	NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb 17 22:55:48 UTC 2024
func (s source) kernelModule() string {
	text, err := fs.ReadFile(s.root, "proc/driver/nvidia/version")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return version().FindString(first)
}

// nodes lists the device files of GPUs in the order of their numbers. It is never nil, so that JSON
// has a list.
func (s source) nodes() []string {
	all := []string{}
	entries, err := fs.ReadDir(s.root, "dev")
	if err != nil {
		return all
	}
	for _, entry := range entries {
		if node().MatchString(entry.Name()) {
			all = append(all, "/dev/"+entry.Name())
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		// nvidia2 comes before nvidia10.
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return all
}

// library returns the path of a library: the one that a variable names, or the first in the
// folders. It is "" if no folder has it.
func (s source) library(named, file string, folders []string) string {
	if named != "" {
		return named
	}
	for _, folder := range folders {
		if at := path.Join(folder, file); path.IsAbs(at) && s.has(at) {
			return at
		}
	}
	return ""
}
