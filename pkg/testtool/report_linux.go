package testtool

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// parentStderr is the standard error of the go command that started the tests, or nil if
// it is out of reach or the tests print there anyway.
func parentStderr() *os.File {
	parent := os.Getppid()
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", parent))
	if err != nil || filepath.Base(program) != "go" {
		return nil
	}
	theirs := fmt.Sprintf("/proc/%d/fd/2", parent)
	info, err := os.Stat(theirs)
	if err != nil {
		return nil
	}
	for _, shown := range []string{theirs, fmt.Sprintf("/proc/%d/fd/1", parent)} {
		if same(os.Stderr, shown) {
			return nil
		}
	}
	if out := duplicate(parent); out != nil {
		return out
	}
	// A regular file opened a second time has a second offset, and the two writers would
	// overwrite each other, unless both append.
	if info.Mode().IsRegular() && !appends(parent) {
		return nil
	}
	out, err := os.OpenFile(theirs, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil
	}
	return out
}

func same(file *os.File, path string) bool {
	ours, err := file.Stat()
	if err != nil {
		return false
	}
	theirs, err := os.Stat(path)
	return err == nil && os.SameFile(ours, theirs)
}

// appends reports whether the process opened its standard error to append.
func appends(process int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/2", process))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "flags:"); ok {
			flags, err := strconv.ParseInt(strings.TrimSpace(value), 8, 64)
			return err == nil && flags&unix.O_APPEND != 0
		}
	}
	return false
}

// duplicate is a duplicate of the process's standard error, or nil where Linux does not
// allow this process to trace the other.
func duplicate(process int) *os.File {
	handle, err := unix.PidfdOpen(process, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(handle)
	fd, err := unix.PidfdGetfd(handle, 2, 0)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), "stderr of go test")
}
