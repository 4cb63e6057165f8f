package nvml

import (
	"fmt"
	"math/bits"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// reasons are in the order of the bits of nvmlDeviceGetCurrentClocksThrottleReasons, from the lowest, as
// nvml.h names them (nvmlClocksThrottleReason..., nvmlClocksEventReason... since 535).
var reasons = []gpu.Throttle{
	gpu.Idle, gpu.ApplicationClocks, gpu.PowerCap, gpu.HardwareSlowdown, gpu.SyncBoost,
	gpu.SoftwareThermal, gpu.HardwareThermal, gpu.PowerBrake, gpu.DisplayClocks,
}

// throttles lists the reasons of a set of bits. An unknown bit is listed by its number.
func throttles(set uint64) []gpu.Throttle {
	var all []gpu.Throttle
	for ; set != 0; set &= set - 1 {
		bit := bits.TrailingZeros64(set)
		if bit < len(reasons) {
			all = append(all, reasons[bit])
		} else {
			all = append(all, gpu.Throttle(fmt.Sprintf("reason %#x of NVML", uint64(1)<<bit)))
		}
	}
	return all
}
