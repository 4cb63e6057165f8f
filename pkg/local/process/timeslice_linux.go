package process

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// timeSlice is how long a thread of an engine that serves, and of the jobs that it
// starts, may go on before Linux looks for others. The kernel's own threads, which
// finish what the journal writes, have a shorter slice and so go first (EEVDF, Linux 6.12
// and later). With the same slice of 1 to 3 ms for all of them each step of a sync waits
// until one of ours is over.
const timeSlice = 10 * time.Millisecond

// AskForTimeSlices gives the threads of this program that slice; what they start gets it
// from them. It is a wish: where the kernel does not know it, nothing is lost.
func AskForTimeSlices() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		if attr, err := unix.SchedGetAttr(id, 0); err == nil && attr.Policy == unix.SCHED_NORMAL {
			attr.Runtime = uint64(timeSlice)
			_ = unix.SchedSetAttr(id, attr, 0)
		}
	}
}
