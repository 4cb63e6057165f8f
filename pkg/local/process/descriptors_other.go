//go:build !unix

package process

// CloseOnExec does nothing: elsewhere than on Unix, processes inherit only what is handed to them.
func CloseOnExec() {}
