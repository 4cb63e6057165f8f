//go:build unix

package term

import (
	"os"
	"os/signal"
	"syscall"
)

// WatchSize reports that the terminal may have another size, until stop is called.
func WatchSize() (resized <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	return c, func() { signal.Stop(c) }
}
