//go:build !linux

package measure

// adviseHuge does nothing: other systems have no such request.
func adviseHuge([]byte) {}
