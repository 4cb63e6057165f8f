package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// resultsDir has the recorded figures, a file for each model of CPU.
const resultsDir = ".ci/bench-results"

// cpus is how many CPUs the calibration loop uses: all.
var cpus = runtime.NumCPU()

// machine knows how fast the calibration loop can be here.
type machine struct {
	steps    int     // of the loop
	shortest float64 // seconds
}

// calibrationSteps is the length of the loop: about 50 ms on a CPU of 2023.
const calibrationSteps = 50_000_000

// sink keeps the compiler from removing the loop.
var sink [64]uint64

// loop runs the same computation on each CPU, and returns the elapsed and the CPU seconds of one of them.
func loop(steps int) (elapsed, used float64) {
	var group sync.WaitGroup
	before, began := cpuSeconds(), time.Now()
	for i := range cpus {
		group.Go(func() {
			x := uint64(i + 1)
			for range steps {
				x ^= x << 13
				x ^= x >> 7
				x ^= x << 17
			}
			sink[i%len(sink)] += x
		})
	}
	group.Wait()
	return time.Since(began).Seconds(), (cpuSeconds() - before) / float64(cpus)
}

// cpuSeconds returns the CPU time of this process.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// calibrate returns the median time of five loops. On a machine that is busy all the time no loop is undisturbed, so
// the CPU time of a loop counts as its shortest time, too.
func (m *machine) calibrate() float64 {
	var times []float64
	for range 5 {
		elapsed, used := loop(m.steps)
		times = append(times, elapsed)
		for _, t := range []float64{elapsed, used} {
			if t > 0 && (m.shortest == 0 || t < m.shortest) {
				m.shortest = t
			}
		}
	}
	return quantile(slices.Sorted(slices.Values(times)), 0.5)
}

// warmUp calibrates before the first row, so that even a run of one row has something to compare with.
func (m *machine) warmUp() {
	for range 3 {
		m.calibrate()
	}
}

// slowdown returns a time of the loop as a multiple of its shortest.
func (m *machine) slowdown(loop float64) float64 {
	if m.shortest == 0 {
		return 0
	}
	return loop / m.shortest
}

// loadAverage returns the load average of the last minute, or 0 if the system has no /proc.
func loadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, _ := strconv.ParseFloat(first, 64)
	return load
}

// cpuModel returns the name of the CPU. The number of the family and the model follow, because a cloud's machine may
// have a name that says little.
func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		if name := modelName(string(text)); name != "" {
			return name
		}
	}
	if out, err := exec.Command("sysctl", "-n", "machdep.cpu.brand_string").Output(); err == nil {
		return strings.TrimSpace(string(out))
	}
	return runtime.GOARCH
}

// modelName finds the name, family and model in the text of /proc/cpuinfo. On arm64 it has no name, but numbers.
func modelName(cpuinfo string) string {
	find := func(key string) string {
		m := regexp.MustCompile(`(?m)^` + key + `\s*:\s*(.+)$`).FindStringSubmatch(cpuinfo)
		if m == nil {
			return ""
		}
		return strings.TrimSpace(m[1])
	}
	if name := find("model name"); name != "" {
		return fmt.Sprintf("%s family %s model %s", name, cmp.Or(find("cpu family"), "?"), cmp.Or(find("model"), "?"))
	}
	if part := find("CPU part"); part != "" {
		return fmt.Sprintf("%s implementer %s part %s", runtime.GOARCH, find("CPU implementer"), part)
	}
	return ""
}

// slug turns a name into the name of a file.
func slug(name string) string {
	return strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(name), "-"), "-")
}

// describeCommit returns the abbreviated commit of the checkout, with "-dirty" if files differ from it.
func describeCommit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude=*").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// header names the columns of a file of results. Times are in seconds.
const header = "date\tcommit\tcpus\trow\trounds\tmedian\tbest\tspread\tpeer\tpeer median\tratio\tgoal\tverdict\tslowdown\tload"

// record appends the measured rows to the file of the CPU model, and returns its path, or "" if there is no such row.
func record(dir, model, commit string, at time.Time, all []result) (string, error) {
	var lines strings.Builder
	for _, r := range all {
		if r.measured() {
			fmt.Fprintf(&lines, "%s\t%s\t%d\t%s\t%d\t%.4g\t%.4g\t%.3f\t%s\t%.4g\t%s\t%s\t%s\t%.2f\t%.1f\n", at.UTC().
				Format("2006-01-02T15:04Z"), commit, cpus, r.name, r.rounds,
				r.mine.median, r.mine.best, r.mine.spread, cmp.Or(r.peer, "-"), r.peers.median, r.ratio(),
				r.goal.text(r.unit), r.verdict(), r.slowdown, r.loadAverage)
		}
	}
	if lines.Len() == 0 {
		return "", nil
	}
	path := filepath.Join(dir, slug(model)+".tsv")
	text := lines.String()
	if _, err := os.Stat(path); os.IsNotExist(err) {
		text = header + "\n" + text
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(text)
	return path, cmp.Or(err, file.Close())
}
