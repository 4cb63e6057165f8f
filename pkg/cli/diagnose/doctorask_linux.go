package diagnose

import (
	"syscall"

	"github.com/batchctl/batchctl/pkg/doctor"
)

// Space returns the size and the free space of the file system that contains
// path. FreeBytes leaves out the blocks that are reserved for root, as df does.
func (machine) Space(path string) (doctor.Space, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return doctor.Space{}, err
	}
	block := uint64(s.Bsize)
	return doctor.Space{Bytes: s.Blocks * block, FreeBytes: s.Bavail * block, Files: s.Files, FreeFiles: s.Ffree}, nil
}
