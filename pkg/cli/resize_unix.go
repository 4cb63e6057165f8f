//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// watchSize reports that the terminal may have another size, until stop is called.
func watchSize() (resized <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	return c, func() { signal.Stop(c) }
}
