package journal

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// disk is the file of a journal. It is synced by the kernel's asynchronous I/O
// (io_submit(2)), with an eventfd to wait for, which the runtime polls like a socket. A
// thread that waits in fdatasync(2) would take one of the runtime's processors with it,
// until the runtime notices.
type disk struct {
	*os.File
	context uintptr  // aio_context_t; 0: there is no asynchronous I/O here
	done    *os.File // the eventfd
	notify  uint32   // its number
	// The kernel reads and writes these while the goroutine that syncs waits.
	request controlBlock
	result  ioEvent
}

// controlBlock is struct iocb of linux/aio_abi.h.
type controlBlock struct {
	_       uint64 // data
	_, _    uint32 // key, flags of a transfer
	opcode  uint16
	_       int16 // priority
	file    uint32
	_, _, _ uint64 // buffer, length, offset
	_       uint64
	flags   uint32
	eventfd uint32
}

// ioEvent is struct io_event of linux/aio_abi.h.
type ioEvent struct {
	_, _   uint64 // data, object
	result int64
	_      int64
}

// Of enum IOCB_CMD and the flags of linux/aio_abi.h.
const (
	dataSync     = 3 // IOCB_CMD_FDSYNC
	tellsEventfd = 1 // IOCB_FLAG_RESFD
)

// newDisk prepares to sync a file. Where the kernel, or what confines this program,
// has no asynchronous I/O, it is synced without.
func newDisk(file *os.File) File {
	d := &disk{File: file}
	var context uintptr
	if _, _, e := unix.Syscall(unix.SYS_IO_SETUP, 1, uintptr(unsafe.Pointer(&context)), 0); e != 0 {
		return d
	}
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		_, _, _ = unix.Syscall(unix.SYS_IO_DESTROY, context, 0, 0)
		return d
	}
	d.context, d.done, d.notify = context, os.NewFile(uintptr(fd), "eventfd"), uint32(fd)
	return d
}

// Sync is fdatasync(2).
func (d *disk) Sync() error {
	if d.context == 0 {
		return unix.Fdatasync(int(d.Fd()))
	}
	d.request = controlBlock{opcode: dataSync, file: uint32(d.Fd()), flags: tellsEventfd, eventfd: d.notify}
	requests := [1]*controlBlock{&d.request}
	if _, _, e := unix.RawSyscall(unix.SYS_IO_SUBMIT, d.context, 1, uintptr(unsafe.Pointer(&requests))); e != 0 {
		return unix.Fdatasync(int(d.Fd())) // for instance EAGAIN; if it is the file, this one says so
	}
	var count [8]byte
	if _, err := d.done.Read(count[:]); err != nil {
		return fmt.Errorf("wait for the disk: %w", err)
	}
	n, _, e := unix.RawSyscall6(unix.SYS_IO_GETEVENTS, d.context, 1, 1, uintptr(unsafe.Pointer(&d.result)), 0, 0)
	switch {
	case e != 0:
		return fmt.Errorf("ask the disk: %w", e)
	case n != 1:
		return fmt.Errorf("ask the disk: %d answers for one sync", n)
	case d.result.result < 0:
		return unix.Errno(-d.result.result)
	}
	return nil
}

// Close closes the file, which nobody syncs any more.
func (d *disk) Close() error {
	if d.context != 0 {
		_, _, _ = unix.Syscall(unix.SYS_IO_DESTROY, d.context, 0, 0)
		_ = d.done.Close()
	}
	return d.File.Close()
}
