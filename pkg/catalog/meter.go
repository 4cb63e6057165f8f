package catalog

import "math"

// Meter is how AWS counts the time of a machine that it bills by the second. The zero Meter is for a part of an
// instance: AWS bills the instance, so no minimum applies to one of its jobs.
type Meter struct {
	// LeastSeconds is the shortest time that AWS bills for one run. Above it, a run is rounded up to whole seconds.
	LeastSeconds float64 `json:"leastSeconds,omitempty"`
}

// FargateMeter returns the meter of a Fargate task on a platform: X86, Arm or Windows. AWS bills at least one minute
// (aws.amazon.com/fargate/pricing), and for Windows at least five (What's New, June 2022). Fargate Spot has the same
// meter.
func FargateMeter(platform string) Meter {
	if platform == Windows {
		return Meter{LeastSeconds: 300}
	}
	return Meter{LeastSeconds: 60}
}

// InstanceMeter returns the meter of a whole EC2 instance, on demand or on Spot: at least one minute
// (aws.amazon.com/ec2/pricing/on-demand, "per-second billing").
func InstanceMeter() Meter { return Meter{LeastSeconds: 60} }

// Whole returns the meter of a run that has its machine alone, for a run with this meter.
func (m Meter) Whole() Meter { return Meter{max(m.LeastSeconds, InstanceMeter().LeastSeconds)} }

// roundOff is what floating point may add to a whole number of seconds.
const roundOff = 1e-6

// Billed returns the seconds that AWS bills for a run of some seconds.
func (m Meter) Billed(seconds float64) float64 {
	if m.LeastSeconds == 0 {
		return seconds
	}
	return max(m.LeastSeconds, math.Ceil(seconds-roundOff))
}

// USD returns the price in US dollars of runs that each take some seconds, on a machine with a price per hour. It is
// the only place that multiplies time by a price.
func (m Meter) USD(perHour, seconds float64, runs int) float64 {
	return perHour * m.Billed(seconds) / 3600 * float64(runs)
}
