package usage

import (
	"slices"
	"time"
)

// GPUs samples devices.
type GPUs interface {
	// Sample returns the devices, always in the same order; nil if they cannot be read.
	Sample() []GPUSample
	// Close ends the samples.
	Close() error
}

// GPUSample is the state of one device.
type GPUSample struct {
	Name         string
	Used, Memory int64    // in bytes
	Utilization  *float64 // 0 to 1, over the last moments; nil: unknown
}

// gpuSamples collects the samples of the devices.
type gpuSamples struct {
	devices []GPU
	time    time.Duration // that the samples stand for
}

// add adds a sample of all devices, which stands for the time since the last one.
func (g *gpuSamples) add(devices []GPUSample, since time.Duration) {
	if devices == nil {
		return
	}
	if g.devices == nil {
		g.devices = make([]GPU, len(devices))
	}
	g.time += since
	for i, d := range devices[:min(len(devices), len(g.devices))] {
		v := &g.devices[i]
		v.Name, v.Memory, v.PeakMemory = d.Name, d.Memory, max(v.PeakMemory, d.Used)
		if d.Utilization == nil {
			continue
		}
		if v.Utilization == nil {
			v.Utilization, v.MaxUtilization = new(float64), new(float64)
		}
		*v.Utilization += *d.Utilization * since.Seconds()
		*v.MaxUtilization = max(*v.MaxUtilization, *d.Utilization)
	}
}

// result returns the devices with their mean utilization; nil without a sample.
func (g *gpuSamples) result() []GPU {
	all := slices.Clone(g.devices)
	for i := range all {
		if s := g.time.Seconds(); s > 0 && all[i].Utilization != nil {
			mean := round(*all[i].Utilization / s)
			all[i].Utilization = &mean
		}
	}
	return all
}
