package local

import (
	"sync"

	"golang.org/x/sys/unix"
)

// hideMemory keeps the values of secrets in this process: it writes no core file, and other
// processes of the user, above all jobs, cannot read its memory or environment..
// Programs that this process starts are not affected.
var hideMemory = sync.OnceFunc(func() {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // on an error it stays as protected as any process
})
