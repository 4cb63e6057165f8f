package hardware

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// VCPUs returns the number of hardware threads that this process may use.
func VCPUs() float64 { return float64(runtime.NumCPU()) }

// MemoryMiB returns the memory in MiB that this process may use.
func MemoryMiB() (int, error) {
	bytes, err := physicalMemory()
	if err != nil {
		return 0, err
	}
	return int(min(bytes, cgroupLimit("/sys/fs/cgroup")) >> 20), nil
}

// cgroupLimit returns the memory limit in bytes of the control group that a container sees at
// root; the largest number if it has no limit.
func cgroupLimit(root string) uint64 {
	limit := ^uint64(0)
	for _, name := range []string{"memory.max", "memory/memory.limit_in_bytes"} { // version 2, version 1
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue
		}
		if v, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil { // "max": no limit
			limit = min(limit, v)
		}
	}
	return limit
}

// GPUs returns the UUIDs of the NVIDIA devices. nvidia-smi lists those of this container; /proc
// lists all of the host.
func GPUs() []string {
	ctx, cancel := context.WithTimeout(context.Background(), nvidiaTimeout)
	defer cancel()
	return machineGPUs(ctx)
}

// nvidiaTimeout is long enough to start the driver of 8 devices without its daemon. If the driver
// hangs, nvidia-smi never ends.
const nvidiaTimeout = 30 * time.Second

// machineGPUs returns the UUIDs from nvidia-smi, or from /proc if nvidia-smi does not answer in
// time.
func machineGPUs(ctx context.Context) []string {
	cmd := exec.CommandContext(ctx, "nvidia-smi", "-L")
	cmd.WaitDelay = time.Second // processes that it left behind may hold its output open
	answer := make(chan []byte, 1)
	go func() {
		defer close(answer)
		if out, err := cmd.Output(); err == nil {
			answer <- out
		}
	}()
	select {
	case out, ok := <-answer:
		if ok {
			return gpuUUIDs(out)
		}
	case <-ctx.Done(): // a process inside a hanging driver survives even SIGKILL
	}
	files, _ := filepath.Glob("/proc/driver/nvidia/gpus/*/information") // the pattern is well formed
	var gpus []string
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			gpus = append(gpus, gpuUUIDs(text)...)
		}
	}
	return gpus
}

// gpuUUIDs finds the UUIDs in `nvidia-smi -L` ("GPU 0: NVIDIA H200 (UUID:
// GPU-…)") and in /proc/driver/nvidia/gpus/*/information ("GPU UUID: GPU-…").
// Lines of MIG slices begin with MIG and are left out with their own UUIDs.
func gpuUUIDs(text []byte) []string {
	var gpus []string
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		_, id, ok := strings.Cut(lines.Text(), "UUID:")
		if id = strings.Trim(id, " \t)"); ok && strings.HasPrefix(id, "GPU-") {
			gpus = append(gpus, id)
		}
	}
	return gpus
}
