//go:build !linux

package journal

import "os"

// disk is the file of a journal.
type disk struct{ *os.File }
