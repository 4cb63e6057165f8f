package blas

import (
	"io/fs"
	"math/bits"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/cpu"
)

// supported lists NEON (Advanced SIMD) if the processor has it.
func supported() []ISA {
	if cpu.ARM64.HasASIMD {
		return []ISA{NEON}
	}
	return nil
}

// level2 is the size in bytes of the second-level cache of one core, 0 if the system does not
// report it. User programs cannot ask the processor; Linux lists the caches in sysfs.
func level2() int { return level2In(os.DirFS("/sys/devices/system/cpu/cpu0/cache")) }

// level2In reads a cache directory of Linux (Documentation/ABI, sysfs-devices-system-cpu). A shared
// cache is divided among its cores.
func level2In(caches fs.FS) int {
	folders, err := fs.Glob(caches, "index*")
	if err != nil {
		return 0
	}
	for _, folder := range folders {
		read := func(name string) string {
			text, err := fs.ReadFile(caches, path.Join(folder, name))
			if err != nil {
				return ""
			}
			return strings.TrimSpace(string(text))
		}
		if read("level") != "2" || read("type") == "Instruction" {
			continue
		}
		size, ok := strings.CutSuffix(read("size"), "K")
		kibibytes, err := strconv.Atoi(size)
		if !ok || err != nil {
			return 0
		}
		sharing := 0
		for _, part := range strings.Split(read("shared_cpu_map"), ",") {
			mask, err := strconv.ParseUint(part, 16, 64)
			if err != nil {
				return 0
			}
			sharing += bits.OnesCount64(mask)
		}
		return kibibytes << 10 / max(1, sharing)
	}
	return 0
}
