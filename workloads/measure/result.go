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
	// Title is how the text line calls the operation.
	Title string `json:"-"`
	// Size is the size as the text line shows it, such as "5000x5000".
	Size   string `json:"size"`
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
	// Batch is the number of images of one repeat.
	Batch int `json:"batch,omitempty"`
	// Type is the element type: float32, float64 or uint8.
	Type string `json:"type"`
	// Parameters are the operation's own numbers, such as sigma.
	Parameters map[string]float64 `json:"parameters,omitempty"`
	Repeats    int                `json:"repeats"`
	// Seconds holds every timed repeat, in order.
	Seconds []float64 `json:"seconds"`
	Median  float64   `json:"median"`
	Min     float64   `json:"min"`
	// GFLOPS and MPixels are the rate of the median repeat, whichever fits: 1e9
	// floating-point operations or 1e6 input pixels per second.
	GFLOPS  float64 `json:"gflops,omitempty"`
	MPixels float64 `json:"mpixelsPerSecond,omitempty"`
	// Ceilings are limits of the machine, measured in the same run.
	Ceilings []Ceiling `json:"ceilings,omitempty"`
	// Checksum is the CRC-32C of the output, "crc32c:" and eight digits.
	Checksum string `json:"checksum"`
	// Verified says that every repeat was checked against an independent reference.
	Verified bool   `json:"verified"`
	Device   Device `json:"device"`
	Kernel   string `json:"kernel"`
	// ISA is the instruction set that the kernel, or its ceiling, is for, such as avx512.
	ISA      string   `json:"isa,omitempty"`
	Versions Versions `json:"versions"`
}

// Versions are those of the parts that decide a time.
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

// SetTimes fills in the timed repeats and what follows from them.
func (r *Result) SetTimes(seconds []float64) {
	r.Seconds, r.Repeats = seconds, len(seconds)
	r.Median, r.Min = Median(seconds), slices.Min(seconds)
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

// Line is the row as text, without a line end:
//
//	Matrix multiplication 5000x5000: 1.23 seconds (float64, 203 GFLOP/s, 87 % of the FMA peak (233 GFLOP/s), median of 3, verified)
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
	notes = append(notes, fmt.Sprintf("median of %d", r.Repeats), "verified")
	return fmt.Sprintf("%s: %s seconds (%s)", name, digits(r.Median), strings.Join(notes, ", "))
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
