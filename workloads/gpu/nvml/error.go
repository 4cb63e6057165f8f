package nvml

import "fmt"

// Error is a call of NVML that failed.
type Error struct {
	// Call is the name of the function, such as nvmlInit.
	Call string
	// Code is the nvmlReturn_t, and Text NVML's description of it.
	Code int
	Text string
}

// Error names the call and NVML's error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s: NVML error %d (%s)", e.Call, e.Code, e.Text)
}
