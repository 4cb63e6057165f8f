//go:build unix

package usage

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// rusageOf returns what the kernel counted for a process that has ended and was waited for.
func rusageOf(state *os.ProcessState) (rusage, bool) {
	if state == nil {
		return rusage{}, false
	}
	r := rusage{cpu: state.UserTime() + state.SystemTime()}
	s, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return r, true
	}
	r.largest = int64(s.Maxrss)
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" { // getrusage(2): KiB everywhere else
		r.largest <<= 10
	}
	if runtime.GOOS == "linux" { // in units of 512 bytes (getrusage(2)); elsewhere they are counts of operations
		r.hasIO, r.read, r.written = true, int64(s.Inblock)*512, int64(s.Oublock)*512
	}
	if r.cpu < 0 {
		r.cpu = time.Duration(0)
	}
	return r, true
}
