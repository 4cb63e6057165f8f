package gpuinfo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/batchctl/batchctl/pkg/testtool/golden"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/measure"
)

// place is a host, what runs on it, and its golden files' name.
type place struct {
	name     string
	root     fstest.MapFS
	env      map[string]string
	platform gpu.Platform
	args     string
	usable   bool
}

var batch = map[string]string{"AWS_BATCH_JOB_ID": "0f4a4f5e-6d3b-4f0e-9b7a-2f1f6a2f9d11"}

func env(more ...string) map[string]string {
	all := map[string]string{}
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

var (
	noLibrary = without("libcuda", "libcuda.so.1 is not found", "start the container with GPUs")
	noDevice  = without("libcuda", "cuInit: CUDA error 100 (NO_DEVICE)", "start the container with GPUs")
	untagged  = without("gorgonia.org/cu", "this program was built without the tag cuda", "")
)

// healthy is a platform with these devices, all in order.
func healthy(devices ...device) gpu.Platform {
	m := management{driver: "570.124.06", readings: map[string]gpu.Readings{}}
	for _, d := range devices {
		m.uuids = append(m.uuids, d.uuid)
		m.readings[d.uuid] = calm(d.uuid)
	}
	return gpu.Platform{Bindings: []gpu.Binding{with(driver{binding: "libcuda", version: 12080, devices: devices}), untagged}, BLAS: blas12, Management: managed(m)}
}

// reading is healthy with one device, of which NVML reads this.
func reading(r gpu.Readings, failure error) gpu.Platform {
	p := healthy(h200(r.UUID))
	p.Management = managed(management{driver: "570.124.06", uuids: []string{r.UUID}, readings: map[string]gpu.Readings{r.UUID: r}, failures: map[string]error{r.UUID: failure}})
	return p
}

// absent is a platform without a driver.
func absent(bindings ...gpu.Binding) gpu.Platform {
	return gpu.Platform{Bindings: bindings, BLAS: noBLAS, Management: noNVML}
}

// driven is a platform with that driver, and without NVML and cuBLAS.
func driven(d driver) gpu.Platform {
	d.binding = "libcuda"
	return absent(with(d))
}

func places() []place {
	nodes := []string{"dev/nvidia0", "dev/nvidia1", "dev/nvidia10", "dev/nvidiactl", "dev/nvidia-uvm"}
	busy := device{name: "NVIDIA H200", uuid: uuid0, capability: 90, total: 150_110_011_392, openingError: &gpu.Error{Call: "cuDevicePrimaryCtxRetain", Code: 46}}
	manyUUIDs := strings.Repeat(uuid0+",", 7) + uuid1
	hidden := healthy(h200(uuid0))
	hidden.Management = healthy(h200(uuid0), h200(uuid1)).Management
	gone := absent(noDevice)
	gone.Management = hidden.Management
	sick := changed(uuid0, func(r *gpu.Readings) {
		r.ECCUncorrected, r.PCIeWidth, r.PowerWatts = new(int64(3)), new(8), nil
		r.Throttling = []gpu.Throttle{gpu.PowerCap, gpu.HardwareThermal}
	})
	divided := changed(uuid0, func(r *gpu.Readings) { *r.MIG = true })
	instance := healthy(h200(uuid1))
	instance.Management = managed(management{driver: "570.124.06", uuids: []string{uuid0}, readings: map[string]gpu.Readings{uuid0: divided, uuid1: changed(uuid1, func(r *gpu.Readings) { *r.MIG, *r.MemoryTotal = true, 20<<30 })}})
	noInstance := absent(noDevice)
	noInstance.Management = reading(divided, nil).Management
	second := healthy(h200(uuid0))
	second.Bindings = []gpu.Binding{without("libcuda", "libcuda.so.1 has no function cuLaunchKernelEx", ""), with(driver{binding: "gorgonia.org/cu v0.9.6", version: 12080, devices: []device{h200(uuid0)}})}

	return []place{
		{name: "healthy", root: given(1), env: batch, platform: healthy(h200(uuid0)), usable: true},
		{name: "two", root: given(2), env: env("NVIDIA_VISIBLE_DEVICES", manyUUIDs), platform: healthy(h200(uuid0), h200(uuid1)), usable: true},
		{name: "second-binding", root: given(1), platform: second, usable: true},
		{name: "asked-binding", root: given(1), platform: second, args: "--binding gorgonia.org/cu", usable: true},
		{name: "hidden", root: given(2), env: env("CUDA_VISIBLE_DEVICES", "0"), platform: hidden, usable: true},
		{name: "lost", root: given(2), platform: hidden, usable: true},
		{name: "sick", root: given(1), env: env("NVIDIA_TF32_OVERRIDE", "0"), platform: reading(sick, errors.New("read the power: Unknown Error")), usable: true},
		{name: "mig", root: given(2), platform: instance, usable: true},
		{name: "mig-without-instance", root: given(1), platform: noInstance},
		{name: "compute-alone", root: given(1), env: env("NVIDIA_DRIVER_CAPABILITIES", "compute"), platform: driven(driver{version: 12080, devices: []device{h200(uuid0)}}), usable: true},
		{name: "turing-old-driver", root: given(1), platform: driven(driver{version: 10020, devices: []device{{name: "Tesla T4", uuid: uuid0, capability: 75, total: 15_843_721_216, free: 15_700_000_000}}}), usable: true},
		{name: "kepler", root: given(1), platform: driven(driver{version: 11040, devices: []device{{name: "Tesla K80", uuid: uuid0, capability: 37, total: 11_996_954_624, free: 11_900_000_000}}})},
		{name: "older-driver", root: given(1), env: env("CUDA_VISIBLE_DEVICES", "0"), platform: absent(gpu.Binding{Name: "libcuda", Open: func() (gpu.Driver, error) { return nil, gpu.OldDriver("libcuda", 9020) }})},
		{name: "busy", root: given(1), platform: driven(driver{version: 12080, devices: []device{busy}})},
		{name: "no-devices", root: given(1), platform: driven(driver{version: 12080})},
		{name: "no-machine", root: files(), platform: absent(noLibrary, untagged)},
		{name: "batch-without-gpu", root: machineWith(), env: batch, platform: absent(noLibrary)},
		{name: "docker-without-gpus", root: machineWith(".dockerenv"), env: env("NVIDIA_VISIBLE_DEVICES", "all"), platform: absent(noLibrary)},
		{name: "visible-void", root: machineWith(".dockerenv"), env: env("NVIDIA_VISIBLE_DEVICES", "void"), platform: absent(noLibrary)},
		{name: "visible-empty", root: machineWith(), env: env("NVIDIA_VISIBLE_DEVICES", "", "AWS_BATCH_JOB_ID", "1"), platform: absent(noLibrary)},
		{name: "library-without-nodes", root: machineWith("run/.containerenv", "usr/lib64/libcuda.so.1"), platform: absent(noDevice)},
		{name: "nodes-without-library", root: machineWith(nodes...), platform: absent(noLibrary)},
		{name: "utility-alone", root: machineWith(nodes...), env: env("NVIDIA_DRIVER_CAPABILITIES", "utility"), platform: absent(noLibrary)},
		{name: "no-uvm", root: machineWith("dev/nvidia0", "usr/local/nvidia/lib64/libcuda.so.1"), platform: absent(noDevice)},
		{name: "stub", root: machineWith("usr/local/cuda/lib64/stubs/libcuda.so.1", "dev/nvidia0"), env: env("LD_LIBRARY_PATH", "here:/usr/local/cuda/lib64/stubs"), platform: absent(noDevice)},
		{name: "visible-nowhere", root: given(2), env: env("CUDA_VISIBLE_DEVICES", ""), platform: gone},
		{name: "visible-elsewhere", root: given(2), env: env("CUDA_VISIBLE_DEVICES", "GPU-0123,0"), platform: gone},
		{name: "visible-beyond", root: given(2), env: env("CUDA_VISIBLE_DEVICES", "2,0"), platform: absent(noDevice)},
		{name: "wsl", root: files("dev/dxg", "usr/lib/wsl/lib/libcuda.so.1"), env: env("CUDA_VISIBLE_DEVICES", "MIG-0123"), platform: absent(noDevice)},
		{name: "unknown-cause", root: given(1), platform: absent(without("libcuda", "cuInit: CUDA error 802 (SYSTEM_NOT_READY)", "start the fabric manager on the machine"), untagged)},
		{name: "static-program", root: files(), platform: gpu.Platform{}},
	}
}

func (p place) source() source {
	return source{p.root, func(name string) (string, bool) { value, set := p.env[name]; return value, set }}
}

func (p place) run(t *testing.T, more ...string) string {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), p.platform, p.source(), append(strings.Fields(p.args), more...), &out)
	if _, missing := errors.AsType[*measure.NoDeviceError](err); missing == p.usable || !missing && err != nil {
		t.Fatalf("%s: got %v", p.name, err)
	}
	if err != nil {
		fmt.Fprintf(&out, "-- %v\n", err)
	}
	return out.String()
}

