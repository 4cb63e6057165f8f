package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/text"
)

// xid is an error that the driver wrote to the kernel's log.
type xid struct {
	// code is the number in NVIDIA's table of Xid errors, line the line of the log.
	code int
	line string
}

// hardwareXid reports whether NVIDIA's table of Xid errors lists a code as a broken GPU, bus or
// firmware.
func hardwareXid(code int) bool {
	return slices.Contains([]int{46, 48, 61, 62, 64, 74, 79, 92, 95, 109, 110, 119, 120, 140}, code)
}

// programXid reports whether a code is usually caused by a program.
func programXid(code int) bool { return slices.Contains([]int{13, 31, 43, 45, 68, 94}, code) }

// readXids finds lines such as "NVRM: Xid (PCI:0000:00:1e): 79, pid=1, GPU has fallen off the
// bus."
func readXids(log []string) (found []xid) {
	for _, line := range log {
		_, rest, ok := strings.Cut(line, "NVRM: Xid (")
		if !ok {
			continue
		}
		_, rest, ok = strings.Cut(rest, "): ")
		if !ok {
			continue
		}
		digits, _, _ := strings.Cut(rest, ",")
		if code, err := strconv.Atoi(strings.TrimSpace(digits)); err == nil {
			found = append(found, xid{code, line})
		}
	}
	return found
}

// kernelLogCheck examines the errors of the driver, and processes killed for memory.
type kernelLogCheck struct {
	host   *probe
	report *findings
	gpu    bool
}

// checkKernelLog is the check of the topic kernel log.
func checkKernelLog(in *inspection) {
	c := kernelLogCheck{in.host, in.report, in.facts.gpu}
	c.check()
}

// check searches for the driver's errors and for processes killed for memory.
func (c *kernelLogCheck) check() {
	// The log may have rotated since the error, so an empty result proves nothing.
	log, from := c.kernelLines()
	if log == nil {
		return
	}
	c.xids(log, from)
	killed := slices.DeleteFunc(slices.Clone(log), func(line string) bool {
		return !strings.Contains(line, "Out of memory: Killed process") &&
			!strings.Contains(line, "Memory cgroup out of memory")
	})
	if len(killed) > 0 {
		c.report.note("oom-kills", "the kernel has killed "+text.Count(len(killed), "process")+" for memory",
			"a job that the kernel kills ends with exit code 137, or with its own error",
			"request more memory in the job", seen(from, killed[len(killed)-1]))
	}
}

// kernelLines returns the kernel's log and its source; nil if it cannot be read.
func (c *kernelLogCheck) kernelLines() ([]string, string) {
	if c.host.canAsk() {
		// Many distributions allow dmesg only to root, but the journal to a group.
		for _, command := range [][]string{{"dmesg"}, {"journalctl", "-k", "-b", "--no-pager", "-q", "-n", "5000"}} {
			out, err := c.host.run(command[0], command[1:]...)
			if all := lines(out); err == nil && len(all) > 0 {
				return all, strings.Join(command, " ")
			}
		}
	}
	for _, name := range []string{"var/log/dmesg", "var/log/kern.log", "var/log/messages"} {
		if all := c.host.tail(name); len(all) > 0 {
			return all, "/" + name
		}
	}
	if c.host.canAsk() {
		c.host.skipDenied("kernel log", "dmesg and journalctl show nothing to this user")
	} else {
		c.host.skip("kernel log", "this root has none in /var/log")
	}
	return nil, ""
}

// xids reports the most severe kind of Xid error, with its last line.
func (c *kernelLogCheck) xids(log []string, from string) {
	found := readXids(log)
	if len(found) == 0 {
		if c.gpu {
			c.report.ok("no-xid", "no Xid error in the kernel's log", seen(from, text.Count(len(log), "line")))
		}
		return
	}
	last := func(is func(int) bool) *xid {
		for _, x := range slices.Backward(found) {
			if is(x.code) {
				return &x
			}
		}
		return nil
	}
	// One broken GPU explains errors of programs, so the hardware comes first.
	if x := last(hardwareXid); x != nil {
		c.report.problem("xid-hardware",
			fmt.Sprintf("the driver reported Xid %d: the GPU, its bus or its firmware is faulty", x.code),
			"programs on this GPU crash or hang, whatever they do", "drain the instance and replace it",
			seen(from, x.line))
		return
	}
	if x := last(func(code int) bool { return !programXid(code) }); x != nil {
		c.report.warning("xid", fmt.Sprintf("the driver reported Xid %d", x.code), "it can end a GPU program",
			"find the code in NVIDIA's list of Xid errors; if it appears again, replace the instance",
			seen(from, x.line))
		return
	}
	x := last(programXid)
	c.report.note("xid-program", fmt.Sprintf("the driver reported Xid %d, which is caused by programs", x.code),
		"a program accessed invalid memory, or was ended",
		"check the job that ran then: compute-sanitizer finds the access", seen(from, x.line))
}
