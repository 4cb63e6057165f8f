// Package usage measures what the attempt of a job used of its machine: memory, processor time, data read and
// written, and GPUs. The figures travel as one line in the job's log, which every target has.
package usage

import (
	"encoding/json"
	"strings"
)

// Variable is the environment variable that asks for the measurement of a job's attempts, as "1". submit sets it for
// jobs with "measure": true.
const Variable = "BATCHCTL_MEASURE"

// Launcher begins the command of a job that is measured in its container, and whose command has no other launcher.
var Launcher = []string{"batchctl", "measure", "--"}

// IsAsked reports whether the value of Variable asks for a measurement.
func IsAsked(value string) bool { return value == "1" }

// Usage is what one container of an attempt used. A figure that could not be measured is absent from the JSON form
// and nil here, so that zero means zero.
type Usage struct {
	// Version is the version of the format: 1.
	Version int `json:"version"`
	// Container is the container's name in a job with several; else "".
	Container string `json:"container,omitempty"`
	// Seconds is the wall time while the program ran.
	Seconds float64 `json:"seconds"`
	// CPUSeconds is the time of all processors together, user and system.
	CPUSeconds *float64 `json:"cpuSeconds,omitempty"`
	// PeakMemory is the most memory in bytes that the container needed at any time: what its limit counts, without the
	// cache of files, which the kernel takes back before it kills.
	PeakMemory *int64 `json:"peakMemory,omitempty"`
	// MemoryLimit is the container's limit in bytes.
	MemoryLimit *int64 `json:"memoryLimit,omitempty"`
	// BytesRead and BytesWritten are what the container transferred from and to block devices.
	BytesRead    *int64 `json:"bytesRead,omitempty"`
	BytesWritten *int64 `json:"bytesWritten,omitempty"`
	// GPUs are the devices of the container, if NVML answers.
	GPUs []GPU `json:"gpus,omitempty"`
	// Source is how memory and processor time were measured: "cgroup2", "cgroup1" or "processes".
	Source string `json:"source"`
}

// GPU is the use of one device during an attempt.
type GPU struct {
	Name string `json:"name"`
	// PeakMemory and Memory are the most that was in use, and the size of the device, in bytes.
	PeakMemory int64 `json:"peakMemory"`
	Memory     int64 `json:"memory"`
	// Utilization is the mean share of time in which a kernel ran, 0 to 1; MaxUtilization is the highest sample.
	Utilization    *float64 `json:"utilization,omitempty"`
	MaxUtilization *float64 `json:"maxUtilization,omitempty"`
}

// prefix begins the line of a measurement in a job's log.
const prefix = "batchctl: measured "

// Line returns the line of a log for the measurement, without a newline.
func (u Usage) Line() string { return prefix + u.Text() }

// Text returns the measurement as JSON, for a line or an object.
func (u Usage) Text() string {
	text, err := json.Marshal(u)
	if err != nil { // only figures that are not finite, which no clock or counter gives
		return "{}"
	}
	return string(text)
}

// ParseText reads the JSON of a measurement. ok is false for other text.
func ParseText(text string) (u Usage, ok bool) {
	if json.Unmarshal([]byte(text), &u) != nil || u.Version < 1 {
		return Usage{}, false
	}
	return u, true
}

// Parse reads a line of a log. ok is false if it is no measurement. A newer version may have more members.
func Parse(line string) (u Usage, ok bool) {
	// Output without a line end may come before it.
	at := strings.LastIndex(line, prefix+"{")
	if at < 0 {
		return Usage{}, false
	}
	return ParseText(strings.TrimRight(line[at+len(prefix):], "\r\n"))
}

// Cut finds a measurement at the end of a line of a log. before is the output without a line end that is in front of
// it; without a measurement it is the line.
func Cut(line string) (before string, found bool) {
	if _, ok := Parse(line); !ok {
		return line, false
	}
	return line[:strings.LastIndex(line, prefix+"{")], true
}
