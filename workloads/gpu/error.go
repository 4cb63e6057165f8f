package gpu

import (
	"errors"
	"fmt"
)

// Error is a call of the driver that failed.
type Error struct {
	// Call is the name of the function, such as cuMemAlloc.
	Call string
	// Code is the CUresult.
	Code int
	// Detail is what else the driver said, such as the log of the PTX compiler.
	Detail string
}

// Error names the call, the driver's code and its meaning.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s: CUDA error %d (%s)", e.Call, e.Code, CodeName(e.Code))
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// CodeName is the name of a CUresult without its prefix, such as NO_DEVICE; UNKNOWN for
// one that this package does not know.
func CodeName(code int) string {
	if name, ok := codeNames[code]; ok {
		return name
	}
	return "UNKNOWN"
}

// Codes of CUresult that decide what is done next.
const (
	CodeInvalidValue   = 1
	CodeOutOfMemory    = 2
	CodeStubLibrary    = 34
	CodeNoDevice       = 100
	CodeInvalidContext = 201
	CodeNotFound       = 500
	CodeIllegalAddress = 700
)

// codeNames are the results that a person may meet, as cuda.h numbers them.
var codeNames = map[int]string{
	CodeInvalidValue: "INVALID_VALUE", CodeOutOfMemory: "OUT_OF_MEMORY", 3: "NOT_INITIALIZED",
	CodeStubLibrary: "STUB_LIBRARY", 46: "DEVICE_UNAVAILABLE",
	CodeNoDevice: "NO_DEVICE", 101: "INVALID_DEVICE", 200: "INVALID_IMAGE", CodeInvalidContext: "INVALID_CONTEXT",
	209: "NO_BINARY_FOR_GPU",
	214: "ECC_UNCORRECTABLE", 218: "INVALID_PTX", 221: "JIT_COMPILER_NOT_FOUND", 222: "UNSUPPORTED_PTX_VERSION",
	302: "SHARED_OBJECT_SYMBOL_NOT_FOUND", 304: "OPERATING_SYSTEM",
	400: "INVALID_HANDLE", CodeNotFound: "NOT_FOUND", 600: "NOT_READY",
	CodeIllegalAddress: "ILLEGAL_ADDRESS", 701: "LAUNCH_OUT_OF_RESOURCES", 702: "LAUNCH_TIMEOUT", 710: "ASSERT",
	714: "HARDWARE_STACK_ERROR",
	715: "ILLEGAL_INSTRUCTION", 716: "MISALIGNED_ADDRESS", 717: "INVALID_ADDRESS_SPACE", 718: "INVALID_PC",
	719: "LAUNCH_FAILED",
	801: "NOT_SUPPORTED", 802: "SYSTEM_NOT_READY", 803: "SYSTEM_DRIVER_MISMATCH", 804: "COMPAT_NOT_SUPPORTED_ON_DEVICE",
}

// spoils reports whether the context is unusable after the error. According to cuda.h the process
// must then be restarted.
func (e *Error) spoils() bool {
	switch e.Code {
	case 214, CodeIllegalAddress, 702, 710, 714, 715, 716, 717, 718, 719:
		return true
	}
	return false
}

func isCode(err error, code int) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == code
}