func TestText(t *testing.T) {
	for _, p := range places() {
		got := p.run(t)
		compare(t, p.name+".txt", got)
		for line := range strings.Lines(got) {
			if line = strings.TrimSuffix(line, "\n"); line == "" || strings.TrimRight(line, " ") != line || len(line) > columns && !strings.HasPrefix(line, "--") {
				t.Errorf("%s: a line of %d columns: %q", p.name, len(line), line)
			}
		}
	}
}

func TestJSON(t *testing.T) {
	for _, p := range places() {
		line, _, _ := strings.Cut(p.run(t, "--format", "json"), "\n")
		var indented bytes.Buffer
		if err := json.Indent(&indented, []byte(line), "", "  "); err != nil {
			t.Fatalf("%s: %v in %s", p.name, err, line)
		}
		compare(t, p.name+".json", indented.String()+"\n")
		var r Report
		if err := json.Unmarshal([]byte(line), &r); err != nil || (r.Usable > 0) != p.usable || r.Bindings == nil || r.Devices == nil || r.Problems == nil || r.Host.Nodes == nil {
			t.Errorf("%s: %v, %d usable; a list is missing in %s", p.name, err, r.Usable, line)
		}
	}
}

// compare compares with a part of an archive in testdata, such as txt of busy.txtar.
func compare(t *testing.T, name, got string) {
	t.Helper()
	base, part, _ := strings.Cut(name, ".")
	golden.Read(t, filepath.Join("testdata", base+".txtar")).Want(t, part, got)
}

