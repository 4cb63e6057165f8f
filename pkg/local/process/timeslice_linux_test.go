package process

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAskForTimeSlices(t *testing.T) {
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil || before.Runtime == 0 {
		t.Skipf("this kernel has no time slices to ask for (Linux 6.12): %v", err)
	}
	t.Cleanup(func() { _ = unix.SchedSetAttr(0, before, 0) })
	AskForTimeSlices()
	after, err := unix.SchedGetAttr(0, 0)
	if err != nil || time.Duration(after.Runtime) != timeSlice || after.Nice != before.Nice {
		t.Errorf("%v; slice %v and nice %d, want %v and %d", err, time.Duration(after.Runtime), after.Nice, timeSlice, before.Nice)
	}
}
