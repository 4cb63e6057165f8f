//go:build !unix

package term

import "os"

// WatchSize reports nothing where no signal tells of a change: the size is read
// with every frame.
func WatchSize() (resized <-chan os.Signal, stop func()) { return nil, func() {} }
