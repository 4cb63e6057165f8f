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

func supported() []ISA {
	if cpu.ARM64.HasASIMD {
		return []ISA{NEON}
	}
	return nil
}

// level2 is the size in bytes of the second-level cache of one core, 0 where the system
// does not tell: programs may not ask the processor itself, and Linux lists what it found.
func level2() int { return level2In(os.DirFS("/sys/devices/system/cpu/cpu0/cache")) }

// level2In reads a folder of caches as Linux has it (Documentation/ABI, sysfs-devices-system-cpu):
// a cache that cores share is divided among them.
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
		for _, word := range strings.Split(read("shared_cpu_map"), ",") {
			mask, err := strconv.ParseUint(word, 16, 64)
			if err != nil {
				return 0
			}
			sharing += bits.OnesCount64(mask)
		}
		return kibibytes << 10 / max(1, sharing)
	}
	return 0
}
