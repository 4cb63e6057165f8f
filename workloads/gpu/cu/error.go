//go:build cuda && cgo && linux

package cu

import (
	"reflect"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// codeAbsent is CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, which the import library
// answers for a function that the driver has not.
const codeAbsent = 302

// check makes the error of a call of cu our own. cu's is an integer type that it does not
// export.
func check(call string, err error) error {
	if err == nil {
		return nil
	}
	code := reflect.ValueOf(err)
	if !code.CanInt() {
		return &gpu.Error{Call: call, Code: codeUnknown, Detail: err.Error()}
	}
	return result(call, int(code.Int()))
}

// codeUnknown is CUDA_ERROR_UNKNOWN.
const codeUnknown = 999

// result is the error of a call that answered the code.
func result(call string, code int) error {
	switch code {
	case 0:
		return nil
	case codeAbsent:
		return &gpu.Error{Call: call, Code: code,
			Detail: "the driver does not have this function; install a newer driver"}
	}
	return &gpu.Error{Call: call, Code: code}
}
