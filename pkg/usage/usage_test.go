package usage

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// write writes files of a control group.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[name]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLine(t *testing.T) {
	peak, read, cpu := int64(5<<20), int64(0), 1.5
	u := Usage{Version: 1, Container: "a", Seconds: 2, CPUSeconds: &cpu, PeakMemory: &peak, BytesRead: &read, Source: "cgroup2",
		GPUs: []GPU{{Name: "H100", PeakMemory: 1, Memory: 2, Utilization: new(float64), MaxUtilization: &cpu}}}
	line := u.Line()
	for _, text := range []string{line, line + "\n", line + "\r\n", "output without a line end" + line} {
		got, ok := Parse(text)
		if diff := cmp.Diff(u, got); !ok || diff != "" {
			t.Errorf("%q: %v %s", text, ok, diff)
		}
	}
	for _, text := range []string{"", "batchctl: measured", "batchctl: measured {}", `batchctl: measured {"version":0}`, `batchctl: measured {"version":1`, "{}"} {
		if got, ok := Parse(text); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
	if got, ok := Parse(`batchctl: measured {"version":2,"seconds":3,"new":[1],"source":"x"}`); !ok || got.Seconds != 3 || got.PeakMemory != nil {
		t.Errorf("a newer version: %v, %v", got, ok)
	}
}

// TestGroupIn has the files of containers as runtimes mount them.
func TestGroupIn(t *testing.T) {
	const one = "30 25 0:26 /docker/abc /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory\n" +
		"31 25 0:27 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n32 25 0:28 /docker/abc /sys/fs/cgroup/blkio ro - cgroup cgroup rw,blkio\n"
	const two = "30 25 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n"
	for _, c := range []struct {
		name, groups, mounts string
		want                 Group
	}{
		{"version 1 with the host's paths", "9:memory:/docker/abc\n8:cpu,cpuacct:/docker/abc\n7:blkio:/docker/abc\n", one,
			Group{1, "/sys/fs/cgroup/memory", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/blkio"}},
		{"version 1 below the container's", "9:memory:/docker/abc/x\n8:cpu,cpuacct:/docker/other\n", one, Group{1, "/sys/fs/cgroup/memory/x", "", ""}},
		{"both, memory in version 1", "9:memory:/docker/abc\n0::/\n", two + one, Group{1, "/sys/fs/cgroup/memory", "", ""}},
		{"not mounted", "0::/\n", "", Group{}},
		{"outside", "0::/../x\n", two, Group{}},
	} {
		if got := groupIn(c.groups, c.mounts); got != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"x/memory.current": "1\n", "x/cpu.stat": "usage_usec 1\n"})
	mounts := strings.Replace(two, "/sys/fs/cgroup", dir, 1)
	if got, want := groupIn("0::/x\n", mounts), (Group{2, dir + "/x", dir + "/x", ""}); got != want {
		t.Errorf("version 2: %+v, want %+v", got, want)
	}
}

// TestMeter2 measures in a directory with the files of version 2, which change during the attempt.
func TestMeter2(t *testing.T) {
	dir := t.TempDir()
	set := func(memory, peak, cache, usec, io string) {
		write(t, dir, map[string]string{"memory.current": memory + "\n", "memory.peak": peak + "\n", "memory.max": "max\n", "memory.events": "oom 0\noom_kill 0\n",
			"memory.stat": "anon 1\ninactive_file " + cache + "\nactive_file 100\n", "cpu.stat": "usage_usec " + usec + "\nuser_usec 1\n", "io.stat": io})
	}
	synctest.Test(t, func(t *testing.T) {
		set("1100", "1100", "0", "500000", "")
		m := &Meter{Group: InGroup2(dir)}
		m.Start()
		time.Sleep(time.Second)
		set("9100", "9500", "7000", "600000", "8:0 rbytes=10 wbytes=20 rios=1\n8:16 rbytes=1 wbytes=2\n")
		time.Sleep(time.Minute)
		// A peak between two samples, and then less than before.
		set("1100", "20100", "7000", "2500000", "8:0 rbytes=100 wbytes=20 rios=1\n8:16 rbytes=1 wbytes=2\n")
		time.Sleep(time.Minute)
		u := m.Stop(nil)
		want := `batchctl: measured {"version":1,"seconds":121,"cpuSeconds":2,"peakMemory":12000,"bytesRead":101,"bytesWritten":22,"source":"cgroup2"}`
		if u.Line() != want {
			t.Errorf("%s, want %s", u.Line(), want)
		}
	})
}

// TestMeterWithoutPeak is Linux before 5.19: only samples show memory.
func TestMeterWithoutPeak(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		write(t, dir, map[string]string{"memory.current": "1000\n", "memory.max": "8192\n", "memory.events": "oom_kill 0\n", "cpu.stat": "usage_usec 0\n"})
		m := &Meter{Group: InGroup2(dir)}
		m.Start()
		time.Sleep(time.Second)
		write(t, dir, map[string]string{"memory.current": "5000\n"})
		time.Sleep(time.Second)
		write(t, dir, map[string]string{"memory.current": "2000\n"})
		u := m.Stop(nil)
		if *u.PeakMemory != 4000 || *u.MemoryLimit != 8192 || u.BytesRead != nil {
			t.Errorf("%s", u.Line())
		}
	})
	synctest.Test(t, func(t *testing.T) { // the kernel has killed a process at the limit, between two samples
		write(t, dir, map[string]string{"memory.current": "1000\n"})
		m := &Meter{Group: InGroup2(dir)}
		m.Start()
		write(t, dir, map[string]string{"memory.events": "oom 1\noom_kill 1\n"})
		if u := m.Stop(nil); *u.PeakMemory != 8192 {
			t.Errorf("%s", u.Line())
		}
	})
}

