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
	s, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return rusage{}, false
	}
	return rusageIn(s), true
}

// rusageOfChildren returns what the kernel counted for the children of this process that were waited for.
func rusageOfChildren() (rusage, bool) {
	var s syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &s) != nil {
		return rusage{}, false
	}
	return rusageIn(&s), true
}

// rusageIn reads the kernel's figures.
func rusageIn(s *syscall.Rusage) rusage {
	r := rusage{cpu: time.Duration(s.Utime.Nano() + s.Stime.Nano()), largest: int64(s.Maxrss)}
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" { // getrusage(2): KiB everywhere else
		r.largest <<= 10
	}
	if runtime.GOOS == "linux" { // in units of 512 bytes (getrusage(2)); elsewhere they are counts of operations
		r.hasIO, r.read, r.written = true, int64(s.Inblock)*512, int64(s.Oublock)*512
	}
	return r
}
