//go:build !unix

package usage

import "os"

// rusageOf returns the processor time of a process that has ended.
func rusageOf(state *os.ProcessState) (rusage, bool) {
	if state == nil {
		return rusage{}, false
	}
	return rusage{cpu: state.UserTime() + state.SystemTime()}, true
}

// rusageOfChildren returns nothing: this system does not count for children.
func rusageOfChildren() (rusage, bool) { return rusage{}, false }
