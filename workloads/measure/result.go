package measure

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// Result is one row: one operation at one size, verified. It is the JSON object
// that --format json prints, one on each line.
type Result struct {
	Workload  string `json:"workload"`
	Operation string `json:"operation"`
	// Title is the operation's name in the text line.
	Title string `json:"title"`
	// Size is the size as the text line shows it, such as "5000x5000".
	Size   string `json:"size"`
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
	// Batch is the number of images of one repeat.
	Batch int `json:"batch,omitempty"`
	// Type is the element type: float32, float64, uint8, or a precision of GPUs: tf32, bfloat16.
	Type string `json:"type"`
	// Parameters are the operation's own numbers, such as sigma.
	Parameters map[string]float64 `json:"parameters,omitempty"`
	Repeats    int                `json:"repeats"`
	// Seconds holds every timed repeat, in order.
	Seconds []float64 `json:"seconds"`
	Median  float64   `json:"median"`
	Min     float64   `json:"min"`
	// FirstCall is the first run in seconds, with all one-time setup. Other times include it only if
	// there was no warm-up.
	FirstCall float64 `json:"firstCallSeconds"`
	// KernelSeconds and the copies are the medians of the parts of a repeat on a device, which may
	// overlap. The times of the repeats include the copies.
	KernelSeconds  float64 `json:"kernelSeconds,omitempty"`
	CopyInSeconds  float64 `json:"copyInSeconds,omitempty"`
	CopyOutSeconds float64 `json:"copyOutSeconds,omitempty"`
	CopiesIncluded bool    `json:"copiesIncluded,omitempty"`
	// RepeatedKernelSeconds is how long the same kernels take, measured apart, in launches that follow
	// each other without a gap. The shares of the ceilings are by this time, if it was measured.
	RepeatedKernelSeconds float64 `json:"repeatedKernelSeconds,omitempty"`
	// GFLOPS and MPixels are the rate of the median repeat, whichever fits: 1e9
	// floating-point operations or 1e6 input pixels per second.
	GFLOPS  float64 `json:"gflops,omitempty"`
	MPixels float64 `json:"mpixelsPerSecond,omitempty"`
	// Ceilings are limits of the machine, measured in the same run.
	Ceilings []Ceiling `json:"ceilings,omitempty"`
	// NotMeasured is the reason why the times are not a measurement, such as "spread
	// 486 %"; see Doubt. The Printer sets it.
	NotMeasured string `json:"notMeasured,omitempty"`
	// Checksum is the CRC-32C of the output, "crc32c:" and eight digits.
	Checksum string `json:"checksum"`
	// Exact is whether every correct output has this checksum, on any device.
	Exact bool `json:"exact"`
	// Verified is whether every repeat was compared with an independent reference.
	Verified bool   `json:"verified"`
	Device   Device `json:"device"`
	Kernel   string `json:"kernel"`
	// ISA is the instruction set that the kernel, or its ceiling, is for, such as avx512.
	ISA      string   `json:"isa,omitempty"`
	Versions Versions `json:"versions"`
	// Environment is what else influences a time; see the function Environment.
	Environment map[string]string `json:"environment,omitempty"`
	// Cards is the share of each of several devices.
	Cards []CardShare `json:"cards,omitempty"`
	// Efficiency is the time of one device divided by n times the time of n devices, if both were
	// measured.
	Efficiency float64 `json:"efficiency,omitempty"`
}

// CardShare is the work of one of several devices on a row, as medians of seconds.
type CardShare struct {
	UUID    string  `json:"uuid"`
	Seconds float64 `json:"seconds"`
	Kernel  float64 `json:"kernelSeconds"`
	CopyIn  float64 `json:"copyInSeconds"`
	CopyOut float64 `json:"copyOutSeconds"`
}

// Versions are those of the software that influences a time.
type Versions struct {
	Go       string `json:"go"`
	Gonum    string `json:"gonum"`
	Batchctl string `json:"batchctl"`
}

