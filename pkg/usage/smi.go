package usage

import (
	"bufio"
	"context"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// smi samples devices with nvidia-smi. It comes with NVIDIA's driver, and the container runtime of NVIDIA puts it into
// every container with the driver capability "utility", a default. NVML, which it uses, needs a C library that the
// static program does not have.
type smi struct {
	stop  context.CancelFunc
	ended chan struct{}

	mu      sync.Mutex
	devices map[int]GPUSample // by their index; the newest of each
}

// smiEvery is the time between two samples, in milliseconds.
const smiEvery = 500

// NVIDIA samples NVIDIA's devices with these indices or UUIDs; none means all that this process sees. It is nil if
// nvidia-smi is not in PATH. The figures of a device include every program that uses it.
func NVIDIA(devices ...string) GPUs {
	path, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return nil
	}
	args := []string{"--query-gpu=index,memory.used,memory.total,utilization.gpu,name", "--format=csv,noheader,nounits",
		"--loop-ms=" + strconv.Itoa(smiEvery)}
	if len(devices) > 0 {
		args = append(args, "--id="+strings.Join(devices, ","))
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, args...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		stop()
		return nil
	}
	s := &smi{stop: stop, ended: make(chan struct{}), devices: map[int]GPUSample{}}
	go func() {
		defer close(s.ended)
		s.read(out)
		stop()
		_ = cmd.Wait() // it was killed, or there is no device
	}()
	return s
}

// read notes the lines of nvidia-smi until they end.
func (s *smi) read(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if index, d, ok := parseSMI(lines.Text()); ok {
			s.mu.Lock()
			s.devices[index] = d
			s.mu.Unlock()
		}
	}
}

// parseSMI reads a line such as "0, 1024, 81559, 37, NVIDIA H100". A part of a device (MIG) has no utilization.
func parseSMI(line string) (index int, d GPUSample, ok bool) {
	fields := strings.SplitN(line, ", ", 5)
	if len(fields) != 5 {
		return 0, d, false
	}
	index, errIndex := strconv.Atoi(fields[0])
	used, errUsed := strconv.ParseInt(fields[1], 10, 64)
	size, errSize := strconv.ParseInt(fields[2], 10, 64)
	if errIndex != nil || errUsed != nil || errSize != nil {
		return 0, d, false
	}
	d = GPUSample{Name: fields[4], Used: used << 20, Memory: size << 20}
	if percent, err := strconv.ParseFloat(fields[3], 64); err == nil {
		share := percent / 100
		d.Utilization = &share
	}
	return index, d, true
}

// Sample returns the newest samples.
func (s *smi) Sample() (all []GPUSample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, index := range slices.Sorted(maps.Keys(s.devices)) {
		all = append(all, s.devices[index])
	}
	return all
}

// Close ends nvidia-smi.
func (s *smi) Close() error {
	s.stop()
	<-s.ended
	return nil
}
