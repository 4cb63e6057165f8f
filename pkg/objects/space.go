package objects

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/batchctl/batchctl/pkg/text"
)

// moreSpace is the advice for a container whose disk is full.
const moreSpace = "on Fargate request more ephemeralStorage (up to 200 GiB); on EC2 enlarge the root volume in the launch template of the compute environment, or mount a volume"

// isFull reports whether a write failed for lack of space.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// disk tracks the space that running transfers still need, so that they do not count on the same
// bytes.
type disk struct {
	sync.Mutex
	needs map[*need]bool
}

// need is the number of bytes that a transfer will still write.
type need struct {
	device uint64
	left   atomic.Int64
}

// reserve checks that n more bytes fit below a directory, in addition to other transfers. query is
// Store.Space. The need is nil if the platform does not report free space. release ends it.
func (d *disk) reserve(dir string, n int64, what string,
	query func(dir string) (device uint64, free int64, known bool)) (*need, error) {
	if query == nil {
		query = space
	}
	d.Lock()
	defer d.Unlock()
	device, free, known := query(nearest(dir))
	if !known {
		return nil, nil
	}
	others := int64(0) // what other transfers will write to the same device
	for other := range d.needs {
		if other.device == device {
			others += max(0, other.left.Load())
		}
	}
	if n > free-others {
		beside := ""
		if others > 0 {
			beside = fmt.Sprintf(", of which other transfers need %s", text.Size(others))
		}
		return nil, fmt.Errorf("%s needs %s, and %s has %s free%s: %s", what, text.Size(n), dir, text.Size(free),
			beside, moreSpace)
	}
	r := &need{device: device}
	r.left.Store(n)
	if d.needs == nil {
		d.needs = map[*need]bool{}
	}
	d.needs[r] = true
	return r, nil
}

// release ends a reservation.
func (d *disk) release(n *need) {
	d.Lock()
	defer d.Unlock()
	delete(d.needs, n)
}

// nearest returns a directory, or its closest existing parent.
func nearest(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || filepath.Dir(dir) == dir {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}