// Every golden file has its place; that of libraries is in its own test.
func TestNoFileIsLeftOver(t *testing.T) {
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		base := strings.TrimSuffix(entry.Name(), ".txtar")
		if base != "libraries" && !slices.ContainsFunc(places(), func(p place) bool { return p.name == base }) {
			t.Errorf("no place is called %s", base)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"--format yaml", "unknown format yaml (allowed: json, text)"},
		{"--bindng x", "did you mean --binding?"},
		{"--binding libcudda", "unknown binding libcudda; did you mean libcuda? (allowed: gorgonia.org/cu, libcuda)"},
		{"now", "unexpected argument"},
	} {
		var out bytes.Buffer
		err := run(t.Context(), healthy(h200(uuid0)), place{root: files()}.source(), strings.Fields(test.args), &out)
		if _, usage := errors.AsType[*measure.UsageError](err); !usage || !strings.Contains(err.Error(), test.want) || out.Len() > 0 {
			t.Errorf("%s: got %v, %s", test.args, err, &out)
		}
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	if err := Run(t.Context(), gpu.Platform{}, []string{"--help"}, &out, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"gpu-info --format json", "--binding NAME", "(default text)", "3 no GPU can be used"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

// TestStopped checks that a driver which never answers does not block a stop.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	stuck := gpu.Platform{Bindings: []gpu.Binding{{Name: "libcuda", Open: func() (gpu.Driver, error) {
		cancel(errors.New("terminated signal received"))
		<-forever
		return nil, errors.New("too late")
	}}}}
	var out bytes.Buffer
	err := run(ctx, stuck, place{root: files()}.source(), nil, &out)
	if err == nil || err.Error() != "stopped before it finished: terminated signal received" || out.Len() > 0 {
		t.Errorf("got %v, %s", err, &out)
	}
}

// fullDisk fails every write.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWriteErrors(t *testing.T) {
	for _, format := range measure.Formats() {
		err := run(t.Context(), healthy(h200(uuid0)), place{root: files()}.source(), []string{"--format", string(format)}, fullDisk{})
		if err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("%s: got %v", format, err)
		}
	}
}