func TestMeter1(t *testing.T) {
	dir := t.TempDir()
	stat := "cache 5\ntotal_inactive_file 3000\ntotal_active_file 0\n"
	write(t, dir, map[string]string{"m/memory.usage_in_bytes": "10000", "m/memory.max_usage_in_bytes": "10000", "m/memory.limit_in_bytes": "9223372036854771712\n",
		"m/memory.stat": stat, "m/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", "c/cpuacct.usage": "5000000000\n",
		"i/blkio.throttle.io_service_bytes": "8:0 Read 10\n8:0 Write 5\n8:0 Sync 15\nTotal 30\n"})
	m := &Meter{Group: Group{1, dir + "/m", dir + "/c", dir + "/i"}}
	m.Start()
	write(t, dir, map[string]string{"m/memory.max_usage_in_bytes": "50000", "c/cpuacct.usage": "7500000000\n", "i/blkio.throttle.io_service_bytes_recursive": "8:0 Read 30\n8:0 Write 5\n"})
	u := m.Stop(nil)
	if *u.PeakMemory != 40000 || u.MemoryLimit != nil || *u.CPUSeconds != 2.5 || *u.BytesRead != 20 || *u.BytesWritten != 0 || u.Source != "cgroup1" {
		t.Errorf("%s", u.Line())
	}
}

// devices are two GPUs, of which the first works more and more.
type devices int

func (d *devices) Sample() []GPUSample {
	*d++
	share := min(1, float64(*d)/10)
	return []GPUSample{{"A", int64(*d), 100, &share}, {"B", 7, 100, nil}}
}

func (*devices) Close() error { return nil }

func TestGPUs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d devices
		m := &Meter{GPUs: &d}
		m.Start()
		time.Sleep(10 * time.Minute)
		u := m.Stop(nil)
		if len(u.GPUs) != 2 || u.GPUs[0].PeakMemory != int64(d) || *u.GPUs[0].MaxUtilization != 1 || *u.GPUs[0].Utilization < 0.99 || u.GPUs[1] != (GPU{"B", 7, 100, nil, nil}) {
			t.Errorf("%+v", u.GPUs)
		}
		if n := int(d); n < 600 || n > 1300 {
			t.Errorf("%d samples in ten minutes", n)
		}
	})
}

// TestNVIDIA reads a program that prints what nvidia-smi does, and that ends with the measurement.
func TestNVIDIA(t *testing.T) {
	if NVIDIA() != nil {
		t.Skip("this machine has nvidia-smi")
	}
	testtool.Need(t, "sh", "sleep")
	dir := t.TempDir()
	text := "#!/bin/sh\necho \"$@\" >" + dir + "/args\necho No devices are suspended\necho '1, 7, 81559, [N/A], NVIDIA H100'\necho '0, 1024, 81559, 37, NVIDIA H100'\nexec sleep 1000\n"
	if err := os.WriteFile(dir+"/nvidia-smi", []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	g := NVIDIA("0", "GPU-1")
	for len(g.Sample()) < 2 {
		runtime.Gosched()
	}
	share := 0.37
	want := []GPUSample{{"NVIDIA H100", 1 << 30, 81559 << 20, &share}, {"NVIDIA H100", 7 << 20, 81559 << 20, nil}}
	if diff := cmp.Diff(want, g.Sample()); diff != "" {
		t.Error(diff)
	}
	if err := g.Close(); err != nil { // returns when the program has ended
		t.Error(err)
	}
	args, err := os.ReadFile(dir + "/args")
	if err != nil || !strings.Contains(string(args), "--id=0,GPU-1") {
		t.Errorf("%s, %v", args, err)
	}
}

// BenchmarkSample is the cost of one sample: of the control group of this process, and of 10 processes without one.
func BenchmarkSample(b *testing.B) {
	g := GroupOf("self")
	pids := slices.Repeat([]int{os.Getpid()}, 10)
	for name, m := range map[string]*Meter{"group": {Group: g}, "processes": {Processes: func() []int { return pids }}} {
		if name == "group" && g.Memory == "" {
			continue
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				m.sample()
			}
		})
	}
}
