package measure

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// tree turns name, content pairs into a file system.
func tree(pairs ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		files[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return files
}

const meminfo = "MemTotal:  16000000 kB\nMemFree: 1000 kB\nMemAvailable:    8000000 kB\n"

func TestAvailableMemory(t *testing.T) {
	for _, test := range []struct {
		name  string
		files fstest.MapFS
		want  Memory
	}{
		{"another system", tree(), Memory{}},
		{"no group", tree("proc/meminfo", meminfo), Memory{8000000 << 10, "this machine"}},
		{"group 2, own limit", tree("proc/meminfo", meminfo, "proc/self/cgroup", "0::/\n",
			"sys/fs/cgroup/memory.max", "1000000\n", "sys/fs/cgroup/memory.current", "400000\n",
			"sys/fs/cgroup/memory.stat", "anon 1\ninactive_file 100000\n"), Memory{700000, "the container"}},
		{"group 2, limit of a parent", tree("proc/meminfo", meminfo, "proc/self/cgroup", "0::/ecs/task/id\n",
			"sys/fs/cgroup/ecs/task/id/memory.max", "max\n", "sys/fs/cgroup/ecs/task/memory.max", "5000\n"),
			Memory{5000, "the container"}},
		{"group 1", tree("proc/meminfo", meminfo, "proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/docker/a\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes", "9000", "sys/fs/cgroup/memory/memory.usage_in_bytes", "1000"),
			Memory{8000, "the container"}},
		{"group without limit", tree("proc/meminfo", meminfo, "proc/self/cgroup", "0::/\n", "sys/fs/cgroup/memory.max", "max"),
			Memory{8000000 << 10, "this machine"}},
		{"nothing left", tree("proc/self/cgroup", "0::/\n", "sys/fs/cgroup/memory.max", "10", "sys/fs/cgroup/memory.current", "20"),
			Memory{1, "the container"}},
		{"broken files", tree("proc/meminfo", "MemAvailable: much kB\nx\n", "proc/self/cgroup", "nonsense\n"), Memory{}},
	} {
		if got := available(test.files); got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
}

func TestMemoryCheck(t *testing.T) {
	memory := Memory{Bytes: 2 << 30, Source: "the container"}
	if err := memory.Check("a thing", 2<<30, ""); err != nil {
		t.Error(err)
	}
	err := memory.Check("a thing", 3<<30, "take less")
	if want := "a thing needs 3 GiB of memory, and the container has 2 GiB available; take less"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := (Memory{}).Check("a thing", 1<<60, ""); err != nil {
		t.Errorf("an unknown limit refused: %v", err)
	}
}

func TestProcessor(t *testing.T) {
	if got := cpuName(tree("proc/cpuinfo", "processor\t: 0\nmodel name\t: Fine CPU\n")); got != "Fine CPU" {
		t.Errorf("got %q", got)
	}
	for _, files := range []fstest.MapFS{tree(), tree("proc/cpuinfo", "processor : 0\n")} {
		if got := cpuName(files); got != runtime.GOARCH {
			t.Errorf("got %q", got)
		}
	}
	if got := Processor(4); got.Kind != CPU || got.Threads != 4 || got.Name == "" {
		t.Errorf("got %+v", got)
	}
}

func TestNoCards(t *testing.T) {
	_, _, err := OpenCards(gpu.Platform{}, Options{Device: CUDA})
	var missing *NoDeviceError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "without GPU support") || !strings.HasSuffix(err.Error(), "or use --device cpu") {
		t.Errorf("got %v", err)
	}
}
