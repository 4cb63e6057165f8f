//go:build !linux

package measure

// adviseHuge has no system to ask.
func adviseHuge([]byte) {}
