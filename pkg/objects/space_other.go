//go:build !linux && !darwin

package objects

// space is not known here.
func space(string) (device uint64, free int64, known bool) { return 0, 0, false }

// another is not known here.
func another(string) *owner { return nil }
