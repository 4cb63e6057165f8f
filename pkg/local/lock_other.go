//go:build !unix

package local

import (
	"errors"
	"io/fs"
	"os"
)

const enforcesModes = false

func ownerOf(fs.FileInfo) int { return os.Geteuid() }

func isGone(int) bool { return false }

// Supported returns why no engine can run on this operating system: it cannot lock a state directory.
func Supported() error { return errors.New("the local engine works on Linux, macOS and the BSDs only") }

func lockFile(*os.File) error { return Supported() }

func isLocked(*os.File) (bool, error) { return false, errors.ErrUnsupported }
