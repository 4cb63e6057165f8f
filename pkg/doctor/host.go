package doctor

import (
	"context"
	"io/fs"
	"time"
)

// Host is the system to examine.
type Host struct {
	// FS is the root file system.
	FS fs.FS
	// Root is the directory of FS, if that is not the root of the local machine.
	Root string
	// Env returns an environment variable; nil means that there are none.
	Env func(name string) string
	// Ask is nil for files of a system that is not running: then only files are read.
	Ask Asker
	// Limit is the time limit of each check; 0 means 40 seconds. All checks run concurrently.
	Limit time.Duration
}

// Asker queries a running machine for facts that its files do not show. Its methods change
// nothing and end when ctx does.
type Asker interface {
	// Run runs a program and returns the output of both streams. The error is fs.ErrNotExist if
	// there is no such program.
	Run(ctx context.Context, program string, args ...string) (string, error)
	// HTTP returns the status and the first 64 KiB of the body. It uses no proxy and follows no
	// redirection.
	HTTP(ctx context.Context, r Request) (status int, body string, err error)
	// Space returns the space of the file system with a path.
	Space(path string) (Space, error)
}

// Request is an HTTP request to this machine or its metadata services.
type Request struct {
	Method, URL string
	Header      map[string]string
}

// Space is the size and the free space of a file system.
type Space struct {
	// Bytes is the size. FreeBytes is the space that users other than root can use. Files and
	// FreeFiles count inodes; they are 0 if the file system does not limit them.
	Bytes, FreeBytes, Files, FreeFiles uint64
}