// BuildVersions reads the versions from the running program.
func BuildVersions() Versions {
	v := Versions{Go: runtime.Version(), Gonum: "unknown", Batchctl: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Batchctl = info.Main.Version
	}
	for _, module := range info.Deps {
		if module.Path == "gonum.org/v1/gonum" {
			v.Gonum = module.Version
		}
	}
	return v
}

// SetTimes fills in the timed repeats and the values computed from them.
func (r *Result) SetTimes(t Times) {
	r.Seconds, r.Repeats, r.FirstCall = t.Seconds, len(t.Seconds), t.First
	r.Median, r.Min = Median(t.Seconds), slices.Min(t.Seconds)
	if len(t.Splits) == 0 {
		return
	}
	part := func(of func(Split) float64) float64 {
		all := make([]float64, len(t.Splits))
		for i, s := range t.Splits {
			all[i] = of(s)
		}
		return Median(all)
	}
	r.KernelSeconds = part(func(s Split) float64 { return s.Kernel })
	r.CopyInSeconds = part(func(s Split) float64 { return s.CopyIn })
	r.CopyOutSeconds = part(func(s Split) float64 { return s.CopyOut })
	r.CopiesIncluded = true
}

// Median is the middle value, or the mean of the two in the middle.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// Spread is the distance between the fastest and the slowest repeat, in percent of the median.
func (r Result) Spread() float64 {
	return 100 * (slices.Max(r.Seconds) - r.Min) / r.Median
}

// Line is the row as text, without a line end:
//
// Matrix multiplication 5000x5000: 1.23 seconds (float64, 203 GFLOP/s, 87 % of the FMA peak (233
// GFLOP/s), median of 3, spread 16.2 %, first call 1.31 s, verified)
//
// A row that is not a measurement ends with ": machine busy, not a measurement".
func (r Result) Line() string {
	name := r.Title + " " + r.Size
	if r.Batch > 0 {
		name += " batch " + strconv.Itoa(r.Batch)
	}
	notes := []string{r.Type}
	for key := range sortedKeys(r.Parameters) {
		notes = append(notes, fmt.Sprintf("%s %v", key, r.Parameters[key]))
	}
	if r.GFLOPS > 0 {
		notes = append(notes, digits(r.GFLOPS)+" GFLOP/s")
	}
	if r.MPixels > 0 {
		notes = append(notes, digits(r.MPixels)+" MPixel/s")
	}
	for _, c := range r.Ceilings {
		notes = append(notes, c.String())
	}
	if r.KernelSeconds > 0 {
		notes = append(notes, fmt.Sprintf("kernel %s s, copies %s s in and %s s out", digits(r.KernelSeconds),
			digits(r.CopyInSeconds), digits(r.CopyOutSeconds)))
	}
	if r.Efficiency > 0 {
		notes = append(notes, fmt.Sprintf("efficiency %.0f %% on %d GPUs", 100*r.Efficiency, len(r.Cards)))
	}
	notes = append(notes, fmt.Sprintf("median of %d", r.Repeats), "spread "+digits(r.Spread())+" %",
		"first call "+digits(r.FirstCall)+" s", "verified")
	line := fmt.Sprintf("%s: %s seconds (%s)", name, digits(r.Median), strings.Join(notes, ", "))
	if r.NotMeasured != "" {
		line += ": " + notMeasurement
	}
	return line
}

func sortedKeys(m map[string]float64) func(func(string) bool) {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return slices.Values(keys)
}

// digits prints three significant digits and never an exponent: 0.0123, 1.23, 12.3, 1234.
func digits(v float64) string {
	if v <= 0 {
		return "0.00"
	}
	decimals := 2 - int(math.Floor(math.Log10(v)))
	return strconv.FormatFloat(v, 'f', min(max(decimals, 0), 9), 64)
}
