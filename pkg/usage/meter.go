package usage

import (
	"os"
	"sync"
	"time"
)

// An attempt is sampled first after firstSample, and then ever less often, up to lastSample. A sample that takes long
// makes the next one later, so that sampling costs at most 1/sampleShare of the time of one processor.
const (
	firstSample = 5 * time.Millisecond
	lastSample  = 500 * time.Millisecond
	sampleShare = 200
)

// Meter measures an attempt from Start until Stop. Between them it takes samples of what the kernel does not keep the
// peak of.
type Meter struct {
	// Group is the attempt's control group; the zero Group if it has none of its own.
	Group Group
	// Processes lists the processes of the attempt. It is called only if Group does not measure memory, and may be nil.
	Processes func() []int
	// Inside is set if the meter itself runs in the group, as a launcher does in its container. What it needs counts,
	// because the limit counts it.
	Inside bool
	// Fresh is set if the group was created for the attempt, so that everything in it counts.
	Fresh bool
	// Children is set if the attempt's processes are all the children of this one. Their figures count where the group
	// has none.
	Children bool
	// GPUs samples the devices of the attempt; nil if it has none.
	GPUs GPUs

	began time.Time
	first counters
	stop  chan struct{}
	ended sync.WaitGroup
	peak  peak
	gpus  gpuSamples
	last  time.Time // of the last sample
}

// Baseline reads what the control group has counted before the attempt. Without it, Start does so.
func (m *Meter) Baseline() {
	m.began = time.Now()
	m.first = m.Group.now()
	m.peak.start(m.first)
	if m.Fresh {
		m.first = counters{}
		m.peak.start(m.first)
		m.peak.bytes = -1 // the group may not measure memory
	}
	if m.Inside {
		m.peak.left = 0
	}
}

// Start begins the measurement.
func (m *Meter) Start() {
	if m.began.IsZero() {
		m.Baseline()
	}
	m.last = m.began
	m.stop = make(chan struct{})
	m.ended.Go(m.run)
}

// run takes samples until Stop.
func (m *Meter) run() {
	pause := firstSample
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-timer.C:
		}
		began := time.Now()
		m.sample()
		cost := time.Since(began)
		pause = min(pause+pause/4, lastSample)
		timer.Reset(max(pause, sampleShare*cost))
	}
}

// sample measures what may be at its peak.
func (m *Meter) sample() {
	switch {
	case m.Group.Memory != "":
		m.peak.note(m.Group.memoryNow())
	case m.Processes != nil:
		m.peak.ofProcesses(m.Processes())
	}
	if m.GPUs != nil {
		now := time.Now()
		m.gpus.add(m.GPUs.Sample(), now.Sub(m.last))
		m.last = now
	}
}

// Stop ends the measurement. The state is that of the attempt's first process, which has ended; nil if it is not a
// child of this one. Stop must be called before the control group is removed.
func (m *Meter) Stop(state *os.ProcessState) Usage {
	u := Usage{Version: 1, Seconds: round(time.Since(m.began).Seconds()), Source: "processes"}
	close(m.stop)
	m.ended.Wait()
	last := m.Group.now()
	rusage, hasRusage := rusageOf(state)
	if m.Children {
		rusage, hasRusage = rusageOfChildren()
	}
	switch {
	case m.Group.Memory != "":
		m.peak.note(last)
		if last.kills > m.first.kills && last.limit > 0 { // the last moments are in no sample
			m.peak.bytes = max(m.peak.bytes, last.limit)
		}
		u.PeakMemory = known(m.peak.bytes)
		u.Source = map[int]string{1: "cgroup1", 2: "cgroup2"}[m.Group.Version]
	default:
		if hasRusage {
			m.peak.ofLargest(rusage.largest)
		}
		if m.peak.bytes > 0 {
			u.PeakMemory = &m.peak.bytes
		}
	}
	u.MemoryLimit = known(last.limit)
	switch {
	case last.nanoseconds >= 0 && m.first.nanoseconds >= 0:
		u.CPUSeconds = seconds(time.Duration(last.nanoseconds - m.first.nanoseconds))
	case hasRusage:
		u.CPUSeconds = seconds(rusage.cpu)
	}
	u.BytesRead, u.BytesWritten = since(last.read, m.first.read), since(last.written, m.first.written)
	// Version 1 attributes no write that goes through the cache of files, which almost all do.
	if hasRusage && rusage.hasIO && (u.BytesWritten == nil || m.Group.Version == 1) {
		u.BytesRead, u.BytesWritten = larger(u.BytesRead, rusage.read), larger(u.BytesWritten, rusage.written)
	}
	if m.GPUs != nil {
		m.gpus.add(m.GPUs.Sample(), time.Since(m.last))
		u.GPUs = m.gpus.result()
		_ = m.GPUs.Close() // after rusage, which does not count a process that was not waited for
	}
	return u
}

// rusage is what the kernel counted for a process and the descendants that were waited for.
type rusage struct {
	cpu     time.Duration
	largest int64 // the largest resident size of one process, in bytes; 0: unknown
	hasIO   bool
	read    int64
	written int64
}

// round keeps milliseconds.
func round(s float64) float64 { return float64(int64(s*1000+0.5)) / 1000 }

// seconds returns a duration in seconds.
func seconds(d time.Duration) *float64 {
	s := round(d.Seconds())
	return &s
}

// known returns nil for -1.
func known(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

// since returns how much a counter grew; nil if it is unknown.
func since(now, before int64) *int64 {
	if now < 0 || before < 0 {
		return nil
	}
	return known(max(0, now-before))
}

// larger returns the larger of two numbers.
func larger(a *int64, b int64) *int64 {
	if a != nil && *a > b {
		return a
	}
	return &b
}

// peak is the most memory that an attempt needed at any time. It is what counts for the limit without the cache of
// files, which the kernel takes back before it kills: with it, every job that reads much would need all of its limit.
type peak struct {
	bytes int64
	most  int64 // the peak with the cache, at the last sample
	cache int64 // at the last sample
	left  int64 // what the group had before the attempt began
}

// start notes what a group has before its attempt begins.
func (p *peak) start(c counters) {
	p.left = max(0, c.memory-c.cache)
	p.most, p.cache = c.peak, c.cache
	p.bytes = -1
	if c.memory >= 0 {
		p.bytes = 0
	}
}

// note adds a sample of a group. If the kernel's peak has risen since the last sample, it was reached in between, with
// about the cache of now or then.
func (p *peak) note(c counters) {
	if c.memory < 0 {
		return
	}
	p.bytes = max(p.bytes, c.memory-c.cache-p.left)
	if c.peak > p.most {
		p.bytes = max(p.bytes, c.peak-max(c.cache, p.cache)-p.left)
		p.most = c.peak
	}
	p.cache = c.cache
}
