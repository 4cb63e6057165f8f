//go:build linux && (amd64 || arm64)

package libcuda

import (
	"bytes"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// driver implements gpu.Driver, one method for each call of the API; gpu.Driver documents them.
type driver struct{ functions }

// check returns an error for a result that is not CUDA_SUCCESS.
func check(call string, c code) error {
	if c == 0 {
		return nil
	}
	return &gpu.Error{Call: call, Code: int(c)}
}

// text returns a zero-terminated copy of s for C.
func text(s string) *byte { return &append([]byte(s), 0)[0] }

// Binding names this package.
func (d *driver) Binding() string { return binding }

// Version may be called before cuInit.
func (d *driver) Version() (int, error) {
	var version int32
	err := check("cuDriverGetVersion", d.driverGetVersion(&version))
	return int(version), err
}

// untilZero returns the string in a buffer that C has filled.
func untilZero(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}
