package cublas

import "fmt"

// Error is a call of cuBLAS that failed.
type Error struct {
	// Call is the name of the function, such as cublasGemmEx.
	Call string
	// Status is the cublasStatus_t.
	Status int
}

// Error names the call, the status and its meaning.
func (e *Error) Error() string {
	s, known := statuses[e.Status]
	if !known {
		s.name = "UNKNOWN"
	}
	text := fmt.Sprintf("%s: cuBLAS status %d (%s)", e.Call, e.Status, s.name)
	if s.meaning != "" {
		text += ": " + s.meaning
	}
	return text
}

// statuses are the names in cublas_api.h, without their prefix, and their usual cause.
var statuses = map[int]struct{ name, meaning string }{
	1:  {"NOT_INITIALIZED", "there is no usable GPU, or the driver is too old for this cuBLAS"},
	3:  {"ALLOC_FAILED", "the device has no memory left for the workspace; use smaller matrices"},
	7:  {"INVALID_VALUE", ""},
	8:  {"ARCH_MISMATCH", "the device cannot compute in this precision"},
	11: {"MAPPING_ERROR", ""},
	13: {"EXECUTION_FAILED", "the kernel failed on the device"},
	14: {"INTERNAL_ERROR", ""},
	15: {"NOT_SUPPORTED", "this cuBLAS version or the device does not support this product"},
	16: {"LICENSE_ERROR", ""},
}

// check returns an error for a status that is not CUBLAS_STATUS_SUCCESS.
func check(call string, status int32) error {
	if status == 0 {
		return nil
	}
	return &Error{Call: call, Status: int(status)}
}
