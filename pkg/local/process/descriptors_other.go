//go:build !unix

package process

// CloseOnExec does nothing: other than on Unix, processes inherit only what is passed to them.
func CloseOnExec() {}
