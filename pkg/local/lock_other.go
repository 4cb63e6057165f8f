//go:build !unix

package local

import (
	"errors"
	"os"
)

const enforcesModes = false

func isGone(int) bool { return false }

func lockFile(*os.File) error {
	return errors.New("the local engine works on Linux, macOS and the BSDs only")
}
