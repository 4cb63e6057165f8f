//go:build !unix

package cli

import "os"

// watchSize reports nothing where no signal tells of a change: the size is read
// with every frame.
func watchSize() (resized <-chan os.Signal, stop func()) { return nil, func() {} }
