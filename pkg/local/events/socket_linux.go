package events

import (
	"net"

	"golang.org/x/sys/unix"
)

// unread returns how much of the written data the other end has not read yet (unix(7), SIOCOUTQ).
func unread(c *net.UnixConn) (n int, err error) {
	return n, onSocket(c, func(fd int) (err error) {
		n, err = unix.IoctlGetInt(fd, unix.SIOCOUTQ)
		return err
	})
}

// isClosed reports whether the other end has closed the connection.
func isClosed(c *net.UnixConn) bool {
	closed := false
	err := onSocket(c, func(fd int) error {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		_, err := unix.Poll(poll, 0)
		closed = poll[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
		return err
	})
	return closed || err != nil && err != unix.EINTR
}

// checkPeer rejects a connection to a process of another user.
func checkPeer(path string, c *net.UnixConn) error {
	return onSocket(c, func(fd int) error {
		peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			return err
		}
		return checkOwner(path, int(peer.Uid))
	})
}

// onSocket calls do with the file descriptor of a connection.
func onSocket(c *net.UnixConn, do func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var done error
	if err := raw.Control(func(fd uintptr) { done = do(int(fd)) }); err != nil {
		return err
	}
	return done
}
