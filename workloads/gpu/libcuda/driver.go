//go:build linux && (amd64 || arm64)

package libcuda

import (
	"bytes"
	"slices"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// driver implements gpu.Driver, one method for each call of the API; gpu.Driver documents them. It and its
// parts have the functions of libcuda that they call, with the types of cuda.h: CUdevice is an int32, size_t
// a uint64.
type driver struct {
	driverGetVersion func(version *int32) code
	init             func(flags uint32) code

	devices
	memory
	modules
	streams
	events
}

// symbols lists every function, the version's first: bind reports it if another function is missing.
func (d *driver) symbols() []symbol {
	return slices.Concat([]symbol{
		{&d.driverGetVersion, []string{"cuDriverGetVersion"}},
		{&d.init, []string{"cuInit"}},
	}, d.devices.symbols(), d.memory.symbols(), d.modules.symbols(), d.streams.symbols(), d.events.symbols())
}

// Binding names this package.
func (d *driver) Binding() string { return binding }

// Version may be called before cuInit.
func (d *driver) Version() (int, error) {
	var version int32
	err := check("cuDriverGetVersion", d.driverGetVersion(&version))
	return int(version), err
}

// code is a CUresult.
type code int32

// symbol is a pointer to a field for a function, and the names that the library may have for it, the
// preferred one first. If cuda.h defines a name as another with _v2, the plain symbol is an older
// function with other types.
type symbol struct {
	call  any
	names []string
}

// check returns an error for a result that is not CUDA_SUCCESS.
func check(call string, c code) error {
	if c == 0 {
		return nil
	}
	return &gpu.Error{Call: call, Code: int(c)}
}

// text returns a zero-terminated copy of s for C.
func text(s string) *byte { return &append([]byte(s), 0)[0] }

// untilZero returns the string in a buffer that C has filled.
func untilZero(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}
