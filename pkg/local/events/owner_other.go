//go:build !unix

package events

import (
	"errors"
	"io/fs"
	"os"
)

const openFlags = 0

// The engine works on Unix only.
var errUnsupported = errors.New("events are delivered on Linux, macOS and the BSDs only")

func checkDirectories(string, *os.Root) error { return errUnsupported }

func checkFile(string, fs.FileInfo) error { return errUnsupported }

func checkSocket(string) error { return errUnsupported }
